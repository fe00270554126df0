"""`antiphon send`: messages to a group, from the command line, from a pipe, or made up."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from time import perf_counter
from typing import NamedTuple

import click

from antiphon.client.aio import Session
from antiphon.client.errors import Disconnected, Refused
from antiphon.client.events import Refusal
from antiphon.core.service import Service
from antiphon.tools.reaching import (
    DEFAULT_ADDRESS,
    Access,
    access_options,
    connect_option,
    print_json,
    reach,
    run,
)
from antiphon.tools.typed_lines import TypedLines

SERVICES = [service.name.lower() for service in Service]
SIZE = 100
BATCH = 1000
"""Messages between two looks for a refusal."""

service_option = click.option(
    "--service", type=click.Choice(SERVICES), default="agreed", show_default=True
)


class Sending(NamedTuple):
    group: str
    service: Service
    kind: int


class Sent(NamedTuple):
    messages: int
    bytes: int
    seconds: float


@click.command()
@click.argument("group")
@click.argument("messages", nargs=-1, metavar="[MESSAGE]...")
@connect_option
@service_option
@click.option("--kind", type=click.IntRange(-32768, 32767), default=0, help="For the receivers.")
@click.option("--name", help="Of the session; made up if not said.")
@click.option("--count", type=click.IntRange(min=1), help="Send each so often, or so many made up.")
@click.option("--size", type=click.IntRange(min=0), help="Send made up messages of so many bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
@access_options
def send(
    group: str,
    messages: tuple[str, ...],
    addresses: tuple[str, ...],
    service: str,
    kind: int,
    name: str | None,
    count: int | None,
    size: int | None,
    as_json: bool,
    access: Access,
) -> None:
    """Send each MESSAGE to GROUP; without any, each line of standard input.

    \b
    Examples:
      antiphon send chat hello "how are you"
      tail -f app.log | antiphon send logs --service fifo
      antiphon send load --count 100000 --size 200

    \b
    Exit codes:
      0  the daemon has taken all of them
      1  the daemon refused them, or was lost
      2  wrong usage
      3  cannot connect
    """
    if messages and size is not None:
        raise click.UsageError("--size is for made up messages; leave out MESSAGE")
    sending = Sending(group, Service[service.upper()], kind)
    payloads = payloads_of(messages, count, size)
    sent = run("send", _send(addresses or (DEFAULT_ADDRESS,), access, name, sending, payloads))
    if as_json:
        print_json({"group": group, "service": service, **sent._asdict()})
    else:
        messages_told = "1 message" if sent.messages == 1 else f"{sent.messages:,} messages"
        click.echo(f"sent {messages_told}, {sent.bytes:,} bytes, to {group}")


async def payloads_of(
    messages: tuple[str, ...], count: int | None, size: int | None
) -> AsyncIterator[list[bytes]]:
    """Some at a time."""
    payloads: Iterator[bytes]
    if messages:
        payloads = (text.encode() for text in messages for _ in range(count or 1))
    elif count is not None or size is not None:
        payloads = made_up(count or 1, SIZE if size is None else size)
    else:
        lines = TypedLines.piped()
        while (some := await lines.next()) is not None:
            yield [line.encode(errors="surrogateescape") for line in some]
        return
    while batch := list(islice(payloads, BATCH)):
        yield batch


def made_up(count: int, size: int) -> Iterator[bytes]:
    """Numbered from 1, as far as the size allows."""
    return (f"{number} ".encode().ljust(size, b".")[:size] for number in range(1, count + 1))


async def _send(
    addresses: tuple[str, ...],
    access: Access,
    name: str | None,
    sending: Sending,
    batches: AsyncIterator[list[bytes]],
) -> Sent:
    session = await reach(addresses, access, name=name)
    began = perf_counter()
    count = total = 0
    try:
        async for batch in batches:
            for payload in batch:
                await session.multicast(
                    sending.group, payload, service=sending.service, kind=sending.kind
                )
            count += len(batch)
            total += sum(map(len, batch))
            await raise_refusal(session)
        await settle(session, access)
    finally:
        await session.close()
    return Sent(count, total, round(perf_counter() - began, 6))


async def settle(session: Session, access: Access) -> None:
    """Until the daemon has looked at what was sent. A query may overtake what waits here, but
    nothing waits when it is answered; and a second one comes to the daemon behind all of it."""
    try:
        async with asyncio.timeout(access.timeout):
            await session.query("status")
            await session.query("status")
    except TimeoutError:
        raise Disconnected("timed_out", "the daemon does not answer", "try again") from None
    await raise_refusal(session)


async def raise_refusal(session: Session) -> None:
    """Nothing else can have come that matters to a sender."""
    while session.poll():
        event = await session.receive()
        if isinstance(event, Refusal):
            raise Refused(event.code, event.what, event.remedy)
