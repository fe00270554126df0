"""Who may join and send to which groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from antiphon.core.ids import GroupName

DECISIONS_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The first rule whose group and client both match decides."""

    group: str
    """A pattern, as in file names: `orders.*`."""

    who: tuple[str, ...]
    """Patterns for what the client proved to be: `uid:1000`, `token:*`, `*`."""

    join: bool
    send: bool

    def matches(self, who: str, group: GroupName) -> bool:
        return fnmatchcase(group, self.group) and any(fnmatchcase(who, one) for one in self.who)


class Access:
    """The rules, with their decisions remembered: clients repeat themselves."""

    def __init__(self, rules: Sequence[AccessRule]) -> None:
        self._rules = tuple(rules)
        self._decided: dict[tuple[str, GroupName], tuple[bool, bool]] = {}

    @property
    def is_open(self) -> bool:
        """There are no rules: everybody may do everything."""
        return not self._rules

    def may_join(self, who: str, group: GroupName) -> bool:
        return not self._rules or self._decide(who, group)[0]

    def may_send(self, who: str, group: GroupName) -> bool:
        return not self._rules or self._decide(who, group)[1]

    def _decide(self, who: str, group: GroupName) -> tuple[bool, bool]:
        decided = self._decided.get((who, group))
        if decided is None:
            rules = (rule for rule in self._rules if rule.matches(who, group))
            rule = next(rules, None)
            decided = (True, True) if rule is None else (rule.join, rule.send)
            if len(self._decided) >= DECISIONS_REMEMBERED:
                self._decided.clear()
            self._decided[who, group] = decided
        return decided
