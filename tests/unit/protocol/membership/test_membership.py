"""Membership as a machine: who is heard, who proposes, what is refused."""

from random import Random
from typing import Any

import pytest

from antiphon.core.effects import (
    Broadcast,
    Emit,
    Evidence,
    Freeze,
    Holdings,
    Install,
    Recover,
    Recovered,
    Send,
    StreamHoldings,
    Trouble,
    Word,
)
from antiphon.core.ids import NOBODY, ConfigId, DaemonId, Incarnation, Member
from antiphon.core.machine import WAKEUP
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import Membership, State
from antiphon.protocol.membership.merging import merge_members
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import (
    Commit,
    Digest,
    Hello,
    MemberState,
    PacketMessage,
    Propose,
    Ready,
    read_control,
)
from antiphon.wire.control import State as StateMessage
from antiphon.wire.heard import Heard
from antiphon.wire.packet import Envelope, open_header

SETTINGS = MembershipSettings()
NOTHING = (StreamHoldings((), 0, 0, ()),)
"""Of the one stream of a site."""


def member(number: int, life: int = 1) -> Member:
    return Member(DaemonId(number), Incarnation(100 * life + number))


def config_of(coordinator: int, epoch: int = 9, counter: int = 9) -> ConfigId:
    return ConfigId(epoch, *member(coordinator), counter)


class Machine:
    """Daemon `me`, which hears others say Hello as the test wishes."""

    def __init__(self, me: int = 2) -> None:
        self.me = member(me)
        self.membership = Membership(self.me, SETTINGS, Envelope(1, self.me), Random(1))
        self.now = 1_000_000
        self.began = self.membership.start(self.now)

    def hear(self, sender: Member, message: PacketMessage) -> list[Word]:
        return self.membership.handle(self.now, Heard(sender, message))

    def hello(
        self, sender: Member, *heard: Member, leader: int = 0, trouble: str = "", epoch: int = 1
    ) -> list[Word]:
        """From one that hears these, me if none is named, and would go with all of them."""
        hears = heard or (self.me,)
        clique = tuple(sorted({sender.daemon, *(one.daemon for one in hears)}))
        own = config_of(sender.daemon, 1, 1)
        follows = DaemonId(leader or sender.daemon)
        told = Hello(own, follows, True, trouble, NOBODY, epoch, tuple(sorted(hears)), clique)
        return self.hear(sender, told)

    def run(self, us: int, *repeat: tuple[Member, ...]) -> list[Word]:
        """Let time pass; each of `repeat`, sender first, says Hello all the time."""
        effects: list[Word] = []
        end = self.now + us
        while self.now < end:
            self.now = min(end, self.now + SETTINGS.hello_us)
            for sender, *heard in repeat:
                effects += self.hello(sender, *heard)
            if self.membership.deadline() <= self.now:
                effects += self.membership.handle(self.now, WAKEUP)
        return effects

    def accept(self, coordinator: int = 1) -> ConfigId:
        """Take part in an attempt of another."""
        config = config_of(coordinator)
        self.hello(member(coordinator))
        members = tuple(sorted((member(coordinator), self.me)))
        effects = self.hear(member(coordinator), Propose(config, (members,), (), "why"))
        assert [effect for effect in effects if isinstance(effect, Freeze)] == [Freeze(config)]
        self.membership.handle(self.now, Holdings(config, NOTHING, 0, 0))
        return config


def sent(effects: list[Word], kind: type) -> list[tuple[int, PacketMessage]]:
    found = []
    for effect in effects:
        if isinstance(effect, Send | Broadcast):
            tag, _, _ = open_header(effect.packet, 1)
            message = read_control(tag, effect.packet)
            if isinstance(message, kind):
                found.append((effect.to if isinstance(effect, Send) else 0, message))
    return found


def drops(effects: list[Word]) -> list[str]:
    return [
        effect.record.reason
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == Kind.DROP
    ]


def digest_of(machine: Machine, config: ConfigId) -> Digest:
    """What the coordinator tells: it comes from elsewhere, I from where I am."""
    mine = machine.membership.installed.id
    bases = sorted([(member(config.coordinator), config_of(1, 1, 1)), (machine.me, mine)])
    states = tuple(MemberState(who, base, 0, NOTHING, 0, 0) for who, base in bases)
    return Digest(config, (merge_members(states),), states)


def of_kind(effects: list[Word], kind: type) -> list[Word]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_a_daemon_begins_alone_and_says_hello() -> None:
    """TR-75, X-39."""
    machine = Machine()
    (install,) = of_kind(machine.began, Install)
    assert isinstance(install, Install)
    assert install.configuration.members == (machine.me,)
    assert len(sent(machine.began, Hello)) == 1
    assert machine.membership.state == State.OPERATIONAL


def test_the_lowest_that_hears_a_stranger_proposes_once_the_wish_has_settled() -> None:
    machine = Machine(me=1)
    early = machine.run(SETTINGS.settle_us // 2, (member(2),))
    assert sent(early, Propose) == []
    # A follower says whom it follows.
    effects = machine.hello(member(2), leader=1)
    end = machine.now + 3 * SETTINGS.settle_us
    while machine.now < end:
        machine.now += SETTINGS.hello_us
        effects += machine.hello(member(2), leader=1)
        effects += machine.membership.handle(machine.now, WAKEUP)
    proposals = [message for _, message in sent(effects, Propose)]
    proposal = proposals[0]
    assert all(one == proposal for one in proposals)
    assert isinstance(proposal, Propose)
    assert proposal.parts == ((member(1), member(2)),)
    assert proposal.config.epoch > 1 and proposal.config.coordinator == 1


def test_a_higher_daemon_waits_for_the_lower_one_to_propose() -> None:
    machine = Machine(me=2)
    effects = machine.run(10 * SETTINGS.settle_us, (member(1),))
    assert sent(effects, Propose) == []
    (_, last) = sent(effects, Hello)[-1]
    assert isinstance(last, Hello) and last.leader == 1


def test_one_that_does_not_hear_me_is_no_reason_for_a_change() -> None:
    """A one-way link must not end in a spin."""
    machine = Machine(me=1)
    effects = machine.run(20 * SETTINGS.settle_us, (member(2), member(3)))
    assert sent(effects, Propose) == []
    assert machine.membership.state == State.OPERATIONAL


def test_a_proposal_of_my_leader_freezes_the_stream_and_is_answered_with_my_holdings() -> None:
    machine = Machine(me=2)
    machine.hello(member(1))
    config = config_of(1)
    propose = Propose(config, ((member(1), member(2)),), (), "why")
    assert of_kind(machine.hear(member(1), propose), Freeze) == [Freeze(config)]
    holdings = Holdings(config, (StreamHoldings(((3, 5, 7),), 5, 7, ((4, 4),)),), 2, 5)
    answered = sent(machine.membership.handle(machine.now, holdings), StateMessage)
    base = machine.membership.installed.id
    assert answered == [(1, StateMessage(config, base, 0, holdings.streams, 2, 5))]


@pytest.mark.parametrize(
    ("sender", "config", "members", "reason"),
    [
        (3, config_of(1), (1, 2, 3), "false_coordinator"),
        (1, ConfigId(9, *member(1, life=2), 9), (1, 2), "false_coordinator"),
        (1, config_of(1, epoch=0), (1, 2), "old_proposal"),
        (1, config_of(1), (1, 3), "not_proposed"),
        (3, config_of(3), (2, 3), "not_my_leader"),
    ],
    ids=["another speaks", "another life", "old", "without me", "not my leader"],
)
def test_a_proposal_that_is_not_for_me_is_refused(
    sender: int, config: ConfigId, members: tuple[int, ...], reason: str
) -> None:
    machine = Machine(me=2)
    machine.hello(member(1))
    machine.hello(member(3))
    propose = Propose(config, (tuple(map(member, members)),), (), "why")
    assert drops(machine.hear(member(sender), propose)) == [reason]
    assert machine.membership.state == State.OPERATIONAL


def test_words_of_another_attempt_are_refused() -> None:
    machine = Machine(me=2)
    machine.accept()
    other = config_of(1, counter=8)
    base = machine.membership.installed.id
    assert drops(machine.hear(member(1), Digest(other, ((),), ()))) == ["other_attempt"]
    assert drops(machine.hear(member(3), Ready(other))) == ["other_attempt"]
    state = StateMessage(other, base, 0, NOTHING, 0, 0)
    assert drops(machine.hear(member(3), state)) == ["other_attempt"]


def test_a_commit_counts_only_from_its_coordinator() -> None:
    machine = Machine(me=2)
    config = machine.accept()
    assert drops(machine.hear(member(3), Commit(config))) == ["false_coordinator"]


def test_an_attempt_goes_from_holdings_to_install() -> None:
    machine = Machine(me=2)
    config = machine.accept()
    base = machine.membership.installed.id
    states = (
        MemberState(member(1), config_of(1, 1, 1), 0, NOTHING, 0, 0),
        MemberState(member(2), base, 0, NOTHING, 0, 0),
    )
    effects = machine.hear(member(1), Digest(config, (merge_members(states),), states))
    (recover,) = of_kind(effects, Recover)
    assert isinstance(recover, Recover)
    assert [part.members for part in recover.parts] == [(member(2),)], (
        "who comes from my configuration"
    )
    effects = machine.membership.handle(machine.now, Recovered(config))
    assert sent(effects, Ready) == [(1, Ready(config))]
    effects = machine.hear(member(1), Commit(config))
    (install,) = of_kind(effects, Install)
    assert isinstance(install, Install)
    assert install.configuration.id == config
    assert machine.membership.state == State.OPERATIONAL


def test_a_packet_of_the_new_configuration_is_as_good_as_a_commit() -> None:
    machine = Machine(me=2)
    config = machine.accept()
    machine.hear(member(1), digest_of(machine, config))
    machine.membership.handle(machine.now, Recovered(config))
    effects = machine.membership.handle(machine.now, Evidence(config))
    assert len(of_kind(effects, Install)) == 1


def test_a_commit_before_i_am_ready_is_not_believed() -> None:
    """What was not recovered cannot be delivered."""
    machine = Machine(me=2)
    config = machine.accept()
    assert of_kind(machine.hear(member(1), Commit(config)), Install) == []


@pytest.mark.parametrize("state", [State.COLLECT, State.READY])
def test_what_is_not_answered_is_said_again(state: State) -> None:
    machine = Machine(me=2)
    config = machine.accept()
    if state == State.READY:
        machine.hear(member(1), digest_of(machine, config))
        machine.membership.handle(machine.now, Recovered(config))
    assert machine.membership.state == state
    kind = Ready if state == State.READY else StateMessage
    effects = machine.run(5 * SETTINGS.repeat_us, (member(1),))
    assert len(sent(effects, kind)) >= 3


def test_trouble_is_told_to_all_and_ends_in_a_new_attempt() -> None:
    machine = Machine(me=1)
    effects = machine.membership.handle(machine.now, Trouble("token_loss", NOBODY))
    assert machine.membership.state == State.GATHER
    effects += machine.run(3 * SETTINGS.settle_us)
    hellos = [message for _, message in sent(effects, Hello) if isinstance(message, Hello)]
    assert hellos[0].trouble == "token_loss" and hellos[0].alert
    attempts = [
        effect.record.reason
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == Kind.ATTEMPT
    ]
    assert attempts == ["token_loss"]


def test_an_older_life_is_refused_while_the_newer_one_is_heard() -> None:
    machine = Machine(me=1)
    machine.hello(member(2, life=2))
    assert drops(machine.hello(member(2, life=1))) == ["old_incarnation"]
    machine.now += SETTINGS.hear_us + 1
    assert drops(machine.hello(member(2, life=1))) == [], "clocks can be set back"


def test_a_coordinator_counts_silence_against_the_silent() -> None:
    """TR-50's machinery: who cannot take part is left out for a while."""
    machine = Machine(me=1)
    effects: list[Word] = []
    for _ in range(400):
        machine.now += SETTINGS.hello_us
        effects += machine.hello(member(2), leader=1)
        effects += machine.hello(member(3), leader=1)
        if machine.membership.deadline() <= machine.now:
            woken = machine.membership.handle(machine.now, WAKEUP)
            for freeze in of_kind(woken, Freeze):
                assert isinstance(freeze, Freeze)
                holdings = Holdings(freeze.attempt, NOTHING, 0, 0)
                effects += machine.membership.handle(machine.now, holdings)
            effects += woken
    aborts = [
        effect.record.reason
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == Kind.ABORT
    ]
    assert aborts[:2] == ["attempt_timeout"] * 2
    times = len(sent(effects, Propose))
    assert times < 400, "it does not spin"
    assert machine.membership._site.penalties._level


@pytest.mark.parametrize("numbers", [(), (1,), (1, 2, 3)])
def test_a_digest_of_others_than_the_members_is_refused(numbers: tuple[int, ...]) -> None:
    """The stream looks itself up in what it is told to recover."""
    machine = Machine(me=2)
    config = machine.accept()
    base = machine.membership.installed.id
    states = tuple(MemberState(member(number), base, 0, NOTHING, 0, 0) for number in numbers)
    effects = machine.hear(member(1), Digest(config, (merge_members(states),), states))
    assert drops(effects) == ["bad_digest"]
    assert of_kind(effects, Recover) == []


def test_a_digest_counts_only_from_its_coordinator() -> None:
    machine = Machine(me=2)
    config = machine.accept()
    digest = digest_of(machine, config)
    assert drops(machine.hear(member(3), digest)) == ["false_coordinator"]
    assert drops(machine.hear(member(1), digest)) == []


def test_an_epoch_that_leaps_to_the_end_is_refused() -> None:
    """Ids only rise: who believes the last one could never change its configuration again."""
    machine = Machine(me=1)
    assert drops(machine.hello(member(2), leader=1, epoch=2**64 - 1)) == ["impossible_epoch"]
    end = machine.now + 10 * SETTINGS.settle_us
    while machine.now < end:
        machine.now += SETTINGS.hello_us
        machine.hello(member(2), leader=1, epoch=2**64 - 1)
        machine.membership.handle(machine.now, WAKEUP)
    assert machine.membership.ids.epoch < 100


def test_a_proposal_whose_epoch_leaps_to_the_end_is_refused() -> None:
    machine = Machine(me=2)
    machine.hello(member(1))
    propose = Propose(config_of(1, epoch=2**64 - 1), ((member(1), member(2)),), (), "why")
    assert drops(machine.hear(member(1), propose)) == ["impossible_epoch"]


@pytest.mark.parametrize(
    "said",
    [
        (config_of(1, 1, 1), NOTHING, 0, 0),
        (None, (StreamHoldings(((1, 1, 1),), 0, 0, ()),), 0, 0),
        (None, (StreamHoldings((), 1, 1, ()),), 0, 0),
        (None, (StreamHoldings((), 0, 1, ()),), 0, 0),
        (None, (StreamHoldings((), 0, 0, ((1, 1),)),), 0, 0),
        (None, (), 0, 0),
        (None, NOTHING, 1, 0),
        (None, NOTHING, 0, 1),
    ],
    ids=["base", "held", "known", "stamp", "early", "streams", "stable", "cursor"],
)
def test_a_digest_that_misquotes_me_is_refused(said: tuple[Any, ...]) -> None:
    """D4: my own entry must be what I said; a State may have been spoiled on its way."""
    machine = Machine(me=2)
    config = machine.accept()
    good = digest_of(machine, config)
    quoted = MemberState(machine.me, said[0] or machine.membership.installed.id, 0, *said[1:])
    wrong = Digest(config, good.sites, (good.party[0], quoted))
    assert drops(machine.hear(member(1), wrong)) == ["bad_digest"]
    assert len(of_kind(machine.hear(member(1), good), Recover)) == 1
