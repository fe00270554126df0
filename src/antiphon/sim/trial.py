"""A trial: a script and the settings of its nodes, run and judged.

The text of a trial is a script with at most one more line:

    node packet-bytes=256 accelerated-packets=4
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from random import Random
from time import process_time
from typing import Any, TypeVar

import msgspec

from antiphon.check import Violation, judge
from antiphon.core.ids import DaemonId, Member
from antiphon.core.keeping import KEEP_BYTES, KeepRule, RetainSettings
from antiphon.core.trace import Kind, Record
from antiphon.protocol.links.settings import EdgeSettings, LinkKind
from antiphon.protocol.node import Node
from antiphon.protocol.presets import SIMULATION, NodeSettings
from antiphon.sim.faults import Run, run
from antiphon.sim.kept import Contents, found_on
from antiphon.sim.notation import Tokens, read_amounts, write_amounts
from antiphon.sim.script import Script, parse_script
from antiphon.sim.world import MakeApp

Settings = TypeVar("Settings")

NODE = "node"
BUG = "BUG"
"""In place of a promise: a node raised, which breaks every promise it had made."""

LIVENESS = ("P1", "P2")
EVENTS_MAX = 250_000
"""Far above what any drawn scenario needs: a run that comes here does not settle."""

Planter = Callable[[Node], None]
"""Changes a new node before it starts: plants a fault, or listens."""


@dataclass(frozen=True, slots=True)
class NodeVariant:
    """What of SIMULATION a trial may set differently."""

    packet_bytes: int = SIMULATION.stream.packet_bytes
    accelerated_packets: int = SIMULATION.stream.accelerated_packets
    ring_packets_max: int = SIMULATION.stream.ring_packets_max
    member_packets_max: int = SIMULATION.stream.member_packets_max
    window_packets_low: int = SIMULATION.stream.window_packets_low
    window_packets_max: int = SIMULATION.stream.window_packets_max
    slow_site_us: int = SIMULATION.stream.slow_site_us
    backlog_max: int = SIMULATION.sessions.backlog_max
    courtesy_bytes: int = SIMULATION.sessions.courtesy_bytes
    queue_bytes_low: int = SIMULATION.sessions.queue_bytes_low
    queue_bytes_high: int = SIMULATION.sessions.queue_bytes_high
    queue_bytes_max: int = SIMULATION.sessions.queue_bytes_max
    tcp_edges: int = 0
    """Of so many pairs of sites one is joined by TCP; 0: none."""
    measured_weights: int = 0
    """1: ways between sites cost what leaders measure."""
    kept_groups: int = 0
    """So many of the groups are kept."""
    kept_bytes: int = 0
    """Of each; 0: as many as usual."""

    def settings(self, daemons: int, sites: tuple[tuple[int, ...], ...] = ()) -> NodeSettings:
        pairs = list(combinations(range(len(sites)), 2)) if self.tcp_edges else []
        return replace(
            SIMULATION,
            edges=tuple(
                EdgeSettings(*pair, link=LinkKind.TCP, hop=SIMULATION.hop, tcp=SIMULATION.tcp)
                for pair in pairs[:: self.tcp_edges or 1]
            ),
            daemons=tuple(map(DaemonId, range(1, daemons + 1))),
            sites=tuple(tuple(map(DaemonId, site)) for site in sites),
            stream=self._over(SIMULATION.stream),
            membership=replace(SIMULATION.membership, measured_weights=bool(self.measured_weights)),
            sessions=self._over(SIMULATION.sessions),
            retain=RetainSettings(
                tuple(
                    KeepRule(f"g{number}", self.kept_bytes or KEEP_BYTES)
                    for number in range(1, self.kept_groups + 1)
                )
            ),
        )

    def _over(self, usual: Settings) -> Settings:
        """Those of our fields that these settings have, in place of theirs."""
        theirs: Any = usual
        named = {each.name for each in fields(theirs)}
        ours = {each.name: getattr(self, each.name) for each in fields(self) if each.name in named}
        changed: Settings = replace(theirs, **ours)
        return changed


@dataclass(frozen=True, slots=True)
class Trial:
    """`str` gives the text that reads back as this trial."""

    script: Script
    variant: NodeVariant = field(default_factory=NodeVariant)

    def __str__(self) -> str:
        if self.variant == NodeVariant():
            return str(self.script)
        return f"{NODE} {write_amounts(self.variant, NodeVariant())}\n{self.script}"


def parse_trial(text: str) -> Trial:
    """Read a trial; ConfigError names the line."""
    lines = text.splitlines()
    variant = NodeVariant()
    for number, line in enumerate(lines, 1):
        tokens = Tokens(number, line)
        if tokens.skip(NODE):
            variant = read_amounts(tokens, NodeVariant())
            lines[number - 1] = ""
    return Trial(parse_script("\n".join(lines)), variant)


class Outcome(msgspec.Struct, frozen=True):
    """What a trial came to, small enough to send between processes."""

    seed: int
    violations: tuple[Violation, ...]
    exhausted: bool
    events: int
    messages: int
    configurations: int
    transitional_deliveries: int
    recoveries_aborted: int
    seconds: float
    """Of the processor, with records and judges: a shared machine's clock would tell more
    of its other users."""

    sites: int = 1

    @property
    def stuck(self) -> bool:
        """It did not come to rest, or not where it should."""
        return self.exhausted or any(found.promise in LIVENESS for found in self.violations)

    @property
    def safety(self) -> tuple[Violation, ...]:
        """What is broken for good, whatever would have come later."""
        return tuple(found for found in self.violations if found.promise not in LIVENESS)

    @property
    def failed(self) -> bool:
        return self.exhausted or bool(self.violations)

    @property
    def promises(self) -> list[str]:
        return sorted({found.promise for found in self.violations})


def play(
    trial: Trial,
    plant: Planter | None = None,
    events_max: int = EVENTS_MAX,
    make_app: MakeApp | None = None,
) -> tuple[Run, Outcome]:
    """Run a trial and judge it. Without `make_app` its applications are the script's."""
    began = process_time()
    settings = trial.variant.settings(trial.script.daemons, trial.script.sites)

    def make_node(member: Member, rng: Random, disk: Contents | None = None) -> Node:
        node = Node(member, settings, rng, stored=found_on(disk or {}))
        if plant is not None:
            plant(node)
        return node

    played = run(
        trial.script,
        make_node,
        make_app=make_app,
        make_stored_node=make_node,
        events_max=events_max,
    )
    violations = _violations(played)
    return played, _outcome(played, violations, process_time() - began)


def _violations(played: Run) -> tuple[Violation, ...]:
    bugs = [Violation(BUG, f"daemon {bug.node}", bug.time, bug.trace) for bug in played.bugs]
    ended = played.script.quiet is not None and not played.exhausted
    return (*bugs, *judge(played.records, ended=ended))


def _outcome(played: Run, violations: tuple[Violation, ...], seconds: float) -> Outcome:
    configurations, transitional, aborted = _count(played.records)
    return Outcome(
        played.script.seed,
        violations,
        played.exhausted,
        played.events,
        played.messages,
        configurations,
        transitional,
        aborted,
        seconds,
        max(1, len(played.script.sites)),
    )


def _count(records: list[Record]) -> tuple[int, int, int]:
    """Configurations installed, deliveries in transitional ones, attempts given up."""
    installed = set()
    transitional = aborted = 0
    for record in records:
        kind = record.kind
        if kind is Kind.DELIVER:
            transitional += record.transitional
        elif kind is Kind.INSTALL:
            installed.add(record.config)
        elif kind is Kind.ABORT:
            aborted += 1
    return len(installed), transitional, aborted
