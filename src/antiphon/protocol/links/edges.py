"""Which settings hold for the link to a daemon: those of the edge between its site and mine."""

from antiphon.core.ids import DaemonId
from antiphon.protocol.links.settings import EdgeSettings, HopSettings


class Edges:
    """As one daemon sees them."""

    def __init__(
        self,
        me: DaemonId,
        sites: tuple[tuple[DaemonId, ...], ...],
        edges: tuple[EdgeSettings, ...],
        usual: HopSettings,
    ) -> None:
        self._site_of = {daemon: at for at, site in enumerate(sites) for daemon in site}
        mine = self._site_of.get(me)
        self._usual = EdgeSettings(0, 1, hop=usual)
        self._edges: dict[int, EdgeSettings] = {}
        for edge in edges:
            if mine in (edge.one, edge.two):
                self._edges[edge.two if edge.one == mine else edge.one] = edge

    def to(self, peer: DaemonId) -> EdgeSettings:
        """Parts of a torn site have no edge of their own, and are joined like any two."""
        at = self._site_of.get(peer)
        return self._usual if at is None else self._edges.get(at, self._usual)
