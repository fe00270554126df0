"""Order across idle sites, and payload that spares the sites without members."""

from antiphon.core.service import Service
from antiphon.tools.bench.outcome import Outcome, Table, percent
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.measure import SIZE, stream
from antiphon.tools.bench.wan.stage import Stage
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.paths import paths
from antiphon.tools.wan.presets import topology_of
from antiphon.tools.wan.topology import DOWN

SITES = ("mae-east", "ucsb", "osu", "rutgers", "cnds", "hopkins")
IDLE_KBIT = 24.0
"""Three messages a second: each finds everybody idle."""

SPARED = "hopkins"


def agreed(bench: Bench) -> Outcome:
    """From the call at one site to the message at another, when nobody else sends."""
    topology = topology_of("six-sites")
    longest = max(path.time_ms(SIZE + 28) for path in paths(topology).values())
    outcome = Outcome()
    rows: list[tuple[str | float | None, ...]] = []
    worst = 0.0
    with Emulation(topology, bench.seed) as emulation, Stage(emulation, SITES) as stage:
        for source in SITES:
            bench.say(f"agreed messages from {source}")
            count = bench.trips
            reports = stream(stage, source, SITES, count, IDLE_KBIT, Service.AGREED)
            means = [sum(one.one_way_ms) / count for one in reports.values()]
            worst = max(worst, *means)
            rows.append((source, min(means), max(means), max(means) / longest))
    columns = ("source", "nearest receiver ms", "farthest receiver ms", "times longest one-way")
    outcome.tables.append(Table("Agreed messages across idle sites, mean one-way", columns, rows))
    outcome.state(
        "SP-66",
        "agreed latency across idle sites is at most 2.2 times the longest one-way delay",
        worst <= 2.2 * longest,
        f"{worst:.1f} ms, {worst / longest:.2f} times {longest:.1f} ms",
    )
    return outcome


def pruning(bench: Bench) -> Outcome:
    """A stream to five sites, and what the sixth gets of it."""
    outcome = Outcome()
    messages = min(bench.messages, 1000)
    payload = messages * SIZE
    with Emulation(topology_of("six-sites"), bench.seed) as emulation:
        with Stage(emulation, SITES) as stage:
            others = [site for site in SITES if site != SPARED]
            shares = []
            for members in (others, SITES):
                bench.say(f"a stream to {len(members)} sites")
                before = emulation.counters()
                stream(stage, "cnds", members, messages)
                after = emulation.counters()
                there = {site: after[site, DOWN].bytes - before[site, DOWN].bytes for site in SITES}
                shares.append(there)
    pruned, full = shares
    rows: list[tuple[str | float | None, ...]] = [
        (site, percent(pruned[site], payload), percent(full[site], payload))
        for site in SITES
        if site != "cnds"
    ]
    columns = ("site", f"{SPARED} has no member", "every site has one")
    title = "Bytes into each site, percent of the payload"
    outcome.tables.append(Table(title, columns, rows))
    kept = percent(pruned[SPARED], payload)
    outcome.state(
        "SP-121, SP-122",
        "a site without members gets no payload: order and stability only",
        kept <= 15.0 and full[SPARED] > payload,
        f"{kept:.1f} % of the payload in bytes of reports and greetings",
    )
    return outcome
