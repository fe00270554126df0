"""What a coordinator wishes: the parties it can reach, as the segments of one configuration."""

from collections.abc import Callable, Iterable

from antiphon.core.ids import ConfigId, Configuration, DaemonId, Member
from antiphon.core.overlay import overlay_of
from antiphon.wire.control import SEGMENTS_MAX, SiteReport

Parts = tuple[tuple[Member, ...], ...]
Edges = set[tuple[DaemonId, DaemonId]]
"""Leaders that hear each other, in both directions."""


def wished(party: tuple[Member, ...], others: Iterable[SiteReport]) -> Parts:
    """My party and those of others. Nothing while they overlap, for then one of the reports is
    not true any more; nor while they are too many, for then sites are still forming."""
    parts = tuple(sorted([party, *(report.party for report in others)]))
    daemons = [member.daemon for part in parts for member in part]
    if len(parts) > SEGMENTS_MAX or len(set(daemons)) < len(daemons):
        return ()
    return parts


def missing_edges(configuration: Configuration, edges: Edges) -> list[tuple[DaemonId, DaemonId]]:
    """Which of its edges are not there."""
    leaders = [members[0].daemon for members in configuration.segments]
    own = [(leaders[one], leaders[two]) for one, two, _ in configuration.edges]
    return [edge for edge in own if edge not in edges]


def holds_together(configuration: Configuration, edges: Edges) -> bool:
    return not missing_edges(configuration, edges)


def regrouping(parts: Parts, installed: Configuration, edges: Edges) -> list[tuple[str, str]]:
    """Why other segments or edges, as evidence: a word and a line for each."""
    found = [
        ("edge_lost", f"{one} and {two} do not hear each other")
        for one, two in missing_edges(installed, edges)
        if one < two
    ]
    before = {members[0].daemon for members in installed.segments}
    for members in parts:
        leader = members[0].daemon
        if leader not in before and leader in installed.segment_at:
            found.append(("regrouped", f"{leader} leads a segment"))
    after = {members[0].daemon for members in parts}
    staying = {member.daemon for members in parts for member in members}
    for leader in sorted(before - after):
        if leader in staying:
            found.append(("regrouped", f"{leader} leads no segment"))
    return found


def is_light(parts: Parts, installed: Configuration, edges: Edges) -> bool:
    """Only members inside segments change, or who of them leads; the ways stay."""
    if len(parts) == 1 and len(installed.segments) == 1:
        return True
    if len(parts) != len(installed.segments):
        return False
    heirs = [
        part[0].daemon for members in installed.segments for part in parts if part[0] in members
    ]
    if len(heirs) != len(parts):
        return False
    return all((heirs[one], heirs[two]) in edges for one, two, _ in installed.edges)


def kept_edges(
    parts: Parts, installed: Configuration, edges: Edges, site: Callable[[DaemonId], int]
) -> tuple[tuple[int, int, int], ...] | None:
    """Those of the installed configuration with their weights, between the segments of the
    same sites; None if the sites are others, or an edge is not there."""
    before = [site(members[0].daemon) for members in installed.segments]
    after = [site(members[0].daemon) for members in parts]
    if sorted(before) != sorted(after) or len(set(after)) < len(after):
        return None
    leaders = [members[0].daemon for members in parts]
    place = [after.index(one) for one in before]
    kept = sorted((place[one], place[two], weight) for one, two, weight in installed.edges)
    if any((leaders[one], leaders[two]) not in edges for one, two, _ in kept):
        return None
    return tuple(kept)


def configuration_of(
    config: ConfigId, parts: Parts, edges: Edges, weight: Callable[[DaemonId, DaemonId], int]
) -> Configuration:
    """With the edges that lie on a way between any two; others are of no use to it."""
    members = tuple(sorted(member for part in parts for member in part))
    if len(parts) == 1:
        return Configuration(config, members)
    leaders = [part[0].daemon for part in parts]
    ways = {
        (one, two): weight(leaders[one], leaders[two])
        for one in range(len(leaders))
        for two in range(len(leaders))
        if (leaders[one], leaders[two]) in edges
    }
    overlay = overlay_of(len(parts), ((*pair, cost) for pair, cost in ways.items()))
    used = {step for one, two in overlay.links() for step in ((one, two), (two, one))}
    return Configuration(
        config, members, parts, tuple((*pair, ways[pair]) for pair in sorted(used))
    )
