"""What Spread's clients call daemons, sessions and groups, and what we do.

    theirs          ours            a private group: by the daemon's name, not its id
    #bob#two        #bob#4711
    orders          orders
    or#ders         ##or#ders       reaches nobody, and comes out as it went in

What we do not allow travels behind a mark that no private group begins with, its bytes as
characters. A daemon whose name is too long for Spread's clients is called by its id.
"""

from collections.abc import Iterable
from typing import NamedTuple

from antiphon.core.ids import PRIVATE_MARK, DaemonId, GroupName, group_name_fault, private_group
from antiphon.wire.body import Destination
from antiphon.wire.spread.words import (
    DAEMON_NAME_BYTES_MAX,
    fits_field,
    is_daemon_name,
    is_plain,
)

STRANGE = 2 * PRIVATE_MARK
"""Marks a name that we do not allow."""

PLACES_REMEMBERED = 1024


class Place(NamedTuple):
    """Where messages go."""

    destination: Destination
    head_bytes: int
    """What it takes in a bundle's head."""

    is_strange: bool
    """It names a group that there cannot be."""


class Names:
    def __init__(self, daemons: Iterable[tuple[DaemonId, str]] = ()) -> None:
        """In the order of the configuration, which is that of lists of members."""
        listed = list(daemons)
        self.order = {id: place for place, (id, _) in enumerate(listed)}
        self._ids = {name: id for id, name in listed if is_daemon_name(name)}
        for id, name in listed:
            if not is_daemon_name(name):
                self._ids[self._unlike_others(str(id))] = id
        self._called = {id: name for name, id in self._ids.items()}
        self._places: dict[tuple[str, ...], Place] = {}

    def _unlike_others(self, called: str) -> str:
        """A daemon may have been named like another's id; no name begins with a dash."""
        while called in self._ids:
            called = f"-{called}"[:DAEMON_NAME_BYTES_MAX]
        return called

    def of_session(self, name: str, daemon: DaemonId) -> str | None:
        """Its private group; None if Spread's clients cannot be told of it."""
        called = self._called.get(daemon)
        if called is None or not name or not is_plain(name):
            return None
        private = f"{PRIVATE_MARK}{name}{PRIVATE_MARK}{called}"
        return private if fits_field(private) else None

    def ours(self, name: str) -> GroupName:
        if name.startswith(PRIVATE_MARK):
            session, _, called = name[1:].partition(PRIVATE_MARK)
            daemon = self._ids.get(called)
            if session and session.isprintable() and daemon is not None:
                return private_group(session, daemon)
        elif not group_name_fault(name):
            return name
        return STRANGE + name.encode("utf-8", "surrogateescape").decode("latin-1")

    def theirs(self, group: GroupName) -> str | None:
        """None if it does not fit."""
        if group.startswith(STRANGE):
            try:
                group = group[len(STRANGE) :].encode("latin-1").decode("utf-8", "surrogateescape")
            except UnicodeEncodeError:
                return None
        elif group.startswith(PRIVATE_MARK):
            session, _, daemon = group[1:].partition(PRIVATE_MARK)
            called = self._called.get(DaemonId(int(daemon))) if _is_id(daemon) else None
            if called is not None:
                group = f"{PRIVATE_MARK}{session}{PRIVATE_MARK}{called}"
        return group if fits_field(group) else None

    def place(self, groups: tuple[str, ...]) -> Place:
        """Of a message to these groups, as a client names them."""
        place = self._places.get(groups)
        if place is None:
            destination = tuple(map(self.ours, groups))
            head_bytes = 2 + sum(1 + len(name.encode()) for name in destination)
            is_strange = any(name.startswith(STRANGE) for name in destination)
            place = Place(destination, head_bytes, is_strange)
            if len(self._places) >= PLACES_REMEMBERED:
                self._places.clear()
            self._places[groups] = place
        return place


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 20
