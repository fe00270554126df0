"""What a daemon that leads its site tells operators of the others: its links, and how far the
leaders are that it hears."""

from collections.abc import Mapping
from typing import Any

from antiphon.core.ids import DaemonId
from antiphon.core.machine import MILLISECOND
from antiphon.protocol.node import Node


def links_told(node: Node, names: Mapping[DaemonId, str]) -> list[dict[str, Any]]:
    """One entry for each link; none where there is one site, or another daemon leads."""
    return [
        {
            "peer": names.get(link.peer, str(link.peer)),
            "kind": str(link.kind),
            "state": link.state,
            "round_trip_ms": _milliseconds(link.round_trip_us),
            "loss": round(link.loss, 4),
            "rate_bits": None if link.rate_bytes is None else 8 * link.rate_bytes,
            "waiting_bytes": link.waiting_bytes,
            "unacknowledged": link.open_objects,
        }
        for link in node.links.standings()
    ]


def leaders_told(node: Node, names: Mapping[DaemonId, str]) -> list[dict[str, Any]]:
    """By greetings: also of those to whom there is no link."""
    return [
        {
            "leader": names.get(daemon, str(daemon)),
            "round_trip_ms": _milliseconds(distance.round_trip_us),
            "loss": round(distance.loss, 4),
            "weight": distance.weight,
        }
        for daemon, distance in node.membership.distances().items()
    ]


def _milliseconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / MILLISECOND
