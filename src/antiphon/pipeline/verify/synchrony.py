"""Who stays together sees the same (D2, D4, D6, D7, S2), for many messages.

D4 by counting: of those who go on together either nobody has a message or all have it. Only
where a count is short does anybody ask who is missing, and what excuses it.
"""

import numpy as np

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import Sink, before, runs
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.lookup import Companies, contains
from antiphon.pipeline.verify.mail import PRIVATE, TRANSITIONAL, Mail
from antiphon.pipeline.verify.names import Flags, Longs, distinct

STAY_BITS = 32


def judge_synchrony(mail: Mail, sink: Sink) -> None:
    _same_configuration(mail, sink)
    _same_view(mail, sink)
    _sides(mail, sink)
    _together_in_configurations(mail, sink)
    _together_in_views(mail, sink)
    _same_position(mail, sink)


def _same_configuration(mail: Mail, sink: Sink) -> None:
    """D2: a message is stamped and delivered in one configuration, and both daemons are in it
    at that time."""
    look = mail.look
    for rows, fault in (
        (mail.sends, Fault.STAMPED_ELSEWHERE),
        (mail.delivers, Fault.DELIVERED_ELSEWHERE),
    ):
        stay = look.find_daemon_stay(rows.process, rows.t, rows.tie)
        here = look.stay_config[stay]
        wrong = (stay < 0) | (look.config_hash[here] != rows.a)
        if wrong.any():
            key = mail.key[rows.at[wrong]]
            sink.find(
                fault, process=rows.process[wrong], key=key, t=rows.t[wrong], place=here[wrong]
            )
    rows = mail.delivers
    wrong = mail.is_sent[rows.at] & (mail.send_config_hash[rows.at] != rows.a)
    if wrong.any():
        sink.find(
            Fault.DELIVERED_NOT_AS_SENT,
            process=rows.process[wrong],
            key=mail.key[rows.at[wrong]],
            t=rows.t[wrong],
            place=mail.send_config[rows.at[wrong]],
        )


def _same_view(mail: Mail, sink: Sink) -> None:
    """D2: for each of its groups a session gets a message in the view that was in force where
    the message was stamped, and is in that view itself."""
    rows = mail.hands
    grouped = rows.b != 0
    astray = grouped & ~mail.is_home & ~rows.has(PRIVATE)
    _report_hands(mail, astray, Fault.HANDED_ASTRAY, sink)
    sent, _, _ = mail.sent_view(mail.hand_group_pairs)
    moved = grouped & mail.is_sent[rows.at] & (sent != rows.a)
    _report_hands(mail, moved, Fault.HANDED_NOT_AS_SENT, sink)


def _report_hands(mail: Mail, chosen: Flags, fault: Fault, sink: Sink) -> None:
    if not chosen.any():
        return
    rows = mail.hands
    strange = chosen.copy()
    strange[chosen] = mail.is_stranger(mail.hand_group_pairs[chosen])
    for which, what in ((chosen, fault), (strange, Fault.STRANGER)):
        sink.find(
            what,
            process=rows.process[which],
            key=mail.key[rows.at[which]],
            t=rows.t[which],
            place=mail.hand_view[which],
        )


def _sides(mail: Mail, sink: Sink) -> None:
    """D6: deliveries say truly on which side of the transitional set they are."""
    look, rows, stay = mail.look, mail.delivers, mail.deliver_stay
    turn = look.stay_turn[stay]
    after = before(turn[:, 0], turn[:, 1], rows.t, rows.tie)
    wrong = (stay >= 0) & (rows.has(TRANSITIONAL) != after)
    if wrong.any():
        sink.find(
            Fault.OTHER_SIDE,
            process=rows.process[wrong],
            key=mail.key[rows.at[wrong]],
            t=rows.t[wrong],
            place=look.stay_config[stay[wrong]],
        )


def _short(at: Longs, stay: Longs, companies: Companies) -> tuple[Longs, Longs, Longs, Longs]:
    """Messages with companies, how many stays of each have it; and the pairs of those."""
    inside = companies.of[stay] >= 0
    pairs = distinct(at[inside] << STAY_BITS | stay[inside])
    message, member = pairs >> STAY_BITS, pairs & ((1 << STAY_BITS) - 1)
    both = message << STAY_BITS | companies.of[member]
    both.sort()
    starts, counts = runs(both)
    found = both[starts]
    return found >> STAY_BITS, found & ((1 << STAY_BITS) - 1), counts, pairs


def _together_in_configurations(mail: Mail, sink: Sink) -> None:
    look, rows, companies = mail.look, mail.delivers, mail.look.daemon_companies
    chosen = mail.reliable[rows.at] & (mail.deliver_stay >= 0)
    # Who was not meant to get a message does not count, whether or not it has it.
    chosen &= look.is_wanted(mail.wanted[rows.at], rows.process)
    at, company, count, pairs = _short(rows.at[chosen], mail.deliver_stay[chosen], companies)
    expected = look.wanted_in_company(mail.wanted[at], company)
    for place in np.flatnonzero(count < expected).tolist():
        message = int(at[place])
        present, missing = _split(message, int(company[place]), pairs, companies)
        wanted = int(mail.wanted[message])
        for stay in missing:
            who = int(look.daemon_stay_process[stay])
            if look.wants(wanted, who):
                witness = int(look.daemon_stay_process[present[0]])
                config = int(look.stay_config[stay])
                _report_missing(mail, message, who, witness, config, False, sink)


def _split(
    message: int, company: int, pairs: Longs, companies: Companies
) -> tuple[list[int], list[int]]:
    """Of a company: stays with the message, and stays without it."""
    stays = np.array(companies.stays[company], np.int64)
    has = contains(pairs, message << STAY_BITS | stays)
    return stays[has].tolist(), stays[~has].tolist()


def _report_missing(
    mail: Mail, message: int, who: int, witness: int, place: int, is_session: bool, sink: Sink
) -> None:
    """A reliable one that is missing breaks S2 as well."""
    faults = [Fault.SESSION_MISSES if is_session else Fault.DAEMON_MISSES]
    if mail.service[message] == int(Service.RELIABLE):
        plain = Fault.SESSION_MISSES_RELIABLE if is_session else Fault.DAEMON_MISSES_RELIABLE
        faults.append(plain)
    key, t = mail.key[message], mail.send_t[message]
    for fault in faults:
        sink.find(fault, process=who, key=key, t=t, other=witness, place=place)


def _together_in_views(mail: Mail, sink: Sink) -> None:
    """D4, S2 for sessions. A message with self-discard is excused at its own sender only, a
    repeat at those of the daemon that knows it."""
    look, rows, companies = mail.look, mail.hands, mail.look.view_companies
    chosen = mail.reliable[rows.at] & mail.is_home
    if not chosen.any():
        return
    at, company, count, pairs = _short(rows.at[chosen], mail.hand_stay[chosen], companies)
    expected = companies.size[company]
    short = np.flatnonzero(count < expected)
    discarding = mail.discards[at[short]] & companies.has(company[short], mail.origin[at[short]])
    short = short[~discarding | (count[short] + 1 < expected[short])]
    for place in short.tolist():
        message = int(at[place])
        present, missing = _split(message, int(company[place]), pairs, companies)
        for stay in missing:
            who = int(look.session_stay_process[stay])
            if mail.is_excused(np.array([message]), np.array([who]))[0]:
                continue
            witness = int(look.session_stay_process[present[0]])
            view = int(look.session_stay_view[stay])
            _report_missing(mail, message, who, witness, view, True, sink)
            if mail.is_strange_to(message, int(look.session_stay_group[stay])):
                key, t = mail.key[message], mail.send_t[message]
                sink.find(Fault.STRANGER, process=who, key=key, t=t, place=view)


def _same_position(mail: Mail, sink: Sink) -> None:
    """D7: of two sessions that install view w and are handed the message m to that group,
    causal or stronger, both get m before w or both after it.

    Where all are handed it in one view, and all install that view and every other in one order,
    there is nothing to ask.
    """
    look, rows = mail.look, mail.hands
    chosen = np.flatnonzero((mail.hand_stay >= 0) & (mail.service[rows.at] >= int(Service.CAUSAL)))
    pairs = mail.hand_group_pairs[chosen]
    view = look.session_stay_view_or_none(mail.hand_stay[chosen])
    order = np.argsort(pairs, kind="stable")
    starts, counts = runs(pairs[order])
    if not len(starts):
        return
    lowest = np.minimum.reduceat(view[order], starts)
    highest = np.maximum.reduceat(view[order], starts)
    odd = lowest != highest
    if look.turned_views:
        odd |= np.isin(lowest, list(look.turned_views))
    for place in np.flatnonzero(odd).tolist():
        inside = chosen[order[starts[place] : starts[place] + counts[place]]]
        _compare_positions(mail, inside, sink)


def _compare_positions(mail: Mail, hands: Longs, sink: Sink) -> None:
    look, rows = mail.look, mail.hands
    firsts: dict[int, int] = {}
    for hand in hands[np.lexsort((rows.tie[hands], rows.t[hands]))].tolist():
        firsts.setdefault(int(rows.process[hand]), int(mail.hand_stay[hand]))
    before_it: dict[int, int] = {}
    after_it: dict[int, int] = {}
    for who, stay in firsts.items():
        stays = look.stays_of_slot[who, int(look.session_stay_group[stay])]
        for one in stays:
            side = before_it if one > stay else after_it
            side.setdefault(int(look.session_stay_view[one]), who)
    for view in sorted(before_it.keys() & after_it.keys())[:1]:
        sink.find(
            Fault.OTHER_POSITION,
            process=after_it[view],
            key=mail.key[rows.at[hands[0]]],
            t=rows.t[hands[0]],
            other=before_it[view],
            place=view,
        )
