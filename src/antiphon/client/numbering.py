"""How the daemon numbers what a session asks (protocol/groups), followed from outside.

Unreliable messages have a sequence of their own. In the other, each join and leave takes one
number, and so does what is defined. What the daemon refuses takes none: it is taken back here.
"""

from typing import NamedTuple

from antiphon.core.ids import GroupName
from antiphon.core.service import Service

JOIN = "join"
LEAVE = "leave"
DEFINE = "define"


class Change(NamedTuple):
    """Something that is under way and takes a number of its own."""

    what: str
    """JOIN, LEAVE or DEFINE."""

    group: GroupName
    """Empty if it is about none."""


class Numbering:
    def __init__(self) -> None:
        self.sent = 0
        self.sent_unreliable = 0
        self.confirmed = 0
        """Everything up to here is known to be delivered at the daemon."""

        self._changes: dict[Change, int] = {}

    def take(self, service: Service, count: int) -> int:
        """The first of `count` numbers."""
        if service is Service.UNRELIABLE:
            self.sent_unreliable += count
            return self.sent_unreliable - count + 1
        self.sent += count
        return self.sent - count + 1

    def take_change(self, change: Change) -> int:
        self.sent += 1
        self._changes[change] = self.sent
        return self.sent

    def settle(self, change: Change) -> None:
        """It was ordered, and with it all that was sent before it."""
        number = self._changes.pop(change, None)
        if number is not None:
            self.saw(number)

    def refuse(self, change: Change) -> None:
        refused = self._changes.pop(change, None)
        if refused is None:
            return
        self.sent -= 1
        for later, number in self._changes.items():
            if number > refused:
                self._changes[later] = number - 1

    def saw(self, number: int) -> None:
        """An own message of fifo or stronger service was delivered: all before it were too."""
        if number > self.confirmed:
            self.confirmed = number

    @property
    def unconfirmed(self) -> int:
        """Messages, not changes, that are not known to be delivered. A multicast that was
        refused counts until a later one is delivered: an upper bound."""
        changes = sum(number > self.confirmed for number in self._changes.values())
        return max(0, self.sent - self.confirmed - changes)
