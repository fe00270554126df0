"""A small node for testing the world: it speaks, listens and keeps what it saw."""

from random import Random
from typing import Any

from antiphon.core.effects import (
    Broadcast,
    Emit,
    Multicast,
    Notify,
    Received,
)
from antiphon.core.effects import Message as MessageNews
from antiphon.core.ids import Member, SessionId
from antiphon.core.machine import NEVER
from antiphon.core.trace import Kind, Record
from antiphon.wire.packet import Envelope, Tag

CLUSTER = 0xC0FFEE
PERIOD_US = 10_000


class FakeNode:
    """Says hello every period; records what it receives; echoes multicasts to their session.

    `answers` maps a type of event to a function that gives effects instead.
    """

    def __init__(self, member: Member, rng: Random, period_us: int = PERIOD_US) -> None:
        self.member = member
        self.rng = rng
        self.envelope = Envelope(CLUSTER, member)
        self.period_us = period_us
        self.next = NEVER
        self.seen: list[tuple[int, Any]] = []
        self.answers: dict[type, Any] = {}
        self.said = 0

    def packet(self, tag: Tag, body: bytes = b"") -> bytes:
        return self.envelope.head(tag) + body

    def record(self, kind: Kind, reason: str = "") -> Emit:
        return Emit(Record(kind, 0, *self.member, reason=reason))

    def start(self, now: int) -> list[Any]:
        self.next = now + self.period_us if self.period_us else NEVER
        return [self.record(Kind.ENTER, "gather")]

    def deadline(self) -> int:
        return self.next

    def leave(self) -> list[Any]:
        return [Broadcast(self.packet(Tag.LEAVING, b""))]

    def handle(self, now: int, event: Any) -> list[Any]:
        self.seen.append((now, event))
        answer = self.answers.get(type(event))
        if answer is not None:
            return list(answer(now, event))
        if type(event) is Received:
            return [Emit(Record(Kind.RECEIVED, now, *self.member, value=len(event.packet)))]
        if type(event) is Multicast:
            return [self._echo(event)]
        if now >= self.next:
            assert now >= self.deadline()
            self.next = now + self.period_us
            self.said += 1
            return [Broadcast(self.packet(Tag.HELLO, self.said.to_bytes(8, "big")))]
        return []

    def _echo(self, event: Multicast) -> Notify:
        origin = SessionId(*self.member, event.session)
        message = MessageNews(origin, 1, event.count, event.service, event.body, False)
        return Notify(event.session, message)

    def packets(self) -> list[bytes]:
        return [event.packet for _, event in self.seen if type(event) is Received]
