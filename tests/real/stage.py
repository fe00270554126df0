"""What stories with real daemons have in common: waiting for a condition, with a deadline."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import antiphon
from antiphon import Message, Session
from antiphon.tools.cluster import LocalCluster

PATIENCE_S = 20.0
"""No story waits so long for one thing unless it has failed already."""

LOOK_AGAIN_S = 0.02

PATIENT = '[timeouts]\ntoken_loss = "10s"\nhear = "10s"\n'
"""For stories in which no daemon dies: a busy machine is no reason to suspect one."""

LESS_PATIENT = '[timeouts]\ntoken_loss = "1s"\nhear = "2s"\n'
"""For those in which one does."""


def run(main: Coroutine[Any, Any, None], seconds: float = 2 * PATIENCE_S) -> None:
    async def limited() -> None:
        async with asyncio.timeout(seconds):
            await main

    asyncio.run(limited())


async def until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Look again and again until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not await condition():
        assert time.monotonic() < deadline, f"not in {PATIENCE_S} s: {what}"
        await asyncio.sleep(LOOK_AGAIN_S)


async def together(session: Session, count: int) -> None:
    """The session's daemon is in one configuration with so many."""

    async def holds() -> bool:
        status = await session.query("status")
        return len(status["members"]) == count and status["state"] == "operational"

    await until(holds, f"{count} daemons together")


async def drops(session: Session) -> dict[str, int]:
    """What the session's daemon refused of others' packets."""
    counted: dict[str, int] = (await session.query("status"))["drops"]
    return counted


async def message(session: Session) -> Message:
    """The next one, past all other events."""
    while not isinstance(event := await session.receive(), Message):
        pass
    return event


async def messages(session: Session, count: int) -> list[Message]:
    return [await message(session) for _ in range(count)]


async def closed(session: Session) -> str:
    """Why the session has ended, past all other events."""
    async for event in session:
        if isinstance(event, antiphon.Closed):
            return event.reason
    raise AssertionError("no Closed")


def edit(cluster: LocalCluster, old: str, new: str) -> None:
    """Change the file of a cluster."""
    text = cluster.config.read_text()
    assert old in text
    cluster.config.write_text(text.replace(old, new))


def start_again(config: Path, name: str, *python: str) -> subprocess.CompletedProcess[str]:
    """A daemon that is expected to give up at once."""
    command = [sys.executable, *python, "-m", "antiphon", "daemon"]
    return subprocess.run(
        [*command, "--config", str(config), "--name", name],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
