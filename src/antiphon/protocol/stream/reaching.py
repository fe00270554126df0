"""For which segments a bundle is, and how it follows on in the chain of each (SP-120, SP-121)."""

from antiphon.core.bundle import Bundle
from antiphon.core.ids import PRIVATE_MARK, Configuration, DaemonId, GroupName
from antiphon.core.reach import Reach

ALL = 0
"""The mask that says: everywhere."""


class Reaching:
    def __init__(self, configuration: Configuration, mine: int) -> None:
        segments = configuration.segments
        self.several = len(segments) > 1
        self._mine = mine
        self._count = len(segments)
        self._everywhere = (1 << len(segments)) - 1
        self._segment_of = configuration.segment_at
        self._of_group: dict[GroupName, int] = {}
        self._sent: dict[int, list[int]] = {}
        """Per session: its last bundle for each segment."""

    def learn(self, name: GroupName, daemons: tuple[DaemonId, ...]) -> None:
        """Who has members of a group now."""
        mask = 0
        for daemon in daemons:
            mask |= 1 << self._segment_of.get(daemon, self._mine)
        if mask:
            self._of_group[name] = mask
        else:
            self._of_group.pop(name, None)

    def mask(self, bundle: Bundle) -> int:
        """The segments that want a bundle, ours always among them."""
        if not self.several or bundle.control or bundle.everywhere:
            return ALL
        mask = 1 << self._mine
        for name in bundle.names:
            mask |= self._of_name(name)
        return ALL if mask == self._everywhere else mask

    def _of_name(self, name: GroupName) -> int:
        if not name.startswith(PRIVATE_MARK):
            return self._of_group.get(name, 0)
        daemon = name.rpartition(PRIVATE_MARK)[2]
        segment = self._segment_of.get(DaemonId(int(daemon))) if daemon.isdecimal() else None
        return 0 if segment is None else 1 << segment

    def reach(self, bundle: Bundle, sequence: int, heads: tuple[int, ...]) -> tuple[Reach, ...]:
        """How a bundle with this sequence would follow on; empty where all go everywhere."""
        mask = self.mask(bundle)
        sent = self._sent.get(bundle.session) or [0] * self._count
        dense = all(head == sequence - 1 for head in heads)
        if mask == ALL and dense and len(set(sent)) == 1:
            return ()
        return tuple(
            Reach(segment, heads[segment], sent[segment])
            for segment in range(self._count)
            if mask == ALL or mask >> segment & 1
        )

    def went(self, bundle: Bundle, heads: tuple[int, ...]) -> tuple[int, ...]:
        """It was stamped: the heads behind it."""
        if not self.several:
            return heads
        sent = self._sent.setdefault(bundle.session, [0] * self._count)
        after = list(heads)
        reached = [one.segment for one in bundle.reach] or range(self._count)
        for segment in reached:
            after[segment] = sent[segment] = bundle.sequence
        return tuple(after)

    def forget(self, session: int) -> None:
        self._sent.pop(session, None)
