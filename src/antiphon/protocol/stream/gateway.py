"""A leader between its ring and the leaders of other segments (docs/protocols/wide-area.md).

What its own ring stamps goes down the tree of its segment; what comes from others goes on down
theirs, at once and in any order (SP-118), and waits for the token to be put on the own ring.
"""

from collections import deque
from functools import lru_cache
from hashlib import blake2b

from antiphon.core.effects import Forward
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Member
from antiphon.core.machine import Instant
from antiphon.core.overlay import overlay_of
from antiphon.core.weights import SiteId
from antiphon.wire.crossing import Parcel, Report, pack_parcel, pack_report
from antiphon.wire.packet import pack_config
from antiphon.wire.pieces import ForeignPieces
from antiphon.wire.reports import StreamReport

Branch = tuple[DaemonId, int]
"""A neighbour, and the segments behind it as a mask."""


def branches(configuration: Configuration, me: Member) -> tuple[tuple[Branch, ...], ...]:
    """For each segment: to whom its leader, me, passes on what comes from there."""
    leaders = [members[0] for members in configuration.segments]
    mine = SiteId(leaders.index(me))
    overlay = overlay_of(len(configuration.segments), configuration.edges)
    found = []
    for source in overlay.sites:
        tree = overlay.tree(source)
        found.append(
            tuple(
                (leaders[child].daemon, sum(1 << below for below in tree.below(child)))
                for child in tree.children[mine]
            )
        )
    return tuple(found)


def neighbours(configuration: Configuration, me: Member) -> tuple[Member, ...]:
    """The leaders that some tree joins to me; none if I lead nobody."""
    leaders = [members[0] for members in configuration.segments]
    if len(leaders) == 1 or me not in leaders:
        return ()
    mine = leaders.index(me)
    pairs = [
        pair
        for pair in overlay_of(len(configuration.segments), configuration.edges).links()
        if mine in pair
    ]
    return tuple(leaders[one if other == mine else other] for one, other in pairs)


@lru_cache(maxsize=64)
def birth_of(config: ConfigId) -> int:
    """Names the links of a configuration, which never comes again."""
    return int.from_bytes(blake2b(pack_config(config), digest_size=8).digest(), "big")


class Gateway:
    def __init__(
        self, configuration: Configuration, mine: int, branches: tuple[tuple[Branch, ...], ...]
    ) -> None:
        self._birth = birth_of(configuration.id)
        self._segments = configuration.segments
        self._mine = mine
        self._branches = branches
        """For each segment, where what comes from it goes on."""

        self.arrived: deque[tuple[bool, ForeignPieces]] = deque()
        """For the own ring: reliable or not, and what."""

        self._untold: dict[int, StreamReport] = {}
        self._last: StreamReport | None = None

    def forward(self, reliable: bool, pieces: ForeignPieces) -> list[Forward]:
        """To every branch of its tree that wants it."""
        branches = self._branches[pieces.segment]
        if not branches:
            return []
        author = self._segments[pieces.segment].index(pieces.author)
        packed = pack_parcel(
            Parcel(self._birth, reliable, pieces.segment, author, pieces.mask, pieces.body)
        )
        return [
            Forward(leader, packed, reliable, pieces.segment)
            for leader, behind in branches
            if not pieces.mask or pieces.mask & behind
        ]

    def forward_report(self, report: StreamReport) -> list[Forward]:
        """To all: order and stability are everybody's (SP-123)."""
        if report.segment != self._mine:
            self._untold[report.segment] = report
        packed = pack_report(Report(self._birth, report))
        segment = report.segment
        return [
            Forward(leader, packed, True, segment, True) for leader, _ in self._branches[segment]
        ]

    def take_reports(self) -> tuple[StreamReport, ...]:
        """What the ring has not heard of yet."""
        reports = tuple(self._untold[segment] for segment in sorted(self._untold))
        self._untold.clear()
        return reports

    @property
    def waiting(self) -> bool:
        return bool(self.arrived or self._untold)

    @property
    def floor(self) -> int:
        """The last that was told."""
        return self._last.floor if self._last is not None else 0

    @property
    def held(self) -> int:
        return self._last.held if self._last is not None else 0

    def report(self, now: Instant, told: StreamReport) -> list[Forward]:
        """Say what is new about our stream, if anything is."""
        last = self._last
        if last is not None:
            told.number = last.number + 1
            if told.heads == last.heads and told.count == last.count:
                if (told.floor, told.held) == (last.floor, last.held):
                    return []
        self._last = told
        return self.forward_report(told)
