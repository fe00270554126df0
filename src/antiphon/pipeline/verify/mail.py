"""All that a batch of rows says about its messages: what the judges of messages work on.

Rows come sorted by message. Here each message gets a number of this batch, and the first submit,
the first stamping and the rows of each kind are looked up, for all messages at once.
"""

from functools import cached_property

import numpy as np

from antiphon.core.service import Service
from antiphon.pipeline.verify.batches import Arrays, runs
from antiphon.pipeline.verify.events import (
    DISCARD,
    FLAG_BITS,
    LEAD,
    NUMBER_BITS,
    OWN,
    PRIVATE,
    SERVICE_SHIFT,
    TRANSITIONAL,
    Event,
)
from antiphon.pipeline.verify.histories import PROCESS_BITS
from antiphon.pipeline.verify.lookup import NONE, Lookup, contains
from antiphon.pipeline.verify.names import Flags, Longs, distinct

NEVER = 1 << 62
STAMP_BITS = 46
PAIR = PROCESS_BITS


class Rows:
    """Rows of one kind; `at` is the number of the message."""

    def __init__(self, rows: Arrays, message: Longs, chosen: Flags) -> None:
        self.at = message[chosen]
        what = rows["what"][chosen]
        self.process = what >> FLAG_BITS
        self.flags = what & ((1 << FLAG_BITS) - 1)
        self.service = (self.flags >> SERVICE_SHIFT) & 15
        self.t, self.tie = rows["t"][chosen], rows["tie"][chosen]
        self.a, self.b, self.c = rows["a"][chosen], rows["b"][chosen], rows["c"][chosen]

    def has(self, flag: int) -> Flags:
        found: Flags = (self.flags & flag) != 0
        return found

    @cached_property
    def pairs(self) -> Longs:
        """Message and process, as one number."""
        return self.at << PAIR | self.process

    @cached_property
    def by_place(self) -> Longs:
        """An order by message, then by place."""
        return np.lexsort((self.tie, self.t, self.at))

    @cached_property
    def firsts(self) -> Longs:
        """Of each message that has such a row, the first."""
        order = self.by_place
        return order[runs(self.at[order])[0]]


class Mail:
    """A batch of messages and everything that befell them."""

    def __init__(self, rows: Arrays, look: Lookup) -> None:
        self.look = look
        starts, counts = runs(rows["key"])
        self.key = rows["key"][starts]
        self.size = len(starts)
        message = np.repeat(np.arange(self.size), counts)
        kind = rows["what"] & 15
        self.submits = Rows(rows, message, kind == Event.SUBMIT)
        self.submit_groups = Rows(rows, message, kind == Event.SUBMIT_GROUP)
        self.sends = Rows(rows, message, kind == Event.SEND)
        self.send_groups = Rows(rows, message, kind == Event.SEND_GROUP)
        self.wanteds = Rows(rows, message, kind == Event.SEND_WANTED)
        self.completes = Rows(rows, message, kind == Event.COMPLETE)
        self.delivers = Rows(rows, message, kind == Event.DELIVER)
        self.hands = Rows(rows, message, kind == Event.HAND)
        self.repeats = Rows(rows, message, kind == Event.REPEAT)
        self.origin = self.key >> NUMBER_BITS
        self.is_unreliable = (self.key & 1) == 1
        self._note_submits()
        self._note_sends()
        self._number_groups()
        self._find_stays()

    def _note_submits(self) -> None:
        found = self.submits
        first = found.firsts
        self.submit_t = np.full(self.size, NEVER)
        self.submit_tie = np.zeros(self.size, np.int64)
        self.content = np.zeros(self.size, np.int64)
        self.service = np.full(self.size, NONE)
        self.discards = np.zeros(self.size, np.bool_)
        at = found.at[first]
        self.submit_t[at], self.submit_tie[at] = found.t[first], found.tie[first]
        self.content[at], self.service[at] = found.c[first], found.service[first]
        self.discards[at] = found.has(DISCARD)[first]
        self.is_submitted = self.submit_t < NEVER

    def _note_sends(self) -> None:
        found = self.sends
        first = found.firsts
        at = found.at[first]
        self.send_t = np.full(self.size, NEVER)
        self.send_tie = np.zeros(self.size, np.int64)
        self.send_config_hash = np.zeros(self.size, np.int64)
        self.send_config = np.full(self.size, NONE)
        self.sequence = np.zeros(self.size, np.int64)
        self.wanted = np.zeros(self.size, np.int64)
        stamp, sender = np.zeros(self.size, np.int64), np.zeros(self.size, np.int64)
        self.send_t[at], self.send_tie[at] = found.t[first], found.tie[first]
        self.send_config_hash[at] = found.a[first]
        self.send_config[at] = self.look.find_config(found.a[first])
        self.sequence[at], stamp[at] = found.b[first], found.c[first]
        sender[at] = found.process[first]
        self.is_sent = self.send_t < NEVER
        unsaid = self.service[at] == NONE
        self.service[at[unsaid]] = found.service[first][unsaid]
        wanted = self.wanteds
        is_first = (wanted.t == self.send_t[wanted.at]) & (wanted.tie == self.send_tie[wanted.at])
        self.wanted[wanted.at[is_first]] = self.look.find_wanted(wanted.a[is_first])
        # The order in which all deliver, if all is well: configuration, stamp, and what has one
        # stamp as the leader has it.
        self.k1 = (self.send_config << STAMP_BITS) + stamp
        self.k2 = self.key & ((1 << NUMBER_BITS) - 1)
        self._order_equals(sender)

    def _order_equals(self, sender: Longs) -> None:
        """Messages of several senders with one stamp, by where the leader delivers them."""
        order = np.argsort(self.k1, kind="stable")
        starts, counts = runs(self.k1[order])
        several = np.zeros(len(starts), np.bool_)
        if len(starts) < len(order):
            who = sender[order]
            lowest, highest = np.minimum.reduceat(who, starts), np.maximum.reduceat(who, starts)
            several = (lowest != highest) & (self.k1[order[starts]] >= 0)
        if not several.any():
            return
        chosen = order[np.repeat(several, counts)]
        rows = self.delivers
        leads = rows.process == self.look.config_leader[self.send_config[rows.at]]
        t, tie = np.full((2, self.size), NEVER)
        at = rows.at[leads][::-1]
        t[at], tie[at] = rows.t[leads][::-1], rows.tie[leads][::-1]
        chosen = chosen[np.lexsort((self.k2[chosen], tie[chosen], t[chosen], self.k1[chosen]))]
        starts, counts = runs(self.k1[chosen])
        self.k2[chosen] = np.arange(len(chosen)) - np.repeat(starts, counts)

    def _number_groups(self) -> None:
        """Groups by numbers of this batch, and of each message the view that each group had
        when it was stamped, as far as its session had named the group."""
        kinds = (self.submit_groups, self.send_groups, self.hands)
        _, numbers = np.unique(np.concatenate([one.b for one in kinds]), return_inverse=True)
        cuts = np.cumsum([len(one.b) for one in kinds])[:-1]
        submitted, sent, self.hand_group = np.split(numbers.reshape(-1), cuts)
        self.hand_group_pairs = self.hands.at << PAIR | self.hand_group
        self.asked = np.sort(self.submit_groups.at << PAIR | submitted)
        send = self.send_groups
        pairs = send.at << PAIR | sent
        self.send_group_numbers = sent
        first = (send.t == self.send_t[send.at]) & (send.tie == self.send_tie[send.at])
        later = np.zeros(len(pairs), np.bool_)
        if not first.all():
            places = np.zeros(self.size, np.int64)
            places[send.at[first]] = send.c[first]
            later = ~first & (places[send.at] == send.c)
        named = ~self.is_submitted[send.at] | contains(self.asked, pairs)
        kept = np.flatnonzero((first | later) & named)
        order = kept[np.argsort(pairs[kept], kind="stable")]
        last = np.append(pairs[order][1:] != pairs[order][:-1], True)[: len(order)]
        order = order[last]  # of several rows for a group the last one counts
        self.view_pairs = pairs[order]
        self.view_hash = send.a[order]
        self.view_rows = order
        self.view_at = send.at[order]
        self.view_number = self.look.find_view(self.view_hash)
        self.view_group = self.look.find_group(send.b[order])

    def sent_view(self, pairs: Longs) -> tuple[Longs, Longs, Flags]:
        """For messages and groups: hash and number of the view, and whether there was one."""
        if not len(self.view_pairs):
            nothing = np.zeros(len(pairs), np.int64)
            return nothing, nothing - 1, np.zeros(len(pairs), np.bool_)
        place = np.minimum(np.searchsorted(self.view_pairs, pairs), len(self.view_pairs) - 1)
        known = self.view_pairs[place] == pairs
        return (
            np.where(known, self.view_hash[place], 0),
            np.where(known, self.view_number[place], NONE),
            known,
        )

    @cached_property
    def is_open(self) -> Flags:
        """Messages that went to some view without their sender."""
        found = np.zeros(self.size, np.bool_)
        strange = ~self.look.are_members(self.view_number, self.origin[self.view_at])
        found[self.view_at[strange & (self.view_hash != 0)]] = True
        return found

    def is_stranger(self, pairs: Longs) -> Flags:
        """Whether the origin of a message is no member of the view of that group."""
        _, view, _ = self.sent_view(pairs)
        return ~self.look.are_members(view, self.origin[pairs >> PAIR])

    def is_strange_to(self, message: int, group: int) -> bool:
        """The same for one message and the number of a group."""
        low, high = np.searchsorted(self.view_at, (message, message + 1))
        for place in range(int(low), int(high)):
            if self.view_group[place] == group:
                here = slice(place, place + 1)
                member = self.look.are_members(self.view_number[here], self.origin[[message]])
                return not member[0]
        return True

    def _find_stays(self) -> None:
        look, deliver, hand = self.look, self.delivers, self.hands
        self.deliver_stay = look.find_daemon_stay(deliver.process, deliver.t, deliver.tie)
        group = look.find_group(hand.b)
        self.hand_stay = look.find_view_stay(hand.process, group, hand.t, hand.tie)
        self.hand_view = look.find_view(hand.a)
        real = np.where(self.hand_stay >= 0, look.session_stay_view_or_none(self.hand_stay), NONE)
        self.is_home = (self.hand_stay >= 0) & (real == self.hand_view)
        """Handed in the view in which the session is."""

    # What several judges ask.

    @cached_property
    def delivered(self) -> Longs:
        """Messages with daemons, each pair once, sorted."""
        return distinct(self.delivers.pairs)

    @cached_property
    def handed(self) -> Longs:
        return distinct(self.hands.pairs[self.hands.has(LEAD)])

    @cached_property
    def _repeated(self) -> Longs:
        return distinct(self.repeats.pairs)

    def is_excused(self, at: Longs, process: Longs) -> Flags:
        """A session that discards its own message, or whose daemon takes it for a repeat."""
        own: Flags = self.discards[at] & (self.origin[at] == process)
        return own | contains(self._repeated, at << PAIR | self.look.home[process])

    @cached_property
    def reliable(self) -> Flags:
        return self.service >= int(Service.RELIABLE)


__all__ = ["LEAD", "OWN", "PAIR", "PRIVATE", "TRANSITIONAL", "Mail", "Rows"]
