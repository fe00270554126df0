"""What a session of Spread's protocol receives.

Fields that the native events have too have the same names. That protocol numbers no messages, and
knows a member by the name of its private group only. Ids of views can be compared (SP-91). `Left`,
`Refusal` and `Closed` are the native ones.
"""

from antiphon.client.events import Event
from antiphon.core.ids import PRIVATE_MARK, GroupName
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.spread.views import GroupId

__all__ = ["GroupId", "Message", "Transition", "View"]


class Message(Event, frozen=True, gc=False):
    sender: GroupName
    """The sender's private group: multicast to it to answer."""

    groups: tuple[GroupName, ...]
    """All that it was sent to, also those that this session is not in."""

    payload: bytes
    service: Service
    kind: int
    """A number from the sender, -32768 to 32767: Spread's message type."""

    self_discard: bool
    """The sender did not want it back."""

    little: bool
    """Whether the sender's machine is little-endian. Payloads are never converted."""

    view: GroupId | None
    """In force here when it came: of the first of its groups that this session is in. None for
    a message to the private group, and in a session without views."""

    transitional: bool
    """It came between a transition and the next view of its group."""

    @property
    def sender_name(self) -> str:
        """The name that the sender chose; another session elsewhere may have the same."""
        return self.sender.split(PRIVATE_MARK)[1]

    @property
    def size(self) -> int:
        return len(self.payload)


class View(Event, frozen=True, gc=False):
    """Who is in a group from here on."""

    group: GroupName
    id: GroupId
    members: tuple[GroupName, ...]
    """Their private groups, in the same order at all members."""

    together: tuple[GroupName, ...]
    """Who came with me from my view before: they received the same messages in it."""

    cause: Cause
    who: GroupName
    """Who joined, left or disconnected; empty if the network was the cause."""

    sets: tuple[tuple[GroupName, ...], ...]
    """If the network was the cause: all members, by the view that they came from."""


class Transition(Event, frozen=True, gc=False):
    """From here to the next view, messages in this group are transitional."""

    group: GroupName
    view: GroupId
