"""Limits for the clients of one daemon."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from antiphon.core.errors import ConfigError
from antiphon.core.ids import GroupName
from antiphon.core.machine import MILLISECOND
from antiphon.protocol.sessions.access import AccessRule

STRONG = "strong"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    queue_bytes_high: int = 4 * 1024 * 1024
    """A session with so much waiting for the token is asked to pause."""

    queue_bytes_low: int = 2 * 1024 * 1024
    """Below this it may go on."""

    queue_bundle_bytes: int = 4096
    """What a bundle that waits counts at least: daemons pay by the bundle, and a client that is
    asked to pause soon fills longer ones."""

    queue_bytes_max: int = 64 * 1024 * 1024
    """One that submits on regardless is refused from here."""

    backlog_max: int = 10_000
    """News that a client has not taken; from here it is cut off (P3)."""

    backlog_bytes_max: int = 64 * 1024 * 1024
    """And bytes of messages among them."""

    courtesy_bytes: int = 8 * 1024 * 1024
    """Others wait for a client that is behind by so many bytes of messages, until it has taken half
    of them; 0: for nobody."""

    courtesy_us: int = 500 * MILLISECOND
    """But not longer: who is slower is waited for once, and cut off if it stays behind."""

    sessions_max: int = 4096
    memberships_max: int = 50_000
    """Of all sessions together: all of them must fit one bundle when groups are exchanged."""

    table_bytes_max: int = 1024 * 1024
    """Of what all sessions together have defined: every daemon of the configuration has it, too."""

    profiles: tuple[tuple[str, str], ...] = ()
    """(pattern, profile), first match wins; groups that match nothing are strong."""

    rules: tuple[AccessRule, ...] = ()
    """Who may join and send where; what no rule is about is allowed."""

    def __post_init__(self) -> None:
        if not self.queue_bytes_low < self.queue_bytes_high <= self.queue_bytes_max:
            raise ConfigError(
                "queue_bytes_low", "queue limits are not rising", "use low < high <= max"
            )

    def profile_of(self, group: GroupName) -> str:
        """Which machinery stands behind a group name."""
        for pattern, profile in self.profiles:
            if fnmatchcase(group, pattern):
                return profile
        return STRONG
