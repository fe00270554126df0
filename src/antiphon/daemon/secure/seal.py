"""Seals and opens the datagrams of one daemon life: authentic, secret, and each once.

    unknown life --packet--> asked: a challenge goes to its daemon, the packet is refused
    asked        --proof---> proven: its packets are opened, each counter once

A receiver that has just started remembers no counter, so an old recording would look new
to it. Only a life that runs now can say back random bytes that were drawn now. Its number
proves nothing: clocks can be set back.
"""

from collections.abc import Callable
from typing import NamedTuple

from cryptography.exceptions import InvalidTag

from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import Instant
from antiphon.daemon.secure.datagram import (
    CHALLENGE,
    CHALLENGE_BYTES,
    COUNTER,
    HEAD_BYTES,
    KINDS,
    LIFE,
    LIFE_AT,
    NONCE_AT,
    ORIGIN,
    ORIGIN_BYTES,
    OVERHEAD,
    PACKET,
    PROOF,
    PROOF_BYTES,
    RANDOM_BYTES,
    cipher_of,
)
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.daemon.secure.lives import ANSWER_GAP_US, ASK_GAP_US, Life, Lives
from antiphon.daemon.secure.outcome import Opened, Outcome, Proven, Refusal, Reply
from antiphon.daemon.secure.stream import Stream
from antiphon.wire.packet import HEADER_BYTES, Tag

SENDER_AT = HEADER_BYTES - LIFE.size
"""Where a packet's own header names its sender and its life."""

DATA = int(Tag.DATA)
SHORTEST = {
    PACKET: OVERHEAD + HEADER_BYTES,
    CHALLENGE: CHALLENGE_BYTES,
    PROOF: PROOF_BYTES,
}


class Opener(NamedTuple):
    """All that a packet of a proven life needs, found by the first bytes of the datagram."""

    decrypt: Callable[[bytes, bytes, bytes], bytes]
    life: Life


class Seal:
    overhead = OVERHEAD

    def __init__(self, keys: KeyRing, me: Member, random: Callable[[int], bytes]) -> None:
        self._me = me
        self._my_life = LIFE.pack(*me)
        self._random = random
        self._counter = 0
        self._lives = Lives()
        self._openers: dict[bytes, Opener] = {}
        """Of proven lives only, under keys of the ring only."""
        self.load(keys)

    def load(self, keys: KeyRing) -> None:
        """Other keys from now on. Lives stay proven and the counter goes on: neither belongs
        to a key."""
        self._keys: dict[int, Key] = {key.id: key for key in keys.all}
        self._current = keys.current
        cipher = cipher_of(keys.current.secret, self._me)
        self._encrypt = cipher.encrypt
        self._origin = ORIGIN.pack(PACKET, keys.current.id, *self._me)
        self._openers.clear()
        self._lives.forget_ciphers()

    def seal(self, packet: bytes) -> bytes:
        """Each call makes another datagram; one of them may go to any number of daemons."""
        assert packet[SENDER_AT:HEADER_BYTES] == self._my_life or packet[1] == DATA
        self._counter += 1
        head = self._origin + COUNTER.pack(self._counter)
        return head + self._encrypt(head[NONCE_AT:], packet, head)

    def stream(self, me: Member, called: DaemonId | None) -> Stream:
        """A connection to one who is called, or from one who calls."""
        return Stream(me, called, self._current, self._keys, self._random(RANDOM_BYTES))

    def holds(self, key_id: int) -> bool:
        return key_id in self._keys

    def open(self, now: Instant, datagram: bytes) -> Outcome:
        opener = self._openers.get(datagram[:ORIGIN_BYTES])
        if opener is None:
            return self._open_unusual(now, datagram)
        head = datagram[:HEAD_BYTES]
        try:
            packet = opener.decrypt(head[NONCE_AT:], datagram[HEAD_BYTES:], head)
        except (InvalidTag, ValueError):
            return Refusal("too_short" if len(datagram) < SHORTEST[PACKET] else "bad_seal")
        return self._accept(now, opener.life, head, packet)

    def _accept(self, now: Instant, life: Life, head: bytes, packet: bytes) -> Outcome:
        """An authentic packet of a proven life: is it new, and does it say who sent it?

        Whoever holds a ring packet repeats it, with the header of the daemon that sent it
        first, so DATA may name another sender. The seal then says who repeats it, that it
        was done now, and that this one may: it holds the key. The ring takes it only in the
        configuration it names and each link sequence once, whoever brought it. All other
        messages are about their sender's own state, and nobody passes them on.
        """
        if not life.window.first_time(COUNTER.unpack_from(head, ORIGIN_BYTES)[0]):
            return Refusal("replayed")
        life.heard_at = now
        if packet[SENDER_AT:HEADER_BYTES] != head[LIFE_AT:ORIGIN_BYTES]:
            if len(packet) < HEADER_BYTES:
                return Refusal("too_short")
            if packet[1] != DATA:
                return Refusal("forged_sender")
        return Opened(packet)

    # All but packets of proven lives.

    def _open_unusual(self, now: Instant, datagram: bytes) -> Outcome:
        if not datagram or datagram[0] not in KINDS:
            return Refusal("not_sealed")
        if len(datagram) < SHORTEST[datagram[0]]:
            return Refusal("too_short")
        kind, key_id, daemon, incarnation = ORIGIN.unpack_from(datagram)
        member = Member(DaemonId(daemon), Incarnation(incarnation))
        key = self._keys.get(key_id)
        if key is None:
            return Refusal("unknown_key")
        if member == self._me:
            return Refusal("own")
        life = self._lives.find(member)
        cipher = life.ciphers.get(key_id) if life else None
        cipher = cipher or cipher_of(key.secret, member)
        head = datagram[:HEAD_BYTES]
        try:
            body = cipher.decrypt(head[NONCE_AT:], datagram[HEAD_BYTES:], head)
        except InvalidTag:
            return Refusal("bad_seal")
        life = life or self._note(now, member)
        if life is None:
            return Refusal("unproven")
        life.ciphers[key_id] = cipher
        if kind == CHALLENGE:
            return self._answer(now, life, body)
        if kind == PROOF:
            return self._prove(now, life, head, body)
        if member not in self._lives.proven:
            return self._ask(now, life, len(datagram))
        self._openers[head[:ORIGIN_BYTES]] = Opener(cipher.decrypt, life)
        return self._accept(now, life, head, body)

    def _note(self, now: Instant, member: Member) -> Life | None:
        if not self._lives.room(now):
            return None
        life = Life(now, member, self._random(RANDOM_BYTES))
        self._lives.note(life)
        return life

    def _ask(self, now: Instant, life: Life, asked_by_bytes: int) -> Outcome:
        """Never more bytes than came in, and not often."""
        if now - life.asked_at < ASK_GAP_US or asked_by_bytes < CHALLENGE_BYTES:
            return Refusal("unproven")
        self._lives.ask(now, life)
        body = LIFE.pack(*life.member) + life.challenge
        return Reply(life.member.daemon, self._sealed(CHALLENGE, body))

    def _answer(self, now: Instant, life: Life, body: bytes) -> Outcome:
        """Also to a life that is not proven itself, or two that start would wait for ever."""
        if len(body) != LIFE.size + RANDOM_BYTES or body[: LIFE.size] != self._my_life:
            return Refusal("misdirected")
        if now - life.answered_at < ANSWER_GAP_US:
            return Refusal("replayed")
        life.answered_at = now
        return Reply(life.member.daemon, self._sealed(PROOF, body[LIFE.size :]))

    def _prove(self, now: Instant, life: Life, head: bytes, body: bytes) -> Outcome:
        if life.member in self._lives.proven:
            return Refusal("replayed")  # asked twice, answered twice
        if body != life.challenge:
            return Refusal("unproven")
        gone = self._lives.prove(now, life, COUNTER.unpack_from(head, ORIGIN_BYTES)[0])
        if gone is not None:
            self._openers = {at: one for at, one in self._openers.items() if one.life is not gone}
        return Proven(life.member)

    def _sealed(self, kind: int, body: bytes) -> bytes:
        self._counter += 1
        origin = ORIGIN.pack(kind, self._current.id, *self._me)
        head = origin + COUNTER.pack(self._counter)
        return head + self._encrypt(head[NONCE_AT:], body, head)
