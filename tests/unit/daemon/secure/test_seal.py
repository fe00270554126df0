"""What is opened and what is refused, once two daemons know each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.daemon.secure.datagram import CHALLENGE, OVERHEAD, PACKET, PROOF, cipher_of
from antiphon.daemon.secure.keys import KeyRing
from antiphon.daemon.secure.outcome import Opened, Refusal
from antiphon.daemon.secure.plain import Plain
from antiphon.daemon.secure.seal import Seal
from antiphon.daemon.secure.window import WIDTH, Window
from antiphon.wire.packet import HEADER_BYTES, Tag
from tests.unit.daemon.secure.couple import (
    NEW,
    OLD,
    A,
    B,
    C,
    acquainted,
    content,
    introduce,
    member,
    packet_of,
    reason,
    seal_of,
)


@given(st.binary(max_size=2000))
def test_what_is_sealed_is_opened_and_costs_the_overhead(body: bytes) -> None:
    a, b = acquainted()
    packet = packet_of(A, body)
    datagram = a.seal(packet)
    assert content(b.open(0, datagram)) == packet
    assert len(datagram) == len(packet) + a.overhead


def test_the_content_cannot_be_read_and_never_looks_the_same() -> None:
    a = seal_of(A)
    packet = packet_of(A, b"attack at dawn")
    first, second = a.seal(packet), a.seal(packet)
    assert b"attack" not in first and first[-30:] != second[-30:]


def test_one_datagram_is_opened_by_all() -> None:
    a, b = acquainted()
    c = seal_of(C)
    introduce(0, a, A, c)
    datagram = a.seal(packet_of(A))
    assert content(b.open(0, datagram)) == content(c.open(0, datagram))


def test_any_flipped_bit_is_refused() -> None:
    a, b = acquainted()
    datagram = a.seal(packet_of(A))
    for at in range(8 * len(datagram)):
        bad = bytearray(datagram)
        bad[at // 8] ^= 1 << at % 8
        assert isinstance(b.open(0, bytes(bad)), Refusal), at
    assert isinstance(b.open(0, datagram), Opened)


def test_any_cut_is_refused() -> None:
    a, b = acquainted()
    datagram = a.seal(packet_of(A))
    for size in range(len(datagram)):
        assert isinstance(b.open(0, datagram[:size]), Refusal), size
    for size in range(1, OVERHEAD + HEADER_BYTES):
        assert reason(b.open(0, datagram[:size])) == "too_short"


def test_each_refusal_says_why() -> None:
    a, b = acquainted()
    other = seal_of(C, KeyRing(NEW))
    datagram = a.seal(packet_of(A))
    assert reason(b.open(0, b"")) == "not_sealed"
    assert reason(b.open(0, packet_of(A))) == "not_sealed"
    assert reason(b.open(0, other.seal(packet_of(C)))) == "unknown_key"
    assert reason(b.open(0, datagram[:-1] + bytes([datagram[-1] ^ 1]))) == "bad_seal"
    assert reason(a.open(0, datagram)) == "own"


@given(st.permutations(range(40)))
def test_every_counter_is_opened_once_in_any_order(order: list[int]) -> None:
    a, b = acquainted()
    datagrams = [a.seal(packet_of(A, bytes([n]) * 20)) for n in range(40)]
    assert all(isinstance(b.open(0, datagrams[at]), Opened) for at in order)
    assert all(reason(b.open(0, datagram)) == "replayed" for datagram in datagrams)


def test_one_that_is_far_behind_is_refused() -> None:
    a, b = acquainted()
    early = a.seal(packet_of(A))
    for _ in range(2 * WIDTH):
        late = a.seal(packet_of(A))
    assert isinstance(b.open(0, late), Opened)
    assert reason(b.open(0, early)) == "replayed"


@given(st.integers(0, 2**63), st.lists(st.integers(0, 3 * WIDTH), max_size=200))
def test_the_window_knows_each_counter_within_its_width(start: int, steps: list[int]) -> None:
    """Against a set: never twice, never behind the start, never lost within the width."""
    window, seen, top = Window(start), set[int](), start
    for step in steps:
        counter = start + step
        fresh = window.first_time(counter)
        if counter in seen or counter <= start:
            assert not fresh
        elif counter > top - WIDTH:
            assert fresh
        if fresh:
            seen.add(counter)
            top = max(top, counter)
    assert window.mask.bit_length() <= 2 * WIDTH


def test_what_was_seen_stays_seen_when_the_window_moves() -> None:
    window = Window(0)
    assert window.first_time(2 * WIDTH) and window.first_time(2 * WIDTH + 100)
    assert not window.first_time(2 * WIDTH)


def test_the_window_takes_a_leap_over_all_counters() -> None:
    window = Window(1)
    assert window.first_time(2**64 - 1) and window.first_time(2**64 - WIDTH)
    assert not window.first_time(2**64 - 1) and not window.first_time(2)


def test_each_life_has_a_key_of_its_own() -> None:
    """Or the first datagrams of two lives would share a nonce."""
    lives = [A, B, member(1, 2), member(1, 1 << 32)]
    sealed = {cipher_of(OLD.secret, life).encrypt(bytes(12), b"same", None) for life in lives}
    assert len(sealed) == len(lives)


def test_two_lives_of_a_daemon_are_two() -> None:
    a, b = acquainted()
    again = seal_of(member(1, 0))
    introduce(0, again, member(1, 0), b)  # its clock was set back: the number is smaller
    assert content(b.open(0, again.seal(packet_of(member(1, 0))))) == packet_of(member(1, 0))
    assert content(b.open(0, a.seal(packet_of(A)))) == packet_of(A)


class Forger(Seal):
    """Without the assertion that stops us from sending such packets ourselves."""

    def forge(self, packet: bytes) -> bytes:
        return self._sealed(PACKET, packet)


@pytest.mark.parametrize("tag", Tag)
def test_only_data_may_be_repeated_for_another(tag: Tag) -> None:
    a, b = Forger(KeyRing(OLD), A, bytes), seal_of(B)
    introduce(0, a, A, b)
    repeated = packet_of(C, tag=tag)
    outcome = b.open(0, a.forge(repeated))
    if tag == Tag.DATA:
        assert content(outcome) == repeated
    else:
        assert reason(outcome) == "forged_sender"
        with pytest.raises(AssertionError):
            a.seal(repeated)


def test_another_life_is_another_sender() -> None:
    a, b = Forger(KeyRing(OLD), A, bytes), seal_of(B)
    introduce(0, a, A, b)
    assert reason(b.open(0, a.forge(packet_of(member(1, 2))))) == "forged_sender"


def test_without_a_key_nothing_is_sealed_and_what_is_sealed_is_refused() -> None:
    plain = Plain()
    packet = packet_of(A)
    assert plain.seal(packet) == packet and plain.overhead == 0
    assert content(plain.open(0, packet)) == packet
    assert reason(plain.open(0, seal_of(A).seal(packet))) == "sealed"
    assert all(reason(plain.open(0, bytes([kind]))) == "sealed" for kind in (CHALLENGE, PROOF))


# Rotation.

STEPS = [KeyRing(OLD), KeyRing(OLD, (NEW,)), KeyRing(NEW, (OLD,)), KeyRing(NEW)]


@given(st.lists(st.booleans(), max_size=6))
def test_no_packet_is_refused_at_any_moment_of_a_rotation(order: list[bool]) -> None:
    """Each step reaches A and B in any order; the next starts when both have made it."""
    a, b = acquainted()
    introduce(0, b, B, a)
    for step, keys in enumerate(STEPS[1:]):
        pair = [a, b] if step < len(order) and order[step] else [b, a]
        for seal in pair:
            seal.load(keys)
            assert content(b.open(0, a.seal(packet_of(A)))) == packet_of(A)
            assert content(a.open(0, b.seal(packet_of(B)))) == packet_of(B)


def test_a_step_left_out_is_noticed() -> None:
    a, b = acquainted()
    a.load(KeyRing(NEW, (OLD,)))
    assert reason(b.open(0, a.seal(packet_of(A)))) == "unknown_key"


def test_a_dropped_key_opens_nothing_and_no_counter_comes_back() -> None:
    a, b = acquainted()
    under_old = a.seal(packet_of(A))
    assert isinstance(b.open(0, under_old), Opened)
    b.load(KeyRing(NEW, (OLD,)))
    assert reason(b.open(0, under_old)) == "replayed"
    b.load(KeyRing(NEW))
    assert reason(b.open(0, a.seal(packet_of(A)))) == "unknown_key"


def test_derived_keys_go_with_their_key() -> None:
    a, b = acquainted()
    for keys in STEPS * 3:
        a.load(keys)
        b.load(keys)
        assert isinstance(b.open(0, a.seal(packet_of(A))), Opened)
    assert [*b._lives.proven[A].ciphers] == [NEW.id]
