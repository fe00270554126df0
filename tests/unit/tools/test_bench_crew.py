"""Who does what in which process of a bench, and how sessions of one process wait together."""

import asyncio
import io

import msgspec
import pytest

from antiphon.core.errors import UsageError
from antiphon.tools.bench.crew import shares
from antiphon.tools.bench.cue import READY, Cue, SharedCue
from antiphon.tools.bench.plan import Plan, Window, name_of
from antiphon.tools.bench.reception import BenchFailed

WINDOW = Window(1, 2, 3)
TWO = ["4803", "4804"]


def test_each_session_has_a_process_if_not_said_otherwise() -> None:
    found = shares(Plan(senders=2, receivers=3), TWO)
    assert [name_of(posts) for posts in found] == [
        *("receiver0", "receiver1", "receiver2"),
        *("sender0", "sender1"),
    ]
    assert [posts[0].address for posts in found] == ["4803", "4804", "4803", "4803", "4804"]


def test_receivers_and_idle_sessions_share_processes_and_senders_do_not() -> None:
    found = shares(Plan(senders=2, receivers=5, idle=3, per_process=2), TWO)
    assert [name_of(posts) for posts in found] == [
        *("idle0 to idle1", "idle2"),
        *("receiver0 to receiver1", "receiver2 to receiver3", "receiver4"),
        *("sender0", "sender1"),
    ]
    # Both daemons have sessions of a process, so that none has fewer than its share.
    assert [post.address for post in found[0]] == TWO
    groups = {post.own_group for posts in found[:2] for post in posts}
    assert len(groups) == 3 and groups.isdisjoint(found[0][0].plan.group_names)


def test_blocking_clients_have_one_session_in_a_process() -> None:
    for more in ({"idle": 1}, {"per_process": 2}):
        with pytest.raises(UsageError, match="asyncio for several"):
            Plan(api="blocking", **more)


def cue_of(told: bytes) -> tuple[Cue, io.BytesIO]:
    out = io.BytesIO()
    return Cue(io.BytesIO(told), out), out


def test_a_process_is_ready_when_all_its_sessions_are() -> None:
    async def wait() -> None:
        cue, out = cue_of(msgspec.json.encode(WINDOW) + b"\n")
        shared = SharedCue(cue, 2)
        shared.ready()
        given_up = asyncio.create_task(shared.window())
        patient = asyncio.create_task(shared.window())
        await asyncio.sleep(0)
        assert out.getvalue() == b"" and not patient.done()
        given_up.cancel()
        shared.ready()
        assert out.getvalue() == READY
        assert await patient == WINDOW == await shared.window()

    asyncio.run(wait())


def test_sessions_are_told_when_the_bench_has_ended() -> None:
    async def wait() -> None:
        shared = SharedCue(cue_of(b"")[0], 1)
        shared.ready()
        with pytest.raises(BenchFailed, match="has ended"):
            await shared.window()

    asyncio.run(wait())
