"""What each process lived through: its stays in configurations and views.

A *stay* is the time from one install to the next; what was delivered meanwhile belongs to
it. All positions are places in the trace; NEVER is behind its end.
"""

from antiphon.check.pieces import NEVER, Event, Run
from antiphon.core.ids import (
    NO_CONFIG,
    ConfigId,
    GroupName,
    Member,
    SessionId,
    ViewId,
)
from antiphon.core.positions import place_name
from antiphon.core.trace import Record


class ConfigStay:
    """A daemon in a configuration. Its first stay has no configuration at all."""

    __slots__ = (
        "daemon",
        "config",
        "base",
        "members",
        "position",
        "events",
        "sends",
        "mask",
        "transitional",
        "comrades",
        "previous",
        "next",
    )

    def __init__(
        self,
        daemon: "Daemon",
        config: ConfigId,
        base: ConfigId,
        members: tuple[Member, ...],
        position: int,
    ) -> None:
        self.daemon = daemon
        self.config = config
        self.base = base
        self.members = members
        self.position = position
        self.events: list[Event] = []
        self.sends: list[Event] = []
        self.mask = 0
        """All that was delivered here."""
        self.transitional: list[tuple[int, Record]] = []
        self.comrades: tuple[Member, ...] | None = None
        """The transitional set, once told."""
        self.previous: ConfigStay | None = None
        self.next: ConfigStay | None = None

    def owes(self, ended: bool) -> bool:
        """No crash excuses what is missing here: it went on, or it is still up."""
        return self.next is not None or (ended and self.daemon.up)


class Daemon:
    __slots__ = (
        *("member", "started", "stopped", "stays", "within"),
        *("deliveries", "delivered", "spared", "repeats", "kept", "disk_failed"),
    )

    def __init__(self, member: Member) -> None:
        self.member = member
        self.started = 0
        self.stopped = NEVER
        self.stays = [ConfigStay(self, NO_CONFIG, NO_CONFIG, (), 0)]
        self.within: dict[ConfigId, ConfigStay] = {}
        """Its stay in each configuration; the first one if there are several."""
        self.deliveries: list[Event] = []
        self.delivered = 0
        self.spared = 0
        """Messages that were not for it: nobody there wanted them when they were stamped."""
        self.repeats: list[Run] = []
        """What its sessions were not handed because it was a repeat."""
        self.kept: list[Event] = []
        """What came to its disk, or was found there."""
        self.disk_failed = False

    @property
    def up(self) -> bool:
        return self.stopped == NEVER

    @property
    def stay(self) -> ConfigStay:
        return self.stays[-1]

    def install(self, position: int, record: Record) -> None:
        stay = ConfigStay(self, record.config, record.base, record.members, position)
        stay.previous = self.stays[-1]
        stay.previous.next = stay
        self.stays.append(stay)
        self.within.setdefault(record.config, stay)

    @property
    def events(self) -> list[Event]:
        return self.deliveries

    def __str__(self) -> str:
        return f"daemon {self.member.daemon}/{self.member.incarnation}"


class Membership:
    """A session in a group, from its first view to its leave."""

    __slots__ = ("leaving",)

    def __init__(self, leaving: bool) -> None:
        self.leaving = leaving
        """It asked to leave, or has left: what it misses at the end is its own wish."""


class ViewStay:
    """A session in a view of a group."""

    __slots__ = (
        "session",
        "group",
        "view",
        "old",
        "previous",
        "record",
        "position",
        "membership",
        "events",
        "strays",
        "sends",
        "mask",
        "signalled",
        "signal_stay",
        "next",
    )

    def __init__(
        self,
        session: "Session",
        group: GroupName,
        position: int,
        record: Record,
        previous: "ViewStay | None",
        membership: Membership,
    ) -> None:
        self.session = session
        self.group = group
        self.view = view_of(record)
        self.old: ViewId | None = record.views[1] if len(record.views) > 1 else None
        self.previous = previous
        self.record = record
        self.position = position
        self.membership = membership
        self.events: list[Event] = []
        self.strays: list[Event] = []
        """Handed here for the group, but said to be in another view."""
        self.sends: list[Event] = []
        """What this session itself had stamped for the group while it was here."""
        self.mask = 0
        self.signalled = NEVER
        self.signal_stay: ConfigStay | None = None
        """Where its daemon was when this view became transitional."""
        self.next: ViewStay | None = None

    @property
    def members(self) -> tuple[SessionId, ...]:
        return self.record.sessions

    def owes(self, ended: bool) -> bool:
        """Neither crash nor leave excuses what is missing here."""
        if self.next is not None:
            return True
        return ended and self.session.up and not self.membership.leaving


class Session:
    __slots__ = (
        "id",
        "daemon",
        "closed",
        "close",
        "current",
        "within",
        "stays",
        "joins",
        "leaves",
        "impatient",
        "wishes",
        "refused",
        "hands",
        "handed",
        "discards",
        "backlog",
    )

    def __init__(self, identity: SessionId, daemon: Daemon) -> None:
        self.id = identity
        self.daemon = daemon
        self.closed = NEVER
        self.close: Record | None = None
        self.current: dict[GroupName, ViewStay] = {}
        self.within: dict[tuple[GroupName, ViewId], ViewStay] = {}
        self.stays: list[ViewStay] = []
        self.joins: dict[GroupName, int] = {}
        """Where it first asked to join."""
        self.leaves: dict[GroupName, int] = {}
        self.impatient: dict[GroupName, bool] = {}
        """It asked to leave before it saw the first view."""
        self.wishes: dict[GroupName, tuple[bool, int]] = {}
        """Whether it last asked to be in the group, and where."""
        self.refused = -1
        """Where a request of it was last refused."""
        self.hands: list[Event] = []
        self.handed = 0
        self.discards = 0
        """Its own messages that it does not want back."""
        self.backlog = 0
        """The longest that its queue was seen."""

    @property
    def up(self) -> bool:
        return self.closed == NEVER and self.daemon.up

    @property
    def events(self) -> list[Event]:
        return self.hands

    @property
    def delivered(self) -> int:
        return self.handed

    def install(self, group: GroupName, position: int, record: Record) -> ViewStay:
        previous = self.current.get(group)
        if previous is None:
            membership = Membership(self.impatient.pop(group, False))
        else:
            membership = previous.membership
        stay = ViewStay(self, group, position, record, previous, membership)
        if previous is not None:
            previous.next = stay
        self.current[group] = stay
        self.within.setdefault((group, stay.view), stay)
        self.stays.append(stay)
        return stay

    def leave(self, group: GroupName) -> None:
        """It asks; from here on it may miss what is still under way."""
        stay = self.current.get(group)
        if stay is None:
            self.impatient[group] = True
        else:
            stay.membership.leaving = True

    def left(self, group: GroupName) -> None:
        stay = self.current.pop(group, None)
        if stay is not None:
            stay.membership.leaving = True

    def __str__(self) -> str:
        return f"session {self.id.daemon}/{self.id.incarnation}/{self.id.number}"


Process = Daemon | Session


def view_of(record: Record) -> ViewId:
    view = record.views[0]
    assert view is not None, "a view that is installed has an id"
    return view


def config_name(config: ConfigId | None) -> str:
    if config is None or config == NO_CONFIG:
        return "no configuration"
    return f"configuration {config.epoch}.{config.coordinator}.{config.counter}"


def view_name(view: ViewId | None) -> str:
    if view is None:
        return "no view"
    config = view.config
    cut = f"~{view.lineage}" if view.lineage else ""
    place = place_name(view.position)
    return f"view {config.epoch}.{config.coordinator}.{config.counter}@{place}{cut}"
