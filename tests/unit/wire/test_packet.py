"""The header of every packet."""

import pytest

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.wire.packet import (
    CONFIG,
    CONFIG_BYTES,
    HEADER_BYTES,
    WIRE_VERSION,
    Envelope,
    Tag,
    open_header,
    pack_config,
)

ME = Member(DaemonId(1 << 63), Incarnation((1 << 64) - 1))
CLUSTER = 0xFEEDFACE


def head(tag: Tag = Tag.HELLO) -> bytes:
    return Envelope(CLUSTER, ME).head(tag)


def refusal(packet: bytes, cluster: int = CLUSTER) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        open_header(packet, cluster)
    return caught.value


@pytest.mark.parametrize("tag", Tag)
def test_every_packet_says_its_version_its_tag_and_who_sent_it(tag: Tag) -> None:
    packet = head(tag)
    assert packet[0] == WIRE_VERSION
    assert open_header(packet + b"body", CLUSTER) == (tag, *ME)


def test_a_packet_shorter_than_its_header_is_refused() -> None:
    for size in range(HEADER_BYTES):
        assert refusal(head()[:size]).reason == "too_short"


def test_another_wire_version_is_refused_and_both_are_named() -> None:
    error = refusal(bytes([WIRE_VERSION + 1]) + head()[1:])
    assert error.reason == "wire_version"
    assert str(WIRE_VERSION + 1) in error.detail and str(WIRE_VERSION) in error.detail


def test_another_cluster_is_refused_and_its_hash_is_named() -> None:
    """SP-14: who does not share the configuration cannot take part."""
    error = refusal(head(), CLUSTER + 1)
    assert error.reason == "other_cluster"
    assert "feedface" in error.detail


def test_a_configuration_id_has_a_fixed_place_and_size() -> None:
    config = ConfigId(2**64 - 1, ME.daemon, ME.incarnation, 2**32 - 1)
    packed = pack_config(config)
    assert len(packed) == CONFIG_BYTES
    assert ConfigId(*CONFIG.unpack(packed)) == config
