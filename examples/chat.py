"""A chat room: everybody sees the same lines in the same order, and who comes and goes.

    python examples/chat.py --connect 4803@localhost --name alice
    python examples/chat.py --connect 4804@localhost --name bob

Type lines; Ctrl-D ends it. With --say it says that instead of reading lines, and ends when it
has seen --lines of the room.
"""

import argparse
import asyncio
import sys

import antiphon


async def chat(options: argparse.Namespace) -> None:
    async with await antiphon.connect(options.connect, name=options.name) as session:
        await session.join(options.room)
        watching = asyncio.create_task(watch(session, options.lines))
        if options.say:
            for line in options.say:
                await session.multicast(options.room, line.encode())
        else:
            # Reading waits for a person, so it waits in a thread; the session stays awake.
            while line := await asyncio.to_thread(sys.stdin.readline):
                await session.multicast(options.room, line.rstrip().encode())
            # All that I said before I leave, I see: the end of the room is in the order too.
            await session.leave(options.room)
        await watching


async def watch(session: antiphon.Session, lines: int) -> None:
    """Show the room, until enough was said in it or I left."""
    async for event in session:
        match event:
            case antiphon.Message():
                # A sender is a private group: `#alice#17`. Send to it to whisper.
                speaker = event.sender_name
                print(f"{speaker}: {event.payload.decode(errors='replace')}", flush=True)
                lines -= 1
            case antiphon.View():
                names = ", ".join(member.name for member in event.members)
                print(f"-- {names} ({event.cause})", flush=True)
            case antiphon.Left():
                return
            case antiphon.Closed():
                print(f"-- the session ended: {event.reason}", flush=True)
                return
        if lines == 0:
            return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", default="4803@localhost", metavar="ADDRESS")
    parser.add_argument("--name", help="what the others see; made up if not said")
    parser.add_argument("--room", default="chat", metavar="GROUP")
    parser.add_argument("--say", action="append", metavar="LINE", help="instead of reading lines")
    parser.add_argument("--lines", type=int, default=-1, metavar="N", help="end after N lines")
    try:
        asyncio.run(chat(parser.parse_args()))
    except antiphon.SessionError as error:
        sys.exit(f"chat: {error}")
