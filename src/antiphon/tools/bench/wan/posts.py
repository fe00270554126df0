"""What a client process of the wide-area bench is to do, and what it says afterwards.

One line each: a Post in, `ready` out, an empty one in to begin, a Report out. The process
stays until its input ends: what it has sent must not go with it.
"""

from typing import Literal

import msgspec

from antiphon.core.service import Service

Role = Literal["source", "sink", "echo", "trips", "drain"]
READY = b"ready\n"


class Post(msgspec.Struct, frozen=True):
    role: Role
    address: str
    group: str
    messages: int = 0
    """To send, to await, or to send and await one by one; a source of 0 goes on for ever."""

    size: int = 1024
    service: Service = Service.RELIABLE
    kbit: float = 0.0
    """Payload a second of a source; 0: as fast as flow control permits."""


class Report(msgspec.Struct, frozen=True):
    began: int = 0
    ended: int = 0
    """First and last message, in nanoseconds of the clock that all hosts share."""

    messages: int = 0
    trips_ms: list[float] = []
    one_way_ms: list[float] = []
    """Of what came, from the call that sent it."""

    by_second: dict[int, int] = {}
    """Of a drain: bytes that came, by the second of the clock."""

    failure: str = ""
