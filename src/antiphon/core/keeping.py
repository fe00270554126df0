"""Which groups are kept, and how much of each."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from antiphon.core.errors import ConfigError
from antiphon.core.ids import GroupName
from antiphon.core.machine import SECOND

KEEP_BYTES = 256 * 1024 * 1024
KEEP_BYTES_MIN = 8 * 1024
PART_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeepRule:
    group: str
    """A pattern, as in file names: `orders.*`."""

    max_bytes: int = KEEP_BYTES
    """Of one group at one daemon; the oldest parts are discarded."""

    max_age_us: int = 7 * 24 * 60 * 60 * SECOND
    """Older parts are discarded."""

    @property
    def part_bytes(self) -> int:
        """A part that is so long is closed: what is discarded is an eighth at a time."""
        return min(PART_BYTES_MAX, self.max_bytes // 8)


@dataclass(frozen=True, slots=True)
class RetainSettings:
    rules: tuple[KeepRule, ...] = ()
    """The first that matches a group's name decides; groups that match none are not kept."""

    def __post_init__(self) -> None:
        for rule in self.rules:
            if rule.max_bytes < KEEP_BYTES_MIN:
                raise ConfigError("max_bytes", f"{rule.group}: less than 8 KiB", "keep more")

    def rule_of(self, group: GroupName) -> KeepRule | None:
        for rule in self.rules:
            if fnmatchcase(group, rule.group):
                return rule
        return None
