"""Bugs in what bounds memory and waiting."""

from typing import Any

from antiphon.core.effects import Ended
from antiphon.protocol.node import Node
from antiphon.protocol.stream.ring import Ring
from antiphon.sim.mutants.planting import mutants_of, on_ring, swap
from antiphon.wire.pieces import Token

UNBOUNDED = 1 << 30


def window_ignored(node: Node) -> None:
    """Messages leave however many are not yet stable."""

    def change(ring: Ring) -> None:
        def room(original: Any, token: Token, reserve: int) -> int:
            return int(original(token, UNBOUNDED))

        swap(ring, "_room", room)

    on_ring(node, change)


def turn_without_end(node: Node) -> None:
    """A member sends all it has when the token comes."""

    def change(ring: Ring) -> None:
        swap(ring, "_room", lambda original, token, reserve: UNBOUNDED)

    on_ring(node, change)


def buffers_never_released(node: Node) -> None:
    """Packets are kept although every member has them."""

    def change(ring: Ring) -> None:
        swap(ring._window, "release", lambda original, upto: None)

    on_ring(node, change)


def buffers_released_early(node: Node) -> None:
    """Packets are dropped when this member has them, so nobody can repeat them."""

    def change(ring: Ring) -> None:
        swap(ring._window, "release", lambda original, upto: original(UNBOUNDED))

    on_ring(node, change)


def slow_session_kept(node: Node) -> None:
    """A client that takes nothing is never cut off."""

    def close(original: Any, now: int, number: int, reason: str) -> Any:
        return [] if reason == "slow" else original(now, number, reason)

    swap(node.sessions, "_close", close)


def slow_session_cut_too_soon(node: Node) -> None:
    """A client is cut off while its queue has room."""
    sessions = node.sessions

    def tell(original: Any, now: int, number: int, notify: Any) -> Any:
        effects = original(now, number, notify)
        session = sessions._sessions.get(number)
        if session is not None and session.backlog * 2 > sessions._settings.backlog_max:
            effects += sessions._close(now, number, "slow")
        return effects

    swap(sessions, "_tell", tell)


def slow_session_not_announced(node: Node) -> None:
    """The others are not told that a session was cut off."""

    def close(original: Any, now: int, number: int, reason: str) -> Any:
        effects = original(now, number, reason)
        if reason != "slow":
            return effects
        return [one for one in effects if not isinstance(getattr(one, "request", None), Ended)]

    swap(node.sessions, "_close", close)


def courtesy_without_end(node: Node) -> None:
    """The others wait for a client that is stuck as long as it is."""

    def mind(original: Any, now: int, number: int, session: Any) -> Any:
        return original(now + UNBOUNDED, number, session)

    swap(node.sessions, "_mind", mind)


MUTANTS = mutants_of(
    "flow",
    window_ignored,
    turn_without_end,
    buffers_never_released,
    buffers_released_early,
    slow_session_kept,
    slow_session_cut_too_soon,
    slow_session_not_announced,
    courtesy_without_end,
)
