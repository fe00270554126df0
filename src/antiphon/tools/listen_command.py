"""`antiphon listen`: print what groups receive, and their views with causes."""

import asyncio
import sys

import click

from antiphon.client.aio import Session
from antiphon.client.events import Closed, Event, Message, Transition, View
from antiphon.tools.event_text import EventText, event_object
from antiphon.tools.reaching import (
    DEFAULT_ADDRESS,
    EXIT_FAILED,
    Access,
    access_options,
    connect_option,
    print_json,
    reach,
    run,
)


@click.command()
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@connect_option
@click.option("--name", help="Of the session; made up if not said.")
@click.option("--count", type=click.IntRange(min=1), help="End after so many messages.")
@click.option("--views/--no-views", default=True, help="Print views and transitions too.")
@click.option("--json", "as_json", is_flag=True, help="One object of JSON per line.")
@access_options
def listen(
    groups: tuple[str, ...],
    addresses: tuple[str, ...],
    name: str | None,
    count: int | None,
    views: bool,
    as_json: bool,
    access: Access,
) -> None:
    """Join each GROUP and print what comes, until Ctrl-C.

    With several addresses, the next daemon takes over when one is lost, and a gap is told.

    \b
    Examples:
      antiphon listen chat
      antiphon listen orders invoices --json --no-views
      antiphon listen chat --connect 4803@one --connect 4803@two

    \b
    Exit codes:
      0  so many messages were printed, or Ctrl-C
      1  the daemon ended the session, or refused a group
      2  wrong usage
      3  cannot connect
    """
    show = _Show(as_json, views)
    try:
        work = _listen(addresses or (DEFAULT_ADDRESS,), access, name, groups, count, show)
        sys.exit(run("listen", work))
    except KeyboardInterrupt:
        return


class _Show:
    """Prints events."""

    def __init__(self, as_json: bool, views: bool) -> None:
        self._as_json = as_json
        self._views = views
        self._text = EventText()

    def __call__(self, event: Event) -> None:
        if not self._views and isinstance(event, View | Transition):
            return
        if self._as_json:
            print_json(event_object(event))
            return
        for line in self._text.lines(event):
            click.echo(line)


async def _listen(
    addresses: tuple[str, ...],
    access: Access,
    name: str | None,
    groups: tuple[str, ...],
    count: int | None,
    show: _Show,
) -> int:
    """The exit code."""
    failover = len(addresses) > 1
    session = await reach(addresses, access, name=name, membership=True, failover=failover)
    joining = asyncio.create_task(_join(session, groups))
    printing = asyncio.create_task(_print(session, count, show))
    try:
        await asyncio.wait((joining, printing), return_when=asyncio.FIRST_COMPLETED)
        if joining.done():
            joining.result()  # raises if a group was refused
        return await printing
    finally:
        joining.cancel()
        printing.cancel()
        await session.close()


async def _join(session: Session, groups: tuple[str, ...]) -> None:
    for group in groups:
        await session.join(group)


async def _print(session: Session, count: int | None, show: _Show) -> int:
    """The exit code."""
    left = count
    async for event in session:
        show(event)
        if isinstance(event, Closed):
            break
        if left is not None and isinstance(event, Message):
            left -= 1
            if not left:
                return 0
    return EXIT_FAILED
