"""What a TCP link may be told to do differently. Both ends have the same."""

from dataclasses import dataclass

from antiphon.core.errors import ConfigError
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.wire.link import OBJECT_BYTES_MAX


@dataclass(frozen=True, slots=True)
class TcpSettings:
    frame_bytes: int = 16_384
    """Objects share a frame up to this size."""

    window_bytes: int = 4 << 20
    """So much may be poured and not acknowledged: what a fast and long way holds."""

    ack_objects: int = 32
    """So many objects make an ack due."""

    ack_us: int = 25 * MILLISECOND
    """And any object after this."""

    dial_us: int = 2 * SECOND
    """A try for a pipe is given up after this."""

    redial_us_min: int = 50 * MILLISECOND
    """The wait before another try; doubled each time."""

    redial_us_max: int = 1 * SECOND
    """But no longer than this."""

    silence_us: int = 3 * SECOND
    """A pipe that brings nothing for so long, though an ack is due, is given up. TCP itself may
    pause for a second or two after losses."""

    dead_us: int = 8 * SECOND
    """Time for a broken pipe to be noticed, and for some tries."""

    def __post_init__(self) -> None:
        if not 1 <= self.frame_bytes <= OBJECT_BYTES_MAX:
            raise ConfigError("frame_bytes", "is out of range", f"use 1 to {OBJECT_BYTES_MAX}")
        if min(self.window_bytes, self.ack_objects, self.ack_us, self.dial_us) < 1:
            raise ConfigError("window_bytes", "a time or a limit is not positive", "raise it")
        if not 0 < self.redial_us_min <= self.redial_us_max:
            raise ConfigError("redial_us_min", "is not within redial_us_max", "lower it")
        if not self.ack_us < self.silence_us < self.dead_us:
            raise ConfigError(
                "silence_us", "is not between ack_us and dead_us", "let there be time for a try"
            )
