"""What streams do when a configuration of several sites ends, counted from outside.

No record tells of it: which bundles only passed through a daemon, and which changes of groups
were announced and not made, the stream alone knows. Watching changes nothing.
"""

from typing import Any

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Freeze, Install, Send
from antiphon.core.ids import NO_CONFIG
from antiphon.protocol.node import Node
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.reach import SITUATION, Counts, Pair
from antiphon.sim.sites_reach import INTENT_AT_CHANGE, PRUNED_IN_RECOVERY, TRANSIT_COPY
from antiphon.wire.control import RecoveryData, RecoveryRequest, read_control
from antiphon.wire.heard import Heard
from antiphon.wire.packet import TAG_AT, Tag


class Endings:
    """Plant it in each node of a run."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def plant(self, node: Node) -> None:
        stream: Any = node.stream
        handle = stream.handle
        passing = Passing()

        def watching(now: int, event: Any) -> Any:
            ring = stream._ring
            if ring is None or not ring.stamping.several:
                return handle(now, event)
            if type(event) is Freeze:
                passing.see(ring)
            elif type(event) is Install:
                self._count(PRUNED_IN_RECOVERY, sum(map(_is_pruned(ring), stream._surviving())))
                self._count(INTENT_AT_CHANGE, len(ring.stamping._gates._announced))
            effects = handle(now, event)
            if type(event) is Heard and type(event.message) is RecoveryRequest:
                self._count(TRANSIT_COPY, passing.given(effects))
            return effects

        stream.handle = watching

    def _count(self, situation: str, times: int) -> None:
        if times:
            self._counts[Pair(SITUATION, "", situation)] += times


class Passing:
    """The bundles on the way to others that one daemon held when its configuration ended."""

    def __init__(self) -> None:
        self._config = NO_CONFIG
        self._places: set[tuple[int, int]] = set()

    def see(self, ring: Ring) -> None:
        """At the first attempt: later it may hold what it has fetched for its party."""
        if ring.configuration.id == self._config:
            return
        self._config = ring.configuration.id
        self._places = {
            (source.index, sequence)
            for source in ring.delivery.sources
            for sequence, bundle in source.held.items()
            if bundle.way_to(ring.delivery.own.index) is None
        }

    def given(self, effects: list[Any]) -> int:
        """How many of them are in these answers, each the first time."""
        packets = [effect.packet for effect in effects if type(effect) is Send]
        found = set()
        for packet in packets:
            if packet[TAG_AT] == Tag.RECOVERY_DATA:
                data = read_control(Tag.RECOVERY_DATA, packet)
                assert isinstance(data, RecoveryData)
                found.add((data.segment, data.order[0]))
        given = found & self._places
        self._places -= given
        return len(given)


def _is_pruned(ring: Ring) -> Any:
    """Whether a bundle is not for all segments."""
    segments = len(ring.configuration.segments)

    def pruned(bundle: Bundle) -> bool:
        return bool(bundle.reach) and len(bundle.reach) < segments

    return pruned
