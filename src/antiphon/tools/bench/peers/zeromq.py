"""ZeroMQ beside us: publisher and subscribers around a proxy, all of them pyzmq on loopback.

In the order of each sender: no order among senders, and no membership. By default it drops what a
slow subscriber does not take; here whoever sends waits.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from antiphon.tools.bench.peers.peer import Broker, require_library, running
from antiphon.tools.bench.traffic import Say
from antiphon.tools.cluster import free_ports


@contextmanager
def zeromq(say: Say) -> Iterator[Broker]:
    require_library("zmq", "pyzmq")
    ends = [f"tcp://127.0.0.1:{port}" for port in free_ports(2)]
    with running([sys.executable, "-m", "antiphon.tools.bench.peers.zeromq_proxy", *ends]):
        yield Broker("zeromq", " ".join(ends))
