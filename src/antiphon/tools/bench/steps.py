"""`bench steps`: what single steps of the way of a message cost, in this process and without I/O.

A step is prepared once and then done over and over; the figure is the processor's time for one
unit of it in the best of several rounds, for whatever else runs on the machine only adds to it.
With a rest before each time it is the median: a processor that slept has to fetch again what the
step looks at, and that is what a message costs that comes alone.
"""

import time
from collections.abc import Callable, Iterator
from random import randbytes
from statistics import median
from typing import NamedTuple

import msgspec

from antiphon.client.session import ClientSession
from antiphon.core.ids import DaemonId, Incarnation, Member, SessionId
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.daemon.secure.outcome import Opened, Reply
from antiphon.daemon.secure.seal import Seal
from antiphon.tools.bench.direct import Direct, bundle_body
from antiphon.wire.body import read_body
from antiphon.wire.client import CLIENT_VERSION, Hello, Welcome, pack_deliver, pack_frame
from antiphon.wire.client import CLIENT_VERSION_OLDEST as OLDEST
from antiphon.wire.packet import Envelope, Tag

ROUNDS = 5
ROUND_SECONDS = 0.05
RESTED_TIMES = 51
SIZES = (100, 1000, 8192)
ONE, TWO = (Member(DaemonId(number), Incarnation(1)) for number in (1, 2))

Work = Callable[[], int]
"""Does it once, and says how many units that was."""


class Step(NamedTuple):
    name: str
    unit: str
    prepare: Callable[[int], Work]
    """For messages of that size."""


class Cost(msgspec.Struct, frozen=True):
    step: str
    unit: str
    size: int
    microseconds: float


def measure_steps(
    names: tuple[str, ...], sizes: tuple[int, ...], rest_s: float = 0.0
) -> Iterator[Cost]:
    for step in STEPS:
        if names and step.name not in names:
            continue
        for size in sizes:
            yield Cost(step.name, step.unit, size, round(_cost(step.prepare(size), rest_s), 3))


def _cost(work: Work, rest_s: float) -> float:
    """Microseconds for a unit."""
    work()
    if rest_s:
        return median([_rested(work, rest_s) for _ in range(RESTED_TIMES)])
    return min(_round(work) for _ in range(ROUNDS))


def _rested(work: Work, rest_s: float) -> float:
    time.sleep(rest_s)
    began = time.process_time_ns()
    units = work()
    return (time.process_time_ns() - began) / 1_000 / units


def _round(work: Work) -> float:
    units = 0
    began = time.process_time_ns()
    while (spent := time.process_time_ns() - began) < ROUND_SECONDS * 1e9:
        units += work()
    return spent / 1_000 / units


# The client.


def _session(name: str) -> ClientSession:
    session = ClientSession(Hello(OLDEST, CLIENT_VERSION, name, 0, True, ""))
    session.data_to_send()
    me = SessionId(DaemonId(1), Incarnation(1), 1)
    session.receive_data(pack_frame(Welcome(CLIENT_VERSION, me, "one", 1 << 24)))
    return session


def _pack(size: int) -> Work:
    session = _session("sender")
    payload = bytes(size)

    def work() -> int:
        count = 0
        while session.writable:
            session.multicast("group", payload)
            count += 1
        while session.data_to_send():
            pass
        return count

    return work


def _unpack(size: int) -> Work:
    session = _session("receiver")
    body, count = bundle_body(size)
    told = Direct.message(body, count)
    frame = b"".join(pack_deliver(told))

    def work() -> int:
        session.receive_data(frame)
        while session.events:
            for _ in session.events.portion():
                pass
        return count

    return work


# The daemon.


def _check_body(size: int) -> Work:
    body, count = bundle_body(size)

    def work() -> int:
        read_body(body, count)
        return 1

    return work


def _alone(size: int) -> Work:
    return Direct(1, size).bundle


def _ring(size: int) -> Work:
    return Direct(3, size).bundle


def _seal(size: int) -> Work:
    one, _ = _two_seals()
    packet = _packet(size)

    def work() -> int:
        one.seal(packet)
        return 1

    return work


def _seal_and_open(size: int) -> Work:
    one, two = _two_seals()
    packet = _packet(size)

    def work() -> int:
        assert isinstance(two.open(1, one.seal(packet)), Opened)
        return 1

    return work


def _packet(size: int) -> bytes:
    return Envelope(1, ONE).head(Tag.DATA) + bytes(size)


def _two_seals() -> tuple[Seal, Seal]:
    """That have proven to each other who they are."""
    keys = KeyRing(Key("bench", bytes(range(32))))
    one, two = Seal(keys, ONE, randbytes), Seal(keys, TWO, randbytes)
    said = two.open(0, one.seal(_packet(SIZES[0])))
    while isinstance(said, Reply):
        answer = one.open(0, said.datagram)
        said = two.open(0, answer.datagram) if isinstance(answer, Reply) else answer
    return one, two


STEPS = (
    Step("client packs", "message", _pack),
    Step("client unpacks", "message", _unpack),
    Step("daemon checks", "bundle", _check_body),
    Step("one daemon orders", "bundle", _alone),
    Step("three daemons order", "bundle", _ring),
    Step("seal", "packet", _seal),
    Step("seal and open", "packet", _seal_and_open),
)
