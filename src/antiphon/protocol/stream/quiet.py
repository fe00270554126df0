"""Whether a ring has anything to do, and how long its token may rest when it has not."""

from antiphon.core.machine import Instant
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.pieces import Token

QUIET_ROTATIONS = 2
"""The leader lets the token rest after so many rotations without work: by then every
member has seen everything stable."""

STILL_ROTATIONS = 8
"""So many rotations without a new packet, though not all is stable: no need to hurry."""


CALM_PACKETS = 4
"""So many packets may come out of a quiet ring before it is one that works."""


class Quiet:
    """Quiet: nothing new since my last visit, and everything is stable."""

    def __init__(self, settings: StreamSettings) -> None:
        self._settings = settings
        self.link_last = 0
        """Link sequence at my last visit."""

        self.rotations = 0
        self.unreliable_moves = False
        self._calm = 0
        """So many more packets, since the ring was quiet when the token came."""

        self._still = 0
        self._rest_us = settings.token_rest_us_min

    def note(self, token: Token, stable: bool) -> None:
        """The token comes; `stable`: all is, and I have nothing to send."""
        still = token.link_sequence == self.link_last and not self.unreliable_moves
        quiet = still and not token.requests and stable
        self.unreliable_moves = False
        self._still = self._still + 1 if still else 0
        self.rotations = self.rotations + 1 if quiet else 0
        self._calm = CALM_PACKETS if quiet else 0
        if not quiet:
            self._rest_us = self._settings.token_rest_us_min

    def is_calm(self, packets: int) -> bool:
        """Whether it still is with these, which count from now on."""
        calm, self._calm = self._calm, max(0, self._calm - packets)
        return calm >= packets > 0

    def stay(self) -> None:
        """The token stays with me, for I sent a little; that will move."""
        self._still = 0

    def disturb(self) -> None:
        """There is work."""
        self.rotations = 0

    def wake(self) -> None:
        """A rest ends."""
        if not self.rotations:
            self._rest_us = self._settings.token_rest_us_min

    def rest(self, round_us: Instant) -> Instant:
        """How long the leader keeps the token: longer and longer while all is quiet, a
        little while nothing moves although something should (a packet that cannot be had,
        a full window): turning faster would not help."""
        if self.rotations >= QUIET_ROTATIONS:
            # A token that was lost and repeated has rested long enough on its way.
            rest = min(self._rest_us, self._settings.token_rest_us_max - round_us)
            self._rest_us = min(2 * self._rest_us, self._settings.token_rest_us_max)
            return rest
        if self._still >= STILL_ROTATIONS:
            return self._settings.token_stay_us
        return 0
