"""The token at one member: it comes, is held, is passed on, is repeated, is missed.

Invariant: at most one of "I hold it" and "REPEAT is running".
"""

from antiphon.core.effects import Send
from antiphon.core.ids import DaemonId
from antiphon.core.machine import Instant, Timers
from antiphon.protocol.stream.patience import Patience
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.pieces import Token

VISIT = "visit"
REPEAT = "repeat"
LOSS = "loss"


class Passing:
    def __init__(
        self,
        settings: StreamSettings,
        timers: Timers,
        following: DaemonId,
        leads: bool,
        rotation_us: int,
    ) -> None:
        self._settings = settings
        self._timers = timers
        self._next = following
        self._leads = leads
        self.patience = Patience(settings, rotation_us)
        self.held: Token | None = None
        self.visited = False
        """Since it came."""

        self.seen = 0
        """The highest sequence that I know of."""

        self._passed = 0
        self._passed_at: Instant = 0
        self._packet = b""

    def begin(self, now: Instant) -> None:
        self._passed_at = now
        self.patience.begin(now)
        if not self._leads:
            self._miss_from(now)

    def _miss_from(self, now: Instant) -> None:
        self._timers.set(LOSS, now + self.patience.loss_us())

    def take(self, now: Instant, token: Token, quiet: bool) -> int:
        """A new one came, so long after I passed it on."""
        self.seen = token.sequence
        self.visited = False
        self._timers.clear(REPEAT)
        self._miss_from(now)
        round_us = now - self._passed_at
        self.patience.note_visit(now, round_us, quiet)
        return round_us

    def rest(self, token: Token, until: Instant) -> None:
        """Whoever holds it does not miss it."""
        self.held = token
        self._timers.clear(LOSS)
        self._timers.set(VISIT, until)

    def end_rest(self) -> Token:
        assert self.held is not None
        token, self.held = self.held, None
        return token

    def stay(self, now: Instant, token: Token) -> None:
        """It has been visited, and rests a little longer, but no longer than it would have."""
        self.visited = True
        self.rest(token, min(self._timers.at(VISIT), now + self._settings.token_stay_us))

    def on(self, now: Instant, token: Token, packet: bytes, quiet: bool) -> Send:
        """To the next member."""
        self._timers.clear(VISIT)
        self.seen = self._passed = token.sequence
        self._passed_at = now
        self._packet = packet
        # In a quiet ring the token will rest with the leader before it comes back to me.
        rest = self._settings.token_rest_us_max if quiet and not self._leads else 0
        self._timers.set(REPEAT, now + rest + self.patience.repeat_us())
        self._miss_from(now)
        return Send(self._next, packet)

    def on_again(self, now: Instant, token: Token) -> list[Send]:
        """My predecessor repeats what I passed on: perhaps it was lost behind me. Not too
        soon, or a doubled token would chase the true one round the ring for ever."""
        lost_behind_me = token.sequence == self._passed - 1 and self._timers.running(REPEAT)
        if not lost_behind_me or now - self._passed_at < self.patience.repeat_us() // 2:
            return []
        return [self.repeat(now)]

    def repeat(self, now: Instant) -> Send:
        self._passed_at = now
        self._timers.set(REPEAT, now + self.patience.repeat_us())
        return Send(self._next, self._packet)

    def hear_life(self, now: Instant) -> None:
        """A packet of a later visit: the token I passed arrived."""
        self._timers.clear(REPEAT)
        if self.held is None:
            self._miss_from(now)
