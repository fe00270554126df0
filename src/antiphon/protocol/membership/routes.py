"""How a packet reaches a daemon of another segment: over the leaders of both, along the edges
of the configuration. Where they do not hear each other it is relayed by those between."""

from antiphon.core.effects import Send
from antiphon.core.ids import Configuration, DaemonId, Member
from antiphon.protocol.membership.graph import Path, paths
from antiphon.wire.control import HOPS_MAX, Relayed, pack_control
from antiphon.wire.packet import Envelope


class Routes:
    """In one configuration, from one of its members."""

    def __init__(self, configuration: Configuration, me: Member) -> None:
        self._me = me.daemon
        self._leaders = [members[0].daemon for members in configuration.segments]
        self._edges = configuration.edges
        self._segment_of = {
            member.daemon: at
            for at, members in enumerate(configuration.segments)
            for member in members
        }
        self._mine = self._segment_of[me.daemon]
        self._ways: dict[int, tuple[int, Path]] | None = None

    def ways(self) -> dict[int, tuple[int, Path]]:
        """To each segment: what the way costs, and over which segments it goes."""
        if self._ways is None:
            graph: dict[int, dict[int, int]] = {}
            for one, two, weight in self._edges:
                graph.setdefault(one, {})[two] = weight
            self._ways = paths(graph, self._mine)
        return self._ways

    def route(self, to: DaemonId) -> tuple[DaemonId, ...]:
        """Who gets the packet, one after the other, and last whom it is for."""
        segment = self._segment_of.get(to, self._mine)
        if segment == self._mine or segment not in self.ways():
            return (to,)
        _, path = self.ways()[segment]
        hops = [self._leaders[at] for at in path]
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
