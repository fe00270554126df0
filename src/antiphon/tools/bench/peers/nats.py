"""NATS beside us: Debian's server on loopback, and clients with its own library for Python.

At most once, in the order of each sender: no order among senders, and no membership.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from antiphon.tools.bench.peers.peer import Broker, require_library, require_program, running
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.traffic import Say
from antiphon.tools.cluster import free_ports

START_SECONDS = 10.0
GLANCE_SECONDS = 0.02


@contextmanager
def nats(say: Say) -> Iterator[Broker]:
    require_library("nats", "nats-py")
    require_program("nats-server", ["nats-server"], say)
    (port,) = free_ports(1)
    with running(["nats-server", "--addr", "127.0.0.1", "--port", str(port)]):
        _await_server(port)
        yield Broker("nats", f"nats://127.0.0.1:{port}")


def _await_server(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(GLANCE_SECONDS)
    raise BenchFailed("the server of NATS did not come up")
