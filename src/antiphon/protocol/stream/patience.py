"""How long to wait for the token before repeating it, and before giving it up.

Both follow what this ring has shown: a slow or lossy one needs more time, a good one is
found broken quickly.
"""

from collections import deque

from antiphon.core.machine import Instant
from antiphon.protocol.stream.settings import StreamSettings

ROUNDS_REMEMBERED = 8
GAPS_REMEMBERED = 16
REPEATS_BEFORE_LOSS = 8
GAPS_BEFORE_LOSS = 4
FLOORS_MAX = 4
"""Nobody waits longer than so many times `token_loss_us`."""


class Patience:
    def __init__(self, settings: StreamSettings, rotation_us: int) -> None:
        self._settings = settings
        self.rotation_us = rotation_us
        """How long the token takes when it neither rests nor gets lost: the lower quartile
        of the last rounds, for a lost one would teach us to be slow about the next loss."""

        self._rounds: deque[int] = deque(maxlen=ROUNDS_REMEMBERED)
        self._gaps: deque[int] = deque([0], maxlen=GAPS_REMEMBERED)
        """Between the last visits, less the longest rest: what losses cost here."""

        self._visited_at: Instant = 0
        self.visits = 0

    def begin(self, now: Instant) -> None:
        self._visited_at = now

    def note_visit(self, now: Instant, round_us: int, rested: bool) -> None:
        """The token came, `round_us` after I sent it last."""
        self._gaps.append(now - self._visited_at - self._settings.token_rest_us_max)
        self._visited_at = now
        self.visits += 1
        if rested:
            return
        self._rounds.append(round_us)
        if len(self._rounds) == ROUNDS_REMEMBERED:
            quartile = sorted(self._rounds)[ROUNDS_REMEMBERED // 4]
            self.rotation_us = min(quartile, self._settings.token_loss_us // 4)

    def repeat_us(self) -> int:
        """It should have come round by now."""
        return max(self._settings.token_repeat_us, self.rotation_us * 3 // 2)

    def loss_us(self) -> int:
        """Time for a rest and several repeats, or several times what losses cost lately."""
        floor = self._settings.token_loss_us
        repeats = REPEATS_BEFORE_LOSS * self.repeat_us()
        lately = GAPS_BEFORE_LOSS * max(self._gaps)
        patience = self._settings.token_rest_us_max + max(repeats, lately)
        return max(floor, min(patience, FLOORS_MAX * floor))
