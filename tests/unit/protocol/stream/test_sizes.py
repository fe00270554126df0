"""Messages of 0 B to 16 MB between two rings: all or nothing."""

from dataclasses import replace

import pytest

from antiphon.core.service import Service
from antiphon.wire.ring import MESSAGE_BYTES_MAX
from tests.unit.protocol.stream.bench import SETTINGS, Loop, is_token

LARGE_PACKETS = replace(SETTINGS, packet_bytes=60_000)
BODIES = {size: bytes(range(256)) * (size // 256) + bytes(size % 256) for size in (
    0, 1, 63, 64, 65, 300, 399, 400, 401, 1_000, 65_535, 65_536, 100_000
)}  # fmt: skip


@pytest.mark.parametrize("service", [Service.UNRELIABLE, Service.RELIABLE, Service.SAFE])
def test_a_message_of_any_size_comes_whole(service: Service) -> None:
    """SP-99, SP-100: more than the paper's 128 KB, down to nothing at all."""
    loop = Loop(members=2, window_packets_low=1_500)
    for session, body in enumerate(BODIES.values(), 1):
        loop.submit(1, service, body, session)
    loop.run(2_000_000)
    for number in (1, 2):
        got = {one.session: one.body for one in loop.delivered[number]}
        assert [got[session] for session in sorted(got)] == list(BODIES.values())


def test_a_message_of_sixteen_megabytes_comes_whole() -> None:
    """SP-99: and holds up no small one behind it, of another session."""
    body = bytes(range(256)) * (MESSAGE_BYTES_MAX // 256)
    loop = Loop(members=2, settings=LARGE_PACKETS)
    loop.submit(1, Service.AGREED, body, session=1)
    loop.submit(1, Service.AGREED, b"small", session=2)
    loop.run(1_000_000)
    for number in (1, 2):
        assert [len(one.body) for one in loop.delivered[number]] == [5, MESSAGE_BYTES_MAX]
        assert loop.delivered[number][1].body == body


@pytest.mark.parametrize("service", [Service.UNRELIABLE, Service.RELIABLE])
def test_with_a_part_lost_it_comes_whole_or_not_at_all(service: Service) -> None:
    """SP-55, SP-100: unreliable is dropped, reliable is repaired."""
    lost = []

    def loses(source: int, to: int, packet: bytes) -> bool:
        if to == 2 and not is_token(packet) and len(lost) < 3 and packet not in lost:
            lost.append(packet)
            return True
        return False

    loop = Loop(members=2, loses=loses)
    body = bytes(20_000)
    loop.submit(1, service, body)
    loop.run(1_000_000)
    assert len(lost) == 3
    expected = [] if service == Service.UNRELIABLE else [body]
    assert [one.body for one in loop.delivered[2]] == expected
    assert [one.body for one in loop.delivered[1]] == [body]


def test_small_messages_share_packets() -> None:
    """SP-101, SP-102: as far as they are there when the token comes."""
    loop = Loop(members=2)
    for _ in range(100):
        loop.benches[2].submit()
    loop.submit(2)
    loop.run(20_000)
    packets = [packet for _, _, packet in loop.packets if not is_token(packet)]
    assert len(loop.delivered[1]) == 101
    assert len(packets) < 101 // 3
    assert max(map(len, packets)) <= SETTINGS.packet_bytes


def test_a_large_message_gets_its_place_with_its_last_piece() -> None:
    """While it travels, others are ordered before it and do not wait for it."""
    loop = Loop(members=2, ring_packets_max=20, member_packets_max=10)
    loop.submit(1, Service.AGREED, bytes(30_000), session=1)
    for _ in range(5):
        loop.submit(2, Service.AGREED, b"small")
    loop.run(500_000)
    assert [len(one.body) for one in loop.delivered[1]] == [5] * 5 + [30_000]
    assert [one.sequence for one in loop.delivered[1]] == [1, 2, 3, 4, 5, 6]
