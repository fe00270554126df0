"""The real node for a simulated world."""

from dataclasses import replace
from random import Random

from antiphon.core.ids import DaemonId, Member
from antiphon.protocol.node import Node
from antiphon.protocol.presets import SIMULATION, NodeSettings
from antiphon.sim.script import Script
from antiphon.sim.world import MakeNode


def make_nodes(script: Script, settings: NodeSettings = SIMULATION) -> MakeNode:
    """What makes the nodes of a script: all daemons know all daemons."""
    ours = replace(
        settings,
        daemons=tuple(map(DaemonId, range(1, script.daemons + 1))),
        sites=tuple(tuple(map(DaemonId, site)) for site in script.sites),
    )

    def make(member: Member, rng: Random) -> Node:
        return Node(member, ours, rng)

    return make
