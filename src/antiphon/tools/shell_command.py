"""`antiphon shell`: join, leave and send by hand, and see what comes while typing."""

import asyncio
import sys

import click

from antiphon.client.aio import Session
from antiphon.client.errors import Disconnected
from antiphon.client.events import Closed
from antiphon.core.errors import AntiphonError
from antiphon.core.service import Service
from antiphon.tools.reaching import (
    DEFAULT_ADDRESS,
    EXIT_FAILED,
    Access,
    access_options,
    connect_option,
    reach,
    run,
)
from antiphon.tools.screen import PROMPT, Screen
from antiphon.tools.send_command import SERVICES, made_up, service_option
from antiphon.tools.typed_lines import TypedLines

HELP = {
    "join GROUP": "be a member of it",
    "leave GROUP": "not any more",
    "send GROUP TEXT": "one message; GROUP may be a member's private group",
    "burst GROUP N SIZE": "N messages of SIZE bytes",
    "service NAME": f"for messages from now on: {', '.join(SERVICES)}",
    "groups": "mine, and who is in them",
    "help": "this list",
    "quit": "leave and end, as the end of the input does",
}


@click.command()
@connect_option
@click.option("--name", help="Of the session; made up if not said.")
@service_option
@click.option("--json", "as_json", is_flag=True, help="Events as one object of JSON per line.")
@access_options
def shell(
    addresses: tuple[str, ...], name: str | None, service: str, as_json: bool, access: Access
) -> None:
    """Join groups and send to them by hand; messages and views are shown as they come.

    Reads commands from a terminal or a pipe; `help` lists them.

    \b
    Examples:
      antiphon shell --name alice
      printf 'join chat\\nsend chat hello\\n' | antiphon shell --connect 4804@localhost

    \b
    Exit codes:
      0  ended by quit, the end of the input, or Ctrl-C
      1  the daemon ended the session, or a command from a pipe failed
      2  wrong usage
      3  cannot connect
    """
    try:
        work = _shell(addresses or (DEFAULT_ADDRESS,), access, name, service, as_json)
        code = run("shell", work)
    except KeyboardInterrupt:
        code = 0
    sys.exit(code)


async def _shell(
    addresses: tuple[str, ...], access: Access, name: str | None, service: str, as_json: bool
) -> int:
    """The exit code."""
    is_typed = sys.stdin.isatty() and sys.stdout.isatty()
    failover = len(addresses) > 1
    session = await reach(addresses, access, name=name, membership=True, failover=failover)
    screen = Screen(is_typed, as_json)
    desk = Desk(session, screen, Service[service.upper()])
    with screen.kept():
        lines = TypedLines.prompted(PROMPT) if is_typed else TypedLines.piped()
        typing = asyncio.create_task(desk.follow(lines))
        watching = asyncio.create_task(desk.watch())
        try:
            await asyncio.wait((typing, watching), return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()
                return EXIT_FAILED  # the session is over
            typing.result()
            watching.cancel()
            await desk.leave_all()
        finally:
            typing.cancel()
            watching.cancel()
            await session.close()
    return EXIT_FAILED if desk.failures and not is_typed else 0


class Desk:
    """Carries out what is typed, and shows what comes."""

    def __init__(self, session: Session, screen: Screen, service: Service) -> None:
        self.failures = 0
        """Commands that could not be carried out."""

        self._session = session
        self._screen = screen
        self._service = service

    async def watch(self) -> None:
        """Until the session has ended."""
        while True:
            events = [await self._session.receive()]
            while self._session.poll():
                events.append(await self._session.receive())
            self._screen.show(events)
            if isinstance(events[-1], Closed):
                return

    async def follow(self, lines: TypedLines) -> None:
        """Until `quit` or the end of the input."""
        session = self._session
        self._screen.note(f"{session.name} at {session.daemon}: {session.private_group}")
        while True:
            await asyncio.sleep(0)  # what came with the last answer is shown above the prompt
            self._screen.is_prompting = True
            some = await lines.next()
            self._screen.is_prompting = False
            if some is None:
                return
            for line in some:
                if line.strip() == "quit":
                    return
                await self._obey(line)

    async def _obey(self, line: str) -> None:
        try:
            await self._command(line)
        except Disconnected:
            raise
        except AntiphonError as error:
            self._complain(str(error))

    def _complain(self, text: str) -> None:
        self.failures += 1
        self._screen.complain(text)

    async def _command(self, line: str) -> None:
        session = self._session
        match line.split(maxsplit=2):
            case []:
                return
            case ["join", group]:
                await session.join(group)
            case ["leave", group]:
                await session.leave(group)
            case ["send", group, text]:
                await session.multicast(group, text.encode(), service=self._service)
            case ["burst", group, sizes]:
                await self._burst(group, sizes)
            case ["service", name] if name in SERVICES:
                self._service = Service[name.upper()]
            case ["groups"]:
                for group, view in session.views.items():
                    names = ", ".join(member.name for member in view.members)
                    self._screen.note(f"{group}: {names}")
            case ["help"]:
                for command, meaning in HELP.items():
                    self._screen.note(f"{command:<20} {meaning}")
            case [word, *_]:
                usage = next((use for use in HELP if use.split()[0] == word), "help")
                self._complain(f"cannot do {line.strip()!r}; use: {usage}")

    async def _burst(self, group: str, sizes: str) -> None:
        match sizes.split():
            case [count, size] if count.isdecimal() and size.isdecimal():
                for payload in made_up(int(count), int(size)):
                    await self._session.multicast(group, payload, service=self._service)
            case _:
                self._complain(f"{sizes!r} is no number and size; use: burst GROUP N SIZE")

    async def leave_all(self) -> None:
        """A leave comes back behind what was sent before it, so all of that is shown."""
        for group in self._session.groups:
            await self._session.leave(group)
        events = []
        while self._session.poll():
            events.append(await self._session.receive())
        self._screen.show(events)
