"""One configuration's ring at one daemon: token visits, packets, delivery.

Born with a configuration and dropped with it; old packets name the old configuration and
find no ring. After the Ring of the Spread paper of 1998; differences: docs/protocols/ring.md.
"""

from antiphon.core.bundle import CHANGE_BYTES, Bundle
from antiphon.core.effects import Broadcast, Delivered, Emit, Send, Stamped, Taken, Word
from antiphon.core.ids import NOBODY, Configuration, Member
from antiphon.core.machine import Instant, Timers
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.stream.abroad import Abroad
from antiphon.protocol.stream.assembly import TOKEN_LIFE, Assembly, DuplicateFilter
from antiphon.protocol.stream.courtesy import Patient
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.gateway import Gateway, branches
from antiphon.protocol.stream.packing import Filled, May, Outbox
from antiphon.protocol.stream.passing import LOSS, REPEAT, VISIT, Passing
from antiphon.protocol.stream.prompt import MEMBERS_MAX, Prompt
from antiphon.protocol.stream.quiet import Quiet
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.source import LEAP_MAX
from antiphon.protocol.stream.stamping import Stamping, is_intent
from antiphon.protocol.stream.telling import TELL, Telling
from antiphon.protocol.stream.token import UsableAru, adaptive_delay, allowance, merged_aru
from antiphon.protocol.stream.watch import TOKEN_LOSS, Watch
from antiphon.protocol.stream.window import LinkWindow, joined_requests
from antiphon.wire.control import Have, Hurry, pack_control
from antiphon.wire.crossing import Parcel, Report
from antiphon.wire.packet import Envelope, Tag, pack_config
from antiphon.wire.pieces import RingPacket, Token
from antiphon.wire.ring import OWN, REQUESTS_MAX, pack_ring_packet, pack_token

PARTIAL = "partial"
LOOK = "look"

AGAIN_US = 50
"""A ring of one visits itself again after this while it has more to send."""


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
        segments = configuration.segments
        self._segment = configuration.places[me]
        self.delivery = Delivery(len(segments), self._segment)
        self.settled = False
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self._outbox = outbox
        self._all = level == Level.ALL
        self._config_bytes = pack_config(configuration.id)
        daemons = tuple(member.daemon for member in segments[self._segment])
        place = daemons.index(me.daemon)
        self._leader = daemons[0]
        self._alone = len(daemons) == 1
        usual = settings.ring_packets_max + len(daemons) * settings.member_packets_max
        self._flow_max = 4 * usual  # members may be configured differently for a while
        self._lives = dict(segments[self._segment])

        self._window = LinkWindow()
        self._assembly = Assembly()
        self._duplicates = DuplicateFilter()
        self.stamping = Stamping(me, configuration, self._segment, self.delivery)
        self.abroad = self._abroad() if len(segments) > 1 else None
        self._telling = self._leader_telling()

        following = daemons[(place + 1) % len(daemons)]
        self.passing = Passing(
            settings, self.timers, following, self._leader == me.daemon, rotation_us
        )
        others = [daemon for daemon in daemons if daemon != me.daemon]
        can_tell_all = self.abroad is None and 0 < len(others) < MEMBERS_MAX
        self._prompt = Prompt(others) if can_tell_all else None
        self._link_aru = UsableAru()
        self._site_aru = UsableAru()
        self._sent_last = 0
        self._next_send_at: Instant = 0
        self.patient = Patient(settings)

        self._quiet = Quiet(settings)
        self._watch = Watch(settings, me.daemon)
        self._high_water = 0
        self.repeated = 0
        """Packets, because somebody asked for them."""

    def _abroad(self) -> Abroad:
        gateway = None
        if self._leader == self._me.daemon:
            ways = branches(self.configuration, self._me)
            gateway = Gateway(self.configuration, self._segment, ways)
        return Abroad(
            self.configuration,
            self._segment,
            self.delivery,
            gateway,
            self._settings,
            self._take,
            self._take_loose,
        )

    def _leader_telling(self) -> Telling | None:
        if self.abroad is None or self.abroad.gateway is None:
            return None
        return Telling(self.abroad, self.stamping, self.delivery, self.timers, self._settings)

    def begin(self, now: Instant) -> list[Word]:
        self._watch.begin(now)
        if self.abroad is not None:
            self.timers.set(LOOK, now + self.abroad.lookout.period_us)
        self.passing.begin(now)
        return self._visit(now, Token(1)) if self._leader == self._me.daemon else []

    @property
    def owes(self) -> bool:
        """Something that I sent is not yet known to be held by all."""
        return self.stamping.own_last > self.delivery.stable

    # Events.

    def work(self, now: Instant) -> list[Word]:
        """Something was submitted."""
        if not self._has_work():
            return []
        if self.passing.held is not None:
            return self._end_rest(now, self._prompt is not None)
        return self.hurry()

    def hurry(self) -> list[Word]:
        if self._quiet.rotations and self._leader != self._me.daemon:
            self._quiet.disturb()
            hurry = pack_control(self._envelope, Hurry(self.configuration.id))
            return [Send(self._leader, hurry)]
        return []

    def _has_work(self) -> bool:
        """Would the token be of use to me?"""
        if not self.stamping.several:
            return self._outbox.waiting(self.settled)
        if self.settled:
            self.stamping.announce(self._outbox)
        if self._outbox.waiting(self.settled, self._may):
            return True
        gateway = self.abroad.gateway if self.abroad is not None else None
        if gateway is None:
            return False
        assert self._telling is not None
        return self._telling.is_due() or (gateway.waiting and not self._alone)

    @property
    def _may(self) -> May:
        """What may be stamped: no messages while the window between segments is full."""
        full = self.abroad is not None and self.abroad.room_bytes <= 0
        return self.stamping.may_change if full else self.stamping.may

    def hear_hurry(self, now: Instant) -> list[Word]:
        self._quiet.disturb()
        return [] if self.passing.held is None else self._end_rest(now)

    def has(self, member: Member) -> bool:
        """Is it in this ring? Two of one configuration may share a network."""
        return self._lives.get(member.daemon) == member.incarnation

    def hear_token(self, now: Instant, token: Token) -> str | list[Word]:
        """Effects, or why the token is dropped."""
        if token.sequence <= self.passing.seen:
            return [*self.passing.on_again(now, token)] or "old_token"
        if self._impossible(token):
            return "impossible_token"
        held = min(token.site_aru, self.delivery.line)
        stable = self._site_aru.after(held) == token.site_stamp
        self._quiet.note(token, stable and not self._has_work())
        round_us = self.passing.take(now, token, bool(self._quiet.rotations))
        rest = self._quiet.rest(round_us) if self._leader == self._me.daemon else 0
        is_free = rest > 0 and self._may_send(now) and self._room(token, 0) > 0
        if rest > 0 and (token.requests or not (is_free and self._has_work())):
            self.passing.rest(token, now + rest)
            return []
        return self._visit(now, token)

    def hear_have(self, sender: Member, stamp: int) -> str | list[Word]:
        """Another member holds everything up to `stamp`. Effects, or why it is dropped."""
        if not self.has(sender):
            return "not_a_member"
        if stamp > self.delivery.own.stamp + LEAP_MAX:
            return "bad_stamp"
        effects: list[Word] = []
        if self._prompt is not None:
            self._prompt.hear(sender.daemon, stamp)
            self._renew_stable()
            self._deliver(effects)
        return effects

    def hear_packet(self, now: Instant, packet: RingPacket, raw: bytes) -> str | list[Word]:
        """Effects, or why the packet is dropped."""
        if self._lives.get(packet.sender) != packet.incarnation or packet.sender == self._me.daemon:
            return "not_a_member"
        link = packet.link_sequence
        if link > self._window.released + 2 * self._settings.buffered_packets_max:
            return "beyond_window"
        if packet.token_sequence >= self.passing.seen:
            self.passing.hear_life(now)
        sender = Member(packet.sender, packet.incarnation)
        effects: list[Word] = []
        if not link:
            return self._hear_unreliable(now, sender, packet, raw)
        if not self._window.store(link, raw):
            return "duplicate"
        if packet.origin != OWN:
            return self._hear_foreign(now, packet)
        if self.abroad is not None:
            effects += self.abroad.sent(True, sender, packet.mask, raw[packet.start :])
        prompt = self._prompt if self._quiet.is_calm(1) else None
        is_safe = False
        for piece in packet.pieces:
            bundle = self._assembly.add(now, sender, piece, self._segment)
            if bundle is None:
                continue
            known, before = self.delivery.own.known, self.delivery.line
            if not self._take(bundle):
                return "bad_stamp"
            if prompt is not None and bundle.sequence == known + 1:
                is_safe |= bundle.service == Service.SAFE
                stable = self.delivery.stable
                prompt.hear_bundle(sender.daemon, bundle.stamp, before, stable)
        if prompt is not None and is_safe:
            effects += self._say_have(prompt)
        self._deliver(effects)
        return effects

    def _say_have(self, prompt: Prompt) -> list[Word]:
        """All wait for it: no token is on its way that would tell."""
        self._renew_stable()
        line = self.delivery.line
        if not prompt.has_news(line):
            return []
        return [Broadcast(pack_control(self._envelope, Have(self.configuration.id, line)))]

    def _hear_foreign(self, now: Instant, packet: RingPacket) -> str | list[Word]:
        if self.abroad is None or packet.sender != self._leader:
            return "unknown_segment"
        return self._after_abroad(now, self.abroad.hear_packet(now, packet))

    def arrive(self, now: Instant, brought: Parcel | Report) -> str | list[Word]:
        """An object came over a link."""
        if self.abroad is None or self.abroad.gateway is None:
            return "unknown_segment"
        if isinstance(brought, Parcel):
            return self._after_abroad(now, self.abroad.arrive(now, brought, self._alone))
        return self._after_abroad(now, self.abroad.hear_report(now, brought.report))

    def _after_abroad(self, now: Instant, outcome: str | list[Word]) -> str | list[Word]:
        """Something came from another segment: more may be delivered, sent, or answered."""
        if isinstance(outcome, str):
            return outcome
        assert self.abroad is not None
        self.stamping.clock.see(self.abroad.floor)
        if self._alone:
            self._site_aru.alone(self.delivery.line)
        self._renew_stable()
        self._deliver(outcome)
        self.delivery.release()
        self.abroad.note_own(now)
        self._start_partial_timer(now)
        if self._telling is not None:
            self._telling.wait(now)
        return outcome + self.work(now)

    def _renew_stable(self) -> None:
        held = self._site_aru.value
        if self.abroad is not None:
            held = min(held, self.abroad.held)
        elif self._prompt is not None:
            held = max(held, min(self._prompt.held, self.delivery.line))
        self.delivery.make_stable(held)

    def _take(self, bundle: Bundle) -> bool:
        """A bundle is complete; False if its place cannot be."""
        if self.delivery.has(bundle):
            return True
        if not self.delivery.add(bundle):
            return False
        self.stamping.hold(bundle)
        self.stamping.clock.see(bundle.stamp)
        return True

    def _take_loose(self, now: Instant, bundle: Bundle, effects: list[Word]) -> None:
        self._deliver_loose(now, bundle, self.passing.seen, effects)

    def _deliver_loose(self, now: Instant, bundle: Bundle, sent: int, effects: list[Word]) -> None:
        possible = all(one < len(self.delivery.sources) for one, _ in bundle.early_pasts)
        possible &= bundle.stamp <= self.stamping.clock.value + LEAP_MAX
        if possible and self._duplicates.first_time(bundle, sent):
            self.stamping.clock.see(bundle.stamp)
            self._deliver_unreliable(now, bundle, effects)

    def _hear_unreliable(
        self, now: Instant, sender: Member, packet: RingPacket, raw: bytes
    ) -> str | list[Word]:
        self._quiet.unreliable_moves = True
        sent = packet.token_sequence
        if sent <= self.passing.seen - TOKEN_LIFE:
            return "too_late"
        if packet.origin != OWN:
            return self._hear_foreign(now, packet)
        effects: list[Word] = []
        if self.abroad is not None:
            effects += self.abroad.sent(False, sender, packet.mask, raw[packet.start :])
        for piece in packet.pieces:
            bundle = self._assembly.add(now, sender, piece, self._segment)
            if bundle is not None:
                self._deliver_loose(now, bundle, sent, effects)
        self._start_partial_timer(now)
        return effects

    def _start_partial_timer(self, now: Instant) -> None:
        partials = self._assembly.unreliable_partials()
        if self.abroad is not None:
            partials = partials or self.abroad.unreliable_partials()
        if partials and not self.timers.running(PARTIAL):
            self.timers.set(PARTIAL, now + self._settings.partial_life_us)

    def forget(self, session: int) -> None:
        """It will never send again."""
        self.stamping.forget(session)

    def wake(self, now: Instant) -> list[Word]:
        effects: list[Word] = []
        for name in self.timers.due(now):
            if name == VISIT and self.passing.held is not None:
                effects += self._end_rest(now)
            elif name == REPEAT:
                effects.append(self.passing.repeat(now))
            elif name == LOSS:
                effects += self._watch.report(TOKEN_LOSS, NOBODY)
            elif name == TELL and self._telling is not None:
                self._telling.ring()
                effects += self.work(now)
            elif name == PARTIAL:
                self._assembly.expire(now, self._settings.partial_life_us)
                if self.abroad is not None:
                    self.abroad.expire(now, self._settings.partial_life_us)
                self._start_partial_timer(now)
            elif name == LOOK and self.abroad is not None:
                self.timers.set(LOOK, now + self.abroad.lookout.period_us)
                effects += self.abroad.look(now)
        return effects

    # A visit of the token, in the order of the paper's Fig. 3.3 (SP-184).

    def _visit(self, now: Instant, token: Token, may_stay: bool = False) -> list[Word]:
        arrived = token.link_sequence
        self._window.learn(arrived)
        self.stamping.clock.see(token.site_stamp)
        effects: list[Word] = []
        self._deliver(effects)  # stamps must be above all that clients have seen
        self.stamping.visit(token)
        packets, unanswered = self._window.answer(token.requests, self._settings.member_packets_max)
        self.repeated += len(packets)
        if self.abroad is not None:
            packets += self._inject(token, self.abroad, len(packets))
        if self._has_work():
            packets += self._send_new(now, token, len(packets), effects)
        token.flow -= self._sent_last
        self._sent_last = len(packets) + self.patient.flow(now, token.flow)
        token.flow += self._sent_last
        self._update_arus(token)
        self._request(token, unanswered, arrived)
        have = (self._window.contiguous, self.delivery.own.known)
        effects += self._watch.visit(now, token, have, self._link_aru.value, self._has_work())
        if self._telling is not None:
            effects += self._telling.visit(now, token, self._segment, self._site_aru.value)
        if self._alone:
            packets.clear()  # nobody to send them to
        late = self._settings.accelerated_packets
        before = packets[:-late] if late else packets
        effects += [Broadcast(packet) for packet in before]
        if may_stay and self._stays(token, len(packets)):
            self.passing.stay(now, token)
            self._quiet.stay()
        else:
            self._pass(now, token, effects)
        effects += [Broadcast(packet) for packet in packets[len(before) :]]
        self._deliver(effects)
        self._release(now, effects)
        if self._alone and self._has_work():
            self.timers.set(VISIT, max(now + AGAIN_US, self._next_send_at, self.patient.until))
        return effects

    def _stays(self, token: Token, sent: int) -> bool:
        """Whether the ring is calm, so that nobody needs the token to deliver what I sent."""
        return self._quiet.is_calm(sent) and not token.requests and not self._has_work()

    def _inject(self, token: Token, abroad: Abroad, repeated: int) -> list[bytes]:
        """What came over links, for the others of our ring."""
        if self._alone:
            return []
        room = self._room(token, self._settings.control_packets_reserve) - repeated
        head = self._envelope.head(Tag.DATA)
        packets = []
        for link, raw in abroad.inject(head, self._config_bytes, token, room):
            if link:
                self._window.store(link, raw)
            else:
                self._quiet.unreliable_moves = True
            packets.append(raw)
        return packets

    def _send_new(
        self, now: Instant, token: Token, repeated: int, effects: list[Word]
    ) -> list[bytes]:
        packets: list[bytes] = []
        if self._outbox.state_waiting():
            # Never delayed: it is what everybody waits for.
            room = self._room(token, self._settings.control_packets_reserve) - repeated
            if room > 0:
                filled = self._outbox.fill_state(room, self.stamping)
                packets += self._send(now, token, filled, effects)
        if self.settled and self._may_send(now):
            room = self._room(token, 0) - repeated - len(packets)
            if self.abroad is not None:
                room = min(room, self.abroad.room_packets)
            if room > 0:
                filled = self._outbox.fill(room, self._may, self.stamping)
                packets += self._send(now, token, filled, effects)
        if packets:
            self._next_send_at = now + self._delay(token, len(packets))
        return packets

    def _may_send(self, now: Instant) -> bool:
        return now >= max(self._next_send_at, self.patient.until)

    def _delay(self, token: Token, sent: int) -> Instant:
        """The fuller the window of the ring, or that of all segments, the longer."""
        settings = self._settings
        used = token.link_sequence - self._link_aru.value
        low, high = settings.window_packets_low, settings.window_packets_max
        near = adaptive_delay(used, low, high, settings.delay_us_max)
        return near if self.abroad is None else max(near, self.abroad.pause_us(sent))

    def _room(self, token: Token, reserve: int) -> int:
        ring_max, member_max = self._settings.ring_packets_max, self._settings.member_packets_max
        used = token.link_sequence - self._link_aru.value
        window_max = self._settings.window_packets_max + reserve
        return allowance(ring_max, member_max, token.flow, self._sent_last, used, window_max)

    def _send(self, now: Instant, token: Token, filled: Filled, effects: list[Word]) -> list[bytes]:
        packets = []
        head = self._envelope.head(Tag.DATA)
        for contents in filled[0]:
            link = 0
            if contents.reliable:
                token.link_sequence += 1
                link = token.link_sequence
            raw = b""  # nobody else will ever want it
            if not self._alone:
                raw = pack_ring_packet(
                    head,
                    self._config_bytes,
                    token.sequence,
                    link,
                    contents.parts,
                    contents.mask or 0,
                )
            if contents.reliable:
                self._window.store(link, raw)
            else:
                self._quiet.unreliable_moves = True
            packets.append(raw)
            if self.abroad is not None:
                body = b"".join(contents.parts)
                mask = contents.mask or 0
                effects += self.abroad.sent(contents.reliable, self._me, mask, body)
        for bundle in filled[1]:
            if self._all and not is_intent(bundle):
                effects.append(Stamped(self.configuration, bundle))
            size = CHANGE_BYTES if bundle.control else len(bundle.body)
            effects.append(Taken(bundle.session, size))
            if bundle.service == Service.UNRELIABLE:
                self._deliver_unreliable(now, bundle, effects)
            else:
                self.delivery.add(bundle)
                self.stamping.hold(bundle)
        return packets

    def _update_arus(self, token: Token) -> None:
        """Both values in the same rotation (SP-173)."""
        me = self._me.daemon
        have = self._window.contiguous
        own = self.delivery.own
        self.delivery.learn(own.index, token.site_sequence, token.site_stamp, token.site_sequence)
        line = self.delivery.line
        token.link_aru, token.link_modifier = merged_aru(
            token.link_aru, token.link_modifier, have, token.link_sequence, me
        )
        token.site_aru, token.site_modifier = merged_aru(
            token.site_aru, token.site_modifier, line, token.site_stamp, me
        )
        if self._alone:
            self._link_aru.alone(have)
            self._site_aru.alone(line)
        elif self.passing.visited:
            self._link_aru.leave(token.link_aru)
            self._site_aru.leave(token.site_aru)
        else:
            self._link_aru.visit(token.link_aru)
            self._site_aru.visit(token.site_aru)
        self._renew_stable()

    def _request(self, token: Token, unanswered: list[tuple[int, int]], arrived: int) -> None:
        """Ask for what is missing. With accelerated passing, packets numbered since my last
        visit may still be on their way and are not asked for yet."""
        late = self._settings.accelerated_packets
        upto = min(arrived, self._quiet.link_last) if late else arrived
        token.requests = ()
        if unanswered or self._window.contiguous < upto:
            missing = self._window.missing(upto, REQUESTS_MAX)
            token.requests = joined_requests(unanswered, missing, REQUESTS_MAX)
        self._quiet.link_last = token.link_sequence

    def _pass(self, now: Instant, token: Token, effects: list[Word]) -> None:
        if self._alone:
            self.passing.held = token
            return
        token.sequence += 1
        packet = pack_token(self._envelope.head(Tag.TOKEN), self._config_bytes, token)
        effects.append(self.passing.on(now, token, packet, bool(self._quiet.rotations)))

    # Delivery and release.

    def _deliver(self, effects: list[Word]) -> None:
        for bundle in self.delivery.take():
            if bundle.control:
                self.stamping.delivered(bundle)
                if is_intent(bundle):
                    continue
            effects.append(Delivered(bundle, False))

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
        if self.abroad is not None:
            more = self._outbox.waiting(self.settled, self.stamping.may)
            self.abroad.note_own(now, more)

    # Rest and trouble.

    def _end_rest(self, now: Instant, may_stay: bool = False) -> list[Word]:
        token = self.passing.end_rest()
        if self._has_work():
            self._quiet.disturb()
        self._quiet.wake()
        return self._visit(now, token, may_stay)

    def _impossible(self, token: Token) -> bool:
        """A token that takes back what I know, or leaps ahead of it, cannot come from a sane
        member."""
        return (
            not self._sent_last <= token.flow <= self._flow_max
            or len(token.heads) not in (0, len(self.delivery.sources))
            or token.sequence > self.passing.seen + LEAP_MAX
            or token.site_stamp > self.delivery.own.stamp + LEAP_MAX
            or token.link_sequence < self._window.contiguous
            or token.site_sequence < self.delivery.own.known
            or token.site_stamp < self.delivery.own.stamp
            or token.link_sequence > self._window.released + 2 * self._settings.buffered_packets_max
        )

    def _record(self, kind: Kind, now: Instant) -> Record:
        row = Record(kind, now, self._me.daemon, self._me.incarnation)
        row.config = self.configuration.id
        return row
