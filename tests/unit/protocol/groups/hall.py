"""Several daemons' groups with one order between them, made by hand."""

from collections.abc import Iterator

from antiphon.core.bundle import Bundle
from antiphon.core.effects import (
    Ask,
    Define,
    Delivered,
    Ended,
    Installed,
    Join,
    Leave,
    Message,
    Multicast,
    Opened,
    Settled,
    Submit,
    SubmitState,
    Tell,
    Transitional,
    View,
    Word,
)
from antiphon.core.ids import NO_CONFIG, ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.service import Service
from antiphon.core.trace import Level
from antiphon.protocol.groups.groups import Groups
from antiphon.protocol.sessions.settings import STRONG
from antiphon.wire.body import Table, letters, pack_body, referring_parts

Request = Opened | Ended | Join | Leave | Define | Multicast


def member(number: int) -> Member:
    return Member(DaemonId(number), Incarnation(100 + number))


class Daemon:
    def __init__(self, number: int) -> None:
        self.member = member(number)
        self.groups = Groups(self.member, Level.ALL)
        self.config: ConfigId = NO_CONFIG
        self.settled = False
        self.news: list[tuple[int, object]] = []
        """(session, what it was told), in order."""

        self.waiting: list[Bundle] = []
        self.states: list[Bundle] = []

    def tell(self, event: Word) -> None:
        for effect in self.groups.handle(0, event):
            match effect:
                case Submit(bundle):
                    self.waiting.append(bundle)
                case SubmitState(bodies):
                    self.states = [
                        Bundle(self.member, 0, number, 1, Service.AGREED, body, control=True)
                        for number, body in enumerate(bodies, 1)
                    ]
                case Tell(session, news):
                    self.news.append((session, news))
                case Settled(config):
                    assert config == self.config
                    self.settled = True

    def told(self, session: int, kind: type) -> list[object]:
        return [news for one, news in self.news if one == session and isinstance(news, kind)]


class Hall:
    """Sessions have the number of their daemon times ten, plus one, two, ..."""

    def __init__(self, daemons: int = 2) -> None:
        self.daemons = {number: Daemon(number) for number in range(1, daemons + 1)}
        self._epoch = 0
        self._sequence: dict[ConfigId, int] = {}
        self._changes: dict[ConfigId, int] = {}
        self.install(*self.daemons)

    def of(self, session: int) -> Daemon:
        return self.daemons[session // 10]

    # What clients do.

    def open(self, session: int, membership: bool = True) -> None:
        self.ask(session, Opened(session, f"s{session}", 0, membership))

    def join(self, session: int, group: str) -> None:
        self.ask(session, Join(session, group))
        self.order()

    def leave(self, session: int, group: str) -> None:
        self.ask(session, Leave(session, group))
        self.order()

    def end(self, session: int) -> None:
        self.ask(session, Ended(session))
        self.order()

    def send(
        self,
        session: int,
        *groups: str,
        payload: bytes = b"message",
        service: Service = Service.AGREED,
        self_discard: bool = False,
    ) -> None:
        self.send_bundle(session, [(groups, payload)], service, self_discard)

    def send_bundle(
        self,
        session: int,
        messages: list[tuple[tuple[str, ...], bytes]],
        service: Service = Service.AGREED,
        self_discard: bool = False,
    ) -> None:
        table: Table = tuple(dict.fromkeys(groups for groups, _ in messages))
        places = tuple(table.index(groups) for groups, _ in messages)
        payloads = tuple(payload for _, payload in messages)
        body = pack_body(table, places, tuple(range(len(messages))), payloads)
        self.ask(session, Multicast(session, service, len(messages), body, self_discard))
        self.order()

    def define(self, session: int, *destinations: tuple[str, ...]) -> None:
        self.ask(session, Define(session, destinations))
        self.order()

    def refer(self, session: int, *places: int) -> None:
        """One message to each of these places in the session's table."""
        payloads = tuple(b"to %d" % place for place in places)
        body = b"".join(referring_parts(places, (0,) * len(places), payloads, ""))
        self.ask(session, Multicast(session, Service.AGREED, len(places), body))
        self.order()

    def ask(self, session: int, request: Request) -> None:
        self.of(session).tell(Ask(STRONG, request))

    # What the stream does.

    def install(self, *numbers: int, together: tuple[tuple[int, ...], ...] = ()) -> None:
        """These daemons share a new configuration; `together` says who comes from one old
        one, if not everybody comes from its own."""
        self._epoch += 1
        members = tuple(map(member, numbers))
        config = ConfigId(self._epoch, *members[0], 1)
        self._sequence[config] = self._changes[config] = 0
        for number in numbers:
            daemon = self.daemons[number]
            came = next((part for part in together if number in part), (number,))
            coming = tuple(map(member, came))
            if daemon.config != NO_CONFIG:
                daemon.tell(Transitional(coming))
            base, daemon.config = daemon.config, config
            daemon.settled = False
            daemon.tell(Installed(Configuration(config, members), base, coming, ""))
        for number in numbers:
            self._deliver_state(number)
        self.order()

    def _deliver_state(self, number: int) -> None:
        daemon = self.daemons[number]
        states, daemon.states = daemon.states, []
        for bundle in states:
            self.deliver(bundle, daemon.config)

    def order(self) -> None:
        """Stamp and deliver all that waits at settled daemons, everywhere in one order."""
        for daemon in self.daemons.values():
            if daemon.settled:
                waiting, daemon.waiting = daemon.waiting, []
                for bundle in waiting:
                    self.deliver(bundle, daemon.config)

    def deliver(self, bundle: Bundle, config: ConfigId) -> None:
        bundle.after_change = self._changes[config]
        if bundle.service != Service.UNRELIABLE:
            self._sequence[config] += 1
            bundle.sequence = bundle.stamp = self._sequence[config]
        if bundle.control:
            self._changes[config] = bundle.position
        for daemon in self.daemons.values():
            if daemon.config == config:
                daemon.tell(Delivered(bundle, False))

    # What clients saw.

    def views(self, session: int) -> list[View]:
        return [news for news in self.of(session).told(session, View) if isinstance(news, View)]

    def last_view(self, session: int) -> tuple[list[int], list[int], str]:
        """(members, who stayed with me, cause) by session numbers."""
        view = self.views(session)[-1]
        members = [one.number for one, _ in view.members]
        return members, [one.number for one in view.together], view.cause.value

    def messages(self, session: int) -> list[Message]:
        found = self.of(session).told(session, Message)
        return [news for news in found if isinstance(news, Message)]

    def payloads(self, session: int) -> list[bytes]:
        return [one.payload for news in self.messages(session) for one in letters(news)]

    def everybody(self) -> Iterator[int]:
        for daemon in self.daemons.values():
            yield from daemon.groups._sessions
