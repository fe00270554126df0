"""Tables 3 and 4 of seed 001: what is left of the throughput when packets are lost (SP-218 to
SP-221)."""

from collections.abc import Callable, Sequence

from antiphon.tools.bench.outcome import Cell, Outcome, Table, numbers, percent, ratio
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.measure import throughput
from antiphon.tools.bench.wan.stage import Stage
from antiphon.tools.bench.wan.wiring import SIX, TREE, Pairs, wires
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

LOSSES = (0.0, 0.05, 0.1, 0.2)
LINK = (("mae-east", "ucsb"),)
CHAIN = tuple(zip(SIX, SIX[1:], strict=False))

LINK_RATE = "1530kbit"
"""Gives the paper's throughput of Table 3 without loss."""

TREE_RATE = "600kbit"
"""What the narrow path from Mae East to OSU takes."""

CHAIN_RATE = "1Mbit"
"""What Rutgers' access link takes."""

PAPER = {
    "table3": (1378.807, 1269.043, 1113.887, 995.000),
    "table4": (2202.78, 2090.45, 1807.49, 1388.51),
}
KEPT = {"table3": (92.5, 85.0, 75.0), "table4": (94.0, 84.0, 70.0)}
"""To beat, of the lossless throughput, at 5, 10 and 20 percent."""

TCP_LOSSES = (0.0, 0.05, 0.1)
TCP_PART = 5
"""One message in so many is enough to see how slow TCP is."""


def table3(bench: Bench) -> Outcome:
    """One link, from Mae East to UCSB."""
    outcome = Outcome()
    sites = LINK[0]
    fixed = _under_loss(bench, sites, LINK, wires(sites, rate=LINK_RATE), "fixed rate")
    auto = _under_loss(bench, sites, LINK, wires(sites), "automatic rate")
    _table(outcome, "table3", "Table 3: one link", fixed, auto)
    _kept(outcome, "table3", "one link at a fixed rate", fixed)
    return outcome


def table4(bench: Bench) -> Outcome:
    """Six sites and five links, as a tree."""
    outcome = Outcome()
    fixed = _five_links(bench, outcome, "tree", TREE, TREE_RATE)
    _kept(outcome, "table4", "five links in a tree at a fixed rate", fixed)
    return outcome


def table4_chain(bench: Bench) -> Outcome:
    """The same links one behind the other: what is lost on the first is late on all."""
    outcome = Outcome()
    _five_links(bench, outcome, "chain", CHAIN, CHAIN_RATE)
    return outcome


def _five_links(
    bench: Bench, outcome: Outcome, name: str, links: Pairs, rate: str
) -> Sequence[float]:
    shape = wires(SIX, rate=rate, shape="tree", edges=links)
    fixed = _under_loss(bench, SIX, links, shape, f"{name}, fixed rate")
    shape = wires(SIX, shape="tree", edges=links)
    auto = _under_loss(bench, SIX, links, shape, f"{name}, automatic rate")
    _table(outcome, "table4", f"Table 4: five links in a {name}", fixed, auto)
    return fixed


def tcp_under_loss(bench: Bench) -> Outcome:
    """Hop and TCP on the same link."""
    outcome = Outcome()
    sites = LINK[0]
    hop = _under_loss(bench, sites, LINK, wires(sites), "Hop", TCP_LOSSES)
    few = Bench(
        max(20, bench.messages // TCP_PART), bench.trips, bench.seconds, bench.seed, bench.say
    )
    tcp = _under_loss(few, sites, LINK, wires(sites, link="tcp"), "TCP", TCP_LOSSES)
    rows: list[tuple[Cell, ...]] = [
        (f"{loss:.0%}", ours, theirs, ratio(theirs, ours))
        for loss, ours, theirs in zip(TCP_LOSSES, hop, tcp, strict=True)
    ]
    columns = ("loss", "Hop kbit/s", "TCP kbit/s", "TCP / Hop")
    outcome.tables.append(Table("Hop and TCP links under loss, one link", columns, rows))
    for loss, ours, theirs in list(zip(TCP_LOSSES, hop, tcp, strict=True))[1:]:
        outcome.state(
            "SP-196, SP-197",
            f"at {loss:.0%} loss TCP keeps less than half of Hop's throughput",
            theirs < ours / 2,
            f"{theirs:.0f} of {ours:.0f} kbit/s",
        )
    return outcome


def _under_loss(
    bench: Bench,
    sites: Sequence[str],
    links: Pairs,
    config: str,
    what: str,
    losses: Sequence[float] = LOSSES,
) -> list[float]:
    """The slowest receiver's kbit/s for each share of loss, in each direction of every link."""
    found = []
    with Emulation(topology_of("six-sites"), bench.seed) as emulation:
        for loss in losses:
            with Stage(emulation, sites, config) as stage:
                _lose(emulation.set_link, links, loss)
                bench.say(f"{what}, {loss:.0%} loss")
                found.append(min(throughput(stage, sites[0], sites[1:], bench.messages).values()))
                bench.say(f"{what}, {loss:.0%} loss: {found[-1]:.0f} kbit/s")
                _lose(emulation.set_link, links, 0.0)
    return found


def _lose(set_link: Callable[..., None], links: Pairs, loss: float) -> None:
    for one, other in links:
        set_link(one, other, loss=loss)
        set_link(other, one, loss=loss)


def _table(
    outcome: Outcome, name: str, title: str, fixed: Sequence[float], auto: Sequence[float]
) -> None:
    paper = PAPER[name]
    columns = (
        "loss",
        "paper kbit/s",
        "%",
        "fixed kbit/s",
        "%",
        "automatic kbit/s",
        "%",
        "fixed / paper, of %",
    )
    rows: list[tuple[Cell, ...]] = []
    for place, loss in enumerate(LOSSES):
        kept = [percent(one[place], one[0]) for one in (paper, fixed, auto)]
        row = (paper[place], kept[0], fixed[place], kept[1], auto[place], kept[2])
        rows.append((f"{loss:.0%}", *row, ratio(kept[1], kept[0])))
    outcome.tables.append(Table(title, columns, rows))


def _kept(outcome: Outcome, name: str, what: str, found: Sequence[float]) -> None:
    kept = [percent(one, found[0]) for one in found[1:]]
    least = KEPT[name]
    rows = "SP-218, SP-220" if name == "table3" else "SP-219, SP-220"
    outcome.state(
        rows,
        f"{what} keeps at least {numbers(least)} % at 5, 10, 20 % loss",
        all(ours >= wanted for ours, wanted in zip(kept, least, strict=True)),
        f"{numbers(kept)} %",
    )
