"""Messages, as many at a time as no record tells apart.

A record names a run of messages (first, count). Runs of different kinds of records may be
cut differently: a bundle is delivered as a whole, but handed to a session only in part. So
every run is cut at each place where any record cuts it. What remains between two cuts is a
*piece*: what is true of one of its messages is true of all, and a judge handles them as one.
A piece has a number; sets of pieces are integers with one bit for each.
"""

from antiphon.core.ids import ConfigId, GroupName, Member, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Record

NEVER = 1 << 62
"""A position behind every record."""

RunKey = tuple[SessionId, bool, int, int]


class Piece:
    """Consecutive messages of one session that share everything that the trace says."""

    __slots__ = (
        "index",
        "bit",
        "origin",
        "sender",
        "unreliable",
        "first",
        "count",
        "service",
        "submitted",
        "submit",
        "sent",
        "send",
        "views",
    )

    def __init__(self, index: int, key: RunKey) -> None:
        self.index = index
        self.bit = 1 << index
        self.origin, self.unreliable, self.first, self.count = key
        self.sender = Member(self.origin.daemon, self.origin.incarnation)
        self.service = -1
        self.submitted = NEVER
        self.submit: Record | None = None
        self.sent = NEVER
        self.send: Record | None = None
        self.views: dict[GroupName, ViewId | None] = {}
        """As recorded when it was stamped, for the groups that the session had named."""

    @property
    def discarded(self) -> bool:
        """Its own session does not want it back."""
        return self.submit is not None and self.submit.detail == "discard"

    @property
    def config(self) -> ConfigId | None:
        return None if self.send is None else self.send.config

    def note_submit(self, position: int, record: Record) -> None:
        if self.submit is None:
            self.submitted, self.submit, self.service = position, record, record.service

    def note_send(self, position: int, record: Record) -> None:
        """A bundle may tell its stamping in several rows, one for each destination."""
        if self.send is None:
            self.sent, self.send = position, record
            if self.submit is None:
                self.service = record.service
        elif self.send.config != record.config or self.send.sequence != record.sequence:
            return
        asked = record.groups if self.submit is None else self.submit.groups
        for group, view in zip(record.groups, record.views, strict=False):
            if group in asked:
                self.views[group] = view

    def __str__(self) -> str:
        service = Service(self.service).name.lower() if self.service >= 0 else "unknown"
        last = f"..{self.first + self.count - 1}" if self.count > 1 else ""
        daemon, incarnation, session = self.origin
        return f"{service} message {daemon}/{incarnation}/{session}:{self.first}{last}"


class Run:
    """The messages that a record names."""

    __slots__ = ("key", "pieces", "mask")

    def __init__(self, key: RunKey) -> None:
        self.key = key
        self.pieces: list[Piece] = []
        self.mask = 0


Event = tuple[int, Record, Run]
"""Position in the trace, the record there, and the messages it names."""


class Cutter:
    """Collects all runs of a trace, then cuts them."""

    def __init__(self) -> None:
        self._runs: dict[RunKey, Run] = {}

    def run(self, record: Record) -> Run:
        key = (record.origin, record.service == 0, record.first, record.count)
        run = self._runs.get(key)
        if run is None:
            assert record.count > 0, f"a {record.kind} record that names no message"
            run = self._runs[key] = Run(key)
        return run

    def cut(self) -> list[Piece]:
        """Fill all runs given out so far."""
        streams: dict[tuple[SessionId, bool], list[Run]] = {}
        for key, run in self._runs.items():
            streams.setdefault(key[:2], []).append(run)
        pieces: list[Piece] = []
        for runs in streams.values():
            _cut_stream(runs, pieces)
        return pieces


def _cut_stream(runs: list[Run], pieces: list[Piece]) -> None:
    origin, unreliable = runs[0].key[:2]
    cuts = sorted({edge for run in runs for edge in (run.key[2], run.key[2] + run.key[3])})
    place = {cut: number for number, cut in enumerate(cuts)}
    found: dict[int, Piece] = {}
    for run in runs:
        _, _, first, count = run.key
        for number in range(place[first], place[first + count]):
            piece = found.get(number)
            if piece is None:
                size = cuts[number + 1] - cuts[number]
                piece = Piece(len(pieces), (origin, unreliable, cuts[number], size))
                found[number] = piece
                pieces.append(piece)
            run.pieces.append(piece)
            run.mask |= piece.bit


def indexes(mask: int) -> list[int]:
    """The numbers of the bits that are set, lowest first."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found
