"""Clients of Spread's protocol: what all of a daemon have in common, and one client's dialect."""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from ipaddress import ip_network

from antiphon.core.effects import (
    Closed,
    Defined,
    Disconnect,
    Flow,
    Join,
    Joined,
    Leave,
    Left,
    Message,
    Refused,
    Transition,
    View,
)
from antiphon.core.ids import NOBODY, DaemonId, Incarnation, SessionId
from antiphon.daemon.dialect import Greeting, Heard, News, Say
from antiphon.daemon.spread.bundling import Bundle, Run, bundles, runs
from antiphon.daemon.spread.deliveries import Deliveries
from antiphon.daemon.spread.greeting import FIRST_BYTES, Network, Reception, methods_for
from antiphon.daemon.spread.names import Names
from antiphon.wire.spread.handshake import pack_accept, pack_rejection
from antiphon.wire.spread.messages import WORD, SpreadMessage, pack_reject
from antiphon.wire.spread.stream import MessageReader, StreamFault
from antiphon.wire.spread.views import GroupId, pack_self_leave, pack_transition
from antiphon.wire.spread.words import JOIN, LEAVE, REGULAR, Code

CODES = {
    "too_many_sessions": Code.REJECT_QUOTA,
    "daemon_stopping": Code.REJECT_QUOTA,
    "bad_name": Code.REJECT_ILLEGAL_NAME,
    "name_in_use": Code.REJECT_NOT_UNIQUE,
    "client_version": Code.REJECT_VERSION,
    "not_authenticated": Code.REJECT_AUTH,
    "bad_token": Code.REJECT_AUTH,
}
"""Why a client is not let in, in its own protocol."""

UNSAID = ("already_joined", "not_joined")
"""Joining or leaving twice is no mistake in this protocol."""

NOBODY_YET = SessionId(NOBODY, Incarnation(0), 0)
NUMBERS = 1_000_000
"""Names that are invented have few digits."""


class Spread:
    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self.enabled = False
        self.names = Names()
        self.deliveries = Deliveries(self.names, counts)
        self._networks: tuple[Network, ...] = ()
        self._invented = secrets.randbelow(NUMBERS)
        """Not from 0: who answers a client of an earlier life must not reach another one."""

    def load(
        self, enabled: bool, daemons: Iterable[tuple[DaemonId, str]], addresses: Iterable[str]
    ) -> None:
        """What the configuration says."""
        self.enabled = enabled
        self.names = Names(daemons)
        self.deliveries = Deliveries(self.names, self.counts)
        self._networks = tuple(map(ip_network, addresses))

    def begins(self, first: int) -> bool:
        return self.enabled and first in FIRST_BYTES

    def methods(self, is_proved: bool, is_free: bool, has_tokens: bool) -> tuple[str, ...]:
        """By which a client may prove who it is; none: nobody is let in."""
        if not self.enabled:
            return ()  # it came in where nothing else is spoken
        return methods_for(is_proved, is_free, has_tokens, self._networks)

    def dialect(self, address: str, methods: tuple[str, ...]) -> "SpreadDialect":
        """For a client from this address, which may prove by these methods who it is."""
        self._invented += 1
        spare_name = f"r{self._invented % NUMBERS}"
        return SpreadDialect(self, Reception(methods, address, self._networks, spare_name))


class SpreadDialect:
    """One client's."""

    __slots__ = (
        "_spread",
        "_reception",
        "_reader",
        "_session",
        "_name",
        "_own",
        "_membership",
        "_views",
        "_asking",
        "_is_refused",
    )

    def __init__(self, spread: Spread, reception: Reception) -> None:
        self._spread = spread
        self._reception = reception
        self._reader: MessageReader | None = None
        """None until it is let in."""

        self._session = NOBODY_YET
        self._name = ""
        self._own = ""
        """Its private group."""

        self._membership = False
        self._views: dict[str, GroupId] = {}
        """The last view of each group that it was told."""

        self._asking: SpreadMessage | None = None
        """A join that the node is being asked for."""

        self._is_refused = False

    # In.

    def hear(self, data: bytes) -> Iterator[Heard]:
        if self._reader is None:
            for heard in self._reception.hear(data):
                if isinstance(heard, Greeting):
                    self._name, self._membership = heard.name, heard.membership
                yield heard
            if self._reader is None:
                return
            data, self._reception.rest = self._reception.rest, b""
        fault = None
        try:
            messages = self._reader.feed(data)
        except StreamFault as error:
            messages, fault = error.before, error
        for run in runs(messages):
            yield from self._requests(run)
        if fault is not None:
            raise fault

    def _requests(self, run: Run) -> Iterator[Heard]:
        first = run[0]
        if first.head.type & REGULAR:
            yield from self._multicast(run)
        elif not first.head.type & (JOIN | LEAVE):
            yield Disconnect(self._session.number)
        elif not first.head.groups:
            self._spread.counts["unreachable: no group"] += 1
        elif first.head.type & JOIN:
            self._asking = first
            yield Join(self._session.number, self._spread.names.ours(first.head.groups[0]))
            self._asking = None
        else:
            yield Leave(self._session.number, self._spread.names.ours(first.head.groups[0]))

    def _multicast(self, run: Run) -> Iterator[Heard]:
        for bundle in self._bundles(run):
            self._is_refused = False
            yield bundle.multicast
            if self._is_refused:
                yield from self._apart(bundle)

    def _bundles(self, run: Run) -> Iterator[Bundle]:
        spread = self._spread
        return bundles(self._session.number, self._name, run, spread.names, spread.counts)

    def _apart(self, refused: Bundle) -> Iterator[Heard]:
        """One message of a bundle may be refused for its group; those to other groups are not
        to suffer from travelling with it."""
        messages = refused.messages
        if len({message.head for message in messages}) > 1:
            for message in messages:
                yield from self._multicast([message])
        else:
            rejected = [
                pack_reject(message.head, self._own, message.hint, message.data)
                for message in messages
            ]
            yield Say(b"".join(rejected))

    # Out.

    def welcome(self, session: SessionId, who: str) -> bytes:
        hello = self._reception.hello
        own = self._spread.names.of_session(self._name, session.daemon)
        assert hello is not None and own is not None, "the greeting was read, and its name is short"
        self._session = session
        self._own = own
        self._reader = MessageReader(own)
        return pack_accept(hello.version, own)

    def message(self, message: Message) -> tuple[bytes, ...]:
        packed = self._spread.deliveries.message(message)
        return (packed,) if packed else ()

    def tell(self, news: News) -> bytes:
        match news:
            case View():
                return self._tell_view(news)
            case Transition(group):
                last = self._views.get(group)
                return pack_transition(group, last) if last is not None else b""
            case Left(group):
                self._views.pop(group, None)
                return pack_self_leave(group) if self._membership else b""
            case Refused(code, what, remedy):
                return self._tell_refused(code, what, remedy)
            case Joined() | Defined() | Flow() | Closed():
                return b""  # it stops being read, or its stream ends

    def _tell_view(self, view: View) -> bytes:
        packed = self._spread.deliveries.view(view)
        if packed is None:
            return b""
        self._views[view.group] = packed.id
        offset = packed.offsets.get(self._session, 0)
        return b"".join((packed.before, WORD[True].pack(offset), packed.after))

    def _tell_refused(self, code: str, what: str, remedy: str) -> bytes:
        if self._reader is None:
            return self.refuse(code, what, remedy)
        if code in UNSAID:
            return b""
        asked = self._asking
        if asked is not None:
            return pack_reject(asked.head, self._own, asked.hint, asked.data)
        self._is_refused = True
        return b""

    def refuse(self, code: str, what: str, remedy: str) -> bytes:
        told = CODES.get(code)
        return pack_rejection(told) if self._reader is None and told is not None else b""

    def end(self, reason: str) -> bytes:
        return b""
