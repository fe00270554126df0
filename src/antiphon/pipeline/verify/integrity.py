"""Nothing invented, nothing twice, nothing of one's own lost (D1, D3, S1), for many messages.

The same questions as in check/integrity, asked of all rows of a batch at once.
"""

import numpy as np

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import Sink, before
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.lookup import contains
from antiphon.pipeline.verify.mail import LEAD, OWN, PAIR, Mail, Rows
from antiphon.pipeline.verify.names import Flags, Longs, distinct


def judge_integrity(mail: Mail, sink: Sink) -> None:
    _delivered_as_sent(mail, sink)
    _handed_as_submitted(mail, sink)
    _stamped_once(mail, sink)
    _unreliable_at_once(mail, sink)
    _own_deliveries(mail, sink)
    _own_hands(mail, sink)


def again(rows: Rows, among: Flags) -> Flags:
    """Rows whose process has the same message earlier."""
    found = np.zeros(len(rows.at), np.bool_)
    chosen = np.flatnonzero(among)
    pairs = rows.pairs[chosen]
    if len(distinct(pairs)) == len(pairs):
        return found
    order = chosen[np.lexsort((rows.tie[chosen], rows.t[chosen], pairs))]
    found[order[1:]] = rows.pairs[order][1:] == rows.pairs[order][:-1]
    return found


def _twice(mail: Mail, rows: Rows, among: Flags, fault: Fault, sink: Sink) -> None:
    """D1, S1: at most once."""
    twice = again(rows, among)
    unreliable = mail.is_unreliable[rows.at]
    for chosen, what in (
        (twice & ~unreliable, fault),
        (twice & unreliable, Fault.UNRELIABLE_TWICE),
    ):
        _report(mail, rows, chosen, what, sink)


def _report(mail: Mail, rows: Rows, chosen: Flags, fault: Fault, sink: Sink) -> None:
    if chosen.any():
        key = mail.key[rows.at[chosen]]
        sink.find(fault, process=rows.process[chosen], key=key, t=rows.t[chosen])


def _delivered_as_sent(mail: Mail, sink: Sink) -> None:
    """D1: a delivery needs an earlier stamping, of that service."""
    rows = mail.delivers
    _twice(mail, rows, np.ones(len(rows.at), np.bool_), Fault.DELIVERED_TWICE, sink)
    unsent = _later(mail.send_t, mail.send_tie, rows)
    _report(mail, rows, unsent, Fault.DELIVERED_UNSENT, sink)
    other = ~unsent & (mail.service[rows.at] != rows.service)
    _report(mail, rows, other, Fault.DELIVERED_AS_OTHER, sink)


def _later(t: Longs, tie: Longs, rows: Rows) -> Flags:
    """What belongs to the message comes after the row, or never."""
    return before(rows.t, rows.tie, t[rows.at], tie[rows.at])


def _handed_as_submitted(mail: Mail, sink: Sink) -> None:
    """D1: a hand needs an earlier submit of the same messages to the same groups, with the same
    service and content."""
    rows = mail.hands
    lead = rows.has(LEAD)
    _twice(mail, rows, lead, Fault.HANDED_TWICE, sink)
    _report(mail, rows, lead & _later(mail.send_t, mail.send_tie, rows), Fault.HANDED_UNSENT, sink)
    unknown = _later(mail.submit_t, mail.submit_tie, rows)
    _report(mail, rows, lead & unknown, Fault.HANDED_UNSUBMITTED, sink)
    known = ~unknown
    differs = mail.content[rows.at] ^ rows.c
    cut = (differs & 0xFFFFFFFF) != 0
    _report(mail, rows, lead & known & cut, Fault.HANDED_CUT, sink)
    changed = lead & known & ~cut & (differs != 0)
    unreliable = mail.is_unreliable[rows.at]
    _report(mail, rows, changed & unreliable, Fault.UNRELIABLE_CHANGED, sink)
    _report(mail, rows, changed & ~unreliable, Fault.HANDED_CHANGED, sink)
    other = lead & known & (mail.service[rows.at] != rows.service)
    _report(mail, rows, other, Fault.HANDED_AS_OTHER, sink)
    elsewhere = known & (rows.b != 0) & ~contains(mail.asked, mail.hand_group_pairs)
    _report(mail, rows, elsewhere, Fault.HANDED_FOR_OTHER_GROUP, sink)


def _stamped_once(mail: Mail, sink: Sink) -> None:
    """D1: what is stamped was submitted, unless by the daemon itself, and has one place; what
    is submitted has a number of its own."""
    submits = mail.submits
    second = np.ones(len(submits.at), np.bool_)
    second[submits.firsts] = False
    _report(mail, submits, second, Fault.SUBMITTED_TWICE, sink)
    sends = mail.sends
    unasked = ~sends.has(OWN) & _later(mail.submit_t, mail.submit_tie, sends)
    _report(mail, sends, unasked, Fault.STAMPED_UNSUBMITTED, sink)
    moved = mail.send_config_hash[sends.at] != sends.a
    moved |= mail.sequence[sends.at] != sends.b
    _report(mail, sends, moved, Fault.STAMPED_TWICE, sink)


def _unreliable_at_once(mail: Mail, sink: Sink) -> None:
    """S1: an unreliable bundle is delivered in the step in which it became whole, unless the
    daemon ends in that moment."""
    whole, rows = mail.completes, mail.delivers
    if not len(whole.at):
        return
    chosen = np.flatnonzero(rows.service == int(Service.UNRELIABLE))
    order = chosen[np.lexsort((rows.tie[chosen], rows.t[chosen], rows.pairs[chosen]))]
    place = np.searchsorted(rows.pairs[order], whole.pairs)
    inside = np.minimum(place, max(len(order) - 1, 0))
    late = np.ones(len(whole.at), np.bool_)
    if len(order):
        known = rows.pairs[order][inside] == whole.pairs
        late = ~known | (rows.t[order][inside] > whole.t)
    look = mail.look
    ends = ~look.up[whole.process] & (look.stopped[whole.process] == whole.t)
    _report(mail, whole, late & ~ends, Fault.UNRELIABLE_LATE, sink)


def _own_deliveries(mail: Mail, sink: Sink) -> None:
    """D3: a daemon delivers what it stamped before it goes on."""
    look, sends = mail.look, mail.sends
    missing = mail.reliable[sends.at] & ~contains(mail.delivered, sends.pairs)
    if not missing.any():
        return
    stay = look.find_daemon_stay(sends.process, sends.t, sends.tie)
    owed = missing & (stay >= 0) & look.stay_owes[stay]
    _report(mail, sends, owed, Fault.OWN_NOT_DELIVERED, sink)


def _own_hands(mail: Mail, sink: Sink) -> None:
    """D3: a session that was in the group when its message was stamped gets it, unless it asked
    for self-discard, closed or left."""
    look, rows = mail.look, mail.send_groups
    origin = mail.origin[rows.at]
    missing = mail.reliable[rows.at] & ~rows.has(OWN) & ~mail.is_excused(rows.at, origin)
    missing &= ~contains(mail.handed, rows.at << PAIR | origin)
    chosen = np.flatnonzero(missing)
    if not len(chosen):
        return
    group = look.find_group(rows.b[chosen])
    stays = look.find_view_stay(origin[chosen], group, rows.t[chosen], rows.tie[chosen])
    pairs = rows.at << PAIR | mail.send_group_numbers
    _, views, named = mail.sent_view(pairs[chosen])
    strangers = mail.is_stranger(pairs[chosen])
    for at, stay, view, is_named, is_stranger in zip(
        chosen.tolist(), stays.tolist(), views.tolist(), named.tolist(), strangers, strict=True
    ):
        if stay < 0 or not is_named:
            continue
        who = int(origin[at])
        there = look.first_view_stay.get((who, view))
        moved = there is not None and look.view_stay_goes_on[there]
        remains = look.last_view_stay.get((who, int(look.session_stay_group[stay])))
        lasts = remains is not None and look.membership[remains] == look.membership[stay]
        if moved or (lasts and look.view_stay_owes[remains]):
            place = int(look.session_stay_view[stay])
            key, t = mail.key[rows.at[at]], rows.t[at]
            sink.find(Fault.OWN_NOT_HANDED, process=who, key=key, t=t, place=place)
            if is_stranger:
                sink.find(Fault.STRANGER, process=who, key=key, t=t, place=place)
