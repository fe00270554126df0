"""What the stream of a site may be told to do differently."""

from dataclasses import dataclass

from antiphon.core.errors import ConfigError
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.wire.packet import PACKET_BYTES_MAX
from antiphon.wire.ring import ORDER_OVERHEAD, PACKET_OVERHEAD, PIECE_OVERHEAD


@dataclass(frozen=True, slots=True)
class StreamSettings:
    packet_bytes: int = 1400
    """Of a ring packet, header included: fits an Ethernet frame with room for encryption."""

    ring_packets_max: int = 160
    """Per rotation for the whole ring (SP-189)."""

    member_packets_max: int = 40
    """Per rotation for one member (SP-190)."""

    member_bundles_max: int = 256
    """And bundles of one member: a daemon pays for each of them, however short, and a rotation
    must not take longer than others are patient."""

    accelerated_packets: int = 0
    """So many packets may leave after the token of the same visit; 0 is the plain ring."""

    window_packets_low: int = 400
    """Below so many unstable packets on the ring nobody is delayed (TR-48)."""

    window_packets_max: int = 1600
    """From here on nothing but alive and control messages leaves (TR-49)."""

    far_bytes_min: int = 512 * 1024
    """So much of a segment's stream may always be unstable; more, as fast as the ways are
    found to be (SP-210)."""

    far_spare_us: int = 500 * MILLISECOND
    """The window of a stream has room for what reports and repairs take, too."""

    far_bytes_low: int = 2 * 1024 * 1024
    """Below so many unstable bytes in the streams of all segments nobody is delayed."""

    far_bytes_max: int = 8 * 1024 * 1024
    """From here on nothing but control messages leaves: the slowest segment slows all
    (SP-129)."""

    tell_us: int = 100 * MILLISECOND
    """What is new of a segment and nobody waits for is told to the others after this; a
    quarter of it, if a stream is fast."""

    control_packets_reserve: int = 40
    """The group state of a new configuration may go this far above the window: all wait
    for it."""

    delay_us_max: int = 20 * MILLISECOND
    """Adaptive delay between a member's sendings just below the full window."""

    large_bundles_max: int = 4
    """So many bundles of a daemon may be partly sent: bounds what receivers assemble."""

    token_stay_us: int = 1 * MILLISECOND
    """The token stays so long with a leader that sends a little on a calm ring, and rests so long
    where nothing moves although something should."""

    token_rest_us_min: int = 10 * MILLISECOND
    token_rest_us_max: int = 80 * MILLISECOND
    """How long the token stays with the leader when nobody has work; doubles in between."""

    token_repeat_us: int = 10 * MILLISECOND
    """A passed token is repeated after this, or after 3/2 rotations if that is longer."""

    token_loss_us: int = 150 * MILLISECOND
    """No sign of the token for so long: the ring is broken. A slow or lossy ring is given up
    to four times as long (patience.py)."""

    receive_failure_us: int = 3 * SECOND
    """A packet missing for so long in spite of all requests (SP-154)."""

    blocked_window_us: int = 2 * SECOND
    """The window is full, or nothing new can be sent, and the same member is behind for so
    long: it is removed (TR-50)."""

    slow_site_us: int = 0
    """A segment that does not hold now what there was so long ago is left out, so that it
    slows nobody; 0: all wait for it."""

    partial_life_us: int = 200 * MILLISECOND
    """An unreliable message with a part missing is dropped after this (SP-55)."""

    pull_us: int = 15 * MILLISECOND
    """Recovery asks a holder again after this."""

    pull_far_us: int = 250 * MILLISECOND
    """And one in another segment after this: a round trip and a little more."""

    pull_fragments: int = 64
    """A holder answers one request with so many fragments at most."""

    def __post_init__(self) -> None:
        room = PACKET_OVERHEAD + PIECE_OVERHEAD + ORDER_OVERHEAD
        if not room + 64 <= self.packet_bytes <= PACKET_BYTES_MAX:
            raise ConfigError(
                "packet_bytes", f"{self.packet_bytes} is out of range", f"use {room + 64} to 65507"
            )
        if self.member_packets_max > self.ring_packets_max:
            raise ConfigError(
                "member_packets_max", "is above ring_packets_max", "lower it or raise the other"
            )
        if self.window_packets_low >= self.window_packets_max:
            raise ConfigError("window_packets_low", "is not below window_packets_max", "lower it")
        if not 1024 <= self.far_bytes_min <= self.far_bytes_max:
            raise ConfigError("far_bytes_min", "is out of range", "use 1024 to far_bytes_max")
        if self.far_bytes_low >= self.far_bytes_max:
            raise ConfigError("far_bytes_low", "is not below far_bytes_max", "lower it")
        if self.token_loss_us <= self.token_rest_us_max + 4 * self.token_repeat_us:
            raise ConfigError(
                "token_loss_us",
                "leaves no time for a rest and four repeats",
                "raise it or lower token_rest_us_max",
            )

    @property
    def buffered_packets_max(self) -> int:
        """What a member ever holds (P4): the window, the reserve, and one rotation by which
        members' knowledge of stability may differ."""
        return self.window_packets_max + self.control_packets_reserve + self.ring_packets_max
