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
         COLLECT      the old configuration is frozen; my holdings are with the coordinator
         RECOVER      I fetch what others hold and I lack
         READY        I hold all; the coordinator may commit at any moment
Timers   HELLO        say Hello again
         SETTLE       my wish has stood long enough
         REPEAT       repeat my last message of the attempt
         ATTEMPT      no progress in the attempt
         EXPIRE       somebody's silence or penalty ends
After    docs/protocols/membership.md: parties by Hello, a coordinator per party, holdings
         exchanged before anything is delivered. Nothing is ever rolled back.
"""

from enum import StrEnum
from random import Random
from typing import Any

from antiphon.core.effects import (
    Broadcast,
    Emit,
    Evidence,
    Freeze,
    Holdings,
    Install,
    Progress,
    Recover,
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
    Collection,
    coordinator_of,
    holdings_of,
    state_message,
)
from antiphon.protocol.membership.evidence import evidence
from antiphon.protocol.membership.pace import Pace
from antiphon.protocol.membership.parties import Picture
from antiphon.protocol.membership.peers import Peers
from antiphon.protocol.membership.penalties import Penalties
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import (
    Commit,
    Digest,
    Hello,
    Leaving,
    PacketMessage,
    Propose,
    Ready,
    pack_control,
)
from antiphon.wire.control import (
    State as StateMessage,
)
from antiphon.wire.heard import Heard
from antiphon.wire.packet import Envelope

HELLO = "hello"
SETTLE = "settle"
REPEAT = "repeat"
ATTEMPT = "attempt"
EXPIRE = "expire"

BACKOFF_DOUBLINGS_MAX = 4
EPOCH_LEAP_MAX = 1 << 32
"""No true epoch is so far ahead of mine, and ids that rise must never come to their end."""


class State(StrEnum):
    OPERATIONAL = "operational"
    GATHER = "gather"
    COLLECT = "collect"
    RECOVER = "recover"
    READY = "ready"


class GatherReason(StrEnum):
    """Why a daemon leaves its configuration or an attempt. The first three come from the
    stream (ring.py)."""

    TOKEN_LOSS = "token_loss"
    RECEIVE_FAILURE = "receive_failure"
    BLOCKED_WINDOW = "blocked_window"
    LEFT_BEHIND = "left_behind"
    ATTEMPT_TIMEOUT = "attempt_timeout"
    MEMBER_LOST = "member_lost"
    NOT_LEADER = "not_leader"


class Membership:
    def __init__(
        self, me: Member, settings: MembershipSettings, envelope: Envelope, rng: Random
    ) -> None:
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self._rng = rng
        self._timers = Timers()
        self._peers = Peers(settings.hear_us)
        self._penalties = Penalties(settings)
        self.state = State.GATHER
        self.installed = Configuration(NO_CONFIG, ())

        # Ids only rise: installed.id <= accepted, accepted.epoch <= epoch.
        self._accepted: ConfigId = NO_CONFIG
        self._epoch = 0
        self._counter = 0

        # In GATHER and in a READY that waits too long; empty otherwise.
        self._trouble = ""
        self._accused: DaemonId = NOBODY
        self._gather_since: Instant = 0

        # From COLLECT to READY; the collection is the coordinator's, while it collects.
        self._attempt: Attempt | None = None
        self._collection: Collection | None = None

        self._picture = Picture(me, {})
        self._wish: tuple[Member, ...] = ()
        self._failures = 0
        self._no_attempt_before: Instant = 0
        self._pace = Pace(settings)

    def deadline(self) -> Instant:
        return self._timers.deadline()

    def start(self, now: Instant) -> list[Word]:
        """Begin alone; whoever else is there will be found (TR-75)."""
        self._epoch = self._counter = 1
        self._pace.changed_at = now
        self._accepted = ConfigId(1, self._me.daemon, self._me.incarnation, 1)
        configuration = Configuration(self._accepted, (self._me,))
        return [*self._enter_operational(now, configuration, "start"), *self._say_hello(now)]

    def skip(self, now: Instant, gap: Instant) -> None:
        """The process stood still: blame nobody for that time, and let the others find me
        again before I found a configuration of my own."""
        self._timers.shift(gap)
        self._peers.skip(gap)
        self._no_attempt_before = now + self._settings.hear_us + self._settings.settle_us

    def leave(self) -> list[Word]:
        """The last words of this life."""
        return [Broadcast(pack_control(self._envelope, Leaving()))]

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Heard(sender, Hello() as hello):
                return self._hear_hello(now, sender, hello)
            case Heard(sender, Propose() as propose):
                return self._hear_propose(now, sender, propose)
            case Heard(sender, StateMessage() as state):
                return self._hear_state(now, sender, state)
            case Heard(sender, Digest() as digest):
                return self._hear_digest(now, sender, digest)
            case Heard(sender, Ready(config)):
                return self._hear_ready(now, sender, config)
            case Heard(sender, Commit(config)):
                return self._hear_commit(now, sender, config)
            case Heard(sender, Leaving()):
                self._peers.leave(now, sender)
                return self._judge(now)
            case Wakeup():
                return self._wake(now)
            case Trouble(reason, accused):
                return self._hear_trouble(now, reason, accused)
            case Holdings():
                return self._take_holdings(now, event)
            case Progress(attempt):
                return self._note_progress(now, attempt)
            case Recovered(attempt):
                return self._take_recovered(now, attempt)
            case Evidence(config):
                return self._take_commit(now, config)
        raise AssertionError(f"{event!r} in {self.state}")

    # Hello: who is there, and what do I wish?

    def _hear_hello(self, now: Instant, sender: Member, hello: Hello) -> list[Word]:
        if hello.epoch > self._epoch + EPOCH_LEAP_MAX:
            return self._drop(now, sender, "impossible_epoch")
        news = self._peers.hear(now, sender, hello)
        if isinstance(news, str):
            return self._drop(now, sender, news)
        effects: list[Word] = []
        in_my_ring = self.state == State.OPERATIONAL and sender in self.installed.members
        if in_my_ring and hello.config > self.installed.id:
            effects += self._enter_gather(now, GatherReason.LEFT_BEHIND, sender.daemon)
        if in_my_ring and hello.trouble == GatherReason.BLOCKED_WINDOW:
            self._join_accusation(now, hello)
        if hello.alert:
            self._pace.answer(now)
            self._hello_by(now + self._settings.hello_us)
        if not self._timers.running(EXPIRE):
            self._timers.set(EXPIRE, now + self._peers.hear_us)
        return effects + self._judge(now) if news else effects

    def _join_accusation(self, now: Instant, hello: Hello) -> None:
        """All leave out the one that blocks the window; a single word against it would
        only tear accuser and accused apart."""
        accused = hello.accused
        if hello.config == self.installed.id and accused not in (NOBODY, self._me.daemon):
            if not self._penalties.excludes(now, accused):
                self._penalties.punish(now, accused)

    def _counted(self, now: Instant) -> dict[Member, Hello]:
        return {
            member: hello
            for member, hello in self._peers.hellos(now).items()
            if not self._penalties.excludes(now, member.daemon)
        }

    def _judge(self, now: Instant, settled: bool = False) -> list[Word]:
        """Draw the picture anew; as a leader, see whether it asks for a change, and propose
        it once the same wish has settled."""
        hellos = self._counted(now)
        before = self._picture.shape
        self._picture = Picture(self._me, hellos)
        if before != self._picture.shape:
            self._pace.changed_at = now
            self._hello_by(now)
        if self._picture.leader != self._me.daemon:
            self._timers.clear(SETTLE)
            self._wish = ()
            return self._abandon(now, GatherReason.NOT_LEADER)
        wish = self._picture.party()
        effects: list[Word] = []
        if self._collection is not None:
            proposed = self._collection.attempt.configuration.members
            if any(member not in wish for member in proposed):
                effects += self._abandon(now, GatherReason.MEMBER_LOST)
        if self._healthy(wish, hellos) or self._collection is not None:
            self._timers.clear(SETTLE)
        elif settled and wish == self._wish:
            effects += self._propose(now)
        elif wish != self._wish or not self._timers.running(SETTLE):
            wait = self._settings.settle_us + self._backoff()
            self._timers.set(SETTLE, max(now + wait, self._no_attempt_before))
        self._wish = wish
        return effects

    def _healthy(self, wish: tuple[Member, ...], hellos: dict[Member, Hello]) -> bool:
        """Nothing to change. A member's word of trouble counts only about this configuration:
        older ones come late."""
        if self.state != State.OPERATIONAL or wish != self.installed.members:
            return False
        return not any(
            hellos[member].trouble and hellos[member].config == self.installed.id
            for member in wish
            if member != self._me
        )

    def _backoff(self) -> int:
        if not self._failures:
            return 0
        doublings = min(self._failures, BACKOFF_DOUBLINGS_MAX)
        return self._rng.randrange(self._settings.settle_us << doublings)

    def _say_hello(self, now: Instant) -> list[Word]:
        hellos = self._counted(now)
        alert = self._alert(hellos)
        calm = self.state == State.OPERATIONAL and self._pace.calm(now)
        hello = Hello(
            self.installed.id,
            self._picture.leader,
            alert and not calm,
            self._trouble,
            self._accused,
            self._epoch,
            tuple(sorted(hellos)),
            tuple(member.daemon for member in self._picture.clique),
        )
        self._timers.clear(HELLO)
        again = self._pace.next(now, alert, calm, self._picture.leader == self._me.daemon)
        if again is not None:
            self._timers.set(HELLO, again)
        return [Broadcast(pack_control(self._envelope, hello))]

    def _alert(self, hellos: dict[Member, Hello]) -> bool:
        members = self.installed.members
        return self.state != State.OPERATIONAL or any(who not in members for who in hellos)

    def _hello_by(self, at: Instant) -> None:
        earliest = self._pace.earliest(at)
        if earliest < self._timers.at(HELLO):
            self._timers.set(HELLO, earliest)

    # Trouble.

    def _hear_trouble(self, now: Instant, reason: str, accused: DaemonId) -> list[Word]:
        if self.state != State.OPERATIONAL:
            return []  # already on the way to another configuration
        if accused != NOBODY:
            self._penalties.punish(now, accused)
        return self._enter_gather(now, GatherReason(reason), accused)

    def _enter_gather(
        self, now: Instant, reason: GatherReason, accused: DaemonId = NOBODY
    ) -> list[Word]:
        if self.state == State.OPERATIONAL:
            self._peers.forget_ring()
            self._gather_since = now
        self._trouble = reason
        self._accused = accused
        self._attempt = None
        self._pace.changed_at = now
        self._timers.clear(ATTEMPT)
        self._timers.clear(REPEAT)
        effects = [self._emit(now, Kind.TROUBLE, reason=reason, peer=accused)]
        effects += self._enter(now, State.GATHER, reason)
        self._hello_by(now)
        return effects + self._judge(now)

    def _abandon(self, now: Instant, reason: GatherReason) -> list[Word]:
        """The coordinator gives its attempt up."""
        if self._collection is None:
            return []
        self._failures += 1
        effects = [self._emit(now, Kind.ABORT, config=self._collection.attempt.id, reason=reason)]
        self._collection = None
        return effects + self._enter_gather(now, reason)

    # An attempt, as its coordinator.

    def _propose(self, now: Instant) -> list[Word]:
        hellos = self._counted(now)
        heard = [hellos[member].epoch for member in self._wish if member != self._me]
        self._epoch = max([self._epoch, *heard]) + 1
        self._counter += 1
        config = ConfigId(self._epoch, self._me.daemon, self._me.incarnation, self._counter)
        configuration = Configuration(config, self._wish)
        own = f"{self._trouble} by {self._accused}" if self._accused else self._trouble
        cause, text = evidence(now, self._me, own, self.installed, self._wish, hellos, self._peers)
        effects = [
            self._emit(
                now, Kind.ATTEMPT, config=config, members=self._wish, reason=cause, detail=text
            )
        ]
        accepting = self._accept(now, configuration, text)
        self._collection = Collection(self._require_attempt())
        propose = Propose(config, self._wish, text)
        return effects + self._to_others(self._wish, propose) + accepting

    def _hear_state(self, now: Instant, sender: Member, state: StateMessage) -> list[Word]:
        collection = self._collection
        if collection is None or state.config != collection.attempt.id:
            return self._drop(now, sender, "other_attempt")
        self._timers.set(ATTEMPT, now + self._settings.attempt_us)
        if collection.digest is not None:
            packet = pack_control(self._envelope, collection.digest)
            return [Send(sender.daemon, packet)]  # the Digest was lost, or it still recovers
        if not collection.add_state(sender, state):
            return []
        assert collection.digest is not None
        members = collection.attempt.configuration.members
        digest = collection.digest
        return self._to_others(members, digest) + self._take_digest(now, digest)

    def _hear_ready(self, now: Instant, sender: Member, config: ConfigId) -> list[Word]:
        if config == self.installed.id:  # it missed the Commit
            return [Send(sender.daemon, pack_control(self._envelope, Commit(config)))]
        collection = self._collection
        if collection is None or config != collection.attempt.id:
            return self._drop(now, sender, "other_attempt")
        if sender not in collection.ready:  # a repetition is no progress
            self._timers.set(ATTEMPT, now + self._settings.attempt_us)
        if not collection.add_ready(sender):
            return []
        self._collection = None
        members = collection.attempt.configuration.members
        return self._to_others(members, Commit(config)) + self._take_commit(now, config)

    # An attempt, as a member.

    def _hear_propose(self, now: Instant, sender: Member, propose: Propose) -> list[Word]:
        config = propose.config
        if config == self._accepted:
            return []  # a repetition; my answer is repeated, too
        if sender != coordinator_of(config):
            return self._drop(now, sender, "false_coordinator")
        if config < self._accepted:
            return self._drop(now, sender, "old_proposal")
        if config.epoch > self._epoch + EPOCH_LEAP_MAX:
            return self._drop(now, sender, "impossible_epoch")
        if self._me not in propose.members:
            return self._drop(now, sender, "not_proposed")
        if sender.daemon != self._picture.leader:
            return self._drop(now, sender, "not_my_leader")
        return self._accept(now, Configuration(config, propose.members), propose.reason)

    def _accept(self, now: Instant, configuration: Configuration, reason: str) -> list[Word]:
        assert configuration.id > self._accepted, "accepted ids rise"
        if self.state == State.OPERATIONAL:
            self._peers.doubt_ring(now)
            self._gather_since = now
        self._accepted = configuration.id
        self._epoch = max(self._epoch, configuration.id.epoch)
        self._attempt = Attempt(configuration, reason, now)
        self._trouble = ""
        self._accused = NOBODY
        self._timers.set(ATTEMPT, now + self._settings.attempt_us)
        self._timers.set(REPEAT, now + self._settings.repeat_us)
        self._hello_by(now + self._settings.hello_us)
        return [*self._enter(now, State.COLLECT, reason), Freeze(configuration.id)]

    def _take_holdings(self, now: Instant, holdings: Holdings) -> list[Word]:
        attempt = self._attempt
        if attempt is None or holdings.attempt != attempt.id:
            return []  # of an attempt that a higher one replaced in the same step
        attempt.mine = state_message(holdings, self.installed.id)
        return self._to_coordinator(now, attempt.mine)

    def _hear_digest(self, now: Instant, sender: Member, digest: Digest) -> list[Word]:
        attempt = self._attempt
        if attempt is None or digest.config != attempt.id:
            return self._drop(now, sender, "other_attempt")
        if sender != coordinator_of(attempt.id):
            return self._drop(now, sender, "false_coordinator")
        if self.state != State.COLLECT:
            return []  # I have it
        if not attempt.fits(digest, self._me, self.installed):
            return self._drop(now, sender, "bad_digest")
        return self._take_digest(now, digest)

    def _take_digest(self, now: Instant, digest: Digest) -> list[Word]:
        attempt = self._require_attempt()
        attempt.recovering_since = now
        self._timers.set(ATTEMPT, now + self._settings.attempt_us)
        together = tuple(
            (state.member, holdings_of(state, attempt.id))
            for state in digest.states
            if state.base == self.installed.id
        )
        entering = self._enter(now, State.RECOVER, "")
        return [*entering, Recover(attempt.id, together)]

    def _note_progress(self, now: Instant, attempt: ConfigId) -> list[Word]:
        if self._attempt is not None and attempt == self._attempt.id:
            self._attempt.progressed = True
            self._timers.set(ATTEMPT, now + self._settings.attempt_us)
        return []

    def _take_recovered(self, now: Instant, config: ConfigId) -> list[Word]:
        if self.state != State.RECOVER or config != self._require_attempt().id:
            return []  # as above
        self._timers.set(ATTEMPT, now + self._settings.attempt_us)
        return self._enter(now, State.READY, "") + self._to_coordinator(now, Ready(config))

    def _hear_commit(self, now: Instant, sender: Member, config: ConfigId) -> list[Word]:
        if sender != coordinator_of(config):
            return self._drop(now, sender, "false_coordinator")
        return self._take_commit(now, config)

    def _take_commit(self, now: Instant, config: ConfigId) -> list[Word]:
        attempt = self._attempt
        if self.state != State.READY or attempt is None or attempt.id != config:
            return []  # late, or I went on to another attempt
        gather = (attempt.began - self._gather_since) // 1000
        collect = (attempt.recovering_since - attempt.began) // 1000
        recover = (now - attempt.recovering_since) // 1000
        phases = f"gather {gather} ms, collect {collect} ms, recover {recover} ms"
        text = f"{attempt.reason} ({phases})"
        return self._enter_operational(now, attempt.configuration, text)

    def _enter_operational(
        self, now: Instant, configuration: Configuration, evidence: str
    ) -> list[Word]:
        assert configuration.id > self.installed.id, "installed ids rise"
        assert self._me in configuration.members
        self.installed = configuration
        self._attempt = None
        self._collection = None
        self._trouble = ""
        self._accused = NOBODY
        self._failures = 0
        self._pace.changed_at = now
        self._penalties.forgive_strikes()
        self._timers.clear(ATTEMPT)
        self._timers.clear(REPEAT)
        self._peers.trust_ring(now, configuration, self._me)
        self._hello_by(now)
        effects = self._enter(now, State.OPERATIONAL, evidence)
        effects.append(Install(configuration, evidence))
        return effects + self._judge(now)

    # Time.

    def _wake(self, now: Instant) -> list[Word]:
        effects: list[Word] = []
        for name in self._timers.due(now):
            if name == HELLO:
                effects += self._say_hello(now)
            elif name == SETTLE:
                effects += self._judge(now, settled=True)
            elif name == REPEAT:
                effects += self._repeat(now)
            elif name == ATTEMPT:
                effects += self._fail(now)
            elif name == EXPIRE:
                effects += self._expire(now)
        return effects

    def _repeat(self, now: Instant) -> list[Word]:
        attempt = self._attempt
        if attempt is None:
            return []
        self._timers.set(REPEAT, now + self._settings.repeat_us)
        effects: list[Word] = []
        if self._collection is not None and self._collection.digest is None:
            silent = tuple(self._collection.silent())
            propose = Propose(attempt.id, attempt.configuration.members, attempt.reason)
            effects += self._to_others(silent, propose)
        if attempt.id.coordinator == self._me.daemon:
            return effects
        if self.state == State.READY:
            effects += self._to_coordinator(now, Ready(attempt.id))
        elif attempt.mine is not None and (self.state == State.COLLECT or attempt.progressed):
            attempt.progressed = False
            effects += self._to_coordinator(now, attempt.mine)
        return effects

    def _fail(self, now: Instant) -> list[Word]:
        """No progress for too long."""
        if self._collection is not None:
            for member in self._collection.silent():
                if member != self._me:
                    self._penalties.strike(now, member.daemon)
                    self._peers.forget(member.daemon)
            return self._abandon(now, GatherReason.ATTEMPT_TIMEOUT)
        if self.state == State.READY:
            # Others may have installed it, so it stays open until a higher one is accepted.
            self._trouble = GatherReason.ATTEMPT_TIMEOUT
            self._hello_by(now)
            return [self._emit(now, Kind.TROUBLE, reason=self._trouble), *self._judge(now)]
        return self._enter_gather(now, GatherReason.ATTEMPT_TIMEOUT)

    def _expire(self, now: Instant) -> list[Word]:
        times = [self._peers.next_silence(now), self._penalties.next_end(now)]
        soonest = min((at for at in times if at is not None), default=None)
        if soonest is not None:
            self._timers.set(EXPIRE, max(soonest, now + self._settings.hello_gap_us))
        return self._judge(now)

    # Sending and telling.

    def _to_others(self, members: tuple[Member, ...], message: PacketMessage) -> list[Word]:
        packet = pack_control(self._envelope, message)
        return [Send(member.daemon, packet) for member in members if member != self._me]

    def _to_coordinator(self, now: Instant, message: StateMessage | Ready) -> list[Word]:
        coordinator = self._require_attempt().id.coordinator
        if coordinator != self._me.daemon:
            return [Send(coordinator, pack_control(self._envelope, message))]
        return self.handle(now, Heard(self._me, message))

    def _require_attempt(self) -> Attempt:
        assert self._attempt is not None
        return self._attempt

    def _enter(self, now: Instant, state: State, why: str) -> list[Word]:
        """The only place that changes the state."""
        self.state = state
        if state == State.OPERATIONAL:
            self._peers.hear_us = self._settings.hear_us
        else:
            self._peers.hear_us = self._settings.hear_alert_us
            if now + self._peers.hear_us < self._timers.at(EXPIRE):
                self._timers.set(EXPIRE, now + self._peers.hear_us)
        return [self._emit(now, Kind.ENTER, reason=state, detail=why)]

    def _drop(self, now: Instant, sender: Member, reason: str) -> list[Word]:
        return [self._emit(now, Kind.DROP, reason=reason, peer=sender.daemon, value=1)]

    def _emit(self, now: Instant, kind: Kind, **columns: Any) -> Word:
        return Emit(Record(kind, now, self._me.daemon, self._me.incarnation, **columns))
