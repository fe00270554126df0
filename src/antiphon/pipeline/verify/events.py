"""Rows about messages as numbers: what the passes over messages read.

One row for each message and event, however many messages a record names at once. Its columns:

| column | holds |
| --- | --- |
| `key` | the message: its origin's number, its own number, and whether it is unreliable |
| `what` | the process, and flags: what happened, service, and what else fits in bits |
| `t`, `tie` | the place |
| `a`, `b`, `c` | what the event needs, by its kind; see below |

A bundle's stamping and submitting become several rows, for a row has no lists: one for the event
itself, and one for each group. A hand is one row for each group of the session; the first leads.
"""

from enum import IntEnum

import numpy as np

from antiphon.core.ids import PRIVATE_MARK
from antiphon.core.trace import DAEMON, Kind
from antiphon.pipeline.verify.files import Columns, lists, view_numbers
from antiphon.pipeline.verify.first_look import CONFIG_FIELDS, ORIGIN_FIELDS, member_sets
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.pipeline.verify.names import Flags, Longs, group_numbers, mixed, within

NUMBER_BITS = 41
"""Of a message's number with the bit for unreliable ones; its origin stands above."""

FLAG_BITS = 16
SERVICE_SHIFT = 4
TRANSITIONAL = 1 << 8
DISCARD = 1 << 9
LEAD = 1 << 10
PRIVATE = 1 << 11
OWN = 1 << 12
"""Sent by a daemon itself."""


class Event(IntEnum):
    SUBMIT = 0  # c = content
    SUBMIT_GROUP = 1  # b = group
    SEND = 2  # a = configuration, b = sequence, c = stamp
    SEND_GROUP = 3  # a = view, b = group, c = configuration and sequence
    SEND_WANTED = 4  # a = the set of daemons that it is for
    COMPLETE = 5
    DELIVER = 6  # a = configuration
    HAND = 7  # a = view, b = group, c = content
    REPEAT = 8  # a daemon does not hand it, for it has handed the same before


COLUMNS = ("key", "what", "t", "tie", "a", "b", "c")

Block = Longs
"""Events: a line for each of `COLUMNS`."""

KINDS = {
    Kind.SUBMIT: Event.SUBMIT,
    Kind.SEND: Event.SEND,
    Kind.COMPLETE: Event.COMPLETE,
    Kind.DELIVER: Event.DELIVER,
    Kind.HAND: Event.HAND,
    Kind.REPEAT: Event.REPEAT,
}
OTHER = 15
DISCARDED = "discard"
CUT = 0xFFFFFFFF


def about_messages(columns: Columns) -> tuple[Longs, Longs]:
    """Rows that count, and what each tells."""
    codes, names = columns.codes("kind")
    known = np.array([int(KINDS.get(Kind(str(name)), OTHER)) for name in names], np.int64)
    kind = known[codes]
    chosen = (kind != OTHER) & columns.is_ours & (columns.longs("count") > 0)
    at = np.flatnonzero(chosen)
    return at, kind[at]


class Telling:
    """What some rows say about messages, column by column; a row of theirs may become several
    events."""

    def __init__(self, columns: Columns, history: int, at: Longs, kind: Longs) -> None:
        self._columns, self._history, self._at = columns, history, at
        self.kind = kind
        self.service = columns.longs("service")[at]
        self.count = columns.longs("count")[at]

    def numbers(self, name: str) -> Longs:
        return self._columns.longs(name)[self._at]

    def session(self) -> Longs:
        """Submits and hands are of sessions, all else is of daemons."""
        at_session = (self.kind == Event.SUBMIT) | (self.kind == Event.HAND)
        return np.where(at_session, self.numbers("session"), DAEMON)

    def process(self) -> Longs:
        """Hashes."""
        who = mixed(self.numbers("node"), self.numbers("incarnation"), self.session())
        return mixed(self._history, who)

    def origin(self) -> tuple[Longs, Flags]:
        """Hashes, and whether it is a daemon itself."""
        parts = [self._columns.field("origin", name)[self._at] for name in ORIGIN_FIELDS]
        return mixed(self._history, mixed(*parts)), parts[2] == 0

    def config(self) -> Longs:
        fields = [self._columns.field("config", name)[self._at] for name in CONFIG_FIELDS]
        return mixed(self._history, mixed(*fields))

    def content(self) -> Longs:
        """The checksum above, and below how the run was cut."""
        cut = mixed(self.numbers("first"), self.count) & CUT
        return (self.numbers("value") << 32) + cut

    def discards(self) -> Flags:
        return self._columns.has("detail", [DISCARDED])[self._at]

    def is_late(self) -> Flags:
        (column,) = self._columns.arrow("transitional")
        found: Flags = column.to_numpy(zero_copy_only=False).astype(np.bool_)[self._at]
        return found

    def wanted(self) -> Longs:
        sets = member_sets(self._columns, self._at)
        return np.where(sets == 0, 0, mixed(self._history, sets))

    def groups(self) -> "Groups":
        return Groups(self._columns, self._history, self._at)


class Groups:
    """The groups of rows, and their views."""

    def __init__(self, columns: Columns, history: int, at: Longs) -> None:
        starts, counts, codes, names = columns.groups()
        self.counts = counts[at]
        self._starts = starts[at]
        self._codes = codes
        self._names = group_numbers(history, names)
        self._private = np.array([bool(n and n.startswith(PRIVATE_MARK)) for n in names], np.bool_)
        view_starts, view_counts, items = lists(columns.arrow("views")[0])
        self._view_starts, self._view_counts = view_starts[at], view_counts[at]
        self._views = view_numbers(items)
        self._history = history

    def of(self, row: Longs, place: Longs) -> tuple[Longs, Longs, Flags]:
        """For rows and places in their lists: group, view, whether it is a session's own;
        nothing where the place is not in the list."""
        group = np.zeros(len(row), np.int64)
        private = np.zeros(len(row), np.bool_)
        view = np.zeros(len(row), np.int64)
        inside = np.flatnonzero((place >= 0) & (place < self.counts[row]))
        code = self._codes[self._starts[row[inside]] + place[inside]]
        group[inside], private[inside] = self._names[code], self._private[code]
        seen = inside[place[inside] < self._view_counts[row[inside]]]
        bare = self._views[self._view_starts[row[seen]] + place[seen]]
        named = mixed(self._history, group[seen], bare)
        view[seen] = np.where(bare == 0, 0, named)
        return group, view, private


def events(columns: Columns, history: int, t: Longs, tie: Longs, look: Lookup, but: Flags) -> Block:
    """All that the rows say about messages, without those that `but` names."""
    at, kind = about_messages(columns)
    kept = ~but[at]
    at, kind = at[kept], kind[kept]
    rows = Telling(columns, history, at, kind)
    process = look.find_process(rows.process())
    source, is_own = rows.origin()
    origin = look.find_process(source)
    flags = (rows.service << SERVICE_SHIFT) | np.where(is_own, OWN, 0)
    is_sent = kind <= Event.SEND
    parts = [_sent(rows, is_sent), _got(rows, ~is_sent)]
    row, more, a, b, c = (np.concatenate(each) for each in zip(*parts, strict=True))
    number = rows.numbers("first")[row]
    counts = rows.count[row]
    if (counts > 1).any():  # a row of its own for each message of a run
        each = np.repeat(np.arange(len(row)), counts)
        number = number[each] + within(counts)
        row, more, a, b, c = row[each], more[each], a[each], b[each], c[each]
    unreliable = (rows.service[row] == 0).astype(np.int64)
    key = (origin[row] << NUMBER_BITS) + number * 2 + unreliable
    what = (process[row] << FLAG_BITS) + flags[row] + more
    return np.stack([key, what, t[at[row]], tie[at[row]], a, b, c])


Told = tuple[Longs, Longs, Longs, Longs, Longs]
"""Rows, flags with the event, and a, b, c."""


def _got(rows: Telling, chosen: Flags) -> Told:
    """Deliveries and the like at daemons, and hands, one event for each group."""
    groups = rows.groups()
    is_hand = rows.kind == Event.HAND
    times = np.where(is_hand, np.maximum(groups.counts, 1), 1)[chosen]
    row = np.repeat(np.flatnonzero(chosen), times)
    place = within(times)
    hand = is_hand[row]
    group, view, private = groups.of(row, np.where(hand, place, -1))
    flags = rows.kind[row] + np.where(rows.is_late()[row], TRANSITIONAL, 0)
    flags += np.where(place == 0, LEAD, 0) + np.where(private, PRIVATE, 0)
    delivered = rows.kind[row] == Event.DELIVER
    a = np.where(hand, view, np.where(delivered, rows.config()[row], 0))
    c = np.where(hand, rows.content()[row], 0)
    return row, flags, a, group, c


WANTED, MAIN = -2, -1
"""Events of a submit or stamping that are not about a group."""


def _sent(rows: Telling, chosen: Flags) -> Told:
    """Submits and stampings: the event itself, each group, and for whom it is."""
    at = np.flatnonzero(chosen)
    groups = rows.groups()
    stamps = rows.kind == Event.SEND
    wanted = np.where(stamps, rows.wanted(), 0)
    first = np.where(wanted[at] != 0, WANTED, MAIN)
    times = groups.counts[at] - first
    row = np.repeat(at, times)
    place = within(times) + np.repeat(first, times)
    is_send, is_group, is_main = stamps[row], place >= 0, place == MAIN
    group, view, private = groups.of(row, place)
    event = np.where(is_send, int(Event.SEND_GROUP), int(Event.SUBMIT_GROUP))
    event[is_main] = np.where(is_send[is_main], int(Event.SEND), int(Event.SUBMIT))
    event[place == WANTED] = int(Event.SEND_WANTED)
    flags = event + np.where(private, PRIVATE, 0)
    flags += np.where(is_main & rows.discards()[row], DISCARD, 0)
    config, sequence = rows.config()[row], rows.numbers("sequence")[row]
    stamped = is_send & is_main
    a = np.where(stamped, config, np.where(place == WANTED, wanted[row], 0))
    a = np.where(is_send & is_group, view, a)
    b = np.where(stamped, sequence, group)
    c = np.where(stamped, rows.numbers("stamp")[row], 0)
    c = np.where(is_send & is_group, mixed(config, sequence), c)
    c = np.where(~is_send & is_main, rows.content()[row], c)
    return row, flags, a, b, c


def named_in(columns: Columns) -> tuple[Longs, Longs]:
    """All processes and origins that rows about messages name: three lines of numbers each."""
    at, kind = about_messages(columns)
    rows = Telling(columns, 0, at, kind)
    who = np.stack([rows.numbers("node"), rows.numbers("incarnation"), rows.session()])
    source = np.stack([columns.field("origin", name)[at] for name in ORIGIN_FIELDS])
    return np.unique(who, axis=1), np.unique(source, axis=1)
