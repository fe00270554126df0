"""Bugs in the token ring."""

from typing import Any

from antiphon.protocol.node import Node
from antiphon.protocol.stream.passing import REPEAT
from antiphon.protocol.stream.ring import Ring
from antiphon.protocol.stream.watch import TOKEN_LOSS
from antiphon.sim.mutants.planting import mutants_of, on_ring, swap
from antiphon.wire.pieces import Token


def old_tokens_taken(node: Node) -> None:
    """A token that was doubled or repeated is taken for a new one."""

    def change(ring: Ring) -> None:
        def hear_token(original: Any, now: int, token: Token) -> Any:
            ring.passing.seen = 0
            return original(now, token)

        swap(ring, "hear_token", hear_token)

    on_ring(node, change)


def requests_unanswered(node: Node) -> None:
    """Nobody repeats what others ask for."""

    def change(ring: Ring) -> None:
        swap(ring._window, "answer", lambda original, requests, most: ([], list(requests)))

    on_ring(node, change)


def losses_not_asked_for(node: Node) -> None:
    """A member does not ask for what it misses."""

    def change(ring: Ring) -> None:
        swap(ring._window, "missing", lambda original, upto, runs_max: [])

    on_ring(node, change)


def token_not_repeated(node: Node) -> None:
    """A token that is lost stays lost."""

    def change(ring: Ring) -> None:
        def set_timer(original: Any, name: str, at: int) -> None:
            if name != REPEAT:
                original(name, at)

        swap(ring.timers, "set", set_timer)

    on_ring(node, change)


def own_line_on_token(node: Node) -> None:
    """Each member writes on the token what it holds itself, whoever holds less."""

    def change(ring: Ring) -> None:
        def update(original: Any, token: Token) -> None:
            token.link_aru, token.site_aru = 0, 0
            token.link_modifier = token.site_modifier = ring._me.daemon
            original(token)

        swap(ring, "_update_arus", update)

    on_ring(node, change)


def token_loss_tolerated(node: Node) -> None:
    """A member waits for ever for a token that does not come."""

    def change(ring: Ring) -> None:
        def report(original: Any, reason: str, accused: Any) -> Any:
            return [] if reason == TOKEN_LOSS else original(reason, accused)

        swap(ring._watch, "report", report)

    on_ring(node, change)


MUTANTS = mutants_of(
    "ring",
    old_tokens_taken,
    requests_unanswered,
    losses_not_asked_for,
    token_not_repeated,
    own_line_on_token,
    token_loss_tolerated,
)
