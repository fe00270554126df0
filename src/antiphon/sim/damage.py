"""Packets as an enemy or a bad line would make them.

Damage is done only to the parts of a packet that its reader can judge: whole payloads are
guarded by the transport's checksum, so a payload that changed on its way does not exist here
either.
"""

from random import Random

from antiphon.wire.packet import CONFIG_BYTES, HEADER_BYTES, Tag

CLUSTER_FIELD = slice(2, 10)

SEED_TAGS = tuple(tag for tag in Tag if tag <= Tag.RECOVERY_DATA)
"""What seeds of one site draw from when they lose or forge packets: with one more, each would
give another run. Those that came later are for scripts and sites only."""

SMALLEST_BYTES = HEADER_BYTES + CONFIG_BYTES + 16
"""Shorter than every data packet: what is cut below this is refused by all."""


def damaged(packet: bytes, rng: Random) -> bytes:
    """A copy that its reader must refuse: cut short, or another version or cluster."""
    way = rng.randrange(3)
    if way == 0:
        shorter = rng.randrange(1, min(len(packet), SMALLEST_BYTES))
        return packet[:shorter]
    at = 0 if way == 1 else rng.randrange(CLUSTER_FIELD.start, CLUSTER_FIELD.stop)
    return packet[:at] + bytes([packet[at] ^ (1 << rng.randrange(8))]) + packet[at + 1 :]


def of_another_cluster(packet: bytes, rng: Random) -> bytes:
    mark = rng.randbytes(CLUSTER_FIELD.stop - CLUSTER_FIELD.start)
    return packet[: CLUSTER_FIELD.start] + mark + packet[CLUSTER_FIELD.stop :]


def of_another_version(packet: bytes, rng: Random) -> bytes:
    return bytes([packet[0] ^ rng.randrange(1, 256)]) + packet[1:]


def garbage(packet: bytes, rng: Random) -> bytes:
    """Noise alone, or noise behind the head of a true packet."""
    noise = rng.randbytes(rng.randrange(1, 200))
    if rng.random() < 0.5:
        return noise
    tag = rng.choice(SEED_TAGS) if rng.random() < 0.8 else rng.randrange(256)
    return packet[:1] + bytes([tag]) + packet[2:HEADER_BYTES] + noise
