"""What one has, others must have (S6, P2, and where S5 could have holes), for many messages.

By counting: if all members of its configuration, or of its view, have a message, then nobody who
counts lacks it. Only for the others is it asked who owes it. What somebody lacks and did not owe
may still be a hole in the order; whether it is one is seen when the order is known.
"""

import numpy as np

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import TAG_BITS, Sink, Tag, before
from antiphon.pipeline.verify.faults import Fault
from antiphon.pipeline.verify.lookup import contains
from antiphon.pipeline.verify.mail import PAIR, TRANSITIONAL, Mail
from antiphon.pipeline.verify.names import Flags, distinct

SAFE, AGREED = int(Service.SAFE), int(Service.AGREED)

COMRADE = 1 << TAG_BITS
"""Of a hole: the sender came along."""

IN_VIEW = 2 << TAG_BITS
"""Of a hole: the stay is one in a view."""


def judge_holding(mail: Mail, sink: Sink) -> None:
    for message in np.flatnonzero(_not_everywhere(mail)).tolist():
        _Daemons(mail, message, sink).judge()
    for message in _not_in_whole_views(mail):
        _Sessions(mail, message, sink).judge()
    _never_sent(mail, sink)


def _not_everywhere(mail: Mail) -> Flags:
    """Messages that some daemon of the configuration, for which they are, does not have; and
    such as were delivered elsewhere."""
    look, rows = mail.look, mail.delivers
    at, who = mail.delivered >> PAIR, mail.delivered & ((1 << PAIR) - 1)
    counts = look.in_config(mail.send_config[at], who) & look.is_wanted(mail.wanted[at], who)
    have = np.bincount(at[counts], minlength=mail.size)
    lacking = have < look.wanted_in_config(mail.wanted, mail.send_config)
    odd = (mail.deliver_stay >= 0) & (
        look.stay_config[mail.deliver_stay] != mail.send_config[rows.at]
    )
    lacking[rows.at[odd]] = True
    return lacking & mail.is_sent & mail.reliable


class _Daemons:
    """A message that not all daemons have."""

    def __init__(self, mail: Mail, message: int, sink: Sink) -> None:
        self.mail, self.look, self.message, self.sink = mail, mail.look, message, sink
        rows = mail.delivers
        low, high = np.searchsorted(rows.at, (message, message + 1))
        self.rows = range(int(low), int(high))
        self.has = {int(rows.process[at]) for at in self.rows}
        self.wanted = int(mail.wanted[message])
        self.key, self.t = mail.key[message], mail.send_t[message]

    def judge(self) -> None:
        if self.mail.service[self.message] == SAFE:
            self._safe()
        self._progress()
        if self.mail.service[self.message] >= AGREED:
            self._holes()

    def _lacks(self, who: int) -> bool:
        return who not in self.has and self.look.wants(self.wanted, who)

    def _safe(self) -> None:
        """S6: what one delivers in the regular part, every member delivers; in the transitional
        part, every member of its transitional set. Excused is who stopped, unless it had gone on
        to another configuration before."""
        look, rows = self.look, self.mail.delivers
        owed: dict[tuple[int, int], int] = {}
        for at in self.rows:
            stay = int(self.mail.deliver_stay[at])
            if rows.service[at] != SAFE or stay < 0:
                continue
            config = int(look.stay_config[stay])
            is_late = bool(rows.flags[at] & TRANSITIONAL)
            members = look.comrades[stay] if is_late else look.config_members[config]
            for member in members:
                owed.setdefault((member, config), int(rows.process[at]))
        for (who, config), witness in owed.items():
            if self._lacks(who) and self._owes(who, config):
                self.sink.find(
                    Fault.DAEMON_LACKS_SAFE,
                    process=who,
                    key=self.key,
                    t=self.t,
                    other=witness,
                    place=config,
                )

    def _owes(self, who: int, config: int) -> bool:
        look = self.look
        here = look.first_stay.get((who, config))
        if here is not None:
            return bool(look.stay_owes[here])
        return look.ended[int(look.history[who])] and bool(look.up[who])

    def _progress(self) -> None:
        """P2: what was stamped in a stable configuration reached all its members."""
        config = int(self.mail.send_config[self.message])
        for who in self.look.stable.get(config, ()):
            if self.look.ended[int(self.look.history[who])] and self._lacks(who):
                self.sink.find(
                    Fault.NEVER_DELIVERED, process=who, key=self.key, t=self.t, place=config
                )

    def _holes(self) -> None:
        look, mail = self.look, self.mail
        configs = {int(look.stay_config[mail.deliver_stay[at]]) for at in self.rows}
        sender = int(look.home[mail.origin[self.message]])
        for config in configs:
            for stay in look.stays_of_config[config]:
                if self._lacks(int(look.daemon_stay_process[stay])):
                    comrade = COMRADE if sender in look.comrades[stay] else 0
                    self.sink.add(
                        Tag.HOLE | comrade,
                        key=self.key,
                        k1=mail.k1[self.message],
                        k2=mail.k2[self.message],
                        stay=stay,
                        config=config,
                    )


def _not_in_whole_views(mail: Mail) -> list[int]:
    """Messages that some member of a view, to which they were sent, does not have; and such as
    were handed in another."""
    look, rows = mail.look, mail.hands
    chosen = np.flatnonzero(mail.reliable[mail.view_at] & (mail.view_number >= 0))
    sent, view, _ = mail.sent_view(mail.hand_group_pairs)
    inside = mail.is_home & look.are_members(view, rows.process)
    once = distinct(
        np.searchsorted(mail.view_pairs, mail.hand_group_pairs[inside]) << PAIR
        | rows.process[inside]
    )
    have = np.bincount(once >> PAIR, minlength=len(mail.view_pairs))[chosen]
    at, number = mail.view_at[chosen], mail.view_number[chosen]
    origin = mail.origin[at]
    spared = mail.discards[at] & look.are_members(number, origin)
    spared &= ~contains(mail.handed, at << PAIR | origin)
    lacking = have + spared < look.view_size[number]
    odd = mail.is_home & mail.reliable[rows.at] & (sent != rows.a)
    found: list[int] = distinct(np.concatenate((at[lacking], rows.at[odd]))).tolist()
    return found


class _Sessions:
    """A message that not all sessions of its views have."""

    def __init__(self, mail: Mail, message: int, sink: Sink) -> None:
        self.mail, self.look, self.message, self.sink = mail, mail.look, message, sink
        rows = mail.hands
        low, high = np.searchsorted(rows.at, (message, message + 1))
        self.rows = range(int(low), int(high))
        self.has = {int(rows.process[at]) for at in self.rows}
        low, high = np.searchsorted(mail.view_at, (message, message + 1))
        self.views = [view for view in mail.view_number[low:high].tolist() if view >= 0]
        self.key, self.t = mail.key[message], mail.send_t[message]
        self.service = int(mail.service[message])

    def judge(self) -> None:
        if self.service == SAFE:
            self._safe()
        self._progress()
        if self.service >= AGREED:
            self._holes()

    def _lacks(self, who: int) -> bool:
        excused = self.mail.is_excused(np.array([self.message]), np.array([who]))
        return who not in self.has and not excused[0]

    def _report(self, fault: Fault, who: int, view: int, other: int = 0) -> None:
        found = {"process": who, "key": self.key, "t": self.t, "place": view}
        self.sink.find(fault, other=other, **found)
        group = self.look.group_of_view(view)
        if self.mail.is_strange_to(self.message, group):
            self.sink.find(Fault.STRANGER, **found)

    def _safe(self) -> None:
        """S6: what a session is handed before it was told that the view became transitional,
        every member of the view is handed; afterwards, every member at a daemon that comes along
        with its own."""
        look, rows, mail = self.look, self.mail.hands, self.mail
        owed: dict[tuple[int, int], int] = {}
        for at in self.rows:
            if rows.service[at] != SAFE or not mail.is_home[at]:
                continue
            stay = int(mail.hand_stay[at])
            view = int(look.session_stay_view[stay])
            turn = look.signalled[stay : stay + 1]
            here = slice(at, at + 1)
            early = before(rows.t[here], rows.tie[here], turn[:, 0], turn[:, 1])[0]
            for member in look.view_members[view]:
                if early or int(look.home[member]) in look.along[stay]:
                    owed.setdefault((member, view), int(rows.process[at]))
        for (who, view), witness in owed.items():
            if self._lacks(who) and self._owes(who, view):
                self._report(Fault.SESSION_LACKS_SAFE, who, view, witness)

    def _owes(self, who: int, view: int) -> bool:
        look = self.look
        stay = look.first_view_stay.get((who, view))
        if stay is not None:
            return bool(look.view_stay_owes[stay])
        asked = look.views[view][1] in look.left[who]
        return look.ended[int(look.history[who])] and bool(look.up[who]) and not asked

    def _progress(self) -> None:
        """P2: what was stamped in a stable configuration for a view is handed to every session
        that is still in that view and does not want to leave it."""
        look = self.look
        if int(self.mail.send_config[self.message]) not in look.stable:
            return
        for view in self.views:
            for stay in look.stays_of_view[view]:
                who = int(look.session_stay_process[stay])
                owes = look.is_last[stay] and look.view_stay_owes[stay]
                if owes and look.ended[int(look.history[who])] and self._lacks(who):
                    self._report(Fault.NEVER_HANDED, who, view)

    def _holes(self) -> None:
        look, mail = self.look, self.mail
        config = int(mail.send_config[self.message])
        sender = int(look.home[mail.origin[self.message]])
        for view in self.views:
            for stay in look.stays_of_view[view]:
                who = int(look.session_stay_process[stay])
                there = look.first_stay.get((int(look.home[who]), config))
                if there is not None and self._lacks(who):
                    comrade = COMRADE if sender in look.comrades[there] else 0
                    self.sink.add(
                        Tag.HOLE | IN_VIEW | comrade,
                        key=self.key,
                        k1=mail.k1[self.message],
                        k2=mail.k2[self.message],
                        stay=stay,
                        config=config,
                    )


def _never_sent(mail: Mail, sink: Sink) -> None:
    """P2: every reliable or stronger message of a session that lives was stamped."""
    look = mail.look
    waiting = np.flatnonzero(mail.is_submitted & ~mail.is_sent & mail.reliable)
    for message in waiting.tolist():
        who = int(mail.origin[message])
        stable = int(look.rests_in[who]) in look.stable
        if stable and look.up[who] and look.ended[int(look.history[who])]:
            sink.find(
                Fault.NEVER_SENT, process=who, key=mail.key[message], t=mail.submit_t[message]
            )
