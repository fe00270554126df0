"""The sending half of a link: what waits, what is on its way, what must be sent again."""

from bisect import bisect_right

from antiphon.core.machine import Instant
from antiphon.protocol.links.backlog import Backlog
from antiphon.protocol.links.estimate import Path, difference
from antiphon.protocol.links.settings import HopSettings
from antiphon.wire.link import OBJECT_OVERHEAD, REPEATS_MAX, SEQUENCE_MAX, LinkAck, LinkObject


class Open:
    """An object that the other end is not known to have (SP-134)."""

    __slots__ = ("data", "first_at", "sent_at", "repeats", "nacks")

    def __init__(self, data: bytes, now: Instant) -> None:
        self.data = data
        self.first_at = now
        self.sent_at = now
        self.repeats = 0
        self.nacks = 0


class Sending:
    """Invariant: acked <= sequence; `open` holds exactly what was sent and not acknowledged,
    all of it above `acked`; `repairs` is part of `open`."""

    def __init__(self, settings: HopSettings, path: Path) -> None:
        self._settings = settings
        self._path = path
        self.backlog = Backlog()
        self.sequence = 0
        self.acked = 0
        self.open: dict[int, Open] = {}
        self.open_bytes = 0
        self._told = 0
        """The highest sequence that an ack has spoken of."""

        self._holes: dict[int, None] = {}
        """What of that is still open: looked at with every ack."""

        self._repairs: dict[int, None] = {}
        self.repeated = 0

    def has_work(self, window_bytes: int) -> bool:
        return bool(self._repairs) or (bool(self.backlog) and self._window_is_open(window_bytes))

    @property
    def idle(self) -> bool:
        return not self.backlog and not self._repairs

    def _window_is_open(self, window_bytes: int) -> bool:
        within = self.sequence - self.acked < self._settings.window_objects
        return within and self.open_bytes < window_bytes

    def take(self, now: Instant, room: int, window_bytes: int) -> list[LinkObject]:
        """Objects for one packet. Repairs go first, whatever the window says (SP-160), and a
        resend keeps its link sequence (SP-242)."""
        taken = []
        while self._repairs:
            sequence = next(iter(self._repairs))
            entry = self.open[sequence]
            room -= OBJECT_OVERHEAD + len(entry.data)
            if room < 0:
                break
            del self._repairs[sequence]
            entry.sent_at = now
            entry.repeats = min(entry.repeats + 1, REPEATS_MAX)
            taken.append(LinkObject(sequence, entry.repeats, entry.data))
        self.repeated += len(taken)
        taken.sort(key=sequence_of)
        while self.backlog and self._window_is_open(window_bytes):
            room -= OBJECT_OVERHEAD + len(self.backlog.first)
            if room < 0:
                break
            taken.append(self._send_next(now))
        self._path.loss.note_sent(len(taken))
        return taken

    def _send_next(self, now: Instant) -> LinkObject:
        data = self.backlog.pop()
        self.sequence += 1
        self.open[self.sequence] = Open(data, now)
        self.open_bytes += len(data)
        return LinkObject(self.sequence, 0, data)

    def is_possible(self, ack: LinkAck, nack: tuple[tuple[int, int], ...]) -> bool:
        """Nobody has, or lacks, what was never sent."""
        top = ack.received + sum(missing + came for missing, came in ack.runs)
        last = nack[-1][0] + nack[-1][1] - 1 if nack else 0
        return max(top, last) <= self.sequence

    def acknowledge(self, ack: LinkAck) -> None:
        """Free what came (SP-163, X-05: up to and including). An old ack is still true, and
        frees nothing (SP-241)."""
        received = [(self.acked + 1, ack.received)]
        at = ack.received
        for missing, came in ack.runs:
            received.append((at + missing + 1, at + missing + came))
            at += missing + came
        for sequence in [hole for hole in self._holes if is_within(hole, received)]:
            self._free(sequence)
        for first, last in received:
            for sequence in range(max(first, self._told + 1), last + 1):
                self._free(sequence)
        for sequence in range(self._told + 1, at + 1):
            if sequence in self.open:
                self._holes[sequence] = None
        self._told = max(self._told, at)
        self.acked = max(self.acked, ack.received)

    def _free(self, sequence: int) -> None:
        entry = self.open.pop(sequence, None)
        if entry is not None:
            self.open_bytes -= len(entry.data)
            self._holes.pop(sequence, None)
            self._repairs.pop(sequence, None)

    def request(self, now: Instant, echo: int, nack: tuple[tuple[int, int], ...]) -> bool:
        """Queue what is asked for (SP-158); True if it was asked for too often (SP-153).

        `echo` is when the newest packet was sent that the asking end had heard. What was sent
        after that, not long ago, it could not know: it asks because the two crossed.
        """
        too_often = False
        long_ago = now - self._path.round_trip.timeout_us()
        for first, many in nack:
            for sequence in range(max(first, self.acked + 1), first + many):
                entry = self.open.get(sequence)
                if entry is None or sequence in self._repairs:
                    continue
                if entry.sent_at > long_ago and difference(entry.sent_at, echo) > 0:
                    continue
                entry.nacks += 1
                self._path.loss.lost += 1
                self._repairs[sequence] = None
                often = entry.nacks > self._settings.requests_max
                too_often |= often and now - entry.first_at >= self._settings.dead_us
        return too_often


def sequence_of(each: LinkObject) -> int:
    return each.sequence


def is_within(sequence: int, runs: list[tuple[int, int]]) -> bool:
    """Runs are sorted."""
    at = bisect_right(runs, (sequence, SEQUENCE_MAX)) - 1
    return at >= 0 and sequence <= runs[at][1]
