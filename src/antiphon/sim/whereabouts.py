"""What the places that an action names mean at the time when it is done."""

from antiphon.core.ids import DaemonId
from antiphon.sim.action import Action
from antiphon.sim.gates import Hosts, Ways
from antiphon.sim.places import Atlas, Place, Runs


def ways(action: Action, atlas: Atlas, runs: Runs) -> Ways:
    """Of the links that it names; what is said of a leader is meant for who leads now."""

    def hosts(place: Place) -> Hosts | None:
        return frozenset(atlas.daemons(place, runs)) if place else None

    link = action.link
    return Ways(hosts(link.source), hosts(link.target), link.both)


def sides(action: Action, atlas: Atlas, runs: Runs) -> list[list[DaemonId]]:
    return [
        [daemon for place in side for daemon in atlas.daemons(place, runs)] for side in action.sides
    ]
