"""How a life is proven, and what an attacker without the key can make of it."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.machine import Instant
from antiphon.daemon.secure.datagram import KINDS, ORIGIN
from antiphon.daemon.secure.lives import ANSWER_GAP_US, ASK_GAP_US, LIVES_MAX
from antiphon.daemon.secure.outcome import Opened, Refusal, Reply
from antiphon.daemon.secure.seal import Seal
from tests.unit.daemon.secure.couple import (
    OLD,
    A,
    B,
    acquainted,
    content,
    introduce,
    member,
    packet_of,
    reason,
    seal_of,
)


def challenge(now: Instant, sender: Seal, receiver: Seal) -> bytes:
    outcome = receiver.open(now, sender.seal(packet_of(A)))
    assert isinstance(outcome, Reply)
    return outcome.datagram


def proof(now: Instant, sender: Seal, asked: bytes) -> bytes:
    outcome = sender.open(now, asked)
    assert isinstance(outcome, Reply)
    return outcome.datagram


def test_a_recording_is_worth_nothing_to_a_receiver_that_starts_anew() -> None:
    a, b = acquainted()
    recorded = [a.seal(packet_of(A)) for _ in range(5)]
    assert all(isinstance(b.open(0, datagram), Opened) for datagram in recorded)
    b = seal_of(member(2, 2))
    assert isinstance(b.open(0, recorded[0]), Reply)
    assert all(reason(b.open(0, datagram)) == "unproven" for datagram in recorded[1:])
    introduce(ASK_GAP_US, a, A, b)
    assert all(reason(b.open(ASK_GAP_US, datagram)) == "replayed" for datagram in recorded)


def test_a_life_that_is_over_cannot_be_proven() -> None:
    a, b, again = seal_of(A), seal_of(B), seal_of(member(1, 2))
    assert reason(again.open(0, challenge(0, a, b))) == "misdirected"


def test_an_old_proof_proves_nothing_to_a_new_receiver() -> None:
    a, b = seal_of(A), seal_of(B)
    old = proof(0, a, challenge(0, a, b))
    b = seal_of(member(2, 2))
    asked = challenge(0, a, b)
    assert reason(b.open(0, old)) == "unproven"
    assert reason(b.open(0, a.seal(packet_of(A)))) == "unproven"
    b.open(0, proof(ANSWER_GAP_US, a, asked))
    assert isinstance(b.open(0, a.seal(packet_of(A))), Opened)


def test_what_was_sealed_before_the_proof_is_refused_after_it() -> None:
    a, b = seal_of(A), seal_of(B)
    asked = challenge(0, a, b)
    before = a.seal(packet_of(A))
    b.open(0, proof(0, a, asked))
    assert reason(b.open(0, before)) == "replayed"


def test_a_life_is_asked_rarely_and_always_the_same() -> None:
    """On a link slower than the gap the first answer must still count after the second asking."""
    a, b = seal_of(A), seal_of(B)
    first = challenge(0, a, b)
    assert reason(b.open(ASK_GAP_US - 1, a.seal(packet_of(A)))) == "unproven"
    second = challenge(ASK_GAP_US, a, b)
    b.open(2 * ASK_GAP_US, proof(ASK_GAP_US, a, first))
    again = proof(2 * ASK_GAP_US, a, second)
    assert reason(b.open(2 * ASK_GAP_US, again)) == "replayed"
    assert isinstance(b.open(2 * ASK_GAP_US, a.seal(packet_of(A))), Opened)


def test_a_challenge_is_answered_rarely() -> None:
    a, b = seal_of(A), seal_of(B)
    asked = challenge(0, a, b)
    proof(0, a, asked)
    assert reason(a.open(ANSWER_GAP_US - 1, asked)) == "replayed"
    proof(ANSWER_GAP_US, a, asked)


@given(st.binary(max_size=60))
def test_no_reply_is_longer_than_what_asked_for_it(body: bytes) -> None:
    a, b = seal_of(A), seal_of(B)
    datagram = a.seal(packet_of(A, body))
    outcome = b.open(0, datagram)
    if isinstance(outcome, Reply):
        assert len(outcome.datagram) <= len(datagram)
        assert len(proof(0, a, outcome.datagram)) <= len(outcome.datagram)
    else:
        assert reason(outcome) == "unproven" and len(body) < 6


@settings(max_examples=200)
@given(st.data())
def test_two_daemons_come_to_know_each_other_in_every_interleaving(data: st.DataObject) -> None:
    """Hellos and replies lost, doubled and out of order; then a calm in which each hears."""
    seals = {A.daemon: seal_of(A), B.daemon: seal_of(B)}
    ways: dict[int, list[bytes]] = {A.daemon: [], B.daemon: []}
    now = 0

    def hello(sender: int) -> None:
        to = B.daemon if sender == A.daemon else A.daemon
        me = A if sender == A.daemon else B
        ways[to].append(seals[me.daemon].seal(packet_of(me)))

    def arrive(at: int, place: int, keep: bool) -> None:
        datagram = ways[at][place] if keep else ways[at].pop(place)
        outcome = seals[at].open(now, datagram)
        if isinstance(outcome, Reply):
            ways[outcome.to].append(outcome.datagram)
        if isinstance(outcome, Opened):
            assert datagram not in opened
            opened.add(datagram)

    opened: set[bytes] = set()
    for _ in range(data.draw(st.integers(0, 25))):
        now += data.draw(st.sampled_from([0, 1_000, ASK_GAP_US]))
        at = data.draw(st.sampled_from([A.daemon, B.daemon]))
        what = data.draw(st.sampled_from(["hello", "arrive", "double", "lose"]))
        if what == "hello" or not ways[at]:
            hello(at)
            continue
        place = data.draw(st.integers(0, len(ways[at]) - 1))
        if what == "lose":
            ways[at].pop(place)
        else:
            arrive(at, place, what == "double")
    for _ in range(2):  # the first round may ask and answer, the second is heard
        now += ASK_GAP_US
        before = len(opened)
        hello(A.daemon)
        hello(B.daemon)
        while ways[A.daemon] or ways[B.daemon]:
            arrive(A.daemon if ways[A.daemon] else B.daemon, 0, False)
    assert len(opened) == before + 2


# Floods.


def sizes(seal: Seal) -> tuple[int, int, int]:
    return len(seal._lives.asked), len(seal._lives.proven), len(seal._openers)


def test_random_bytes_leave_nothing_behind() -> None:
    a, b = acquainted()
    assert isinstance(b.open(0, a.seal(packet_of(A))), Opened)
    before, random = sizes(b), Random(1)
    for number in range(5_000):
        kind = random.choice([*KINDS, random.randrange(256)])
        sender = A if number % 2 else member(number + 9, number)
        flood = ORIGIN.pack(kind, OLD.id, *sender) + random.randbytes(random.randrange(120))
        assert isinstance(b.open(number, flood), Refusal)
    assert sizes(b) == before
    assert isinstance(b.open(0, a.seal(packet_of(A))), Opened)


def test_recordings_of_many_lives_do_not_push_out_a_proven_one() -> None:
    a, b = acquainted()
    told = 0
    for number in range(LIVES_MAX + 200):
        life = member(5, number)
        told += isinstance(b.open(0, seal_of(life).seal(packet_of(life))), Reply)
    assert told == LIVES_MAX and sizes(b)[0] == LIVES_MAX
    assert content(b.open(0, a.seal(packet_of(A)))) == packet_of(A)
    newcomer = member(6)
    introduce(ASK_GAP_US, seal_of(newcomer), newcomer, b)
    assert sizes(b)[0] == LIVES_MAX - 1


def test_of_too_many_proven_lives_the_silent_ones_go_and_may_come_back() -> None:
    a, b = acquainted()
    silent, quiet = member(4), seal_of(member(4))
    introduce(0, quiet, silent, b)
    recorded = quiet.seal(packet_of(silent))
    assert isinstance(b.open(0, recorded), Opened)
    for number in range(LIVES_MAX - 1):
        life = member(5, number)
        introduce(1, seal_of(life), life, b)
        assert isinstance(b.open(2, a.seal(packet_of(A))), Opened)
    assert sizes(b)[1] == LIVES_MAX and sizes(b)[2] == 1
    assert isinstance(b.open(3, recorded), Reply)
    introduce(3 + ASK_GAP_US, quiet, silent, b)
    assert reason(b.open(3 + ASK_GAP_US, recorded)) == "replayed"
