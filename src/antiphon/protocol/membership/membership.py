"""Membership: the daemons that hear each other agree on the next configuration.

                   trouble: token lost, left behind, ...
    OPERATIONAL ----------------------------------------> GATHER
      |    ^                                              |    ^
      |    | Commit, or any packet of the                 |    | no progress
      |    | new configuration                            |    |
      |    +---------------- READY            Propose     |    |
      |                        ^   I hold all             v    |
      |                        +----- RECOVER <-------- COLLECT
      |    Propose                              Digest    ^
      +---------------------------------------------------+    (a higher one: from any state)

States   OPERATIONAL  the ring of the installed configuration runs
         GATHER       it does not; say Hello until somebody proposes
         COLLECT      the old configuration is frozen; my holdings are with my leader
         RECOVER      I fetch what others hold and I lack
         READY        I hold all; the coordinator may commit at any moment
Timers   HELLO        say Hello again
         SETTLE       my wish has stood long enough
         REPEAT       repeat my last message of the attempt; REPEAT_FAR: between leaders
         ATTEMPT      no progress in the attempt
         EXPIRE       somebody's silence or penalty ends
         LOOK         Hellos have come since I looked, just before
After    docs/protocols/membership.md: parties by Hello, holdings exchanged before anything is
         delivered. Nothing is ever rolled back. docs/protocols/wide-area.md: leaders find each
         other (federation.py), the lowest of them coordinates, and each passes on to its party
         what the coordinator says. With one site the leader coordinates.
"""

from random import Random
from typing import Any

from antiphon.core.effects import (
    Broadcast,
    Emit,
    Evidence,
    Freeze,
    Holdings,
    Install,
    Late,
    LinkDead,
    Progress,
    Recovered,
    Send,
    Trouble,
    Word,
)
from antiphon.core.ids import NO_CONFIG, NOBODY, ConfigId, Configuration, DaemonId, Member
from antiphon.core.machine import Instant, Timers, Wakeup
from antiphon.core.trace import Kind, Record
from antiphon.protocol.membership.attempt import (
    Attempt,
    coordinator_of,
    proposal,
    proposed,
    state_message,
)
from antiphon.protocol.membership.chair import Chair, Speech, Told, state_again
from antiphon.protocol.membership.federation import Sites, Weights
from antiphon.protocol.membership.minting import Minting
from antiphon.protocol.membership.outlook import LeaderWord, Outlook
from antiphon.protocol.membership.routes import Routes
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.protocol.membership.settling import SETTLE, Settling
from antiphon.protocol.membership.site import HELLO, LOOK
from antiphon.protocol.membership.states import NO_TROUBLE, GatherReason, State
from antiphon.protocol.membership.wish import Parts
from antiphon.wire.control import (
    Commit,
    Digest,
    Greeting,
    Hello,
    Leaving,
    PacketMessage,
    Propose,
    Ready,
    SiteReady,
    SiteState,
    pack_control,
)
from antiphon.wire.control import (
    State as StateMessage,
)
from antiphon.wire.heard import Heard
from antiphon.wire.packet import Envelope

__all__ = ["GatherReason", "Membership", "State"]

REPEAT = "repeat"
REPEAT_FAR = "repeat far"
ATTEMPT = "attempt"
EXPIRE = "expire"


class Membership:
    def __init__(
        self,
        me: Member,
        settings: MembershipSettings,
        envelope: Envelope,
        rng: Random,
        sites: Sites = (),
        weights: Weights = (),
    ) -> None:
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self._timers = Timers()
        self._settling = Settling(self._timers, rng, settings.settle_us)
        self._outlook = Outlook(me, settings, envelope, self._timers, sites, weights)
        self._site = self._outlook.site
        self._federation = self._outlook.federation
        self.distances = self._federation.distances
        self.state = State.GATHER
        self.ids = Minting(me)  # installed.id <= ids.accepted
        self.installed = Configuration(NO_CONFIG, ())
        self._installed_at: Instant = 0
        self._routes: Routes | None = None
        self._late_sites: tuple[DaemonId, ...] = ()
        """Their leaders; of what is installed."""

        # In GATHER and in a READY that waits too long; empty otherwise.
        self._trouble = NO_TROUBLE
        self._gather_since: Instant = 0

        # From COLLECT to READY; the chair is a leader's.
        self._attempt: Attempt | None = None
        self._chair: Chair | None = None

    def deadline(self) -> Instant:
        return min(self._timers.deadline(), self._federation.timers.deadline())

    def start(self, now: Instant) -> list[Word]:
        """Begin alone; whoever else is there will be found (TR-75)."""
        self._site.pace.changed_at = now
        self.ids.accept(self.ids.mint(0))
        configuration = Configuration(self.ids.accepted, (self._me,))
        return [*self._enter_operational(now, configuration, "start"), self._say_hello(now)]

    def skip(self, now: Instant, gap: Instant) -> None:
        """The process stood still: blame nobody for that time, and let the others find me
        again before I found a configuration of my own."""
        self._timers.shift(gap)
        self._site.peers.skip(gap)
        self._federation.skip(gap)
        grace = self._settings.hear_us + self._settings.settle_us
        if not self._federation.alone:
            grace = max(grace, self._settings.hear_far_us + self._settings.settle_far_us)
        self._settling.not_before = now + grace

    def reload(self, sites: Sites, weights: Weights) -> None:
        self._federation.reload(sites, weights)

    def address(self, send: Send) -> Send:
        """To a daemon of another segment a packet may have to be relayed."""
        routes = self._attempt.routes if self._attempt is not None else self._routes
        return send if routes is None else routes.address(self._envelope, send)

    def leave(self) -> list[Word]:
        """The last words of this life."""
        packet = pack_control(self._envelope, Leaving())
        return [Broadcast(packet), *(Send(far, packet) for far in self._federation.hearing)]

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Heard(sender, Hello() as hello):
                return self._hear_hello(now, sender, hello)
            case Heard(sender, Leaving()):
                return self._outlook.hear_leaving(now, sender) + self._judge(now)
            case Heard(sender, told) if isinstance(told, LeaderWord):
                return self._hear_leader(now, sender, told)
            case Heard(sender, message):
                return self._hear_attempt(now, sender, message)
            case Wakeup():
                return self._wake(now)
            case Trouble():
                return self._hear_trouble(now, event)
            case LinkDead(peer):
                return self._hear_link_dead(now, peer)
            case Late(leaders):
                self._late_sites = leaders
                return []
            case Holdings():
                return self._take_holdings(now, event)
            case Progress(attempt):
                return self._note_progress(now, attempt)
            case Recovered(attempt):
                return self._take_recovered(now, attempt)
            case Evidence(config):
                return self._take_commit(now, config)
        raise AssertionError(f"{event!r} in {self.state}")

    def _hear_attempt(self, now: Instant, sender: Member, message: PacketMessage) -> list[Word]:
        match message:
            case Propose():
                return self._catch_up(now) + self._hear_propose(now, sender, message)
            case Digest() if message.party or self._chair is None:
                return self._hear_digest(now, sender, message)
            case Commit(config):
                return self._hear_commit(now, sender, config)
            case StateMessage() | SiteState() | Ready() | SiteReady() | Digest():
                return self._hear_as_leader(now, sender, message)
        raise AssertionError(f"{message!r} in {self.state}")

    # Who is there, and what do I wish?

    def _hear_hello(self, now: Instant, sender: Member, hello: Hello) -> list[Word]:
        if not self.ids.possible(hello.epoch):
            return self._drop(now, sender, "impossible_epoch")
        if self._federation.is_far(sender.daemon):
            return self._drop(now, sender, "other_site")
        news = self._site.peers.hear(now, sender, hello)
        if isinstance(news, str):
            return self._drop(now, sender, news)
        effects: list[Word] = []
        in_my_ring = self.state == State.OPERATIONAL and sender in self.installed.places
        if in_my_ring and hello.config > self.installed.id:
            trouble = Trouble(GatherReason.LEFT_BEHIND, sender.daemon)
            effects += self._enter_gather(now, trouble)
        if in_my_ring and hello.trouble == GatherReason.BLOCKED_WINDOW:
            self._site.join_accusation(now, hello, self.installed)
        if hello.alert:
            self._site.pace.answer(now)
            self._site.hello_by(now + self._settings.hello_us)
        if not self._timers.running(EXPIRE):
            self._timers.set(EXPIRE, now + self._site.peers.hear_us)
        return effects + self._judge(now) if news and self._site.may_look(now) else effects

    def _hear_leader(self, now: Instant, sender: Member, told: LeaderWord) -> list[Word]:
        """Of another segment."""
        if not isinstance(told, Greeting) and not self.ids.possible(told.epoch):
            return self._drop(now, sender, "impossible_epoch")
        answer = self._outlook.hear_leader(now, sender, told)
        if isinstance(answer, str):
            return self._drop(now, sender, answer)
        if not isinstance(told, Greeting) and self._outlook.slow_site(told, self.installed):
            answer += self._federation.shun(now, *self._late_sites)
        return answer + self._judge(now) if self._federation.news else answer

    def _judge(self, now: Instant, settled: bool = False) -> list[Word]:
        """Look around; as coordinator, see whether it asks for a change, and propose it once the
        same wish has settled."""
        trouble = self._trouble.reason
        under_way = self._attempt.configuration if self._attempt and not trouble else None
        effects = self._outlook.look(now, self.installed, trouble, self.ids.epoch, under_way)
        if not self._outlook.coordinating:
            self._settling.clear()
            return effects + self._abandon(now, GatherReason.NOT_LEADER)
        if self._coordinating:
            lost = self._outlook.lost_of(self._require_attempt().configuration)
            if lost is not None:
                effects += self._abandon(now, lost)
        wish = self._outlook.wish(now)
        if not wish or self._coordinating or self._healthy(now, wish):
            self._settling.clear(wish)
        elif settled and wish == self._settling.wish:
            effects += self._propose(now)
        else:
            wait = self._outlook.settle_us(wish, self.installed)
            self._settling.renew(now, wish, wait)
        return effects

    def _catch_up(self, now: Instant) -> list[Word]:
        """What has come is seen before anything is said or accepted."""
        return self._judge(now) if self._timers.running(LOOK) else []

    @property
    def _coordinating(self) -> bool:
        """An attempt of mine is under way."""
        return self._chair is not None and self._chair.leaders is not None

    def _healthy(self, now: Instant, wish: Parts) -> bool:
        if self.state != State.OPERATIONAL:
            return False
        return self._outlook.healthy(now, wish, self.installed, self._late(now))

    def _late(self, now: Instant) -> bool:
        """Other leaders may still have to install what I have."""
        return self._routes is not None and now < self._installed_at + self._settings.attempt_far_us

    def _say_hello(self, now: Instant) -> Word:
        runs = self.state == State.OPERATIONAL
        return self._site.say_hello(now, self.installed, runs, self._trouble, self.ids.epoch)

    # Trouble.

    def _hear_trouble(self, now: Instant, trouble: Trouble) -> list[Word]:
        if self.state != State.OPERATIONAL:
            return []  # already on the way to another configuration
        effects: list[Word] = []
        if trouble.reason == GatherReason.SLOW_SITE:
            # Others go on without it; the ring itself goes on until the change.
            effects += self._federation.shun(now, *self._late_sites)
            self._site.peers.doubt_ring(now)
        elif trouble.accused != NOBODY:
            self._site.penalties.punish(now, trouble.accused)
        return effects + self._enter_gather(now, trouble)

    def _hear_link_dead(self, now: Instant, peer: Member) -> list[Word]:
        """What it had not delivered is lost here; the ring itself goes on until the change."""
        effects = self._federation.shun(now, peer.daemon)
        if self.state != State.OPERATIONAL:
            return effects + self._judge(now)
        self._site.peers.doubt_ring(now)
        return effects + self._enter_gather(now, Trouble(GatherReason.LINK_DEAD, peer.daemon))

    def _enter_gather(self, now: Instant, trouble: Trouble) -> list[Word]:
        if self.state == State.OPERATIONAL:
            self._site.peers.forget_ring()
            self._gather_since = now
        self._end_attempt(now, trouble)
        effects = [self._emit_trouble(now), *self._enter(now, State.GATHER, trouble.reason)]
        self._site.hello_by(now)
        return effects + self._judge(now)

    def _end_attempt(self, now: Instant, trouble: Trouble) -> None:
        self._trouble = trouble
        self._attempt = self._chair = None
        self._site.pace.changed_at = now
        for timer in (ATTEMPT, REPEAT, REPEAT_FAR):
            self._timers.clear(timer)

    def _abandon(self, now: Instant, reason: GatherReason) -> list[Word]:
        """The coordinator gives its attempt up."""
        if not self._coordinating:
            return []
        self._settling.failures += 1
        config = self._require_attempt().id
        effects = [self._emit(now, Kind.ABORT, config=config, reason=reason)]
        return effects + self._enter_gather(now, Trouble(reason, NOBODY))

    # An attempt, as its coordinator.

    def _propose(self, now: Instant) -> list[Word]:
        config = self.ids.mint(self._outlook.epoch(now))
        configuration = self._outlook.configuration(config, self._settling.wish, self.installed)
        members = configuration.members
        cause, text = self._outlook.evidence(
            now, self._trouble, self._settling.wish, self.installed
        )
        attempt = self._emit(
            now, Kind.ATTEMPT, config=config, members=members, reason=cause, detail=text
        )
        leaders = tuple(part[0] for part in configuration.segments)
        asking = self._to_others(Speech(leaders, proposal(configuration, text)))
        return [attempt, *asking, *self._accept(now, configuration, text)]

    # An attempt, as a leader.

    def _hear_as_leader(self, now: Instant, sender: Member, message: Told) -> list[Word]:
        config = message.config
        if config == self.installed.id and isinstance(message, Ready | SiteReady):
            return self._speak(now, Speech((sender,), Commit(config)))  # it missed that
        chair = self._chair
        if chair is None or config != chair.attempt.id:
            return self._drop(now, sender, "other_attempt")
        step = chair.hear(sender, message)
        if isinstance(step, str):
            return self._drop(now, sender, step)
        if step.progress:
            self._be_patient(now)
        return self._speak(now, step.speech)

    # An attempt, as a member.

    def _hear_propose(self, now: Instant, sender: Member, propose: Propose) -> list[Word]:
        config = propose.config
        if config == self.ids.accepted:
            return []  # a repetition; my answer is repeated, too
        configuration = proposed(propose)
        segment = configuration.segment_of(self._me)
        if sender != coordinator_of(config) and segment[:1] != (sender,):
            return self._drop(now, sender, "false_coordinator")
        if config < self.ids.accepted:
            return self._drop(now, sender, "old_proposal")
        if not self.ids.possible(config.epoch):
            return self._drop(now, sender, "impossible_epoch")
        if not segment:
            return self._drop(now, sender, "not_proposed")
        if not self._outlook.follows(sender, segment):
            return self._drop(now, sender, "not_my_leader")
        if coordinator_of(config) != configuration.segments[0][0]:
            return self._drop(now, sender, "false_coordinator")
        return self._accept(now, configuration, propose.reason)

    def _accept(self, now: Instant, configuration: Configuration, reason: str) -> list[Word]:
        self.ids.accept(configuration.id)
        if self.state == State.OPERATIONAL:
            self._site.peers.doubt_ring(now)
            self._gather_since = now
        self._attempt = attempt = Attempt(configuration, reason, self._me, now)
        self._chair = None
        self._trouble = NO_TROUBLE
        self._be_patient(now)
        self._timers.set(REPEAT, now + self._settings.repeat_us)
        self._timers.clear(REPEAT_FAR)
        self._site.hello_by(now + self._settings.hello_us)
        passing_on: list[Word] = []
        if attempt.leader == self._me:
            if attempt.several:
                self._timers.set(REPEAT_FAR, now + self._settings.repeat_far_us)
            self._chair = Chair(attempt, attempt.coordinator == self._me)
            passing_on = self._to_others(Speech(attempt.segment, proposal(configuration, reason)))
        entering = self._enter(now, State.COLLECT, reason)
        return [*passing_on, *entering, Freeze(configuration.id)]

    def _take_holdings(self, now: Instant, holdings: Holdings) -> list[Word]:
        attempt = self._attempt
        if attempt is None or holdings.attempt != attempt.id:
            return []  # of an attempt that a higher one replaced in the same step
        attempt.mine = state_message(holdings, self.installed, self._me)
        return self._speak(now, Speech((attempt.leader,), attempt.mine))

    def _hear_digest(self, now: Instant, sender: Member, digest: Digest) -> list[Word]:
        attempt = self._attempt
        if attempt is None or digest.config != attempt.id:
            return self._drop(now, sender, "other_attempt")
        if sender != attempt.leader:
            return self._drop(now, sender, "false_coordinator")
        if self.state != State.COLLECT:
            return []  # I have it
        if not attempt.fits(digest, self._me, self.installed):
            return self._drop(now, sender, "bad_digest")
        return self._take_digest(now, digest)

    def _take_digest(self, now: Instant, digest: Digest) -> list[Word]:
        attempt = self._require_attempt()
        attempt.recovering_since = now
        self._be_patient(now)
        entering = self._enter(now, State.RECOVER, "")
        return [*entering, attempt.recover(digest, self._me, self.installed.id)]

    def _note_progress(self, now: Instant, attempt: ConfigId) -> list[Word]:
        if self._attempt is not None and attempt == self._attempt.id:
            self._attempt.progressed = True
            self._be_patient(now)
        return []

    def _take_recovered(self, now: Instant, config: ConfigId) -> list[Word]:
        attempt = self._attempt
        if self.state != State.RECOVER or attempt is None or config != attempt.id:
            return []  # as above
        self._be_patient(now)
        entering = self._enter(now, State.READY, "")
        return entering + self._speak(now, Speech((attempt.leader,), Ready(config)))

    def _hear_commit(self, now: Instant, sender: Member, config: ConfigId) -> list[Word]:
        attempt = self._attempt
        leader = self.installed.segment_of(self._me)[0] if attempt is None else attempt.leader
        if sender not in (leader, coordinator_of(config)):
            return self._drop(now, sender, "false_coordinator")
        return self._take_commit(now, config)

    def _take_commit(self, now: Instant, config: ConfigId) -> list[Word]:
        attempt = self._attempt
        if self.state != State.READY or attempt is None or attempt.id != config:
            return []  # late, or I went on to another attempt
        text = f"{attempt.reason} ({attempt.phases(now, self._gather_since)})"
        telling: list[Word] = []
        if self._chair is not None:
            telling = self._to_others(Speech(attempt.segment, Commit(config)))
        return telling + self._enter_operational(now, attempt.configuration, text)

    def _enter_operational(
        self, now: Instant, configuration: Configuration, evidence: str
    ) -> list[Word]:
        assert configuration.id > self.installed.id, "installed ids rise"
        assert self._me in configuration.places
        self._routes = None
        if len(configuration.segments) > 1:
            self._routes = Routes(configuration, self._me)
            self._timers.set(EXPIRE, now + self._settings.hear_us)
        self.installed = configuration
        self._late_sites = ()
        self._installed_at = now
        self._end_attempt(now, NO_TROUBLE)
        self._settling.failures = 0
        self._site.penalties.forgive_strikes()
        ring = Configuration(configuration.id, configuration.segment_of(self._me))
        self._site.peers.trust_ring(now, ring, self._me)
        self._site.hello_by(now)
        effects = self._enter(now, State.OPERATIONAL, evidence)
        effects.append(Install(configuration, evidence))
        return effects + self._judge(now)

    # Time.

    def _wake(self, now: Instant) -> list[Word]:
        effects = self._federation.wake(now)
        if self._federation.news:
            effects += self._judge(now)
        for name in self._timers.due(now):
            if name == HELLO:
                effects += [*self._catch_up(now), self._say_hello(now)]
            elif name in (LOOK, SETTLE):
                effects += self._judge(now, settled=name == SETTLE)
            elif name == REPEAT:
                effects += self._repeat(now)
            elif name == REPEAT_FAR:
                effects += self._repeat_far(now)
            elif name == ATTEMPT:
                effects += self._fail(now)
            elif name == EXPIRE:
                effects += self._expire(now)
        return effects

    def _be_patient(self, now: Instant) -> None:
        """Something has moved."""
        several = self._require_attempt().several
        patience = self._settings.attempt_far_us if several else self._settings.attempt_us
        self._timers.set(ATTEMPT, now + patience)

    def _repeat(self, now: Instant) -> list[Word]:
        """Inside the party."""
        attempt = self._attempt
        if attempt is None:
            return []
        self._timers.set(REPEAT, now + self._settings.repeat_us)
        if self._chair is not None:
            return self._speak(now, self._chair.repeat())
        if self.state == State.READY:
            return self._speak(now, Speech((attempt.leader,), Ready(attempt.id)))
        return self._speak(now, state_again(attempt, self.state == State.COLLECT))

    def _repeat_far(self, now: Instant) -> list[Word]:
        """Between leaders."""
        if self._chair is None:
            return []
        self._timers.set(REPEAT_FAR, now + self._settings.repeat_far_us)
        return self._speak(now, self._chair.repeat_far())

    def _fail(self, now: Instant) -> list[Word]:
        """No progress for too long."""
        chair = self._chair
        if chair is not None:
            for member in chair.silent():
                if member != self._me:
                    self._site.penalties.strike(now, member.daemon)
                    self._site.peers.forget(member.daemon)
        if self._coordinating:
            return self._abandon(now, GatherReason.ATTEMPT_TIMEOUT)
        if self.state == State.READY and (chair is None or chair.party.all_ready):
            # Others may have installed it, so it stays open until a higher one is accepted.
            self._trouble = Trouble(GatherReason.ATTEMPT_TIMEOUT, NOBODY)
            self._site.hello_by(now)
            return [self._emit_trouble(now), *self._judge(now)]
        return self._enter_gather(now, Trouble(GatherReason.ATTEMPT_TIMEOUT, NOBODY))

    def _expire(self, now: Instant) -> list[Word]:
        times = [self._site.peers.next_silence(now), self._site.penalties.next_end(now)]
        if self._late(now):
            times.append(self._installed_at + self._settings.attempt_far_us)
        soonest = min((at for at in times if at is not None), default=None)
        if soonest is not None:
            self._timers.set(EXPIRE, max(soonest, now + self._settings.hello_gap_us))
        return self._judge(now)

    # Sending and telling.

    def _speak(self, now: Instant, speech: Speech | None) -> list[Word]:
        """To others, and then to myself."""
        if speech is None:
            return []
        effects = self._to_others(speech)
        if self._me in speech.to:
            effects += self._hear_attempt(now, self._me, speech.message)
        return effects

    def _to_others(self, speech: Speech) -> list[Word]:
        packet = pack_control(self._envelope, speech.message)
        return [Send(member.daemon, packet) for member in speech.to if member != self._me]

    def _require_attempt(self) -> Attempt:
        assert self._attempt is not None
        return self._attempt

    def _enter(self, now: Instant, state: State, why: str) -> list[Word]:
        """The only place that changes the state."""
        self.state = state
        peers = self._site.peers
        if state == State.OPERATIONAL:
            peers.hear_us = self._settings.hear_us
        else:
            peers.hear_us = self._settings.hear_alert_us
            if now + peers.hear_us < self._timers.at(EXPIRE):
                self._timers.set(EXPIRE, now + peers.hear_us)
        return [self._emit(now, Kind.ENTER, reason=state, detail=why)]

    def _drop(self, now: Instant, sender: Member, reason: str) -> list[Word]:
        return [self._emit(now, Kind.DROP, reason=reason, peer=sender.daemon, value=1)]

    def _emit_trouble(self, now: Instant) -> Word:
        told = self._trouble
        return self._emit(
            now, Kind.TROUBLE, reason=told.reason, peer=told.accused, detail=told.detail
        )

    def _emit(self, now: Instant, kind: Kind, **columns: Any) -> Word:
        return Emit(Record(kind, now, self._me.daemon, self._me.incarnation, **columns))
