"""Payloads into the caller's own buffers (SP-88)."""

from collections.abc import Sequence

from antiphon.client.events import Event, Message
from antiphon.core.errors import UsageError

Writable = bytearray | memoryview


def fill(event: Event, buffers: Writable | Sequence[Writable]) -> None:
    """The payload of a message, over the buffers in turn. Other events fill nothing."""
    if not isinstance(event, Message):
        return
    many = [buffers] if isinstance(buffers, bytearray | memoryview) else buffers
    views = [memoryview(buffer).cast("B") for buffer in many]
    room = sum(map(len, views))
    if room < event.size:
        raise UsageError(
            "buffers_too_small",
            f"the message has {event.size} bytes, the buffers {room}",
            f"bring buffers of {event.size} bytes; the message is kept",
        )
    at = 0
    for view in views:
        part = event.payload[at : at + len(view)]
        view[: len(part)] = part
        at += len(part)
