"""Names for what is kept: which branch of a group a message is in, its sequence there, and
whether it is a repeat (docs/protocols/retain.md).

All of it changes only by what is delivered in the agreed order, by installs and by the exchange of
group states, so all daemons of a configuration have the same.
"""

from collections.abc import Iterable, Iterator

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Keep
from antiphon.core.ids import PRIVATE_MARK, ConfigId, GroupName
from antiphon.core.keeping import KeepRule, RetainSettings
from antiphon.core.offsets import NO_BRANCH, Branch
from antiphon.core.service import ORDERED, Service
from antiphon.wire.body import Body
from antiphon.wire.retained import (
    COVERED_MAX,
    PRODUCERS_MAX,
    TIPS_MAX,
    Ends,
    KeptState,
    PartHead,
    pack_entry,
    pack_part,
)

NAMES_REMEMBERED = 32_768
STANDINGS_MAX = 2048
MARK_BYTES_MAX = 4 * 1024 * 1024
"""What is exchanged of all groups must fit one bundle, whatever clients do."""

MARK_BYTES = 16
"""Of a mark, beside its producer's name."""


class Standing:
    """What lies behind a group at one daemon."""

    __slots__ = (
        "tips",
        "covered",
        "marks",
        "prior",
        "branch",
        "before",
        "count",
        "part_bytes",
        "mark_bytes",
    )

    def __init__(self) -> None:
        self.tips: dict[Branch, int] = {}
        """The last of what was kept: one branch, or several that have just met."""

        self.covered: dict[Branch, int] = {}
        """What leads to the tips."""

        self.marks: dict[str, int] = {}
        """The highest number of each producer, those that were silent longest first."""

        self.mark_bytes = 0
        self.prior = -1
        """What the last mark was before it was set."""

        self.branch = NO_BRANCH
        self.before: Ends = ()
        self.count = 0
        self.part_bytes = 0
        """Of the branch that is being written: what it follows, how much there is of it, and
        of its last part."""

    def state(self, group: GroupName) -> KeptState:
        return KeptState(
            group, _sorted(self.tips), _sorted(self.covered), tuple(self.marks.items())
        )

    def enter(self, branch: Branch) -> None:
        """The next message begins a branch: what was a tip leads to it."""
        self.before = _sorted(self.tips)
        for one, sequence in self.tips.items():
            self.covered[one] = max(sequence, self.covered.get(one, 0))
        _prune(self.covered, COVERED_MAX)
        self.branch, self.count = branch, 0

    def skip(self, producer: str, key: int, count: int) -> int:
        """How many of these messages are repeats; the others are known from now on."""
        mark = self.prior = self.marks.pop(producer, -1)
        if mark < 0:
            self.mark_bytes += len(producer) + MARK_BYTES
        self.marks[producer] = max(mark, key + count - 1)
        if len(self.marks) > PRODUCERS_MAX:
            self.forget()
        return min(count, max(0, mark + 1 - key))

    def forget(self) -> None:
        """The producer that was silent longest."""
        producer = next(iter(self.marks))
        del self.marks[producer]
        self.mark_bytes -= len(producer) + MARK_BYTES

    def load(self, states: Iterable[KeptState]) -> None:
        """Several become one: of each the highest, and what leads to another is no tip."""
        tips: dict[Branch, int] = {}
        covered: dict[Branch, int] = {}
        marks: dict[str, int] = {}
        for state in states:
            for branch, sequence in state.tips:
                tips[branch] = max(sequence, tips.get(branch, 0))
            for branch, sequence in state.covered:
                covered[branch] = max(sequence, covered.get(branch, 0))
            for producer, number in state.marks:
                marks[producer] = max(number, marks.pop(producer, -1))
        self.tips = {one: last for one, last in tips.items() if covered.get(one, -1) < last}
        _prune(self.tips, TIPS_MAX)
        _prune(covered, COVERED_MAX)
        self.covered = covered
        self.marks = dict(list(marks.items())[-PRODUCERS_MAX:])
        self.mark_bytes = sum(len(producer) + MARK_BYTES for producer in self.marks)


class Keeping:
    def __init__(self, settings: RetainSettings, stored: Iterable[KeptState] = ()) -> None:
        self._settings = settings
        self._groups: dict[GroupName, Standing] = {}
        self._config = NO_BRANCH.config
        self._keyed: dict[GroupName, None] = {}
        """Groups with marks, those that had no keyed message for longest first."""

        self._mark_bytes = 0
        self._decided: dict[GroupName, bool] = {}
        """Which groups are kept, of those that were asked for."""

        self.join(tuple(stored))

    def standing(self, group: GroupName) -> Standing:
        return self._groups.get(group) or Standing()

    @property
    def branch(self) -> Branch:
        """Where messages are now, as long as the configuration lasts."""
        return Branch(self._config, 0)

    def is_kept(self, group: GroupName) -> bool:
        return not group.startswith(PRIVATE_MARK) and self._settings.rule_of(group) is not None

    def wants(self, service: Service, producer: str, names: tuple[GroupName, ...]) -> bool:
        """Must every daemon see messages of this kind?"""
        if service not in ORDERED:
            return False
        return bool(producer) or bool(self._settings.rules and self._kept_of(names))

    def repeats(self, body: Body, count: int) -> int:
        """How many messages of a keyed bundle were delivered before."""
        group = body.table[0][0]
        standing = self._standing(group)
        if standing is None:
            return 0
        before = standing.mark_bytes
        skipped = standing.skip(body.producer, body.key, count)
        self._mark_bytes += standing.mark_bytes - before
        self._keyed.pop(group, None)
        self._keyed[group] = None
        while self._mark_bytes > MARK_BYTES_MAX:
            self._forget_oldest()
        return skipped

    def _forget_oldest(self) -> None:
        """Of the group that had no keyed message for longest."""
        group = next(iter(self._keyed))
        standing = self._groups[group]
        before = standing.mark_bytes
        standing.forget()
        self._mark_bytes += standing.mark_bytes - before
        if not standing.marks:
            del self._keyed[group]

    def _standing(self, group: GroupName) -> Standing | None:
        """None if there are too many: then groups that are only keyed make room, and a kept one
        that finds none is not kept."""
        standing = self._groups.get(group)
        if standing is None:
            if len(self._groups) >= STANDINGS_MAX:
                keyed = next((one for one in self._keyed if not self.is_kept(one)), None)
                if keyed is None:
                    return None
                self._mark_bytes -= self._groups.pop(keyed).mark_bytes
                del self._keyed[keyed]
            standing = self._groups[group] = Standing()
        return standing

    def keep(self, bundle: Bundle, body: Body, skipped: int, lineage: int) -> list[Keep]:
        """What goes to the logs of one bundle, whose first messages may be repeats."""
        if not self._settings.rules or skipped == bundle.count:
            return []
        kept: list[Keep] = []
        for group in self._kept_of(body.names):
            rule = self._settings.rule_of(group)
            assert rule is not None, "a kept group has a rule"
            if self._standing(group) is None:
                continue
            for first, end in _runs(body, group, skipped):
                kept.append(self._keep(group, rule, bundle, body, (first, end), lineage))
        return kept

    def _keep(
        self,
        group: GroupName,
        rule: KeepRule,
        bundle: Bundle,
        body: Body,
        run: tuple[int, int],
        lineage: int,
    ) -> Keep:
        first, end = run
        count = end - first
        standing = self._groups[group]
        branch = Branch(self._config, lineage)
        opens = standing.branch != branch
        if opens:
            standing.enter(branch)
        part = b""
        sequence = standing.count + 1
        if opens or standing.part_bytes >= rule.part_bytes:
            part = pack_part(PartHead(branch, sequence, self._head_state(group, body)))
            standing.part_bytes = 0
        key = body.key + first if body.producer else 0
        entry = pack_entry(
            sequence,
            count,
            bundle.service,
            bundle.origin,
            bundle.number + first,
            body.sender,
            body.producer,
            key,
            body.cut(first, end),
        )
        standing.count += count
        standing.part_bytes += len(entry)
        standing.tips = {branch: standing.count}
        return Keep(group, branch, sequence, count, entry, part, standing.before)

    def _head_state(self, group: GroupName, body: Body) -> KeptState:
        """Of a part that begins with this bundle, whose own mark is not before it: were it
        lost, a repeat would have to be taken."""
        standing = self._groups[group]
        marks = dict(standing.marks)
        if body.producer:
            del marks[body.producer]
            if standing.prior >= 0:
                marks[body.producer] = standing.prior
        covered = _sorted(standing.covered)
        return KeptState(group, standing.before, covered, tuple(marks.items()))

    def _kept_of(self, names: tuple[GroupName, ...]) -> list[GroupName]:
        decided = self._decided
        if len(decided) > NAMES_REMEMBERED:
            decided.clear()
        for name in names:
            if name not in decided:
                decided[name] = self.is_kept(name)
        return [name for name in names if decided[name]]

    # Configurations.

    def install(self, config: ConfigId) -> None:
        self._config = config

    def states(self) -> tuple[KeptState, ...]:
        """What is told for a family."""
        return tuple(self._groups[group].state(group) for group in sorted(self._groups))

    def join(self, told: tuple[KeptState, ...]) -> None:
        """What all families have told becomes common; the order of telling is the same
        everywhere."""
        by_group: dict[GroupName, list[KeptState]] = {}
        for state in told:
            by_group.setdefault(state.group, []).append(state)
        self._groups = {}
        kept_first = sorted(by_group, key=lambda group: (not self.is_kept(group), group))
        for group in sorted(kept_first[:STANDINGS_MAX]):
            standing = self._groups[group] = Standing()
            standing.load(by_group[group])
        self._keyed = {group: None for group, one in self._groups.items() if one.marks}
        self._mark_bytes = sum(one.mark_bytes for one in self._groups.values())
        while self._mark_bytes > MARK_BYTES_MAX:
            self._forget_oldest()


def _runs(body: Body, group: GroupName, skipped: int) -> Iterator[tuple[int, int]]:
    """(first, end): neighbours that are to this group."""
    count = len(body.lengths)
    if len(body.table) == 1:
        yield skipped, count
        return
    wanted = [group in destination for destination in body.table]
    first = -1
    for at, where in enumerate(body.destinations):
        if wanted[where] and first < 0:
            first = at
        elif not wanted[where] and first >= 0:
            yield first, at
            first = -1
    if first >= 0:
        yield first, count


def _sorted(ends: dict[Branch, int]) -> Ends:
    return tuple(sorted(ends.items()))


def _prune(ends: dict[Branch, int], most: int) -> None:
    """The oldest go: configurations have rising ids."""
    for branch in sorted(ends)[: max(0, len(ends) - most)]:
        del ends[branch]
