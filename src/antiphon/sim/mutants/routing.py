"""Bugs in the ways between sites."""

from collections.abc import Callable
from typing import Any

from antiphon.core.effects import Forward
from antiphon.core.ids import Member
from antiphon.protocol.membership.reports import Reports
from antiphon.protocol.node import Node
from antiphon.protocol.stream.gateway import Gateway
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.planting import mutants_of, on_ring, swap, whenever
from antiphon.wire.pieces import ForeignPieces
from antiphon.wire.reports import StreamReport


def tree_of_another(node: Node) -> None:
    """A leader sends what its site says down the tree of the next site."""

    def change(gateway: Gateway) -> None:
        branches = list(gateway._branches)
        branches[gateway._mine] = branches[(gateway._mine + 1) % len(branches)]
        gateway._branches = tuple(branches)

    _on_gateway(node, change)


def first_branch_only(node: Node) -> None:
    """Of the branches of a tree only the first gets anything."""

    def change(gateway: Gateway) -> None:
        gateway._branches = tuple(branches[:1] for branches in gateway._branches)

    _on_gateway(node, change)


def only_for_the_neighbour(node: Node) -> None:
    """A neighbour gets what it wants itself, and not what sites behind it want."""

    def change(gateway: Gateway) -> None:
        leaders = [members[0].daemon for members in _segments(node)]
        gateway._branches = tuple(
            tuple((leader, 1 << leaders.index(leader)) for leader, _ in branches)
            for branches in gateway._branches
        )

    _on_gateway(node, change)


def _segments(node: Node) -> Any:
    return node.membership.installed.segments


def words_not_passed_on(node: Node) -> None:
    """What comes from another site goes to no third one."""

    def change(gateway: Gateway) -> None:
        def forward(original: Any, reliable: bool, pieces: ForeignPieces) -> list[Forward]:
            mine = pieces.segment == gateway._mine
            return list(original(reliable, pieces)) if mine else []

        swap(gateway, "forward", forward)

    _on_gateway(node, change)


def reports_not_passed_on(node: Node) -> None:
    """What another leader reports goes to no third one."""

    def change(gateway: Gateway) -> None:
        def forward(original: Any, report: StreamReport) -> list[Forward]:
            found = list(original(report))
            return found if report.segment == gateway._mine else []

        swap(gateway, "forward_report", forward)

    _on_gateway(node, change)


def _on_gateway(node: Node, change: Callable[[Gateway], None]) -> None:
    """Of a ring that this daemon leads, if there are several."""

    def of_ring(ring: Ring) -> None:
        if ring.abroad is not None and ring.abroad.gateway is not None:
            change(ring.abroad.gateway)

    on_ring(node, of_ring)


def never_relayed(node: Node) -> None:
    """Words of a change are sent straight to whom they are for, reached or not."""
    swap(node.membership, "address", lambda original, send: send)


def edges_of_one_direction(node: Node) -> None:
    """Two leaders count as joined if one of them hears the other."""

    def change(reports: Reports) -> None:
        def join(original: Any, leader: Member) -> None:
            original(leader)
            for daemon, report in reports._reports.items():
                heard = leader in reports._hears[daemon]
                heard = heard or report.leader in reports._hears[leader.daemon]
                if heard and daemon != leader.daemon:
                    reports._edges[leader.daemon].add(daemon)
                    reports._edges[daemon].add(leader.daemon)

        swap(reports, "_join", join)

    whenever(node.membership._federation, "_reports", change)


MUTANTS = mutants_of(
    "routing",
    tree_of_another,
    first_branch_only,
    only_for_the_neighbour,
    words_not_passed_on,
    reports_not_passed_on,
    never_relayed,
    edges_of_one_direction,
    sites=True,
)
