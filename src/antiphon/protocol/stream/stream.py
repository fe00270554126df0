"""The stream of a site: one configuration after the other at this daemon.

      Install                        Freeze                      Install
    ----------> RUNNING  ------------------------> FROZEN  --------------------> RUNNING
                token, packets,      nothing more of this      deliver what survives,
                stamping, delivery   configuration is taken    then begin anew

States   RUNNING   the token goes round; or it is lost, and what still comes is taken
         FROZEN    membership exchanges holdings; only recovery traffic is taken
Timers   those of the ring (ring.py), and PULL: ask a holder again
After    docs/protocols/ring.md, docs/protocols/recovery.md
"""

from enum import StrEnum

from antiphon.core.bundle import Bundle
from antiphon.core.effects import (
    Arrived,
    ChangeMade,
    Courtesy,
    Delivered,
    Emit,
    Evidence,
    Forget,
    Freeze,
    GroupDaemons,
    Holdings,
    Install,
    Installed,
    Neighbours,
    Progress,
    ReadFirst,
    Recover,
    Recovered,
    Settled,
    Submit,
    SubmitState,
    Transitional,
    Word,
)
from antiphon.core.errors import DecodeError
from antiphon.core.ids import NO_CONFIG, ConfigId, Configuration, Member
from antiphon.core.machine import Instant, Timers, Wakeup
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.stream.gateway import birth_of, neighbours
from antiphon.protocol.stream.packing import OWN_SESSION, Outbox
from antiphon.protocol.stream.pull import Pull, answer, fragment_bytes
from antiphon.protocol.stream.recovery import Plan, stream_holdings
from antiphon.protocol.stream.ring import Ring
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.stamping import is_intent
from antiphon.wire.control import Have, Hurry, RecoveryData, RecoveryRequest
from antiphon.wire.crossing import read_object
from antiphon.wire.heard import Heard, HeardPacket, HeardToken
from antiphon.wire.packet import Envelope

PULL = "pull"
SUBMITTED = "submitted"

FORETASTE_MAX = 256
"""Packets of a configuration that others installed before me, kept until I follow."""


Foretaste = HeardPacket | HeardToken | Arrived


class State(StrEnum):
    RUNNING = "running"
    FROZEN = "frozen"


class Stream:
    def __init__(
        self, me: Member, settings: StreamSettings, envelope: Envelope, level: Level
    ) -> None:
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self._level = level
        self._outbox = Outbox(
            settings.packet_bytes, settings.large_bundles_max, settings.member_bundles_max
        )
        self._timers = Timers()
        self.state = State.FROZEN
        self._ring: Ring | None = None

        # Valid while FROZEN. `_pull` is there from Recover to Install; `_foretaste` holds
        # packets of the attempt, and is empty unless I am recovered for it.
        self._pull: Pull | None = None
        self._recovered: ConfigId = NO_CONFIG
        self._foretaste: list[Foretaste] = []

        self._submitted = (0, 0)
        self._past = (0, 0)
        """Visits of the token and repeated packets of rings that have ended."""

    def deadline(self) -> Instant:
        own = self._timers.deadline()
        if self._ring is None or self.state == State.FROZEN:
            return own
        return min(own, self._ring.timers.deadline())

    def figures(self) -> dict[str, tuple[int, int]]:
        """What was done so far: how often, and how many bytes."""
        visits, repeats = self._rounds()
        return {"visits": (visits, 0), "repeats": (repeats, 0), SUBMITTED: self._submitted}

    def _rounds(self) -> tuple[int, int]:
        visits, repeats = self._past
        if self._ring is None:
            return visits, repeats
        return visits + self._ring.passing.patience.visits, repeats + self._ring.repeated

    def busy(self) -> bool:
        """Something was accepted, and is not sent or not yet known to be held by all."""
        return self._outbox.waiting(True) or (self._ring is not None and self._ring.owes)

    def skip(self, gap: Instant) -> None:
        """The process stood still for so long."""
        self._timers.shift(gap)
        if self._ring is not None:
            self._ring.timers.shift(gap)
            if self._ring.abroad is not None:
                self._ring.abroad.lookout.skip(gap)

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case HeardToken():
                return self._hear_token(now, event)
            case HeardPacket():
                return self._hear_packet(now, event)
            case Wakeup():
                return self._wake(now)
            case Submit(bundle, priority):
                self._count(bundle)
                self._outbox.push(bundle, priority)
                return self._work(now)
            case SubmitState(bodies):
                self._outbox.put_state(*map(self._state_bundle, bodies))
                return self._work(now)
            case Settled(config):
                return self._settle(now, config)
            case Courtesy(until):
                return self._wait_for_clients(now, until)
            case Arrived():
                return self._arrive(now, event)
            case ChangeMade(bundle):
                if self._ring is not None:
                    self._ring.stamping.made(bundle)
                return self._work(now)
            case GroupDaemons(group, daemons):
                if self._ring is not None:
                    self._ring.stamping.reaching.learn(group, daemons)
                return []
            case Forget(session):
                if self._ring is not None:
                    self._ring.forget(session)
                return []
            case Heard(sender, Hurry(config)):
                return self._hear_hurry(now, sender, config)
            case Heard(sender, Have(config, stamp)):
                return self._hear_have(now, sender, config, stamp)
            case Heard(sender, RecoveryRequest() as request):
                return self._hear_request(now, sender, request)
            case Heard(sender, RecoveryData() as data):
                return self._hear_data(now, sender, data)
            case Freeze(attempt):
                return self._freeze(attempt)
            case Recover():
                return self._recover(now, event)
            case Install(configuration, evidence):
                return self._install(now, configuration, evidence)
        raise AssertionError(f"{event!r} in {self.state}")

    # RUNNING

    def _work(self, now: Instant) -> list[Word]:
        if self.state == State.FROZEN or self._ring is None:
            return []
        return self._ring.work(now)

    def _count(self, bundle: Bundle) -> None:
        if not bundle.control:
            messages, size = self._submitted
            self._submitted = messages + bundle.count, size + len(bundle.body)

    def _settle(self, now: Instant, config: ConfigId) -> list[Word]:
        if self._ring is None or self._ring.configuration.id != config:
            return []  # settled only at its very end; that configuration is gone
        self._ring.settled = True
        return self._work(now)

    def _wait_for_clients(self, now: Instant, until: Instant) -> list[Word]:
        """As long as this configuration runs, and not while groups are exchanged. When it is over
        nobody is to wait for the token."""
        ring = self._ring
        if self.state == State.FROZEN or ring is None or not ring.settled:
            return []
        is_over = until <= now < ring.patient.until
        ring.patient.until = until
        return (ring.hurry() or ring.hear_hurry(now)) if is_over else []

    def _hear_token(self, now: Instant, event: HeardToken) -> list[Word]:
        ring = self._ring_of(event.config)
        if ring is None:
            return self._hear_stranger(now, event.sender, event.config, event)
        if not ring.has(event.sender):
            return self._drop(now, event.sender, "not_a_member")
        return self._dropped_or(now, event.sender, ring.hear_token(now, event.token))

    def _hear_packet(self, now: Instant, event: HeardPacket) -> list[Word]:
        packet = event.packet
        ring = self._ring_of(packet.config)
        sender = Member(packet.sender, packet.incarnation)
        if ring is None:
            return self._hear_stranger(now, sender, packet.config, event)
        return self._dropped_or(now, sender, ring.hear_packet(now, packet, event.raw))

    def _arrive(self, now: Instant, event: Arrived) -> list[Word]:
        """An object came over a link to another segment."""
        try:
            brought = read_object(event.data)
        except DecodeError as error:
            return self._drop(now, event.sender, error.reason)
        config = self._born(brought.birth)
        if config is None:
            return self._drop(now, event.sender, "other_configuration")
        ring = self._ring_of(config)
        if ring is None:
            return self._hear_stranger(now, event.sender, config, event)
        return self._dropped_or(now, event.sender, ring.arrive(now, brought))

    def _born(self, birth: int) -> ConfigId | None:
        """Whose links have this birth: what runs here, or what I am ready for."""
        running = NO_CONFIG if self._ring is None else self._ring.configuration.id
        known = (running, self._recovered)
        return next((one for one in known if one != NO_CONFIG and birth_of(one) == birth), None)

    def _hear_hurry(self, now: Instant, sender: Member, config: ConfigId) -> list[Word]:
        ring = self._ring_of(config)
        if ring is None:
            return self._drop(now, sender, "other_configuration")
        return ring.hear_hurry(now)

    def _hear_have(self, now: Instant, sender: Member, config: ConfigId, stamp: int) -> list[Word]:
        ring = self._ring_of(config)
        if ring is None:
            return self._drop(now, sender, "other_configuration")
        return self._dropped_or(now, sender, ring.hear_have(sender, stamp))

    def _ring_of(self, config: ConfigId) -> Ring | None:
        """The ring, if it runs and is that configuration's."""
        ring = self._ring
        if self.state == State.FROZEN or ring is None or ring.configuration.id != config:
            return None
        return ring

    def _hear_stranger(
        self, now: Instant, sender: Member, config: ConfigId, event: Foretaste
    ) -> list[Word]:
        """Not of the configuration that runs here. If it is the one I am ready for, others
        have installed it already, and so will I: keep the packet until then."""
        if self.state == State.FROZEN and config == self._recovered:
            if len(self._foretaste) < FORETASTE_MAX:
                self._foretaste.append(event)
            return [Evidence(config)]
        frozen = self._ring is not None and config == self._ring.configuration.id
        return self._drop(now, sender, "frozen" if frozen else "other_configuration")

    def _wake(self, now: Instant) -> list[Word]:
        effects: list[Word] = []
        if self.state == State.RUNNING and self._ring is not None:
            effects += self._ring.wake(now)
        for _ in self._timers.due(now):
            if self._pull is not None and self._pull.missing:
                effects += self._pull.requests(now, self._envelope)
                self._timers.set(PULL, now + self._settings.pull_us)
        return effects

    # FROZEN

    def _freeze(self, attempt: ConfigId) -> list[Word]:
        """From here on my report is the truth: nothing is taken or delivered before Install."""
        self.state = State.FROZEN
        self._recovered = NO_CONFIG
        self._foretaste.clear()
        self._pull = None
        self._timers.clear(PULL)
        if self._ring is None:
            return [Holdings(attempt, (), 0, 0)]
        delivery = self._ring.delivery
        streams = tuple(map(stream_holdings, delivery.sources))
        cursor = max(delivery.cursor, delivery.pledged_to)
        return [Holdings(attempt, streams, delivery.stable, cursor)]

    def _recover(self, now: Instant, recover: Recover) -> list[Word]:
        old = Configuration(NO_CONFIG, ())
        if self._ring is not None:
            old = self._ring.configuration
        place = [daemon for daemon, _ in recover.near].index(self._me.daemon)
        self._pull = Pull(
            recover.attempt, old.id, Plan(recover, old), place, self._settings.pull_far_us
        )
        if self._ring is not None:
            self._pull.missing = self._pull.plan.missing(self._ring.delivery)
        if not self._pull.missing:
            return self._finish_recovery()
        self._timers.set(PULL, now + self._settings.pull_us)
        return list(self._pull.requests(now, self._envelope))

    def _hear_request(self, now: Instant, sender: Member, request: RecoveryRequest) -> list[Word]:
        ring = self._ring
        if self.state != State.FROZEN or ring is None or ring.configuration.id != request.base:
            return self._drop(now, sender, "other_configuration")
        if request.segment >= len(ring.delivery.sources):
            return self._drop(now, sender, "unknown_segment")
        size = fragment_bytes(self._settings.packet_bytes)
        return list(
            answer(
                self._envelope,
                sender.daemon,
                request,
                ring.delivery.sources[request.segment].held,
                size,
                self._settings.pull_fragments,
            )
        )

    def _hear_data(self, now: Instant, sender: Member, data: RecoveryData) -> list[Word]:
        pull = self._pull
        if pull is None or self._ring is None or data.config != pull.attempt:
            return self._drop(now, sender, "other_configuration")
        bundle = pull.take(sender.daemon, data)
        if bundle is not None:
            self._ring.delivery.add(bundle)
            if not pull.missing:
                self._timers.clear(PULL)
                return self._finish_recovery()
        effects: list[Word] = [Progress(pull.attempt)]
        source = (sender.daemon, data.segment)
        if pull.missing and pull.answered(source, self._settings.pull_fragments):
            effects += pull.requests(now, self._envelope, source)
        return effects

    def _finish_recovery(self) -> list[Word]:
        """Pledge: if I leave this attempt and others install it, I still deliver what they
        deliver there."""
        assert self._pull is not None
        self._recovered = self._pull.attempt
        if self._ring is not None:
            for bundle in self._surviving():
                self._ring.delivery.sources[bundle.segment].pledged.add(bundle.sequence)
            delivery = self._ring.delivery
            delivery.pledged_to = max(delivery.pledged_to, self._pull.plan.ground)
        return [Recovered(self._pull.attempt)]

    def _surviving(self) -> list[Bundle]:
        assert self._pull is not None and self._ring is not None
        plan = self._pull.plan
        return [bundle for bundle in self._ring.delivery.undelivered() if plan.survives(bundle)]

    def _install(self, now: Instant, configuration: Configuration, evidence: str) -> list[Word]:
        assert self._ring is None or self._recovered == configuration.id
        effects: list[Word] = []
        base = NO_CONFIG
        together: tuple[Member, ...] = (self._me,)
        if self._ring is not None:
            assert self._pull is not None
            base = self._ring.configuration.id
            together = self._pull.plan.together
            self._close(self._pull.plan, effects)
        self._outbox.restart()
        self._past = self._rounds()
        self._pull = None
        self._timers.clear_all()
        self._recovered = NO_CONFIG
        self._ring = Ring(
            self._me,
            configuration,
            self._settings,
            self._envelope,
            self._outbox,
            self._level,
            self._ring.passing.patience.rotation_us if self._ring is not None else 0,
        )
        self.state = State.RUNNING
        effects.append(ReadFirst(token=self._settings.accelerated_packets > 0))
        effects.append(Neighbours(birth_of(configuration.id), neighbours(configuration, self._me)))
        effects.append(Installed(configuration, base, together, evidence))
        effects += self._ring.begin(now)
        foretaste, self._foretaste = self._foretaste, []
        for event in foretaste:
            effects += self.handle(now, event)
        return effects

    def _close(self, plan: Plan, effects: list[Word]) -> None:
        """Deliver what survives: as long as it goes in the regular configuration, the rest in
        the transitional one."""
        told = False
        for bundle in self._surviving():
            if is_intent(bundle):
                continue
            if not told and not plan.regular(bundle):
                told = True
                effects.append(Transitional(plan.together))
            effects.append(Delivered(bundle, told, plan.lineage_of(bundle)))
        if not told:
            effects.append(Transitional(plan.together))

    # What both states share.

    def _state_bundle(self, body: bytes) -> Bundle:
        return Bundle(self._me, OWN_SESSION, 0, 1, Service.AGREED, body, control=True)

    def _dropped_or(self, now: Instant, sender: Member, outcome: str | list[Word]) -> list[Word]:
        return self._drop(now, sender, outcome) if isinstance(outcome, str) else outcome

    def _drop(self, now: Instant, sender: Member, reason: str) -> list[Word]:
        record = self._record(Kind.DROP, now)
        record.peer = sender.daemon
        record.reason = reason
        record.value = 1
        return [Emit(record)]

    def _record(self, kind: Kind, now: Instant) -> Record:
        return Record(kind, now, self._me.daemon, self._me.incarnation)
