"""A client of Spread's protocol, public as `antiphon.spread`: it talks to the daemons of Antiphon
and to those of Spread 3.x to 5.x.

`connect` opens a blocking session, as Spread's own programs expect it; `aio.connect` is the same
for asyncio.
"""

from antiphon.client.errors import Disconnected, Refused, SessionError, Unreachable, Unsent
from antiphon.client.events import Closed, Event, Left, Refusal
from antiphon.client.spread import aio
from antiphon.client.spread.blocking import Session, connect
from antiphon.client.spread.events import GroupId, Message, Transition, View
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.core.trace import Cause

__all__ = [
    "Cause",
    "Closed",
    "Disconnected",
    "Event",
    "GroupId",
    "Left",
    "Message",
    "Refusal",
    "Refused",
    "Service",
    "Session",
    "SessionError",
    "Transition",
    "Unreachable",
    "Unsent",
    "UsageError",
    "View",
    "aio",
    "connect",
]
