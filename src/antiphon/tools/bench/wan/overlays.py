"""Table 1 of seed 001: fan-out and tree from several sources (SP-206 to SP-210)."""

from antiphon.tools.bench.outcome import Cell, Outcome, Table, numbers, ratio
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.measure import throughput
from antiphon.tools.bench.wan.stage import Stage
from antiphon.tools.bench.wan.wiring import SIX, TREE, wires
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

PAPER = {
    "mae-east": (487.32, 559.79),
    "cnds": (666.94, 560.71),
    "rutgers": (184.99, 568.34),
    "ucsb": (328.81, 578.84),
}
NEAR = 0.06
"""Of what was calibrated to come out."""


def table1(bench: Bench) -> Outcome:
    """By TCP links, as the paper has it."""
    return _table(bench, "tcp", "Table 1: TCP links")


def table1_hop(bench: Bench) -> Outcome:
    """The same by Hop."""
    return _table(bench, "hop", "Table 1 by Hop instead of TCP")


def _table(bench: Bench, link: str, title: str) -> Outcome:
    outcome = Outcome()
    shapes = {
        "fan-out": wires(SIX, link=link, shape="fan-out"),
        "tree": wires(SIX, link=link, shape="tree", edges=TREE),
    }
    found: dict[tuple[str, str], float] = {}
    gaps = []
    with Emulation(topology_of("six-sites"), bench.seed) as emulation:
        for shape, config in shapes.items():
            for source in PAPER:
                bench.say(f"{link}, {shape} from {source}")
                receivers = [site for site in SIX if site != source]
                with Stage(emulation, SIX, config) as stage:
                    rates = throughput(stage, source, receivers, bench.messages).values()
                found[source, shape] = min(rates)
                gaps.append(max(rates) / min(rates))
                bench.say(f"{link}, {shape} from {source}: {min(rates):.0f} kbit/s")
    rows: list[tuple[Cell, ...]] = []
    for source, paper in PAPER.items():
        row: list[Cell] = [source]
        for theirs, shape in zip(paper, shapes, strict=True):
            ours = found[source, shape]
            row += [theirs, ours, ratio(ours, theirs)]
        rows.append((*row, paper[1] / paper[0], found[source, "tree"] / found[source, "fan-out"]))
    columns = ["source"]
    columns += [f"{shape} {what}" for shape in shapes for what in ("paper", "ours", "ratio")]
    columns += ["tree / fan-out paper", "ours"]
    outcome.tables.append(Table(f"{title}, kbit/s at the slowest receiver", tuple(columns), rows))
    _state(outcome, found, gaps, link)
    return outcome


def _state(
    outcome: Outcome, found: dict[tuple[str, str], float], gaps: list[float], link: str
) -> None:
    if link == "tcp":
        off = [found[source, "fan-out"] / paper[0] for source, paper in PAPER.items()]
        outcome.state(
            "SP-206 to SP-209",
            f"the fan-out column comes out within {NEAR:.0%}: the topology was made for it",
            all(abs(one - 1) <= NEAR for one in off),
            f"{numbers(off, 3)} of the paper",
        )
    better = [found[source, "tree"] > found[source, "fan-out"] for source in PAPER]
    outcome.state(
        "SP-206 to SP-209",
        "the tree is better from Mae East, Rutgers and UCSB, the fan-out from CNDS",
        better == [True, False, True, True],
        numbers([found[source, "tree"] / found[source, "fan-out"] for source in PAPER], 2),
    )
    outcome.state(
        "SP-210",
        "the fastest receiver is little faster than the slowest",
        max(gaps) <= 1.1,
        f"at most {max(gaps):.3f} times",
    )
