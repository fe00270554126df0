"""What the trees of an overlay cost from each source, and what is left when a line breaks: pure.

Times are sums of weights along the way, a tenth of a millisecond each (core/weights.py).
"""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from antiphon.core.overlay import UNREACHABLE, Overlay
from antiphon.core.weights import (
    WEIGHT_US,
    Pair,
    SiteId,
    Weights,
    chain,
    fan_out,
    frozen,
    ring,
    shared_tree,
    without,
)

MILLISECONDS = WEIGHT_US / 1000


def weights_of(ways: Mapping[tuple[str, str], int]) -> tuple[list[str], Weights]:
    """The names of the sites, and the table over their numbers. A way that was measured in one
    direction only costs as much in the other."""
    names = sorted({site for pair in ways for site in pair})
    numbers = {name: SiteId(at) for at, name in enumerate(names)}
    told: dict[Pair, int] = {}
    for (one, other), weight in ways.items():
        told[numbers[one], numbers[other]] = weight
        told.setdefault((numbers[other], numbers[one]), weight)
    return names, frozen(numbers.values(), told)


def shapes(table: Weights) -> dict[str, Overlay]:
    """What could be imposed, with the ways of each: all over lines that were measured."""
    sites = table.sites
    made = {"measured": Overlay(table)}
    if set(permutations(sites, 2)) <= {(one, other) for one, other, _ in table.edges}:
        order = _nearest_next(table)
        made["fan-out"] = Overlay(fan_out(sites))
        made["tree"] = Overlay(shared_tree(sites, _least_tree(table)))
        made["chain"] = Overlay(chain(order))
        made["ring"] = Overlay(ring(order))
    return made


def compare(names: Sequence[str], table: Weights) -> list[dict[str, Any]]:
    """A row for each shape and source."""
    cost = {(one, other): weight for one, other, weight in table.edges}
    return [
        {"shape": shape, "source": names[source], **_figures(overlay, source, cost)}
        for shape, overlay in shapes(table).items()
        for source in table.sites
    ]


def _figures(overlay: Overlay, source: SiteId, cost: Mapping[Pair, int]) -> dict[str, Any]:
    tree = overlay.tree(source)
    arrival = {source: 0}
    for site, parent in tree.parents.items():
        arrival[site] = arrival[parent] + cost[parent, site]
    times = [arrival[site] * MILLISECONDS for site in tree.parents]
    return {
        "reached": len(times),
        "worst_ms": round(max(times, default=0), 1),
        "mean_ms": round(sum(times) / len(times), 1) if times else 0.0,
        "sent_by_source": len(tree.children[source]),
        "most_sent": max(len(each) for each in tree.children.values()),
    }


def broken_lines(names: Sequence[str], table: Weights) -> list[dict[str, Any]]:
    """For each line that some tree uses: what the worst way is with it and without it."""
    usual = Overlay(table)
    rows = []
    for one, other in usual.links():
        left = Overlay(without(table, [(one, other)]))
        worst = max(left.cost(source, to) for source, to in permutations(table.sites, 2))
        apart = worst >= UNREACHABLE
        rows.append(
            {
                "broken": f"{names[one]} - {names[other]}",
                "apart": "yes" if apart else "no",
                "worst_ms": None if apart else round(worst * MILLISECONDS, 1),
                "detour_ms": None
                if apart
                else round((left.cost(one, other) - usual.cost(one, other)) * MILLISECONDS, 1),
            }
        )
    return rows


def configuration(names: Sequence[str], table: Weights) -> str:
    """For the file of a cluster: the weights, so that they are the same whatever is measured."""
    cost = {(one, other): weight for one, other, weight in table.edges}
    lines = ["[overlay]", 'weights = "static"', 'shape = "free"']
    for one, other in sorted(pair for pair in cost if pair[0] < pair[1]):
        lines += ["", "[[edge]]", f'between = ["{names[one]}", "{names[other]}"]']
        lines += [f"weight = {cost[one, other]}", f"weight_back = {cost[other, one]}"]
    return "\n".join(lines) + "\n"


def _both(table: Weights) -> dict[Pair, int]:
    """There and back, for shapes that have no direction."""
    cost = {(one, other): weight for one, other, weight in table.edges}
    return {pair: weight + cost[pair[1], pair[0]] for pair, weight in cost.items()}


def _least_tree(table: Weights) -> list[Pair]:
    """The edges that join all sites at the least cost: always the cheapest that joins one more."""
    cost = _both(table)
    joined = {table.sites[0]}
    edges: list[Pair] = []
    while len(joined) < len(table.sites):
        _, pair = min((cost[p], p) for p in cost if p[0] in joined and p[1] not in joined)
        edges.append(pair)
        joined.add(pair[1])
    return edges


def _nearest_next(table: Weights) -> list[SiteId]:
    """Every site once, each followed by the nearest that is left; from the best beginning."""
    cost = _both(table)
    best: list[SiteId] = list(table.sites)
    least = UNREACHABLE
    for first in table.sites:
        order = [first]
        length = 0
        while rest := set(table.sites) - set(order):
            step, site = min((cost[order[-1], each], each) for each in rest)
            order.append(site)
            length += step
        if length < least:
            best, least = order, length
    return best
