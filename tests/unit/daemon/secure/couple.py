"""Daemons with seals, for the tests: packets, keys and a way to let two of them meet."""

from itertools import count
from random import Random

from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.daemon.secure.outcome import Opened, Outcome, Proven, Refusal, Reply
from antiphon.daemon.secure.seal import Seal
from antiphon.wire.packet import Envelope, Tag

OLD = Key("old", bytes(range(32)))
NEW = Key("new", bytes(range(32, 64)))
RING = KeyRing(OLD)
CLUSTER = 7
_seeds = count()


def member(daemon: int, life: int = 1) -> Member:
    return Member(DaemonId(daemon), Incarnation(life))


A, B, C = member(1), member(2), member(3)


def seal_of(me: Member, keys: KeyRing = RING) -> Seal:
    return Seal(keys, me, Random(next(_seeds)).randbytes)


def packet_of(sender: Member, body: bytes = b"twelve bytes", tag: Tag = Tag.HELLO) -> bytes:
    return Envelope(CLUSTER, sender).head(tag) + body


def introduce(now: int, sender: Seal, sender_life: Member, receiver: Seal) -> None:
    """The receiver asks, the sender proves."""
    asked = receiver.open(now, sender.seal(packet_of(sender_life)))
    assert isinstance(asked, Reply) and asked.to == sender_life.daemon
    answered = sender.open(now, asked.datagram)
    assert isinstance(answered, Reply)
    assert receiver.open(now, answered.datagram) == Proven(sender_life)


def acquainted() -> tuple[Seal, Seal]:
    """A and B; B opens what A seals."""
    a, b = seal_of(A), seal_of(B)
    introduce(0, a, A, b)
    return a, b


def reason(outcome: Outcome) -> str:
    assert isinstance(outcome, Refusal), outcome
    return outcome.reason


def content(outcome: Outcome) -> bytes:
    assert isinstance(outcome, Opened), outcome
    return outcome.packet
