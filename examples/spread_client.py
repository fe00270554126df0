"""A program that speaks Spread's protocol: to a daemon of Antiphon, or to one of Spread.

    python examples/spread_client.py --connect 4803@localhost --count 5

Joins a group, says who else is in it, sends, and ends when its own messages have come back. Start
several at several daemons, and native programs in the same group: all see one order.
"""

import argparse
import sys

from antiphon import spread

GROUP = "spread"


def name_of(private_group: str) -> str:
    """The middle of #name#daemon."""
    return private_group.split("#")[1]


def show(event: spread.Event) -> None:
    match event:
        case spread.Message():
            print(f"{event.sender} sent {event.payload.decode()}", flush=True)
        case spread.View():
            names = ", ".join(map(name_of, event.members))
            print(f"in {event.group}: {names}, by {event.cause}", flush=True)
        case spread.Transition():
            print(f"{event.group} is about to lose members", flush=True)
        case spread.Closed():
            print(f"the daemon ended the session: {event.reason}", flush=True)


def main(options: argparse.Namespace) -> None:
    with spread.connect(options.connect, name=options.name) as session:
        version = ".".join(map(str, session.version))
        print(f"{session.private_group} at a daemon of version {version}", flush=True)
        session.join(GROUP)
        for number in range(options.count):
            session.multicast(GROUP, b"message %d" % number, service=spread.Service.SAFE, kind=1)
        missing = options.count
        for event in session:
            show(event)
            if isinstance(event, spread.Message) and event.sender == session.private_group:
                missing -= 1
                if missing == 0:
                    break
        session.leave(GROUP)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", default="4803@localhost", metavar="ADDRESS")
    parser.add_argument("--name", help="at most 10 characters; the daemon invents one if not said")
    parser.add_argument("--count", type=int, default=5, metavar="N", help="send N messages")
    try:
        main(parser.parse_args())
    except spread.SessionError as error:
        sys.exit(f"spread_client: {error}")
