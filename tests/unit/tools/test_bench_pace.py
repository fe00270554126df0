"""A sender that keeps a pace sends what is due and no more, and makes up for what it could not."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.core.service import Service
from antiphon.tools.bench import aio_clients
from antiphon.tools.bench.payload import END, HEAD
from antiphon.tools.bench.plan import Plan, Post, Sent, Window

SECOND_NS = 1_000_000_000
PACE = 20_000


class Stage:
    """A session and a clock; only sleeping, and once a message, takes time."""

    def __init__(self, slow_message: int = 0) -> None:
        self.now = 5 * SECOND_NS
        self.began = self.now
        self.slow_message = slow_message
        self.sent: list[tuple[int, int]] = []
        """Numbers, and when."""

        self.ends: list[int] = []

    def monotonic_ns(self) -> int:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += int(seconds * SECOND_NS)

    async def multicast(
        self, group: str, payload: bytes, *, service: Service, kind: int = 0
    ) -> None:
        _, number, _ = HEAD.unpack_from(payload)
        if kind == END:
            self.ends.append(number)
            return
        if number == self.slow_message:
            self.now += SECOND_NS // 2
        self.sent.append((number, self.now - self.began))

    def run(self, monkeypatch: pytest.MonkeyPatch) -> Sent:
        monkeypatch.setattr(aio_clients, "time", self)
        monkeypatch.setattr(aio_clients, "asyncio", SimpleNamespace(sleep=self.sleep))
        window = Window(self.began, self.began + SECOND_NS, self.began + SECOND_NS)
        post = Post(Plan(pace=PACE, size=HEAD.size), "sender", 0, "")
        session: Any = self
        return asyncio.run(aio_clients._keep_pace(session, post, window))


def test_each_millisecond_has_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    sent = stage.run(monkeypatch)
    assert [number for number, _ in stage.sent] == [*range(1, sent.messages + 1)]
    assert PACE - 20 <= sent.messages <= PACE
    assert all(number <= when * PACE / SECOND_NS for number, when in stage.sent)
    assert len({when for _, when in stage.sent}) == 999
    assert stage.ends == [sent.messages]


def test_what_could_not_be_sent_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(slow_message=1_000)
    assert PACE - 20 <= stage.run(monkeypatch).messages <= PACE
