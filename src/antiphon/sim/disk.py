"""The simulated disk of one host: writes are late, and a crash loses or tears them."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class DiskSettings:
    delay_us: int = 500
    """How long a synced write takes."""

    late: float = 0.0
    """Chance that it takes much longer."""

    lateness_us: int = 50_000
    lost: float = 0.5
    """Chance that a write in flight leaves nothing when the host crashes."""

    torn: float = 0.25
    """Chance that it leaves a part; else it is whole though nobody was told."""

    full: float = 0.0
    """Chance that an append fails and leaves a part, and its writer is told."""


class Disk:
    """Contents survive the host; writes in flight do not count on it."""

    def __init__(self, settings: DiskSettings, rng: Random) -> None:
        self.contents: dict[str, bytes] = {}
        self._settings = settings
        self._rng = rng
        self._in_flight: dict[int, tuple[str, bytes, bool]] = {}
        self._ticket = 0
        self._free_at = 0

    def begin(self, now: int, key: str, data: bytes, append: bool = False) -> tuple[int, int]:
        """Start a write, of the whole or to its end: its ticket and the time when it is on the
        disk. One after another."""
        settings = self._settings
        self._ticket += 1
        self._in_flight[self._ticket] = (key, data, append)
        took = settings.delay_us
        if settings.late and self._rng.random() < settings.late:
            took += self._rng.randrange(settings.lateness_us)
        self._free_at = max(now, self._free_at) + took
        return self._ticket, self._free_at

    def finish(self, ticket: int) -> str:
        """The write is on the disk; its key."""
        key, data, append = self._in_flight.pop(ticket)
        self.contents[key] = self.contents.get(key, b"") + data if append else data
        return key

    def fails(self) -> bool:
        """Whether the write that was begun last comes to nothing, as on a full disk."""
        return bool(self._settings.full) and self._rng.random() < self._settings.full

    def fail(self, ticket: int) -> str:
        """A part of it may be there."""
        key, data, append = self._in_flight.pop(ticket)
        if append:
            part = data[: self._rng.randrange(len(data) + 1)]
            self.contents[key] = self.contents.get(key, b"") + part
        return key

    def discard(self, key: str) -> None:
        self.contents.pop(key, None)

    def crash(self) -> None:
        """Decide what became of the writes in flight, in their order."""
        for key, data, append in self._in_flight.values():
            fate = self._rng.random()
            old = self.contents.get(key, b"")
            if fate < self._settings.lost:
                continue
            if fate < self._settings.lost + self._settings.torn:
                data = torn(b"" if append else old, data, self._rng)
            self.contents[key] = old + data if append else data
        self._in_flight.clear()
        self._free_at = 0


def torn(old: bytes, new: bytes, rng: Random) -> bytes:
    """The first part is new already, behind it stands what was there before."""
    written = rng.randrange(len(new)) if new else 0
    return new[:written] + old[written:]
