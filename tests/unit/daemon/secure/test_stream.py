"""A connection between daemons: who is there is proven, and frames are secret and in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import Member
from antiphon.daemon.secure.keys import KeyRing
from antiphon.daemon.secure.plain import Plain
from antiphon.daemon.secure.seal import Seal
from antiphon.daemon.secure.stream import (
    FRAME_BYTES_MAX,
    HELLO,
    LENGTH,
    STREAM,
    Stream,
    Untrusted,
)
from tests.unit.daemon.secure.couple import NEW, OLD, A, B, C, member, packet_of, seal_of


def taken(stream: Stream) -> bytes:
    reply, stream.reply = stream.reply, b""
    return reply


def greeted(
    caller: Seal | Plain, called: Seal | Plain, me: Member = A, other: Member = B
) -> tuple[Stream, Stream]:
    one, two = caller.stream(me, other.daemon), called.stream(other, None)
    assert two.feed(taken(one)) == [] and two.peer is None
    assert one.feed(taken(two)) == [] and one.peer == other
    assert two.feed(taken(one)) == [] and two.peer == me
    return one, two


def refused(stream: Stream, data: bytes) -> str:
    with pytest.raises(Untrusted) as raised:
        stream.feed(data)
    return str(raised.value)


@pytest.mark.parametrize("make", [seal_of, lambda me: Plain()])
def test_both_learn_who_is_there_and_packets_cross(make) -> None:
    one, two = greeted(make(A), make(B))
    for number in range(3):
        there, back = packet_of(A, bytes([number])), packet_of(B, bytes([number]))
        assert two.feed(one.seal(there)) == [there]
        assert one.feed(two.seal(back)) == [back]


@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_frames_may_come_in_any_pieces(bodies: list[bytes], data: st.DataObject) -> None:
    one, two = seal_of(A).stream(A, B.daemon), seal_of(B).stream(B, None)
    two.feed(taken(one))
    one.feed(taken(two))
    packets = [packet_of(A, body) for body in bodies]
    raw = taken(one) + b"".join(map(one.seal, packets))
    got = []
    while raw:
        size = data.draw(st.integers(1, len(raw)))
        got += two.feed(raw[:size])
        raw = raw[size:]
    assert got == packets


def test_nothing_can_be_read_on_the_way() -> None:
    one, two = greeted(seal_of(A), seal_of(B))
    secret = packet_of(A, b"something secret")
    assert b"something secret" not in one.seal(secret)
    assert one.seal(secret) != one.seal(secret)


def test_a_frame_that_was_changed_repeated_left_out_or_turned_round_ends_it() -> None:
    def fresh() -> tuple[Stream, Stream, bytes, bytes]:
        one, two = greeted(seal_of(A), seal_of(B))
        return one, two, one.seal(packet_of(A, b"1")), one.seal(packet_of(A, b"2"))

    one, two, first, second = fresh()
    changed = bytearray(first)
    changed[-1] ^= 1
    assert refused(two, bytes(changed)) == "bad_seal"
    one, two, first, second = fresh()
    two.feed(first)
    assert refused(two, first) == "bad_seal"
    one, two, first, second = fresh()
    assert refused(two, second) == "bad_seal"
    one, two, first, second = fresh()
    assert refused(one, first) == "bad_seal", "its own, sent back"


def test_a_recording_opens_nowhere() -> None:
    """Neither again at the same daemon nor at another: each makes its own random bytes."""
    caller, called = seal_of(A), seal_of(B)
    one, two = caller.stream(A, B.daemon), called.stream(B, None)
    hello = taken(one)
    two.feed(hello)
    one.feed(taken(two))
    rest = taken(one) + one.seal(packet_of(A))
    assert len(two.feed(rest)) == 1
    again = called.stream(B, None)
    again.feed(hello)
    assert refused(again, rest) == "bad_seal" and again.peer is None


def test_who_has_no_key_proves_nothing() -> None:
    hello = HELLO.pack(STREAM, OLD.id, *A, B.daemon, bytes(16))
    two = seal_of(B).stream(B, None)
    two.feed(hello)
    assert refused(two, LENGTH.pack(16) + bytes(16)) == "bad_seal"
    one = seal_of(A).stream(A, B.daemon)
    one.feed(HELLO.pack(STREAM, OLD.id, *B, A.daemon, bytes(16)))
    assert refused(one, LENGTH.pack(16) + bytes(16)) == "bad_seal"
    assert one.peer is None and two.peer is None


def test_a_caller_uses_its_current_key_and_the_called_one_any_of_its_keys() -> None:
    one, two = greeted(seal_of(A, KeyRing(NEW)), seal_of(B, KeyRing(OLD, (NEW,))))
    assert two.feed(one.seal(packet_of(A))) == [packet_of(A)]
    assert one.key_id == two.key_id == NEW.id
    seal = seal_of(B, KeyRing(OLD, (NEW,)))
    assert seal.holds(NEW.id)
    seal.load(KeyRing(OLD))
    assert not seal.holds(NEW.id)


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", "not_sealed"),
        (HELLO.pack(STREAM, 0, *A, B.daemon, bytes(16)), "not_sealed"),
        (HELLO.pack(STREAM, 12345, *A, B.daemon, bytes(16)), "unknown_key"),
        (HELLO.pack(STREAM, OLD.id, *B, B.daemon, bytes(16)), "own"),
        (HELLO.pack(STREAM, OLD.id, *A, C.daemon, bytes(16)), "misdirected"),
    ],
)
def test_a_hello_that_is_not_for_us_is_refused(hello: bytes, reason: str) -> None:
    assert refused(seal_of(B).stream(B, None), hello) == reason


def test_a_daemon_without_keys_and_one_with_them_do_not_talk() -> None:
    sealed = taken(seal_of(A).stream(A, B.daemon))
    assert refused(Plain().stream(B, None), sealed) == "sealed"
    plain = taken(Plain().stream(A, B.daemon))
    assert refused(seal_of(B).stream(B, None), plain) == "not_sealed"


def test_another_one_than_was_called_does_not_do() -> None:
    one = seal_of(A).stream(A, B.daemon)
    assert refused(one, HELLO.pack(STREAM, OLD.id, *C, A.daemon, bytes(16))) == "misdirected"
    one = seal_of(A).stream(A, B.daemon)
    assert refused(one, HELLO.pack(STREAM, NEW.id, *B, A.daemon, bytes(16))) == "unknown_key"


def test_nobody_speaks_for_another() -> None:
    one, two = greeted(seal_of(A), seal_of(B))
    assert refused(two, one.seal(packet_of(C))) == "forged_sender"
    one, two = greeted(seal_of(A), seal_of(B))
    assert refused(two, one.seal(packet_of(member(1, 2)))) == "forged_sender", "another life"
    one, two = greeted(seal_of(A), seal_of(B))
    assert refused(two, one.seal(b"short")) == "too_short"


def test_lengths_are_bounded_and_before_the_proof_much_more_so() -> None:
    one, two = greeted(seal_of(A), seal_of(B))
    assert refused(two, LENGTH.pack(FRAME_BYTES_MAX + 1)) == "frame_too_long"
    two = seal_of(B).stream(B, None)
    two.feed(taken(seal_of(A).stream(A, B.daemon)))
    assert refused(two, LENGTH.pack(17)) == "frame_too_long"
    two = Plain().stream(B, None)
    two.feed(taken(Plain().stream(A, B.daemon)))
    assert refused(two, LENGTH.pack(3) + b"abc") == "unproven"


@given(st.binary(max_size=200), st.booleans(), st.booleans())
def test_whatever_comes_is_taken_or_refused(noise: bytes, sealed: bool, begun: bool) -> None:
    """And nobody is believed for it."""
    seal = seal_of(B) if sealed else Plain()
    stream = seal.stream(B, None)
    key_id = OLD.id if sealed else 0
    if begun:
        stream.feed(HELLO.pack(STREAM, key_id, *A, B.daemon, bytes(16)))
    try:
        packets = stream.feed(noise)
    except Untrusted:
        return
    assert not packets or not sealed
    assert stream.peer is None or not sealed
