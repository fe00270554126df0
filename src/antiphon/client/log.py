"""Reading the log of a kept group (docs/protocols/retain.md), without I/O, and its two faces.

    log = session.log("orders")
    async for message in log.messages(await log.earliest()): ...

An offset says what has been read; any daemon goes on from there with the same messages, or says
with `LogGap` which range it cannot give.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from struct import Struct
from typing import Any, NamedTuple

from antiphon.client.errors import QueryFailed, SessionError
from antiphon.core.ids import GroupName, SessionId
from antiphon.core.offsets import Branch, Offset, parse_branch, parse_offset
from antiphon.core.service import Service
from antiphon.wire.retained import Entry, walk

POLL_S = 0.02
"""Between looks at a log that has nothing new."""

ROWS = 100_000
"""So many messages are looked for at a time."""

Query = Callable[..., Any]
Place = Offset | str


class LogGap(SessionError):
    """What comes after an offset cannot be read here; `code` is trimmed, missing or other_branch.

    `resume` is where this daemon can go on. Another daemon may have the range.
    """

    def __init__(self, group: GroupName, told: dict[str, Any]) -> None:
        self.group = group
        self.branch = parse_branch(told["branch"])
        self.first: int = told["first"]
        self.last: int = told["last"]
        """0: not known."""

        self.resume = parse_offset(told["resume"])
        until = self.last or "the end"
        what = f"{group!r}: {self.first} to {until} of branch {self.branch} is not here"
        remedy = f"ask another daemon, or go on at {self.resume} without it"
        super().__init__(told["code"], f"{told['code']}: {what}", remedy)


class LogRange(NamedTuple):
    """Messages of one branch that a daemon has."""

    branch: Branch
    first: int
    last: int


class LogReach(NamedTuple):
    ranges: tuple[LogRange, ...]
    end: Offset
    """Where a reader is that has read them."""

    others: tuple[Offset, ...]
    """Ends of other branches that are met on the way: their messages are not among these."""


class LogMessage(NamedTuple):
    group: GroupName
    offset: Offset
    """Having read it."""

    sender: str
    origin: SessionId
    number: int
    service: Service
    kind: int
    payload: bytes
    key: tuple[str, int] | None


def reach_of(group: GroupName, answer: dict[str, Any]) -> LogReach:
    """What `log_after` has answered; raises LogGap."""
    check_gap(group, answer)
    return LogReach(
        tuple(LogRange(parse_branch(branch), *span) for branch, *span in answer["ranges"]),
        parse_offset(answer["end"]),
        tuple(map(parse_offset, answer["others"])),
    )


def check_gap(group: GroupName, answer: dict[str, Any]) -> None:
    if "gap" in answer:
        raise LogGap(group, answer["gap"])


def messages_in(group: GroupName, wanted: LogRange, data: bytes) -> Iterator[LogMessage]:
    """Those of a range among some entries."""
    for entry in entries_in(group, data):
        yield from _messages(group, wanted, entry, data)


def entries_in(group: GroupName, data: bytes) -> Iterator[Entry]:
    """Raises QueryFailed if one is not whole."""
    end = 0
    for entry in walk(data):
        end = entry.end
        yield entry
    if end != len(data):
        raise QueryFailed("bad_log", f"{group!r}: an entry is not whole", "ask another daemon")


def _messages(
    group: GroupName, wanted: LogRange, entry: Entry, data: bytes
) -> Iterator[LogMessage]:
    count = entry.count
    lengths = Struct(f">{count}I").unpack_from(data, entry.lengths_at)
    kinds = Struct(f">{count}h").unpack_from(data, entry.kinds_at)
    at = entry.payloads_at
    for place in range(count):
        payload = data[at : at + lengths[place]]
        at += lengths[place]
        sequence = entry.sequence + place
        if wanted.first <= sequence <= wanted.last:
            key = (entry.producer, entry.key + place) if entry.producer else None
            yield LogMessage(
                group,
                Offset(wanted.branch, sequence),
                entry.sender,
                entry.origin,
                entry.number + place,
                Service(entry.service),
                kinds[place],
                payload,
                key,
            )


def _after(group: GroupName, offset: Place, rows: int, until: Place | None) -> dict[str, Any]:
    told = {"group": group, "offset": str(offset), "rows": rows}
    return told if until is None else {**told, "until": str(until)}


def _range(group: GroupName, wanted: LogRange) -> dict[str, Any]:
    span = {"first": wanted.first, "last": wanted.last}
    return {"group": group, "branch": str(wanted.branch), **span}


class BlockingLog:
    """Made by `log` of a blocking session."""

    def __init__(self, query: Query, group: GroupName) -> None:
        self._query = query
        self.group = group

    def earliest(self) -> Offset:
        """Before everything that is there."""
        return parse_offset(self._query("log_ends", group=self.group)["earliest"])

    def latest(self) -> Offset:
        """Behind it."""
        return parse_offset(self._query("log_ends", group=self.group)["latest"])

    def after(self, offset: Place, *, rows: int = ROWS, until: Place | None = None) -> LogReach:
        """What can be read after an offset; raises LogGap."""
        answer = self._query("log_after", **_after(self.group, offset, rows, until))
        return reach_of(self.group, answer)

    def entries(self, wanted: LogRange) -> Iterator[bytes]:
        """The bytes of a range, as on disk, some at a time: entries that cover it."""
        while wanted.first <= wanted.last:
            data, behind = self.some_entries(wanted)
            yield data
            wanted = wanted._replace(first=behind)

    def some_entries(self, wanted: LogRange) -> tuple[bytes, int]:
        """The first of them, and the sequence that comes then."""
        answer = self._query("log_read", **_range(self.group, wanted))
        check_gap(self.group, answer)
        return answer["entries"], answer["next"]

    def messages(self, after: Place, *, until: Place | None = None) -> Iterator[LogMessage]:
        """All that is there after an offset; raises LogGap where it does not go on."""
        while (reach := self.after(after, until=until)).ranges:
            for wanted in reach.ranges:
                for data in self.entries(wanted):
                    yield from messages_in(self.group, wanted, data)
            after = reach.end

    def follow(self, after: Place) -> Iterator[LogMessage]:
        """All that is there, and whatever comes; without end."""
        while True:
            for message in self.messages(after):
                after = message.offset
                yield message
            time.sleep(POLL_S)


class Log:
    """Made by `log` of an asyncio session; like BlockingLog."""

    def __init__(self, query: Callable[..., Awaitable[Any]], group: GroupName) -> None:
        self._query = query
        self.group = group

    async def earliest(self) -> Offset:
        """Before everything that is there."""
        return parse_offset((await self._query("log_ends", group=self.group))["earliest"])

    async def latest(self) -> Offset:
        """Behind it."""
        return parse_offset((await self._query("log_ends", group=self.group))["latest"])

    async def after(
        self, offset: Place, *, rows: int = ROWS, until: Place | None = None
    ) -> LogReach:
        """What can be read after an offset; raises LogGap."""
        answer = await self._query("log_after", **_after(self.group, offset, rows, until))
        return reach_of(self.group, answer)

    async def entries(self, wanted: LogRange) -> AsyncIterator[bytes]:
        """The bytes of a range, as on disk, some at a time: entries that cover it."""
        while wanted.first <= wanted.last:
            data, behind = await self.some_entries(wanted)
            yield data
            wanted = wanted._replace(first=behind)

    async def some_entries(self, wanted: LogRange) -> tuple[bytes, int]:
        """The first of them, and the sequence that comes then."""
        answer = await self._query("log_read", **_range(self.group, wanted))
        check_gap(self.group, answer)
        return answer["entries"], answer["next"]

    async def messages(
        self, after: Place, *, until: Place | None = None
    ) -> AsyncIterator[LogMessage]:
        """All that is there after an offset; raises LogGap where it does not go on."""
        while (reach := await self.after(after, until=until)).ranges:
            for wanted in reach.ranges:
                async for data in self.entries(wanted):
                    for message in messages_in(self.group, wanted, data):
                        yield message
            after = reach.end

    async def follow(self, after: Place) -> AsyncIterator[LogMessage]:
        """All that is there, and whatever comes; without end."""
        while True:
            async for message in self.messages(after):
                after = message.offset
                yield message
            await asyncio.sleep(POLL_S)
