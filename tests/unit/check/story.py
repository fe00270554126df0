"""Writes traces by hand: a story that goes well unless the teller says otherwise.

Every verb writes the records that a right system would write; keyword arguments overwrite
columns, and naming fewer processes leaves records out. That is how a story goes wrong.
"""

from typing import Any, NamedTuple

from antiphon.check import Violation, judge
from antiphon.core.ids import NO_CONFIG, ConfigId, DaemonId, Incarnation, Member, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind, Record


class Message(NamedTuple):
    origin: SessionId
    first: int
    count: int
    service: Service
    groups: tuple[str, ...]
    content: int


class Story:
    def __init__(self) -> None:
        self.records: list[Record] = []
        self.time = 0
        self.config: dict[Member, ConfigId] = {}
        self.members: dict[ConfigId, tuple[Member, ...]] = {}
        self.turned: set[Member] = set()
        self.view: dict[tuple[SessionId, str], ViewId] = {}
        self.sent: dict[Message, tuple[ConfigId, int]] = {}
        self.numbers: dict[tuple[SessionId, bool], int] = {}
        self.minted = 0

    def tell(self, kind: Kind, who: Member | SessionId, **columns: Any) -> None:
        """One record, one microsecond after the last one."""
        self.time += 1
        session = {"session": who.number} if isinstance(who, SessionId) else {}
        fixed = {"node": who.daemon, "incarnation": who.incarnation, **session}
        self.records.append(Record(kind=kind, **{"time": self.time, **fixed, **columns}))

    def broken(self, ended: bool = True) -> list[str]:
        """The ids of the promises that the judges find broken."""
        return sorted({violation.promise for violation in self.violations(ended)})

    def violations(self, ended: bool = True) -> list[Violation]:
        return judge(self.records, ended)

    # Daemons and configurations.

    def daemon(self, number: int, life: int = 1) -> Member:
        member = Member(DaemonId(number), Incarnation(life))
        self.tell(Kind.START, member)
        return member

    def stop(self, *who: Member) -> None:
        for member in who:
            self.tell(Kind.STOP, member, reason="crash")

    def mint(self) -> ConfigId:
        self.minted += 1
        return ConfigId(self.minted, DaemonId(1), Incarnation(1), self.minted)

    def turn(self, *who: Member, along: tuple[Member, ...]) -> None:
        """Their configuration becomes transitional."""
        for member in who:
            self.tell(Kind.TRANSITIONAL, member, config=self.config[member], members=along)
            self.turned.add(member)

    def install(
        self,
        *members: Member,
        who: tuple[Member, ...] | None = None,
        config: ConfigId | None = None,
        **columns: Any,
    ) -> ConfigId:
        """All members come to a configuration, or only those in `who`."""
        config = config or self.mint()
        old = {member: self.config.get(member, NO_CONFIG) for member in members}
        for member in members if who is None else who:
            base = self.config.get(member, NO_CONFIG)
            if base != NO_CONFIG and member not in self.turned:
                self.turn(member, along=tuple(q for q in members if old[q] == base))
            told = {"config": config, "base": base, "members": members, **columns}
            self.tell(Kind.INSTALL, member, **told)
            self.config[member] = config
            self.turned.discard(member)
        self.members[config] = members
        return config

    # Sessions and views.

    def session(self, daemon: Member, number: int = 1) -> SessionId:
        session = SessionId(daemon.daemon, daemon.incarnation, number)
        self.tell(Kind.OPEN, session)
        return session

    def change(
        self,
        group: str,
        *members: SessionId,
        who: tuple[SessionId, ...] | None = None,
        cause: Cause = Cause.NETWORK,
        view: ViewId | None = None,
        signal: bool = True,
        **columns: Any,
    ) -> ViewId:
        """All members come to a view, or only those in `who`.

        Who comes by a network change was told before that the old view became transitional,
        unless `signal` is off. To be told twice changes nothing.
        """
        self.minted += 1
        if view is None:
            config = self.config[Member(members[0].daemon, members[0].incarnation)]
            view = ViewId(config, self.minted, 0)
        old = {session: self.view.get((session, group)) for session in members}
        for session in members if who is None else who:
            base = self.view.get((session, group))
            along = tuple(q for q in members if old.get(q) == base) if base else (session,)
            if base and cause == Cause.NETWORK and signal:
                self.signal(group, session)
            told = {"views": (view, base), "sessions": members, "together": along}
            self.tell(
                Kind.VIEW, session, groups=(group,), **{**told, "reason": cause.value, **columns}
            )
            self.view[session, group] = view
        return view

    def join(self, group: str, *sessions: SessionId) -> None:
        """They join one after the other."""
        for session in sessions:
            self.tell(Kind.JOIN, session, groups=(group,))
            inside = tuple(who for who, name in self.view if name == group)
            self.change(group, *inside, session, cause=Cause.JOIN)

    def leave(self, group: str, session: SessionId) -> None:
        self.tell(Kind.LEAVE, session, groups=(group,))
        last = self.view.pop((session, group))
        self.tell(Kind.LEFT, session, groups=(group,), views=(last,))
        inside = tuple(who for who, name in self.view if name == group)
        self.change(group, *inside, cause=Cause.LEAVE)

    def close(self, session: SessionId, **columns: Any) -> None:
        self.tell(Kind.CLOSE, session, **columns)

    def signal(self, group: str, *sessions: SessionId) -> None:
        for session in sessions:
            view = self.view[session, group]
            self.tell(Kind.SIGNAL, session, groups=(group,), views=(view,))

    # Messages.

    def submit(
        self, session: SessionId, service: Service, *groups: str, count: int = 1, **columns: Any
    ) -> Message:
        space = (session, service == Service.UNRELIABLE)
        first = self.numbers.get(space, 1)
        self.numbers[space] = first + count
        message = Message(session, first, count, service, groups, content=1000 + self.time)
        told = {"value": message.content, "groups": groups, **columns}
        self.tell(Kind.SUBMIT, session, **self.named(message), **told)
        return message

    def named(self, message: Message) -> dict[str, Any]:
        return {
            "origin": message.origin,
            "first": message.first,
            "count": message.count,
            "service": int(message.service),
        }

    def stamp(self, *messages: Message, **columns: Any) -> None:
        for message in messages:
            home = Member(message.origin.daemon, message.origin.incarnation)
            config = self.config[home]
            sequence = len(self.sent) + 1 if message.service else 0
            self.sent[message] = (config, sequence)
            views = tuple(self.in_force(group, config) for group in message.groups)
            told = {"config": config, "sequence": sequence, "groups": message.groups}
            self.tell(Kind.SEND, home, **self.named(message), **{**told, "views": views, **columns})

    def in_force(self, group: str, config: ConfigId) -> ViewId | None:
        """The newest view of the group at any daemon of the configuration."""
        daemons = self.members[config]
        found = [
            view
            for (session, name), view in self.view.items()
            if name == group and Member(session.daemon, session.incarnation) in daemons
        ]
        return found[-1] if found else None

    def send(self, session: SessionId, service: Service, *groups: str, **columns: Any) -> Message:
        message = self.submit(session, service, *groups, **columns)
        self.stamp(message)
        return message

    def own(self, daemon: Member, service: Service = Service.AGREED) -> Message:
        """The daemon's own message, as for group changes."""
        origin = SessionId(daemon.daemon, daemon.incarnation, 0)
        first = self.numbers.get((origin, False), 1)
        self.numbers[origin, False] = first + 1
        message = Message(origin, first, 1, service, (), 0)
        self.stamp(message)
        return message

    def deliver(self, message: Message, *who: Member, **columns: Any) -> None:
        config, sequence = self.sent.get(message, (NO_CONFIG, 0))
        for member in who:
            part = member in self.turned
            told = {"config": config, "sequence": sequence, "transitional": part, **columns}
            self.tell(Kind.DELIVER, member, **{**self.named(message), **told})

    def hand(self, message: Message, *who: SessionId, **columns: Any) -> None:
        for session in who:
            groups = tuple(group for group in message.groups if (session, group) in self.view)
            views = tuple(self.view[session, group] for group in groups)
            told = {"groups": groups, "views": views, "value": message.content, **columns}
            self.tell(Kind.HAND, session, **{**self.named(message), **told})

    def receive(self, message: Message, *who: Member | SessionId) -> None:
        """Delivered at these daemons, then handed to these sessions."""
        for one in who:
            if isinstance(one, SessionId):
                self.hand(message, one)
            else:
                self.deliver(message, one)


class Pair(Story):
    """Two daemons in a configuration, each with a session in the group "g"."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = self.daemon(1), self.daemon(2)
        self.first = self.install(self.one, self.two)
        self.ann, self.bob = self.session(self.one), self.session(self.two)
        self.join("g", self.ann, self.bob)
        self.everybody = (self.one, self.two, self.ann, self.bob)

    def say(self, service: Service, by: SessionId | None = None, **columns: Any) -> Message:
        """To the group, and everybody gets it."""
        message = self.send(by or self.ann, service, "g", **columns)
        self.receive(message, *self.everybody)
        return message

    def go_on(self) -> None:
        """Both go to a new configuration and a new view."""
        self.install(self.one, self.two)
        self.change("g", self.ann, self.bob)
