"""Who and what: every identifier that crosses a joint, a wire or a record.

All are tuples of integers: cheap to make, to compare and to sort, and the same
under every hash seed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple, NewType

import msgspec

DaemonId = NewType("DaemonId", int)
"""An opaque 64-bit number from the configuration; never a position in a list (SP-45)."""

Incarnation = NewType("Incarnation", int)
"""One run of one daemon: boot milliseconds shifted left 20 bits, plus 20 random bits.

Compared as a number only as a hint which of two is newer: clocks can be set back.
"""

SomeDaemon = Annotated[DaemonId, msgspec.Meta(ge=0)]
SomeLife = Annotated[Incarnation, msgspec.Meta(ge=0)]
Counter = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
"""Bounds that decoders enforce; above, 64 bits are the limit of the format itself."""

GroupName = str
"""UTF-8, 1 to 255 bytes, printable; private to one cluster (SP-34, SP-234)."""

NOBODY = DaemonId(0)
"""No daemon has this id; the ring token uses it for "nobody lowered this value"."""


class Member(NamedTuple):
    """A daemon in one of its lives. After a restart it is another member."""

    daemon: SomeDaemon
    incarnation: SomeLife


class ConfigId(NamedTuple):
    """Names one configuration for ever.

    A coordinator never reuses its counter within an incarnation and an incarnation
    never returns, so an id is minted once and bound to one member list. Ids are
    compared as tuples; every daemon accepts and installs rising ids only.
    """

    epoch: Natural
    coordinator: SomeDaemon
    incarnation: SomeLife
    counter: Counter


NO_CONFIG = ConfigId(0, NOBODY, Incarnation(0), 0)


class SessionId(NamedTuple):
    """A client's connection to its daemon. Number 0 is the daemon itself."""

    daemon: SomeDaemon
    incarnation: SomeLife
    number: Counter


Labelled = tuple[SessionId, str]
"""A session and its name."""


class ViewId(NamedTuple):
    """A group view: where in the order of which configuration it was made.

    A view cut at an install has position 0 and `lineage` names the configuration and
    the view it was cut from: two daemons may come to one configuration from the same
    view along different ways, and then cut it differently.
    """

    config: ConfigId
    position: Natural
    lineage: Natural


@dataclass(frozen=True)
class Configuration:
    """Who is in it, sorted by daemon. What is asked for often is worked out once."""

    id: ConfigId
    members: tuple[Member, ...]
    parts: tuple[tuple[Member, ...], ...] = ()
    """Its segments, each sorted, by their first members; empty if there is only one."""

    edges: tuple[tuple[int, int, int], ...] = ()
    """From which segment to which, and the weight of that way; sorted."""

    @property
    def segments(self) -> tuple[tuple[Member, ...], ...]:
        """Each is one ring, in the order of its members."""
        return self.parts or (self.members,)

    @cached_property
    def daemons(self) -> tuple[DaemonId, ...]:
        return tuple(member.daemon for member in self.members)

    @cached_property
    def places(self) -> dict[Member, int]:
        """Of each member: the number of its segment."""
        return {member: at for at, members in enumerate(self.segments) for member in members}

    @cached_property
    def segment_at(self) -> dict[DaemonId, int]:
        return {member.daemon: at for member, at in self.places.items()}

    @cached_property
    def ranks(self) -> dict[DaemonId, int]:
        """Of each daemon: its place among the members, counted from 1."""
        return {member.daemon: place for place, member in enumerate(self.members, 1)}

    def segment_of(self, member: Member) -> tuple[Member, ...]:
        """The ring a member is in; empty for a stranger."""
        at = self.places.get(member)
        return () if at is None else self.segments[at]


GROUP_NAME_BYTES_MAX = 255
SESSION_NAME_BYTES_MAX = 64
PRIVATE_MARK = "#"
"""Starts a private group name, `#session#daemon`; no other group name contains it."""


def private_group(session: str, daemon: DaemonId) -> str:
    """The group name that reaches one session and nobody else."""
    return f"{PRIVATE_MARK}{session}{PRIVATE_MARK}{daemon}"


def group_name_fault(name: str) -> str:
    """Why `name` cannot be a group to join, or an empty string."""
    if not name:
        return "the group name is empty"
    if len(name.encode("utf-8", "surrogatepass")) > GROUP_NAME_BYTES_MAX:
        return f"the group name is longer than {GROUP_NAME_BYTES_MAX} bytes"
    if not name.isprintable():
        return "the group name holds a control character"
    if PRIVATE_MARK in name:
        return f"the group name holds {PRIVATE_MARK!r}, which marks private groups"
    return ""
