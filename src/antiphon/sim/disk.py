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


class Disk:
    """Contents survive the host; writes in flight do not count on it."""

    def __init__(self, settings: DiskSettings, rng: Random) -> None:
        self.contents: dict[str, bytes] = {}
        self._settings = settings
        self._rng = rng
        self._in_flight: dict[int, tuple[str, bytes]] = {}
        self._ticket = 0
        self._free_at = 0

    def begin(self, now: int, key: str, data: bytes) -> tuple[int, int]:
        """Start a write: its ticket and the time when it is on the disk. One after another."""
        settings = self._settings
        self._ticket += 1
        self._in_flight[self._ticket] = (key, data)
        took = settings.delay_us
        if settings.late and self._rng.random() < settings.late:
            took += self._rng.randrange(settings.lateness_us)
        self._free_at = max(now, self._free_at) + took
        return self._ticket, self._free_at

    def finish(self, ticket: int) -> str:
        """The write is on the disk; its key."""
        key, data = self._in_flight.pop(ticket)
        self.contents[key] = data
        return key

    def crash(self) -> None:
        """Decide what became of the writes in flight, in their order."""
        for key, data in self._in_flight.values():
            fate = self._rng.random()
            if fate < self._settings.lost:
                continue
            if fate < self._settings.lost + self._settings.torn:
                data = torn(self.contents.get(key, b""), data, self._rng)
            self.contents[key] = data
        self._in_flight.clear()
        self._free_at = 0


def torn(old: bytes, new: bytes, rng: Random) -> bytes:
    """The first part is new already, behind it stands what was there before."""
    written = rng.randrange(len(new)) if new else 0
    return new[:written] + old[written:]
