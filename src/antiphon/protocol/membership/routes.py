"""How a packet reaches a daemon of another segment: over the leaders of both, along the edges
of the configuration. Where they do not hear each other it is relayed by those between."""

from antiphon.core.effects import Send
from antiphon.core.ids import Configuration, DaemonId, Member
from antiphon.core.overlay import Tree, overlay_of
from antiphon.core.weights import SiteId
from antiphon.wire.control import HOPS_MAX, Relayed, pack_control
from antiphon.wire.packet import Envelope


class Routes:
    """In one configuration, from one of its members."""

    def __init__(self, configuration: Configuration, me: Member) -> None:
        self._me = me.daemon
        self._configuration = configuration
        self._mine = SiteId(configuration.places[me])
        self._tree: Tree | None = None
        self._costs: dict[int, int] = {}

    def costs(self) -> dict[int, int]:
        """Of the way to each segment that can be reached."""
        self._draw()
        return self._costs

    def _draw(self) -> Tree:
        """Only when it is asked for: members speak with their leader and nobody else."""
        if self._tree is None:
            configuration = self._configuration
            overlay = overlay_of(len(configuration.segments), configuration.edges)
            self._tree = overlay.tree(self._mine)
            self._costs = {to: overlay.cost(self._mine, to) for to in self._tree.sites}
        return self._tree

    def route(self, to: DaemonId) -> tuple[DaemonId, ...]:
        """Who gets the packet, one after the other, and last whom it is for."""
        segment = SiteId(self._configuration.segment_at.get(to, self._mine))
        if segment == self._mine or segment not in self.costs():
            return (to,)
        segments = self._configuration.segments
        hops = [segments[at][0].daemon for at in self._draw().path(segment)]
        if hops[0] == self._me:
            del hops[0]
        if hops[-1] != to:
            hops.append(to)
        return tuple(hops)

    def address(self, envelope: Envelope, send: Send) -> Send:
        route = self.route(send.to)
        if not 1 < len(route) <= HOPS_MAX:
            return send
        return Send(route[0], pack_control(envelope, Relayed(route, send.packet)))


def forward(envelope: Envelope, relayed: Relayed) -> Send:
    """On to the next of the route, whose first I am."""
    rest = relayed.route[1:]
    return Send(rest[0], pack_control(envelope, Relayed(rest, relayed.packet)))
