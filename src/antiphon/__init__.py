"""Antiphon: ordered multicast and membership for groups of processes.

The names of the client library are loaded when they are first used, so that importing the
package, or a room of it, costs nothing else.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.client import blocking, spread
    from antiphon.client.aio import Session, connect
    from antiphon.client.errors import (
        Disconnected,
        QueryFailed,
        Refused,
        SessionError,
        Unreachable,
        Unsent,
    )
    from antiphon.client.events import (
        Closed,
        Event,
        Gap,
        GroupGap,
        Left,
        Message,
        MessageId,
        Participant,
        Refusal,
        Transition,
        View,
    )
    from antiphon.client.log import LogGap, LogMessage, LogRange, LogReach
    from antiphon.core.errors import AntiphonError, UsageError
    from antiphon.core.ids import SessionId, ViewId
    from antiphon.core.offsets import Branch, Offset
    from antiphon.core.service import Service
    from antiphon.core.trace import Cause

__version__ = "0.1.0"

__all__ = [
    "AntiphonError",
    "Branch",
    "Cause",
    "Closed",
    "Disconnected",
    "Event",
    "Gap",
    "GroupGap",
    "Left",
    "LogGap",
    "LogMessage",
    "LogRange",
    "LogReach",
    "Message",
    "MessageId",
    "Offset",
    "Participant",
    "QueryFailed",
    "Refusal",
    "Refused",
    "Service",
    "Session",
    "SessionError",
    "SessionId",
    "Transition",
    "Unreachable",
    "Unsent",
    "UsageError",
    "View",
    "ViewId",
    "blocking",
    "connect",
    "spread",
]

_HOMES = {
    "client.aio": "Session connect",
    "client.errors": "Disconnected QueryFailed Refused SessionError Unreachable Unsent",
    "client.events": "Closed Event Gap GroupGap Left Message MessageId Participant Refusal "
    "Transition View",
    "client.log": "LogGap LogMessage LogRange LogReach",
    "core.offsets": "Branch Offset",
    "core.errors": "AntiphonError UsageError",
    "core.ids": "SessionId ViewId",
    "core.service": "Service",
    "core.trace": "Cause",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("blocking", "spread"):
        found: Any = import_module(f"antiphon.client.{name}")
    else:
        homes = [home for home, names in _HOMES.items() if name in names.split()]
        if not homes:
            raise AttributeError(f"module 'antiphon' has no attribute {name!r}")
        found = getattr(import_module(f"antiphon.{homes[0]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
