"""Answers to requests, for whoever waits for them. Not events: the application never sees one."""

from typing import Any, NamedTuple

from antiphon.client.errors import SessionError
from antiphon.core.errors import UsageError

HELLO = "hello"
QUERY = "query"

Key = tuple[str, str | int]
"""Who waits for an outcome: what was asked, and of which group or by which number."""


class Outcome(NamedTuple):
    key: Key
    value: Any
    error: SessionError | None = None


def unread(events: int) -> UsageError:
    """For who waits for something that is behind what it does not take."""
    return UsageError(
        "unread_events", f"{events} events wait", "receive them in a task or thread of its own"
    )
