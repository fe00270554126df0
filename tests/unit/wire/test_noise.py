"""Noise is known at sight, and for the reason that opening it would give."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.wire.packet import HEADER_BYTES, WIRE_VERSION, fault_at_sight, open_header

CLUSTER = 0x0123456789ABCDEF
WRITTEN = CLUSTER.to_bytes(8, "big")


@given(
    version=st.sampled_from([WIRE_VERSION, 0, 255]),
    cluster=st.sampled_from([WRITTEN, bytes(8)]),
    rest=st.binary(max_size=40),
)
def test_a_fault_at_sight_is_the_one_that_opening_finds(
    version: int, cluster: bytes, rest: bytes
) -> None:
    packet = bytes([version, 1]) + cluster + rest
    try:
        open_header(packet, CLUSTER)
        expected = ""
    except DecodeError as error:
        expected = error.reason
    seen = fault_at_sight(packet, WRITTEN)
    assert seen == expected or (not seen and len(packet) < HEADER_BYTES), "left to the node"


@given(st.binary(max_size=12))
def test_the_shortest_packets_are_no_trouble(packet: bytes) -> None:
    assert fault_at_sight(packet, WRITTEN)
