"""Seed 000's measurements: three sites, a detour, and a ring over the same paths (SP-198 to
SP-202)."""

from collections.abc import Sequence

from antiphon.tools.bench.outcome import Cell, Outcome, Table, ratio
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.measure import throughput
from antiphon.tools.bench.wan.stage import Stage
from antiphon.tools.bench.wan.wiring import Pairs, wires
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

THREE = ("jhu", "ucsb", "rutgers")
TWO = ("jhu", "ucsb")
BEST = (("jhu", "ucsb"), ("jhu", "rutgers"))
DETOUR = (("jhu", "ucsb"), ("ucsb", "rutgers"))
PAPER_TREE = {THREE: 755.3, TWO: 1149.511}
PAPER_RING = {THREE: 159.387, TWO: 215.907}
GAIN = {THREE: 4.7, TWO: 5.0}

WINDOWS = (20, 40, 80, 160)
"""Packets that a member may send in a rotation, of which the best counts (SP-190)."""

WIDE_MBIT = 40.0
"""The same paths with bandwidth to spare: there the round trip limits the ring. The narrow ones it
fills, with a window that the paper's did not have."""


def three_sites(bench: Bench) -> Outcome:
    """Each source along the best tree, and the detour through UCSB."""
    outcome = Outcome()
    found: dict[str, float] = {}
    detours: dict[str, float] = {}
    for source in THREE:
        found[source] = _tree(bench, THREE, source, BEST)
    for source in ("jhu", "rutgers"):
        detours[source] = _tree(bench, THREE, source, DETOUR)
    mean = sum(found.values()) / len(found)
    rows: list[tuple[Cell, ...]] = [
        (source, PAPER_TREE[THREE], ours, ratio(ours, PAPER_TREE[THREE]), detours.get(source))
        for source, ours in found.items()
    ]
    columns = ("source", "paper kbit/s", "ours", "ratio", "through UCSB")
    outcome.tables.append(Table("Three sites, one tree", columns, rows))
    outcome.state(
        "SP-199",
        "the source makes little difference",
        max(found.values()) <= 1.1 * min(found.values()),
        f"{min(found.values()):.0f} to {max(found.values()):.0f} kbit/s",
    )
    lost = [100 - 100 * one / mean for one in detours.values()]
    outcome.state(
        "SP-200",
        "a detour through UCSB costs 20 to 50 %",
        all(20 <= one <= 50 for one in lost),
        " ".join(f"{one:.0f} %" for one in lost),
    )
    return outcome


def ring(bench: Bench) -> Outcome:
    """The same daemons as one site, with the window that suits the ring best."""
    return _ring_and_tree(bench, 0.0)


def ring_wide(bench: Bench) -> Outcome:
    return _ring_and_tree(bench, WIDE_MBIT)


def _ring_and_tree(bench: Bench, mbit: float) -> Outcome:
    outcome = Outcome()
    rows: list[tuple[Cell, ...]] = []
    for sites in (TWO, THREE):
        tree = _tree(bench, sites, "jhu", BEST[: len(sites) - 1], mbit)
        rings = [_ring(bench, sites, window, mbit) for window in WINDOWS]
        gain = tree / max(rings)
        paper = (PAPER_TREE[sites], PAPER_RING[sites], PAPER_TREE[sites] / PAPER_RING[sites])
        theirs = (None, None, None) if mbit else paper
        paths = f"{len(sites)} sites, {f'{mbit:.0f} Mbit/s' if mbit else 'as they were'}"
        rows.append((paths, *theirs, tree, *rings, gain))
        wanted = GAIN[sites] if mbit else 1.0
        outcome.state(
            "SP-201" if sites == THREE else "SP-202",
            f"over {paths}, the tree carries at least {wanted} times what the best ring does",
            gain >= wanted,
            f"{gain:.2f} times",
        )
    columns = ("paths", "paper tree", "paper ring", "paper gain", "tree")
    rings_of = tuple(f"ring of {window}" for window in WINDOWS)
    table = Table("Ring and tree, kbit/s", (*columns, *rings_of, "gain"), rows)
    outcome.tables.append(table)
    return outcome


def _tree(
    bench: Bench, sites: Sequence[str], source: str, edges: Pairs, mbit: float = 0.0
) -> float:
    bench.say(f"{source} along {' '.join(map('-'.join, edges))}")
    config = wires(sites, shape="tree", edges=edges)
    with Emulation(topology_of("three-sites"), bench.seed) as emulation:
        _widen(emulation, mbit)
        with Stage(emulation, sites, config) as stage:
            return _slowest(stage, source, sites, bench.messages)


def _ring(bench: Bench, sites: Sequence[str], window: int, mbit: float) -> float:
    bench.say(f"ring of {len(sites)}, {window} packets")
    config = (
        '[network]\npreset = "wan"\n[tuning]\n'
        f"member_packets_max = {window}\nring_packets_max = {window * len(sites)}\n"
    )
    one_site = dict.fromkeys(sites, "everywhere")
    with Emulation(topology_of("three-sites"), bench.seed) as emulation:
        _widen(emulation, mbit)
        with Stage(emulation, sites, config, one_site) as stage:
            return _slowest(stage, "jhu", sites, bench.messages)


def _widen(emulation: Emulation, mbit: float) -> None:
    for link in emulation.topology.links if mbit else ():
        emulation.set_link(link.start, link.end, mbit=mbit)


def _slowest(stage: Stage, source: str, sites: Sequence[str], messages: int) -> float:
    receivers = [site for site in sites if site != source]
    return min(throughput(stage, source, receivers, messages).values())
