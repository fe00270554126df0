"""Reach over sites: what of the wide area a set of runs has met.

Nearly everything is read from the records, and from the faults among them: who led which site,
which edges were shut, and in what state of membership a leader was when something befell it.
What no record tells is counted by endings.py. Only what happens in a configuration of several
sites counts.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations

from antiphon.core.ids import NO_CONFIG, ConfigId, DaemonId, SessionId
from antiphon.core.trace import Kind, Record
from antiphon.protocol.membership.membership import State
from antiphon.protocol.stream.stream import State as StreamState
from antiphon.sim.gates import Gates
from antiphon.sim.notation import Tokens
from antiphon.sim.places import Atlas
from antiphon.sim.reach import ABORT, ATTEMPT, DROP, MEMBERSHIP, SITUATION, STREAM, Counts, Pair
from antiphon.sim.script import Script, read_step
from antiphon.sim.whereabouts import sides, ways

SITE_MEMBERSHIP_EVENTS = (
    *("Greeting", "SiteReport", "SiteNews", "SiteState", "SiteReady", "Leaving"),
    *("LinkDead", "Late"),
)
SITE_STREAM_EVENTS = ("Arrived", "GroupDaemons", "ChangeMade")
SITE_ATTEMPT_REASONS = ("left",)
SITE_ABORT_REASONS = ("edge_lost",)
SITE_DROP_REASONS = ("other_site", "other_link", "no_pipe")
"""What only daemons of several sites say to each other, and how it can fail."""

LEADER = "leader"
EDGE_DIES = "edge dies"
LEADER_CRASHES = "crash"
BEFALLS = (EDGE_DIES, LEADER_CRASHES)

SITE_GONE = "whole site down"
UNEQUAL_MERGE = "merge of sites with unequal histories"
FAR_TRANSITIONAL = "message of another site in a transitional configuration"
DETOUR = "message between sites that do not reach each other"
TORN = "configuration with a site that is torn apart"
PRUNED_IN_RECOVERY = "pruned bundle in recovery"
TRANSIT_COPY = "transit copy used in recovery"
INTENT_AT_CHANGE = "intent outstanding at a change"

SITE_SITUATIONS = (
    *(SITE_GONE, UNEQUAL_MERGE, FAR_TRANSITIONAL, DETOUR, TORN),
    *(PRUNED_IN_RECOVERY, TRANSIT_COPY, INTENT_AT_CHANGE),
)
"""The last three are counted by endings.py."""


def site_pairs() -> Iterator[Pair]:
    """What is counted on top of reach.py."""
    for state in State:
        for event in SITE_MEMBERSHIP_EVENTS:
            yield Pair(MEMBERSHIP, state.value, event)
    for stream_state in StreamState:
        for event in SITE_STREAM_EVENTS:
            yield Pair(STREAM, stream_state.value, event)
    for state in State:
        for what in BEFALLS:
            yield Pair(LEADER, state.value, what)
    for table, reasons in (
        (ATTEMPT, SITE_ATTEMPT_REASONS),
        (ABORT, SITE_ABORT_REASONS),
        (DROP, SITE_DROP_REASONS),
    ):
        for reason in reasons:
            yield Pair(table, "", reason)
    for name in SITE_SITUATIONS:
        yield Pair(SITUATION, "", name)


def count_sites(script: Script, records: list[Record]) -> Counts:
    observer = Observer(script)
    for record in records:
        observer.take(record)
    return observer.counts + observer.merges()


class Observer:
    """Follows a run by its records."""

    def __init__(self, script: Script) -> None:
        self.counts: Counts = Counter()
        self._atlas = Atlas(script.sites or [range(1, script.daemons + 1)])
        self._gates = Gates()
        self._live: set[DaemonId] = set()
        self._state: dict[DaemonId, str] = {}
        self._installed: dict[DaemonId, Record] = {}
        self._shut_since: dict[tuple[int, int], int] = {}
        """Ordered pairs of sites whose leaders do not reach each other that way."""

        self._sent: dict[tuple[SessionId, int], Record] = {}
        self._torn: set[ConfigId] = set()
        self._spoke: set[ConfigId] = set()
        """Something was delivered there."""

        self._bases: dict[ConfigId, dict[ConfigId, set[int]]] = {}
        """For each configuration, from where members came, and their sites."""

    def take(self, record: Record) -> None:
        kind = record.kind
        if kind is Kind.DELIVER:
            self._deliver(record)
        elif kind is Kind.SEND:
            self._sent.setdefault((record.origin, record.first), record)
        elif kind is Kind.ENTER:
            self._state[record.node] = record.reason
        elif kind is Kind.INSTALL:
            self._install(record)
        elif kind in (Kind.START, Kind.STOP, Kind.FAULT, Kind.QUIET):
            self._befall(record)

    def merges(self) -> Counts:
        """Known only at the end, when all who install have done it."""
        found: Counts = Counter()
        for bases in self._bases.values():
            spoke = [sites for base, sites in bases.items() if base in self._spoke]
            if any(not one & other for one, other in combinations(spoke, 2)):
                found[Pair(SITUATION, "", UNEQUAL_MERGE)] += 1
        return found

    # Faults and lives.

    def _befall(self, record: Record) -> None:
        before = self._edges()
        if record.kind is Kind.START:
            self._live.add(record.node)
            self._installed.pop(record.node, None)
        elif record.kind is Kind.STOP:
            self._stop(record.node)
        elif record.kind is Kind.QUIET:
            self._gates.heal()
        else:
            self._shut(record.reason)
            for one, other in sorted(before - self._edges()):
                self._edge_died(one, other)
                self._edge_died(other, one)
        self._watch_edges(record.time)

    def _stop(self, daemon: DaemonId) -> None:
        site = self._atlas.site_of[daemon]
        spans = self._spans(daemon)
        if spans and self._lead(site) == daemon:
            self._count_leader(daemon, LEADER_CRASHES)
        self._live.discard(daemon)
        if spans and self._lead(site) is None:
            self._count(SITE_GONE)

    def _shut(self, text: str) -> None:
        action = read_step(Tokens(0, text)).action
        if action.verb == "cut":
            self._gates.cut(sides(action, self._atlas, self._runs))
            return
        change = {
            "oneway": self._gates.close,
            "break": self._gates.break_for_ever,
            "heal": self._gates.heal,
        }.get(action.verb)
        if change is not None:
            change(ways(action, self._atlas, self._runs))

    def _edges(self) -> set[tuple[DaemonId, DaemonId]]:
        leads = [self._lead(number) for number in range(1, len(self._atlas.sites) + 1)]
        live = sorted(lead for lead in leads if lead is not None)
        return {(a, b) for a, b in combinations(live, 2) if self._gates.joined(a, b)}

    def _edge_died(self, leader: DaemonId, other: DaemonId) -> None:
        installed = self._installed.get(leader)
        if installed and other in [member.daemon for member in installed.members]:
            self._count_leader(leader, EDGE_DIES)

    def _watch_edges(self, now: int) -> None:
        for pair in permutations(range(1, len(self._atlas.sites) + 1), 2):
            source, target = map(self._lead, pair)
            if source and target and self._gates.shut(source, target):
                self._shut_since.setdefault(pair, now)
            else:
                self._shut_since.pop(pair, None)

    # Configurations and messages.

    def _install(self, record: Record) -> None:
        self._installed[record.node] = record
        if record.base != NO_CONFIG:
            sites = self._bases.setdefault(record.config, {}).setdefault(record.base, set())
            sites.add(self._atlas.site_of[record.node])
        near = [
            member.daemon
            for member in record.members
            if self._atlas.site_of[member.daemon] == self._atlas.site_of[record.node]
        ]
        torn = any(not self._gates.joined(record.node, other) for other in near)
        if torn and self._spans(record.node) and record.config not in self._torn:
            self._torn.add(record.config)
            self._count(TORN)

    def _deliver(self, record: Record) -> None:
        self._spoke.add(record.config)
        pair = self._atlas.site_of[record.origin.daemon], self._atlas.site_of[record.node]
        if pair[0] == pair[1]:
            return
        if record.transitional:
            self._count(FAR_TRANSITIONAL)
            return
        sent = self._sent.get((record.origin, record.first))
        since = self._shut_since.get(pair)
        if sent and since is not None and sent.time >= since and sent.config == record.config:
            self._count(DETOUR)

    # What is true now.

    def _runs(self, daemon: DaemonId) -> bool:
        return daemon in self._live

    def _lead(self, site: int) -> DaemonId | None:
        return self._atlas.lead(site, self._runs)

    def _spans(self, daemon: DaemonId) -> bool:
        """Whether its configuration has several sites."""
        installed = self._installed.get(daemon)
        members = installed.members if installed else ()
        return len({self._atlas.site_of[member.daemon] for member in members}) > 1

    def _count_leader(self, daemon: DaemonId, what: str) -> None:
        self.counts[Pair(LEADER, self._state[daemon], what)] += 1

    def _count(self, situation: str) -> None:
        self.counts[Pair(SITUATION, "", situation)] += 1
