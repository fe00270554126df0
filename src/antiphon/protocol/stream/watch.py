"""Is somebody, perhaps I myself, unable to receive?"""

from antiphon.core.effects import Trouble, Word
from antiphon.core.ids import NOBODY, DaemonId
from antiphon.core.machine import Instant
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.pieces import Token

TOKEN_LOSS = "token_loss"
RECEIVE_FAILURE = "receive_failure"
BLOCKED_WINDOW = "blocked_window"


class Watch:
    """Of one ring; it reports trouble once."""

    def __init__(self, settings: StreamSettings, me: DaemonId) -> None:
        self._settings = settings
        self._me = me
        self._received = (0, 0)
        self._received_at: Instant = 0
        self._aru_moved: tuple[int, Instant] = (0, 0)
        self._troubled = False

    def begin(self, now: Instant) -> None:
        self._received_at = now
        self._aru_moved = (0, now)

    def visit(
        self, now: Instant, token: Token, have: tuple[int, int], aru: int, has_work: bool
    ) -> list[Word]:
        """`have`: link sequence and stream sequence up to which I lack nothing; `aru`: link
        sequence up to which nobody does."""
        if have != self._received or have == (token.link_sequence, token.site_sequence):
            self._received = have
            self._received_at = now
        elif now - self._received_at > self._settings.receive_failure_us:
            return self.report(RECEIVE_FAILURE, NOBODY)
        # Held back: by a full window, or by repeats that leave no room for anything new.
        used = token.link_sequence - aru
        full = used >= self._settings.window_packets_max
        held_back = used > 0 and (full or has_work)
        if aru != self._aru_moved[0] or not held_back:
            self._aru_moved = (aru, now)
        elif now - self._aru_moved[1] > self._settings.blocked_window_us:
            if token.link_modifier not in (NOBODY, self._me):
                return self.report(BLOCKED_WINDOW, token.link_modifier)
        return []

    def report(self, reason: str, accused: DaemonId) -> list[Word]:
        if self._troubled:
            return []
        self._troubled = True
        return [Trouble(reason, accused)]
