"""Where a session has sent to, by number; and how many of these its daemon has in a table.

Bundles to many groups refer to that table instead of naming them (docs/protocols/tables.md). It
grows at its end only, and only one piece of it is asked for at a time.
"""

from typing import Any

from antiphon.core.errors import UsageError
from antiphon.core.ids import GROUP_NAME_BYTES_MAX, PRIVATE_MARK, GroupName, group_name_fault
from antiphon.wire.body import GROUPS_PER_MESSAGE_MAX, Destination, Table
from antiphon.wire.tables import PLACES_MAX

UNDEFINED_MAX = 4096
"""So many are remembered beyond those that are, or will be, in the table."""

Groups = GroupName | list[GroupName] | tuple[GroupName, ...]


class Destinations:
    def __init__(self) -> None:
        self._by_name: dict[GroupName, int] = {}
        self._by_names: dict[tuple[GroupName, ...], int] = {}
        """As callers name them. A dict that has strings only takes a third of the memory, and a
        sender to thousands of groups finds more of it in its cache."""

        self.all: list[Destination] = []
        """By place."""

        self._names: list[Any] = []
        """By place, those that are one group as callers name it."""

        self._places: list[Any] = []
        """These numbers as objects, one beside the other in memory."""

        self._last = 0
        """The place of what was found last. Who sends to many groups often does so in turn, and
        then the next one need not be looked for: of thousands most are in no cache."""

        self._asked = 0
        """So many have been asked to be in the table."""

        self.defined = 0
        """So many are."""

        self.may_define = False

    @property
    def table(self) -> Table:
        return tuple(self.all[: self.defined])

    @property
    def is_full(self) -> bool:
        """Whether some must be forgotten before there can be more."""
        return len(self.all) - self._asked >= UNDEFINED_MAX

    def forget(self) -> None:
        """All that is not in the table, and has not been asked to be."""
        for by_place in (self.all, self._names, self._places):
            del by_place[self._asked :]
        self._last = 0
        _cut(self._by_name, self._asked)
        _cut(self._by_names, self._asked)

    def find(self, groups: Any) -> Any:
        """The place of what was named so before, or None; a list raises TypeError. Whatever comes
        out of a dict as a number would be taken apart and made again, compiled."""
        if type(groups) is not str:
            return self._by_names.get(groups)
        following = self._last + 1
        if following >= len(self._names):
            following = 0
        if self._names and self._names[following] is groups:
            self._last = following
            return self._places[following]
        place = self._by_name.get(groups)
        if place is not None:
            self._last = place
        return place

    def place_of(self, groups: Any) -> int:
        """Of what a caller names for the first time, or as a list. Raises UsageError."""
        destination: tuple[Any, ...] = (groups,) if isinstance(groups, str) else tuple(groups)
        if not all([isinstance(name, str) for name in destination]):
            check_destination(destination)
        is_one = len(destination) == 1
        place = self._by_name.get(destination[0]) if is_one else self._by_names.get(destination)
        if place is None:
            check_destination(destination)
            place = len(self.all)
            self.all.append(destination)
            self._names.append(destination[0] if is_one else None)
            self._places.append(place)
            if is_one:
                self._by_name[destination[0]] = place
        if not is_one or isinstance(groups, tuple):
            self._by_names[destination] = place
        return place

    def ask(self) -> Table:
        """What is to be asked to be in the table; empty if nothing is, or something was."""
        if not self.may_define or self._asked > self.defined:
            return ()
        end = min(len(self.all), PLACES_MAX)
        asked = tuple(self.all[self._asked : end])
        self._asked = end
        return asked

    def answer(self, places: int) -> bool:
        """The table has so many; True if what was asked is among them. Else there is no room for
        it, and later there will hardly be more."""
        granted = places > self.defined
        self.may_define = granted
        self.defined = places
        self._asked = min(self._asked, places)
        return granted


def _cut(places: dict[Any, int], end: int) -> None:
    for groups in [groups for groups, place in places.items() if place >= end]:
        del places[groups]


def check_destination(destination: tuple[Any, ...]) -> None:
    if not 0 < len(destination) <= GROUPS_PER_MESSAGE_MAX:
        raise UsageError(
            "bad_group",
            f"a message to {len(destination)} groups",
            f"name 1 to {GROUPS_PER_MESSAGE_MAX} groups",
        )
    for name in destination:
        fault = destination_fault(name)
        if fault:
            raise UsageError("bad_group", fault, "use another group name")


def destination_fault(name: object) -> str:
    """Why nothing can be sent to `name`, or an empty string. Private groups may be."""
    if not isinstance(name, str):
        return f"{name!r} is no group name"
    if not name.startswith(PRIVATE_MARK):
        return group_name_fault(name)
    if len(name.encode("utf-8", "replace")) > GROUP_NAME_BYTES_MAX or not name.isprintable():
        return f"{name!r} is no private group"
    return ""
