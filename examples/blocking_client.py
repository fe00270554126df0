"""A program without asyncio: one thread receives, another sends, both on one session.

    python examples/blocking_client.py --connect 4803@localhost --count 5

Ends when its own messages have come back. Several addresses after --connect are tried in order,
and the session goes on at the next one if its daemon is lost.
"""

import argparse
import sys
import threading

import antiphon
from antiphon import blocking

GROUP = "blocking"


def receive(session: blocking.Session, count: int) -> None:
    """Until all of my messages came back. A session is an iterator of events."""
    for event in session:
        match event:
            case antiphon.Message() if event.origin == session.id:
                print(f"{event.sender} sent {event.payload.decode()}", flush=True)
                count -= 1
                if count == 0:
                    return
            case antiphon.View():
                print(f"{len(event.members)} in {event.group}, by {event.cause}", flush=True)
            case antiphon.Gap():
                # Another session at another daemon: what was under way may be lost, and we are
                # told so. A real program would now ask the group what it missed.
                print(f"lost the daemon ({event.reason}); {event.unconfirmed} are unconfirmed")
                return


def main(options: argparse.Namespace) -> None:
    with blocking.connect(options.connect, failover=True) as session:
        session.join(GROUP)
        receiver = threading.Thread(target=receive, args=(session, options.count))
        receiver.start()
        for number in range(options.count):
            # Waits only if the daemon has more than enough from us already.
            session.multicast(GROUP, f"message {number}".encode(), service=antiphon.Service.SAFE)
        receiver.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connect", nargs="+", default=["4803@localhost"], metavar="ADDRESS")
    parser.add_argument("--count", type=int, default=5, metavar="N", help="send N messages")
    try:
        main(parser.parse_args())
    except antiphon.SessionError as error:
        sys.exit(f"blocking_client: {error}")
