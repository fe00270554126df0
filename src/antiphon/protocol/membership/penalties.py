"""Members that are heard but cannot take part are left out for a while, longer each time."""

from antiphon.core.ids import DaemonId
from antiphon.core.machine import Instant
from antiphon.protocol.membership.settings import MembershipSettings


class Penalties:
    def __init__(self, settings: MembershipSettings) -> None:
        self._settings = settings
        self._until: dict[DaemonId, Instant] = {}
        self._level: dict[DaemonId, tuple[int, Instant]] = {}
        self._strikes: dict[DaemonId, int] = {}

    def punish(self, now: Instant, daemon: DaemonId) -> None:
        level, since = self._level.get(daemon, (0, now))
        level = max(0, level - (now - since) // self._settings.peace_us)
        length = min(self._settings.penalty_us << level, self._settings.penalty_us_max)
        self._until[daemon] = now + length
        self._level[daemon] = (min(level + 1, 16), now)
        self._strikes.pop(daemon, None)

    def strike(self, now: Instant, daemon: DaemonId) -> None:
        """An attempt failed because of it."""
        self._strikes[daemon] = self._strikes.get(daemon, 0) + 1
        if self._strikes[daemon] >= self._settings.strikes_max:
            self.punish(now, daemon)

    def forgive_strikes(self) -> None:
        self._strikes.clear()

    def excludes(self, now: Instant, daemon: DaemonId) -> bool:
        return self._until.get(daemon, 0) > now

    def excluded(self, now: Instant) -> list[DaemonId]:
        return [daemon for daemon, until in self._until.items() if until > now]

    def next_end(self, now: Instant) -> Instant | None:
        return min((until for until in self._until.values() if until > now), default=None)
