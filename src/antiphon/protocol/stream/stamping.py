"""Giving bundles their places: stamps, pasts, chains, and who has to wait.

A message is sent in the views that its daemon has delivered (D2). In one segment the token
tells of the last group change, and a holder that has not delivered it sends no messages. With
several segments changes are announced: intents, and gates (docs/protocols/wide-area.md).
"""

from antiphon.core.bundle import Bundle
from antiphon.core.clocks import LamportClock
from antiphon.core.errors import DecodeError
from antiphon.core.ids import Configuration, Member
from antiphon.core.positions import position
from antiphon.core.reach import Reach
from antiphon.core.service import ORDERED, Service
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.gates import Gates
from antiphon.protocol.stream.packing import OWN_PRIORITY, OWN_SESSION, Outbox
from antiphon.protocol.stream.reaching import Reaching
from antiphon.wire.changes import Intent, pack_intent, read_intent
from antiphon.wire.crossing import PARCEL_OVERHEAD
from antiphon.wire.pieces import Token, far_bytes


def is_intent(bundle: Bundle) -> bool:
    return bundle.control and bundle.service == Service.RELIABLE


class Stamping:
    """Where this daemon's bundles go; the `Way` of its outbox."""

    def __init__(
        self, me: Member, configuration: Configuration, segment: int, delivery: Delivery
    ) -> None:
        self._me = me
        self._segment = segment
        self._delivery = delivery
        self.clock = LamportClock()
        self.reaching = Reaching(configuration, segment)
        self.several = self.reaching.several
        masks = (len(configuration.segments) + 7) // 8
        self.crossing_bytes = PARCEL_OVERHEAD + masks if self.several else 0
        self._gates = Gates()
        self._intents: dict[tuple[int, int], Bundle] = {}
        """My announcements, by session and number of the change."""

        self._changed_at = 0
        """Position of the last group change that was delivered here."""

        self._last: dict[int, int] = {}
        self._past: dict[int, tuple[int, int]] = {}
        self.own_last = 0
        """Stamp of the last bundle of mine."""

        self.floor_wanted = 0
        """The highest stamp of a bundle here that is delivered in its turn."""

        self.held_wanted = 0
        """And of one that somebody waits for until all hold it."""

        self._token = Token(0)

    def visit(self, token: Token) -> None:
        """From here on places are taken from this token."""
        self._token = token
        if self.several:
            # Stamps that others have seen are behind us: an idle segment says so (SP-66).
            token.site_stamp = max(token.site_stamp, self.clock.value)
            token.heads = token.heads or (0,) * len(self._delivery.sources)

    # Who may go.

    def may(self, bundle: Bundle) -> bool:
        if not self.several:
            return bundle.control or self._delivery.cursor >= self._token.last_change
        if bundle.session == OWN_SESSION:
            return True
        if not bundle.control:
            return not self._gates.hold(bundle)
        if not bundle.names:
            return True
        intent = self._intents.get((bundle.session, bundle.number))
        return intent is not None and 0 < intent.stamp <= self._delivery.stable

    def may_change(self, bundle: Bundle) -> bool:
        """Where there is no room for messages."""
        return bundle.control and self.may(bundle)

    def announce(self, outbox: Outbox) -> None:
        """Intents for the changes that come next."""
        for change in outbox.coming_changes():
            key = (change.session, change.number)
            if change.session == OWN_SESSION or not change.names or key in self._intents:
                continue
            body = pack_intent(Intent(change.session, change.number, change.names))
            intent = Bundle(self._me, OWN_SESSION, 0, 1, Service.RELIABLE, body, control=True)
            self._intents[key] = intent
            outbox.push(intent, OWN_PRIORITY)

    def hold(self, bundle: Bundle) -> None:
        """A bundle is here. If it is an intent, messages to its groups wait from now on."""
        if bundle.control or bundle.service in ORDERED:
            self.floor_wanted = max(self.floor_wanted, bundle.stamp)
        if bundle.control or bundle.service == Service.SAFE:
            self.held_wanted = max(self.held_wanted, bundle.stamp)
        if is_intent(bundle):
            try:
                self._gates.close(bundle.sender, read_intent(bundle.body))
            except DecodeError:
                pass  # nobody can read it, so nobody waits for it

    def delivered(self, bundle: Bundle) -> None:
        """A group change was delivered here."""
        if not is_intent(bundle):
            self._changed_at = bundle.position

    def made(self, change: Bundle) -> None:
        """And now its views are known here: who sends to its groups knows where they are."""
        self._gates.open(change)

    # Places.

    def mask(self, bundle: Bundle) -> int:
        return self.reaching.mask(bundle)

    def far_bytes(self, bundle: Bundle) -> int:
        if not self.several:
            return 0
        token = self._token
        reach: tuple[Reach, ...] = ()
        if bundle.service != Service.UNRELIABLE:
            reach = self.reaching.reach(bundle, token.site_sequence + 1, token.heads)
        return far_bytes(self._other_pasts()[0], reach)

    def stamp(self, bundle: Bundle) -> None:
        """Give a bundle its place (SP-74 to SP-78, SP-186)."""
        token = self._token
        # Its past is what this daemon delivered and what the session itself sent, delivered
        # or not: others may learn of this bundle before those. No true past lies behind the
        # end of the order; a false one that a peer told must not spoil what we say.
        early, ordered = self._past.get(bundle.session, (0, 0))
        told = self._delivery.early_past[self._segment]
        bundle.early_past = min(token.site_sequence, max(told, early))
        end = position(max(token.site_stamp, self.clock.value) + 1, 0) - 1
        bundle.order_past = min(end, max(self._delivery.order_past, ordered))
        bundle.segment = self._segment
        bundle.after_change = self._changed_at if self.several else token.last_change
        if self.several:
            bundle.early_pasts, oldest = self._other_pasts()
            bundle.order_past = max(bundle.order_past, oldest)
        if bundle.service == Service.UNRELIABLE:
            # It takes nothing of the order: a lost one must leave no gap. But whoever
            # gets it knows of its past, and must not stamp below that.
            bundle.stamp = max(token.site_stamp, self.clock.value) if self.several else 0
            return
        token.site_sequence += 1
        token.site_stamp = self.clock.stamp(token.site_stamp)
        bundle.sequence = token.site_sequence
        bundle.stamp = self.own_last = token.site_stamp
        bundle.previous = self._last.get(bundle.session, 0)
        self._last[bundle.session] = bundle.sequence
        if self.several:
            bundle.reach = self.reaching.reach(bundle, bundle.sequence, token.heads)
            token.heads = self.reaching.went(bundle, token.heads)
        if bundle.service in ORDERED:
            ordered = bundle.position
        else:
            early = bundle.sequence
        self._past[bundle.session] = (early, ordered)
        if bundle.control:
            token.last_change = bundle.position

    def _other_pasts(self) -> tuple[tuple[tuple[int, int], ...], int]:
        """What I delivered early of other streams. Where everybody holds it, it is enough to
        say that everything so old comes first: up to this position."""
        delivery = self._delivery
        pasts = []
        oldest = 0
        for source in delivery.sources:
            sequence = delivery.early_past[source.index]
            if source.index == self._segment or not sequence:
                continue
            if sequence > source.released:
                pasts.append((source.index, sequence))
            else:
                oldest = position(delivery.stable + 1, 0) - 1
        return tuple(pasts), oldest

    def forget(self, session: int) -> None:
        """It will never send again."""
        self._last.pop(session, None)
        self._past.pop(session, None)
        self.reaching.forget(session)
