"""One configuration's ring at one daemon: token visits, packets, delivery.

Born with a configuration and dropped with it; old packets name the old configuration and
find no ring. After the Ring of the Spread paper of 1998; differences: docs/protocols/ring.md.
"""

from antiphon.core.bundle import CHANGE_BYTES, Bundle
from antiphon.core.clocks import LamportClock
from antiphon.core.effects import (
    Broadcast,
    Delivered,
    Emit,
    Send,
    Stamped,
    Taken,
    Trouble,
    Word,
)
from antiphon.core.ids import NOBODY, Configuration, DaemonId, Member
from antiphon.core.machine import Instant, Timers
from antiphon.core.service import ORDERED, Service
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.stream.assembly import TOKEN_LIFE, Assembly, DuplicateFilter
from antiphon.protocol.stream.delivery import LEAP_MAX, Delivery
from antiphon.protocol.stream.packing import Filled, Outbox, Stamp
from antiphon.protocol.stream.patience import Patience
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.token import UsableAru, adaptive_delay, allowance, merged_aru
from antiphon.protocol.stream.window import LinkWindow, joined_requests
from antiphon.wire.control import Hurry, pack_control
from antiphon.wire.packet import Envelope, Tag, pack_config
from antiphon.wire.ring import REQUESTS_MAX, RingPacket, Token, pack_ring_packet, pack_token

VISIT = "visit"
REPEAT = "repeat"
LOSS = "loss"
PARTIAL = "partial"

AGAIN_US = 50
"""A ring of one visits itself again after this while it has more to send."""

QUIET_ROTATIONS = 2
"""The leader lets the token rest after so many rotations without work: by then every
member has seen everything stable."""

STILL_ROTATIONS = 8
"""So many rotations without a new packet, though not all is stable: no need to hurry."""

TOKEN_LOSS = "token_loss"
RECEIVE_FAILURE = "receive_failure"
BLOCKED_WINDOW = "blocked_window"


class Ring:
    def __init__(
        self,
        me: Member,
        configuration: Configuration,
        settings: StreamSettings,
        envelope: Envelope,
        outbox: Outbox,
        level: Level,
        rotation_us: int,
    ) -> None:
        self.configuration = configuration
        self.timers = Timers()
        self.delivery = Delivery()
        self.settled = False
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self._outbox = outbox
        self._all = level == Level.ALL
        self._config_bytes = pack_config(configuration.id)
        daemons = configuration.daemons
        place = daemons.index(me.daemon)
        self._leader = daemons[0]
        self._next = daemons[(place + 1) % len(daemons)]
        self._alone = len(daemons) == 1
        # Members may be configured differently while a change is rolled out.
        self._flow_max = 4 * len(daemons) * settings.member_packets_max
        self._lives = {member.daemon: member.incarnation for member in configuration.members}

        self._window = LinkWindow()
        self._assembly = Assembly()
        self._duplicates = DuplicateFilter()
        self._clock = LamportClock()
        self._session_last: dict[int, int] = {}
        self._session_past: dict[int, tuple[int, int]] = {}
        self._own_last = 0

        # The token. Invariant: at most one of "I hold it" and "REPEAT is running".
        self._held_token: Token | None = None
        self._token_seen = 0
        self._passed = 0
        self._passed_at: Instant = 0
        self._passed_packet = b""
        self.patience = Patience(settings, rotation_us)
        self._link_aru = UsableAru()
        self._site_aru = UsableAru()
        self._sent_last = 0
        self._next_send_at: Instant = 0

        # Quiet: nothing new since my last visit, and everything is stable.
        self._link_last = 0
        self._quiet_rotations = 0
        self._still_rotations = 0
        self._unreliable_moves = False
        self._rest_us = settings.token_rest_us_min

        # What may end in trouble.
        self._received = (0, 0)
        self._received_at: Instant = 0
        self._aru_moved: tuple[int, Instant] = (0, 0)
        self._troubled = False
        self._high_water = 0

    def begin(self, now: Instant) -> list[Word]:
        self._received_at = now
        self._aru_moved = (0, now)
        self._passed_at = now
        self.patience.begin(now)
        if self._leader != self._me.daemon:
            self.timers.set(LOSS, now + self.patience.loss_us())
            return []
        return self._visit(now, Token(1))

    @property
    def owes(self) -> bool:
        """Something that I sent is not yet known to be held by all."""
        return self._own_last > self.delivery.stable

    # Events.

    def work(self, now: Instant) -> list[Word]:
        """Something was submitted."""
        if not self._outbox.waiting(self.settled):
            return []
        if self._held_token is not None:
            return self._end_rest(now)
        if self._quiet_rotations and self._leader != self._me.daemon:
            self._quiet_rotations = 0
            hurry = pack_control(self._envelope, Hurry(self.configuration.id))
            return [Send(self._leader, hurry)]
        return []

    def hear_hurry(self, now: Instant) -> list[Word]:
        self._quiet_rotations = 0
        return [] if self._held_token is None else self._end_rest(now)

    def hear_token(self, now: Instant, token: Token) -> str | list[Word]:
        """Effects, or why the token is dropped."""
        if token.sequence <= self._token_seen:
            return self._pass_again(now, token) or "old_token"
        if self._impossible(token):
            return "impossible_token"
        self._token_seen = token.sequence
        self.timers.clear(REPEAT)
        self.timers.set(LOSS, now + self.patience.loss_us())
        self._notice_quiet(token)
        round_us = now - self._passed_at
        self.patience.note_visit(now, round_us, bool(self._quiet_rotations))
        rest = self._rest(round_us) if self._leader == self._me.daemon else 0
        if rest <= 0:
            return self._visit(now, token)
        self._held_token = token
        self.timers.clear(LOSS)
        self.timers.set(VISIT, now + rest)
        return []

    def _rest(self, round_us: int) -> int:
        """How long the leader keeps the token: longer and longer while all is quiet, a
        little while nothing moves although something should (a packet that cannot be had,
        a full window): turning faster would not help."""
        if self._quiet_rotations >= QUIET_ROTATIONS:
            # A token that was lost and repeated has rested long enough on its way.
            rest = min(self._rest_us, self._settings.token_rest_us_max - round_us)
            self._rest_us = min(2 * self._rest_us, self._settings.token_rest_us_max)
            return rest
        if self._still_rotations >= STILL_ROTATIONS:
            return self._settings.token_rest_us_min
        return 0

    def _pass_again(self, now: Instant, token: Token) -> list[Word]:
        """My predecessor repeats what I passed on: perhaps it was lost behind me. Not too
        soon, or a doubled token would chase the true one round the ring for ever."""
        lost_behind_me = token.sequence == self._passed - 1 and self.timers.running(REPEAT)
        if not lost_behind_me or now - self._passed_at < self.patience.repeat_us() // 2:
            return []
        return self._repeat(now)

    def _repeat(self, now: Instant) -> list[Word]:
        self._passed_at = now
        self.timers.set(REPEAT, now + self.patience.repeat_us())
        return [Send(self._next, self._passed_packet)]

    def hear_packet(self, now: Instant, packet: RingPacket, raw: bytes) -> str | list[Word]:
        """Effects, or why the packet is dropped."""
        if self._lives.get(packet.sender) != packet.incarnation or packet.sender == self._me.daemon:
            return "not_a_member"
        link = packet.link_sequence
        if link > self._window.released + 2 * self._settings.buffered_packets_max:
            return "beyond_window"
        if packet.token_sequence >= self._token_seen:
            self._hear_life(now)
        sender = Member(packet.sender, packet.incarnation)
        effects: list[Word] = []
        if not link:
            return self._hear_unreliable(now, sender, packet)
        if not self._window.store(link, raw):
            return "duplicate"
        for piece in packet.pieces:
            bundle = self._assembly.add(now, sender, piece)
            if bundle is not None:
                if not self.delivery.add(bundle):
                    return "bad_stamp"
                self._clock.see(bundle.stamp)
        self._deliver(effects)
        return effects

    def _hear_unreliable(
        self, now: Instant, sender: Member, packet: RingPacket
    ) -> str | list[Word]:
        self._unreliable_moves = True
        sent = packet.token_sequence
        if sent <= self._token_seen - TOKEN_LIFE:
            return "too_late"
        effects: list[Word] = []
        for piece in packet.pieces:
            bundle = self._assembly.add(now, sender, piece)
            if bundle is not None and self._duplicates.first_time(bundle, sent):
                self._deliver_unreliable(now, bundle, effects)
        if self._assembly.unreliable_partials() and not self.timers.running(PARTIAL):
            self.timers.set(PARTIAL, now + self._settings.partial_life_us)
        return effects

    def forget(self, session: int) -> None:
        """It will never send again."""
        self._session_last.pop(session, None)
        self._session_past.pop(session, None)

    def wake(self, now: Instant) -> list[Word]:
        effects: list[Word] = []
        for name in self.timers.due(now):
            if name == VISIT and self._held_token is not None:
                effects += self._end_rest(now)
            elif name == REPEAT:
                effects += self._repeat(now)
            elif name == LOSS:
                effects += self._report(now, TOKEN_LOSS, NOBODY)
            elif name == PARTIAL:
                self._assembly.expire(now, self._settings.partial_life_us)
                if self._assembly.unreliable_partials():
                    self.timers.set(PARTIAL, now + self._settings.partial_life_us)
        return effects

    # A visit of the token, in the order of the paper's Fig. 3.3 (SP-184).

    def _visit(self, now: Instant, token: Token) -> list[Word]:
        arrived = token.link_sequence
        self._window.learn(arrived)
        self._clock.see(token.site_stamp)
        effects: list[Word] = []
        self._deliver(effects)  # stamps must be above all that clients have seen
        packets, unanswered = self._answer(token.requests)
        if self._outbox.waiting(self.settled):
            packets += self._send_new(now, token, len(packets), effects)
        token.flow += len(packets) - self._sent_last
        self._sent_last = len(packets)
        self._update_arus(token)
        self._request(token, unanswered, arrived)
        effects += self._watch(now, token)
        if self._alone:
            packets.clear()  # nobody to send them to
        late = self._settings.accelerated_packets
        before = packets[:-late] if late else packets
        effects += [Broadcast(packet) for packet in before]
        self._pass(now, token, effects)
        effects += [Broadcast(packet) for packet in packets[len(before) :]]
        self._deliver(effects)
        self._release(now, effects)
        return effects

    def _answer(
        self, requests: tuple[tuple[int, int], ...]
    ) -> tuple[list[bytes], list[tuple[int, int]]]:
        """Whoever has a packet repeats it; what I lack or may not send stays on the list."""
        packets: list[bytes] = []
        unanswered: list[tuple[int, int]] = []
        for first, last in requests:  # none, nearly always
            for sequence in range(max(first, self._window.released + 1), last + 1):
                packet = self._window.packets.get(sequence)
                if packet is not None and len(packets) < self._settings.member_packets_max:
                    packets.append(packet)
                else:
                    unanswered.append((sequence, sequence))
        return packets, unanswered

    def _send_new(
        self, now: Instant, token: Token, repeated: int, effects: list[Word]
    ) -> list[bytes]:
        packets: list[bytes] = []
        if self._outbox.state_waiting():
            # Never delayed: it is what everybody waits for.
            room = self._room(token, self._settings.control_packets_reserve) - repeated
            if room > 0:
                filled = self._outbox.fill_state(room, self._stamper(token))
                packets += self._send(now, token, filled, effects)
        if self.settled and now >= self._next_send_at:
            room = self._room(token, 0) - repeated - len(packets)
            if room > 0:
                messages = self.delivery.cursor >= token.last_change
                filled = self._outbox.fill(room, messages, self._stamper(token))
                packets += self._send(now, token, filled, effects)
        if packets:
            self._next_send_at = now + adaptive_delay(
                token.link_sequence - self._link_aru.value,
                self._settings.window_packets_low,
                self._settings.window_packets_max,
                self._settings.delay_us_max,
            )
        return packets

    def _stamper(self, token: Token) -> Stamp:
        return lambda bundle: self._stamp(token, bundle)

    def _room(self, token: Token, reserve: int) -> int:
        return allowance(
            self._settings.ring_packets_max,
            self._settings.member_packets_max,
            token.flow,
            self._sent_last,
            token.link_sequence - self._link_aru.value,
            self._settings.window_packets_max + reserve,
        )

    def _send(self, now: Instant, token: Token, filled: Filled, effects: list[Word]) -> list[bytes]:
        packets = []
        head = self._envelope.head(Tag.DATA)
        for reliable, pieces in filled[0]:
            link = 0
            if reliable:
                token.link_sequence += 1
                link = token.link_sequence
            raw = pack_ring_packet(head, self._config_bytes, token.sequence, link, pieces)
            if reliable:
                self._window.store(link, raw)
            else:
                self._unreliable_moves = True
            packets.append(raw)
        for bundle in filled[1]:
            if self._all:
                effects.append(Stamped(self.configuration.id, bundle))
            size = CHANGE_BYTES if bundle.control else len(bundle.body)
            effects.append(Taken(bundle.session, size))
            if bundle.service == Service.UNRELIABLE:
                self._deliver_unreliable(now, bundle, effects)
            else:
                self.delivery.add(bundle)
        return packets

    def _stamp(self, token: Token, bundle: Bundle) -> None:
        """Give a bundle its place (SP-74 to SP-78, SP-186)."""
        # Its past is what this daemon delivered and what the session itself sent, delivered
        # or not: others may learn of this bundle before those. No true past lies behind the
        # end of the order; a false one that a peer told must not spoil what we say.
        end = token.site_sequence
        early, ordered = self._session_past.get(bundle.session, (0, 0))
        bundle.early_past = min(end, max(self.delivery.early_past, early))
        bundle.order_past = min(end, max(self.delivery.order_past, ordered))
        bundle.after_change = token.last_change
        if bundle.service == Service.UNRELIABLE:
            return  # takes nothing of the order: a lost one must leave no gap
        token.site_sequence += 1
        token.site_stamp = self._clock.stamp(token.site_stamp)
        bundle.sequence = token.site_sequence
        bundle.stamp = token.site_stamp
        bundle.previous = self._session_last.get(bundle.session, 0)
        self._session_last[bundle.session] = self._own_last = bundle.sequence
        if bundle.service in ORDERED:
            ordered = bundle.sequence
        else:
            early = bundle.sequence
        self._session_past[bundle.session] = (early, ordered)
        if bundle.control:
            token.last_change = bundle.sequence

    def _update_arus(self, token: Token) -> None:
        """Both values in the same rotation (SP-173)."""
        me = self._me.daemon
        have = self._window.contiguous
        line = self.delivery.line
        if self.delivery.complete == token.site_sequence:
            line = token.site_stamp
        token.link_aru, token.link_modifier = merged_aru(
            token.link_aru, token.link_modifier, have, token.link_sequence, me
        )
        token.site_aru, token.site_modifier = merged_aru(
            token.site_aru, token.site_modifier, line, token.site_stamp, me
        )
        if self._alone:
            self._link_aru.alone(have)
            self._site_aru.alone(line)
        else:
            self._link_aru.visit(token.link_aru)
            self._site_aru.visit(token.site_aru)
        self.delivery.make_stable(self._site_aru.value)

    def _request(self, token: Token, unanswered: list[tuple[int, int]], arrived: int) -> None:
        """Ask for what is missing. With accelerated passing, packets numbered since my last
        visit may still be on their way and are not asked for yet."""
        upto = min(arrived, self._link_last) if self._settings.accelerated_packets else arrived
        token.requests = ()
        if unanswered or self._window.contiguous < upto:
            missing = self._window.missing(upto, REQUESTS_MAX)
            token.requests = joined_requests(unanswered, missing, REQUESTS_MAX)
        self._link_last = token.link_sequence

    def _pass(self, now: Instant, token: Token, effects: list[Word]) -> None:
        self._held_token = None
        self.timers.clear(VISIT)
        if self._alone:
            self._held_token = token
            if self._outbox.waiting(self.settled):
                self.timers.set(VISIT, max(now + AGAIN_US, self._next_send_at))
            return
        token.sequence += 1
        self._token_seen = self._passed = token.sequence
        self._passed_at = now
        head = self._envelope.head(Tag.TOKEN)
        self._passed_packet = pack_token(head, self._config_bytes, token)
        effects.append(Send(self._next, self._passed_packet))
        # In a quiet ring the token will rest with the leader before it comes back to me.
        rests = self._quiet_rotations and self._leader != self._me.daemon
        rest = self._settings.token_rest_us_max if rests else 0
        self.timers.set(REPEAT, now + rest + self.patience.repeat_us())
        self.timers.set(LOSS, now + self.patience.loss_us())

    # Delivery and release.

    def _deliver(self, effects: list[Word]) -> None:
        effects += [Delivered(bundle, False) for bundle in self.delivery.take()]

    def _deliver_unreliable(self, now: Instant, bundle: Bundle, effects: list[Word]) -> None:
        """The moment it is complete, outside of everything else (SP-57)."""
        self.delivery.remember(bundle)
        if self._all:
            row = self._record(Kind.COMPLETE, now)
            row.origin, row.first, row.count = bundle.origin, bundle.number, bundle.count
            effects.append(Emit(row))
        effects.append(Delivered(bundle, False))

    def _release(self, now: Instant, effects: list[Word]) -> None:
        held = len(self._window.packets)
        if self._all and held > self._high_water:
            self._high_water = held + held // 4
            row = self._record(Kind.BUFFERS, now)
            row.value = held
            row.limit = self._settings.buffered_packets_max
            effects.append(Emit(row))
        self._window.release(self._link_aru.value)
        self.delivery.release()

    # Rest, life and trouble.

    def _end_rest(self, now: Instant) -> list[Word]:
        assert self._held_token is not None
        token, self._held_token = self._held_token, None
        if self._outbox.waiting(self.settled):
            self._quiet_rotations = 0
        if not self._quiet_rotations:
            self._rest_us = self._settings.token_rest_us_min
        return self._visit(now, token)

    def _notice_quiet(self, token: Token) -> None:
        still = token.link_sequence == self._link_last and not self._unreliable_moves
        quiet = (
            still
            and not token.requests
            and self._site_aru.value == token.site_stamp
            and not self._outbox.waiting(self.settled)
        )
        self._unreliable_moves = False
        self._still_rotations = self._still_rotations + 1 if still else 0
        self._quiet_rotations = self._quiet_rotations + 1 if quiet else 0
        if not quiet:
            self._rest_us = self._settings.token_rest_us_min

    def _hear_life(self, now: Instant) -> None:
        """A packet of a later visit: the token I passed arrived."""
        self.timers.clear(REPEAT)
        if self._held_token is None:
            self.timers.set(LOSS, now + self.patience.loss_us())

    def _impossible(self, token: Token) -> bool:
        """A token that takes back what I know, or leaps ahead of it, cannot come from a sane
        member."""
        return (
            not self._sent_last <= token.flow <= self._flow_max
            or token.sequence > self._token_seen + LEAP_MAX
            or token.site_stamp > self.delivery.line + LEAP_MAX
            or token.link_sequence < self._window.contiguous
            or token.site_sequence < self.delivery.complete
            or token.site_stamp < self.delivery.line
            or token.link_sequence > self._window.released + 2 * self._settings.buffered_packets_max
        )

    def _watch(self, now: Instant, token: Token) -> list[Word]:
        """Is somebody, perhaps I myself, unable to receive?"""
        have = (self._window.contiguous, self.delivery.complete)
        if have != self._received or have == (token.link_sequence, token.site_sequence):
            self._received = have
            self._received_at = now
        elif now - self._received_at > self._settings.receive_failure_us:
            return self._report(now, RECEIVE_FAILURE, NOBODY)
        # Held back: by a full window, or by repeats that leave no room for anything new.
        used = token.link_sequence - self._link_aru.value
        full = used >= self._settings.window_packets_max
        held_back = used > 0 and (full or self._outbox.waiting(self.settled))
        if self._link_aru.value != self._aru_moved[0] or not held_back:
            self._aru_moved = (self._link_aru.value, now)
        elif now - self._aru_moved[1] > self._settings.blocked_window_us:
            if token.link_modifier not in (NOBODY, self._me.daemon):
                return self._report(now, BLOCKED_WINDOW, token.link_modifier)
        return []

    def _report(self, now: Instant, reason: str, accused: DaemonId) -> list[Word]:
        if self._troubled:
            return []
        self._troubled = True
        return [Trouble(reason, accused)]

    def _record(self, kind: Kind, now: Instant) -> Record:
        row = Record(kind, now, self._me.daemon, self._me.incarnation)
        row.config = self.configuration.id
        return row
