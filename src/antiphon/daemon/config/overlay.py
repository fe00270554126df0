"""[overlay] and [[edge]]: from names of sites to the settings of edges, and what does not fit."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from antiphon.core.errors import ConfigError
from antiphon.core.weights import SiteId, Weights, chain, ring, shared_tree
from antiphon.daemon.config.declaration import EdgeEntry, Overlay, Shape
from antiphon.daemon.config.dials import DIALS
from antiphon.daemon.config.findings import spelled
from antiphon.daemon.config.reading import Notes
from antiphon.protocol.links.settings import EdgeSettings, HopSettings, LinkKind
from antiphon.protocol.presets import NodeSettings

Entries = Iterable[tuple[int, EdgeEntry]]
"""With their places in the file: entries that cannot be used are not here."""


def edge_hop(entry: EdgeEntry, usual: HopSettings) -> HopSettings:
    """ConfigError if its numbers do not fit each other."""
    given: dict[str, Any] = {
        DIALS["hop"][key].field: value for key, value in entry.hop.items() if value is not None
    }
    return replace(usual, **given)


def edge_settings(
    names: Sequence[str], overlay: Overlay, entries: Iterable[EdgeEntry], usual: NodeSettings
) -> tuple[EdgeSettings, ...]:
    """All edges of which the file says anything; `names` are the sites."""
    places = {name: place for place, name in enumerate(names)}
    found: dict[frozenset[int], EdgeSettings] = {}
    for entry in entries:
        one, two = (places[name] for name in entry.between)
        back = entry.weight if entry.weight_back is None else entry.weight_back
        kind, hop = LinkKind(entry.link), edge_hop(entry, usual.hop)
        edge = EdgeSettings(one, two, kind, hop, usual.tcp, entry.weight, back)
        found[frozenset((one, two))] = edge
    table = _table(places, overlay)
    if table is not None:
        weights = {(one, two): weight for one, two, weight in table.edges}
        for one, two in combinations(table.sites, 2):
            edge = found.get(frozenset((one, two)), EdgeSettings(one, two, hop=usual.hop))
            found[frozenset((one, two))] = replace(
                edge,
                weight=weights[SiteId(edge.one), SiteId(edge.two)],
                weight_back=weights[SiteId(edge.two), SiteId(edge.one)],
            )
    return tuple(found.values())


def _table(places: dict[str, int], overlay: Overlay) -> Weights | None:
    """The weights of a shape; None where all are alike or told by edges. ConfigError if the
    sites or edges do not make such a shape."""
    sites = [SiteId(place) for place in places.values()]
    ordered = [SiteId(places[name]) for name in overlay.sites] or sites
    pairs = [(SiteId(places[one]), SiteId(places[two])) for one, two in overlay.edges]
    match Shape(overlay.shape):
        case Shape.TREE:
            return shared_tree(sites, pairs)
        case Shape.CHAIN:
            return chain(ordered)
        case Shape.RING:
            return ring(ordered)
    return None


def check_overlay(notes: Notes, names: Sequence[str], overlay: Overlay) -> None:
    """That the shape has what it needs, and nothing else."""
    shape = Shape(overlay.shape)
    ordered = shape in (Shape.CHAIN, Shape.RING)
    if overlay.weights == "measured" and shape != Shape.FREE:
        what = f"{shape} has its own weights"
        notes.add(("overlay", "weights"), what, 'write "static", or shape = "free"')
    if overlay.sites and not ordered:
        notes.add(("overlay", "sites"), f"{shape} has no order", "remove it, or use chain or ring")
    elif overlay.sites and sorted(overlay.sites) != sorted(names):
        what = "does not name each site once"
        notes.add(("overlay", "sites"), what, f"name {', '.join(names)}")
    if overlay.edges and shape != Shape.TREE:
        notes.add(("overlay", "edges"), f"{shape} needs none", "remove it, or use tree")
    for place, pair in enumerate(overlay.edges):
        for name in sorted(set(pair) - set(names)):
            notes.add(("overlay", "edges", place), *_unknown(name, names))
    if shape != Shape.TREE or notes.broken_in(["overlay"]):
        return
    try:
        _table({name: place for place, name in enumerate(names)}, overlay)
    except ConfigError as error:
        notes.add(("overlay", "edges"), error.what, error.remedy)


def check_edges(
    notes: Notes, names: Sequence[str], overlay: Overlay | None, entries: Entries
) -> None:
    """That each is between sites that there are, and told once; and that a shape is not
    contradicted."""
    first: dict[frozenset[str], int] = {}
    for place, entry in entries:
        for name in entry.between:
            if name not in names:
                notes.add(("edge", place, "between"), *_unknown(name, names))
        other = first.setdefault(frozenset(entry.between), place)
        if other != place:
            path = ("edge", other)
            what = f"is the same edge as {spelled(path)} on line {notes.line(path)}"
            notes.add(("edge", place, "between"), what, "write one table for both")
        if entry.link == LinkKind.TCP:
            for key in [key for key, value in entry.hop.items() if value is not None]:
                notes.add(("edge", place, key), "a TCP link has no such number", "remove it")
        if overlay is not None and overlay.shape != Shape.FREE:
            for key in ("weight", "weight_back"):
                if getattr(entry, key) is not None:
                    what = f"the shape of [overlay] is {overlay.shape}, which has its own weights"
                    notes.add(("edge", place, key), what, "remove one of the two")


def _unknown(name: str, names: Sequence[str]) -> tuple[str, str]:
    return f"no daemon is in the site {name!r}", f"use {', '.join(names)}"
