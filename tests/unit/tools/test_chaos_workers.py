"""What the clients of a chaos run say: all services, all sizes, all kinds of destinations."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from antiphon.client.events import Message, Participant
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.service import Service
from antiphon.tools.chaos.workers import (
    GROUPS,
    LAST_WORDS,
    REPLY,
    Wishes,
    Worker,
    burst,
    change,
    last_words,
    reply,
)


class Recorder:
    """Takes what a session would send."""

    def __init__(self) -> None:
        other = Participant(SessionId(DaemonId(2), Incarnation(1), 1), "other")
        self.views = {"g0": SimpleNamespace(members=(other,))}
        self.private = other.private_group
        self.groups = {"g0"}
        self.sent: list[tuple[str | tuple[str, ...], int, Service, bool]] = []
        self.kinds: set[int] = set()

    async def multicast(
        self,
        groups: str | tuple[str, ...],
        payload: bytes,
        *,
        service: Service,
        kind: int = 0,
        self_discard: bool = False,
    ) -> None:
        self.sent.append((groups, len(payload), service, self_discard))
        self.kinds.add(kind)

    async def join(self, group: str) -> None:
        assert group not in self.groups
        self.groups.add(group)

    async def leave(self, group: str) -> None:
        self.groups.remove(group)


def played(act: Any, times: int) -> Recorder:
    recorder = Recorder()
    rng = Random(7)

    async def play() -> None:
        for _ in range(times):
            await act(recorder, rng)

    asyncio.run(play())
    return recorder


def test_bursts_use_every_service_size_and_kind_of_destination() -> None:
    recorder = played(burst, 1000)
    groups, sizes, services, discards = map(set, zip(*recorder.sent, strict=True))
    assert services == {*Service}
    assert discards == {True, False}
    assert {0, 200_000} <= sizes
    assert any(10_000 < size <= 20_000 for size in sizes)
    assert {(name,) for name in GROUPS} <= groups, "also those that it is not in"
    assert (recorder.private,) in groups
    assert any(len(names) > 1 for names in groups)


def test_changes_join_and_leave_in_turn() -> None:
    recorder = played(change, 50)
    assert recorder.groups <= {*GROUPS}
    assert len(recorder.groups) not in (0, len(GROUPS))


def test_an_answer_is_causal_and_goes_where_the_message_went() -> None:
    recorder = played(partial(reply, ("g1", "g2")), 1)
    assert recorder.sent == [(("g1", "g2"), 0, Service.CAUSAL, False)]
    assert recorder.kinds == {REPLY}


def test_last_words_are_safe() -> None:
    recorder = played(last_words, 1)
    assert [service for _, _, service, _ in recorder.sent] == [Service.SAFE] * LAST_WORDS


def message(kind: int) -> Message:
    return Message.alone(
        SessionId(DaemonId(1), Incarnation(1), 1), 1, "#s#1", ("g1",), b"", kind=kind
    )


async def events(kinds: list[int]) -> AsyncIterator[Message]:
    for kind in kinds:
        yield message(kind)


def test_some_messages_are_answered_and_no_answer_is() -> None:
    async def wishes_after(kinds: list[int]) -> int:
        wishes = Wishes()
        worker = Worker("4803@localhost", "", "w", "7")
        await worker._read(cast(Any, events(kinds)), Random(7), wishes)
        return wishes.qsize()

    assert 0 < asyncio.run(wishes_after([0] * 1_000)) < 100
    assert asyncio.run(wishes_after([REPLY] * 1_000)) == 0
