"""What the clients of a chaos run say: all services, all sizes, all kinds of destinations."""

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any

from antiphon.client.events import Participant
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.service import Service
from antiphon.tools.chaos.workers import GROUPS, burst, change


class Recorder:
    """Takes what a session would send."""

    def __init__(self) -> None:
        other = Participant(SessionId(DaemonId(2), Incarnation(1), 1), "other")
        self.views = {"g0": SimpleNamespace(members=(other,))}
        self.private = other.private_group
        self.groups = {"g0"}
        self.sent: list[tuple[tuple[str, ...], int, Service, bool]] = []

    async def multicast(
        self, groups: tuple[str, ...], payload: bytes, *, service: Service, self_discard: bool
    ) -> None:
        self.sent.append((groups, len(payload), service, self_discard))

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
