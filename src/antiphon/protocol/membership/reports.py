"""The reports of leaders, mine among them, and the picture they give: who hears whom.

An edge needs the reports of both ends, each in the same life. What is connected with me over
edges is my component, without those whose report somebody else's belies. Reports of others are
kept for a while, in case a way to them returns, but they are not passed on: so what nobody
reaches is forgotten by all.
"""

from collections.abc import Set
from hashlib import blake2b
from struct import Struct

from antiphon.core.ids import DaemonId, Member
from antiphon.core.machine import Instant
from antiphon.protocol.membership.graph import reachable
from antiphon.wire.control import SEGMENTS_MAX, SiteReport

ENTRY = Struct(">QQQ")

Graph = dict[DaemonId, set[DaemonId]]

Held = tuple[tuple[Member, int], ...]
"""Leaders and the numbers of their reports; sorted."""


class Reports:
    def __init__(self, mine: SiteReport) -> None:
        self._me = mine.leader.daemon
        self._reports: dict[DaemonId, SiteReport] = {self._me: mine}
        self._lost: dict[DaemonId, Instant] = {}
        """Since when somebody is out of reach."""

        self._hears: dict[DaemonId, frozenset[Member]] = {self._me: frozenset(mine.hears)}
        self._followers = {self._me: frozenset(mine.party[1:])}
        self._edges: Graph = {self._me: set()}
        self._graph: Graph | None = None
        self._component: tuple[SiteReport, ...] | None = None
        self._measured: dict[tuple[DaemonId, DaemonId], int] | None = None
        self._summary: int | None = None

    @property
    def mine(self) -> SiteReport:
        return self._reports[self._me]

    @property
    def leaders(self) -> list[DaemonId]:
        """All of whom I have a report."""
        return sorted(self._reports)

    def of(self, leader: Member) -> SiteReport | None:
        """The newest of a leader in this life."""
        known = self._reports.get(leader.daemon)
        return known if known is not None and known.leader == leader else None

    def add(self, now: Instant, report: SiteReport) -> bool:
        """True if it is newer than what I have."""
        known = self._reports.get(report.leader.daemon)
        if known is not None:
            if (known.leader, known.number) >= (report.leader, report.number):
                return False
        self._reports[report.leader.daemon] = report
        self._lost.setdefault(report.leader.daemon, now)
        self._hears[report.leader.daemon] = frozenset(report.hears)
        self._followers[report.leader.daemon] = frozenset(report.party[1:])
        self._join(report.leader)
        return True

    def remove(self, daemon: DaemonId) -> bool:
        """It does not lead any more."""
        if daemon == self._me or daemon not in self._reports:
            return False
        del self._reports[daemon]
        del self._hears[daemon]
        del self._followers[daemon]
        self._lost.pop(daemon, None)
        self._part(daemon)
        return True

    def edges(self) -> list[tuple[DaemonId, DaemonId]]:
        """In my component, in both directions; sorted."""
        graph = self._true_edges()
        mine = [report.leader.daemon for report in self.component()]
        return [(one, two) for one in mine for two in sorted(graph[one])]

    def component(self) -> tuple[SiteReport, ...]:
        """By their leaders."""
        if self._component is None:
            reached = reachable(self._true_edges(), self._me)
            self._component = tuple(self._reports[daemon] for daemon in sorted(reached))
        return self._component

    def reached_without(self, excluded: Set[DaemonId]) -> tuple[SiteReport, ...]:
        """Of my component, who is left if nothing goes through these."""
        if not excluded:
            return self.component()
        graph = {one: others - excluded for one, others in self._true_edges().items()}
        reached = reachable(graph, self._me)
        return tuple(report for report in self.component() if report.leader.daemon in reached)

    def measured(self, one: DaemonId, two: DaemonId) -> int | None:
        """Weight of the way from one to the other, as its end has told, or else its start."""
        if self._measured is None:
            self._measured = {
                (other.daemon, daemon): weight
                for daemon, report in self._reports.items()
                for other, weight in zip(report.hears, report.weights, strict=False)
                if weight
            }
        return self._measured.get((one, two), self._measured.get((two, one)))

    def summary(self) -> int:
        """Equal if two know the same; a mere hint."""
        if self._summary is None:
            told = b"".join(ENTRY.pack(*one.leader, one.number) for one in self.component())
            self._summary = int.from_bytes(blake2b(told, digest_size=8).digest(), "big") >> 1
        return self._summary

    def held(self) -> Held:
        """As many as a message holds; there are more only while sites are still forming."""
        return tuple((report.leader, report.number) for report in self.component()[:SEGMENTS_MAX])

    def newer_than(self, held: Held) -> list[SiteReport]:
        """What somebody who holds these lacks of my component."""
        known = {member.daemon: (member, number) for member, number in held}
        return [
            report
            for report in self.component()
            if report.leader.daemon not in known
            or known[report.leader.daemon] < (report.leader, report.number)
        ]

    def forget(self, now: Instant, life: Instant) -> None:
        """Those who are out of reach for so long."""
        reached = {report.leader.daemon for report in self.component()}
        for daemon in self.leaders:
            if daemon in reached:
                self._lost.pop(daemon, None)
            elif now - self._lost.setdefault(daemon, now) >= life:
                self.remove(daemon)

    def skip(self, gap: Instant) -> None:
        for daemon in self._lost:
            self._lost[daemon] += gap

    def _join(self, leader: Member) -> None:
        """Its edges anew: only its own can have changed."""
        self._part(leader.daemon)
        own = self._edges[leader.daemon] = set()
        for other in self._hears[leader.daemon]:
            known = self._reports.get(other.daemon)
            if known is None or known.leader != other or other.daemon == leader.daemon:
                continue
            if leader in self._hears[other.daemon]:
                own.add(other.daemon)
                self._edges[other.daemon].add(leader.daemon)

    def _part(self, daemon: DaemonId) -> None:
        for other in self._edges.pop(daemon, ()):
            self._edges[other].discard(daemon)
        self._graph = self._component = self._summary = self._measured = None

    def _true_edges(self) -> Graph:
        """Without leaders that are belied."""
        if self._graph is None:
            self._graph = self._edges
            belied = self._belied(reachable(self._edges, self._me))
            if belied:
                self._graph = {
                    daemon: set() if daemon in belied else others - belied
                    for daemon, others in self._edges.items()
                }
        return self._graph

    def _belied(self, reached: Set[DaemonId]) -> frozenset[DaemonId]:
        """Leaders that name somebody as their follower who says of itself that it leads: what
        they said is over, if they are there at all."""
        leaders = {self._reports[daemon].leader for daemon in reached}
        return frozenset(
            daemon
            for daemon in reached
            if daemon != self._me and not leaders.isdisjoint(self._followers[daemon])
        )
