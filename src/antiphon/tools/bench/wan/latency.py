"""Table 2 and Figures 6 to 11 of seed 001: round trips on one link and on the chain of six sites
(SP-211 to SP-217, SP-222)."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from statistics import mean

from antiphon.tools.bench.outcome import Cell, Outcome, Table, numbers, percent, ratio
from antiphon.tools.bench.wan.awake import awake, undisturbed
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.measure import SIZE, Trips, load, ping, round_trips
from antiphon.tools.bench.wan.stage import Stage
from antiphon.tools.bench.wan.wiring import SIX, wires
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

LINK = ("mae-east", "ucsb")
PAPER_LINK = {
    "ping": Trips(103.3, 104.1, 106.8),
    "tcp": Trips(108.946, 136.277, 311.649),
    "hop": Trips(107.798, 108.493, 110.944),
}
KINDS = ("hop", "tcp")
SIZES = (128, 512, 1024, 2048, 4096, 8192)
LOADS = (0.0, 100.0, 200.0, 300.0, 400.0)
CAPACITY = 895.0
"""Kbit/s of payload through the chain. Rutgers' access link is the narrowest, with 1.06 Mbit/s,
and a message that is alone in its packet takes 1,210 bytes of it."""

FLAT = 1.10
"""What grows by less than this is called flat."""


def table2(bench: Bench) -> Outcome:
    outcome = Outcome()
    found: dict[str, Trips] = {}
    with awake(), Emulation(topology_of("six-sites"), bench.seed) as emulation:
        found["ping"] = undisturbed(partial(ping, emulation, *LINK, count=bench.trips))
        for kind in KINDS:
            bench.say(f"one link, {kind}")
            with Stage(emulation, LINK, wires(LINK, link=kind)) as stage:
                trips = partial(round_trips, stage, *LINK, count=bench.trips)
                found[kind] = undisturbed(trips)
    rows: list[tuple[Cell, ...]] = []
    for name in ("least", "mean", "most"):
        row: list[Cell] = [name]
        for kind, ours in found.items():
            theirs = getattr(PAPER_LINK[kind], name)
            row += [theirs, getattr(ours, name), ratio(getattr(ours, name), theirs)]
        rows.append(tuple(row))
    columns = ["ms", *(f"{kind} {what}" for kind in found for what in ("paper", "ours", "ratio"))]
    outcome.tables.append(Table("Table 2: round trips on one link", tuple(columns), rows))
    reference, hop = found["ping"], found["hop"]
    outcome.state(
        "SP-211",
        "the emulated ping is the paper's within 2 %",
        abs(reference.mean / PAPER_LINK["ping"].mean - 1) <= 0.02,
        f"{reference.mean:.1f} of {PAPER_LINK['ping'].mean:.1f} ms",
    )
    outcome.state(
        "SP-213",
        "Hop's mean is at most 5 % over ping, and its spread that of the paper",
        hop.mean <= 1.05 * reference.mean and hop.most - hop.least <= 5.0,
        f"{percent(hop.mean, reference.mean) - 100:.1f} %, {hop.most - hop.least:.1f} ms",
    )
    return outcome


def chain(bench: Bench) -> Outcome:
    """From either end to each of the others (Figures 6 to 9)."""
    outcome = Outcome()
    with awake(), Emulation(topology_of("six-sites"), bench.seed) as emulation:
        before = _pings(bench, emulation)
        found = {kind: _along(bench, emulation, kind) for kind in KINDS}
        hops = [sum(two) / 2 for two in zip(before, _pings(bench, emulation), strict=True)]
    for source, names in (("mae-east", "6 and 7"), ("hopkins", "8 and 9")):
        order = SIX if source == SIX[0] else SIX[::-1]
        ways = hops if source == SIX[0] else hops[::-1]
        sums = [sum(ways[: place + 1]) for place in range(len(ways))]
        over: dict[str, list[float]] = {}
        rows: list[tuple[Cell, ...]] = []
        for place, site in enumerate(order[1:]):
            row: list[Cell] = [site, sums[place]]
            for kind in KINDS:
                trip = found[kind][source, site].mean
                over.setdefault(kind, []).append(percent(trip, sums[place]) - 100)
                row += [trip, over[kind][-1]]
            rows.append(tuple(row))
        columns = (
            "to",
            "ping ms",
            *(f"{kind} {what}" for kind in KINDS for what in ("ms", "over %")),
        )
        title = f"Figures {names}: round trips along the chain from {source}"
        outcome.tables.append(Table(title, columns, rows))
        _state_chain(outcome, source, over)
    return outcome


def _pings(bench: Bench, emulation: Emulation) -> list[float]:
    """Of each link of the chain."""
    return [
        undisturbed(partial(ping, emulation, *pair, count=bench.trips)).mean
        for pair in pairwise(SIX)
    ]


def _along(bench: Bench, emulation: Emulation, kind: str) -> dict[tuple[str, str], Trips]:
    config = wires(SIX, link=kind, shape="chain")
    found = {}
    with Stage(emulation, SIX, config) as stage:
        for source in (SIX[0], SIX[-1]):
            for target in SIX:
                if target != source:
                    bench.say(f"{kind}, {source} to {target}")
                    trips = partial(round_trips, stage, source, target, count=bench.trips)
                    found[source, target] = undisturbed(trips)
    return found


def _state_chain(outcome: Outcome, source: str, over: dict[str, list[float]]) -> None:
    hop, tcp = over["hop"], over["tcp"]
    if source == SIX[0]:
        outcome.state(
            "SP-214",
            "on the chain from Mae East Hop is on average at most 5 % over ping (paper: 5 to 18 %)",
            mean(hop) <= 5.0,
            f"{mean(hop):.1f} %, of {numbers(hop)} %; TCP {numbers(tcp)} % (paper: 38 to 66 %)",
        )
    else:
        outcome.state(
            "SP-215",
            "from Hopkins Hop's overhead falls as the way grows",
            hop == sorted(hop, reverse=True),
            f"{numbers(hop)} %",
        )


def sizes(bench: Bench) -> Outcome:
    """Messages of several sizes from one end to the other (Figure 10)."""
    outcome = Outcome()
    found: dict[str, list[float]] = {}
    with awake(), Emulation(topology_of("six-sites"), bench.seed) as emulation:
        found["ping"] = [
            sum(ping(emulation, *pair, size=size, count=10).mean for pair in pairwise(SIX))
            for size in SIZES
        ]
        for kind in KINDS:
            with Stage(emulation, SIX, wires(SIX, link=kind, shape="chain")) as stage:
                bench.say(f"sizes, {kind}")
                found[kind] = [
                    undisturbed(
                        partial(round_trips, stage, SIX[0], SIX[-1], size, bench.trips)
                    ).mean
                    for size in SIZES
                ]
    rows: list[tuple[Cell, ...]] = [
        (f"{size}", *(found[kind][place] for kind in found)) for place, size in enumerate(SIZES)
    ]
    columns = ("bytes", *(f"{kind} ms" for kind in found))
    outcome.tables.append(Table("Figure 10: round trips by size of message", columns, rows))
    grown = [
        percent(mine, pings) - 100 for mine, pings in zip(found["hop"], found["ping"], strict=True)
    ]
    outcome.state(
        "SP-216",
        "Hop's latency grows with the size of the message and no more: at most 10 % over pings of "
        "that size",
        max(grown[2:]) <= 10.0,
        f"{numbers(grown)} % for {numbers(SIZES, 0)} bytes",
    )
    return outcome


def loads(bench: Bench) -> Outcome:
    """Round trips beside a load from Mae East (Figure 11), and beside four fifths of what the
    chain takes."""
    outcome = Outcome()
    kbits = (*LOADS, 0.8 * CAPACITY)
    found = {kind: _beside_loads(bench, kind, kbits) for kind in KINDS}
    rows: list[tuple[Cell, ...]] = [
        (f"{kbit:.0f}", *(found[kind][place].mean for kind in KINDS), found["hop"][place].most)
        for place, kbit in enumerate(kbits)
    ]
    columns = ("load kbit/s", *(f"{kind} ms" for kind in KINDS), "hop, longest")
    outcome.tables.append(Table("Figure 11: round trips along the chain under load", columns, rows))
    means = [trips.mean for trips in found["hop"]]
    growth = [one / means[0] for one in means]
    outcome.state(
        "SP-217",
        "Hop's latency is almost constant from 0 to 400 kbit/s",
        max(growth[:-1]) <= FLAT,
        f"{numbers(growth[:-1], 3)} times the idle one",
    )
    outcome.state(
        "SP-217",
        "and flat up to 80 % of the chain's capacity",
        growth[-1] <= FLAT,
        f"{growth[-1]:.3f} times at {kbits[-1]:.0f} kbit/s",
    )
    return outcome


def _beside_loads(bench: Bench, kind: str, kbits: Sequence[float]) -> list[Trips]:
    found = []
    config = wires(SIX, link=kind, shape="chain")
    with awake(), Emulation(topology_of("six-sites"), bench.seed) as emulation:
        with Stage(emulation, SIX, config) as stage:
            for kbit in kbits:
                bench.say(f"{kind}, {kbit:.0f} kbit/s")
                with ExitStack() as stack:
                    if kbit:
                        stack.enter_context(load(stage, SIX[0], SIX[-1:], kbit))
                    trips = partial(round_trips, stage, SIX[0], SIX[-1], SIZE, bench.trips)
                    found.append(undisturbed(trips))
    return found
