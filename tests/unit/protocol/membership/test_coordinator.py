"""The coordinator of an attempt, and what makes members leave their configuration."""

from antiphon.core.effects import (
    Emit,
    Freeze,
    Holdings,
    Install,
    Progress,
    Recover,
    Recovered,
    Trouble,
    Word,
)
from antiphon.core.ids import NOBODY, ConfigId, DaemonId
from antiphon.core.machine import WAKEUP
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import State
from antiphon.wire.control import Commit, Digest, Hello, Propose, Ready
from antiphon.wire.control import State as StateMessage
from tests.unit.protocol.membership.test_membership import (
    NOTHING,
    SETTINGS,
    Machine,
    config_of,
    digest_of,
    drops,
    member,
    of_kind,
    sent,
)


class Coordinator(Machine):
    """Daemon 1, whose proposal to 2 stands."""

    def __init__(self) -> None:
        super().__init__(me=1)
        self.effects: list[Word] = []
        while not of_kind(self.effects, Freeze):
            self.now += SETTINGS.hello_us
            self.effects += self.hello(member(2), leader=1)
            self.effects += self.membership.handle(self.now, WAKEUP)
        (freeze,) = of_kind(self.effects, Freeze)
        assert isinstance(freeze, Freeze)
        self.attempt: ConfigId = freeze.attempt

    def tell(self, event: Word) -> list[Word]:
        return self.membership.handle(self.now, event)

    def hold(self) -> list[Word]:
        return self.tell(Holdings(self.attempt, NOTHING, 0, 0))

    def state_of(self, number: int) -> list[Word]:
        base = config_of(number, 1, 1)
        return self.hear(member(number), StateMessage(self.attempt, base, 0, NOTHING, 0, 0))


def reasons(effects: list[Word], kind: Kind) -> list[str]:
    return [
        effect.record.reason
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == kind
    ]


def test_an_attempt_runs_from_states_over_the_digest_to_the_commit() -> None:
    machine = Coordinator()
    assert sent(machine.hold(), Digest) == []
    effects = machine.state_of(2)
    assert [to for to, _ in sent(effects, Digest)] == [2]
    assert len(of_kind(effects, Recover)) == 1
    assert sent(machine.tell(Recovered(machine.attempt)), Commit) == []
    effects = machine.hear(member(2), Ready(machine.attempt))
    assert [to for to, _ in sent(effects, Commit)] == [2]
    (install,) = of_kind(effects, Install)
    assert isinstance(install, Install)
    assert install.configuration.members == (member(1), member(2))


def test_nobody_is_committed_before_all_are_ready() -> None:
    """D4: who is not ready cannot deliver what the others will."""
    machine = Coordinator()
    machine.hold()
    machine.state_of(2)
    assert of_kind(machine.hear(member(2), Ready(machine.attempt)), Install) == []
    assert len(of_kind(machine.tell(Recovered(machine.attempt)), Install)) == 1


def test_who_says_its_state_again_gets_the_digest_again() -> None:
    machine = Coordinator()
    machine.hold()
    machine.state_of(2)
    assert [to for to, _ in sent(machine.state_of(2), Digest)] == [2]


def test_who_missed_the_commit_gets_it_again() -> None:
    machine = Coordinator()
    machine.hold()
    machine.state_of(2)
    machine.tell(Recovered(machine.attempt))
    machine.hear(member(2), Ready(machine.attempt))
    again = machine.hear(member(2), Ready(machine.attempt))
    assert sent(again, Commit) == [(2, Commit(machine.attempt))]


def test_the_proposal_is_repeated_to_the_silent_only() -> None:
    machine = Coordinator()
    machine.hold()
    effects: list[Word] = []
    for _ in range(3):
        machine.now += SETTINGS.repeat_us
        effects += machine.tell(WAKEUP)
    assert {to for to, _ in sent(effects, Propose)} == {2}
    machine.state_of(2)
    machine.now += SETTINGS.repeat_us
    assert sent(machine.tell(WAKEUP), Propose) == []


def test_an_attempt_is_given_up_when_a_member_is_lost() -> None:
    """Restartable at every step."""
    machine = Coordinator()
    machine.hold()
    machine.now += SETTINGS.look_gap_us
    effects = machine.hello(member(2), member(3))  # it does not hear me any more
    assert reasons(effects, Kind.ABORT) == ["member_lost"]
    assert machine.membership.state == State.GATHER


def test_an_attempt_is_given_up_for_a_lower_leader() -> None:
    machine = Machine(me=2)
    effects: list[Word] = []
    while not of_kind(effects, Freeze):
        machine.now += SETTINGS.hello_us
        effects += machine.hello(member(3), leader=2)
        effects += machine.membership.handle(machine.now, WAKEUP)
    machine.now += SETTINGS.look_gap_us
    effects = machine.hello(member(1))
    assert reasons(effects, Kind.ABORT) == ["not_leader"]


def test_a_member_that_others_left_behind_follows_them() -> None:
    """It still runs a ring that one of its members has left for another."""
    machine = Coordinator()
    machine.hold()
    machine.state_of(2)
    machine.tell(Recovered(machine.attempt))
    machine.hear(member(2), Ready(machine.attempt))
    higher = config_of(2, epoch=50)
    daemons = (DaemonId(1), DaemonId(2))
    hello = Hello(higher, DaemonId(2), True, "", NOBODY, 50, (member(1),), daemons)
    effects = machine.hear(member(2), hello)
    assert reasons(effects, Kind.TROUBLE) == ["left_behind"]
    assert machine.membership.state == State.GATHER


def test_an_accusation_of_a_blocked_window_is_joined_by_all() -> None:
    """TR-50: all leave out the one that blocks it."""
    machine = Coordinator()
    machine.hold()
    machine.state_of(2)
    machine.tell(Recovered(machine.attempt))
    machine.hear(member(2), Ready(machine.attempt))
    hello = Hello(
        *(machine.attempt, DaemonId(1), True, "blocked_window", DaemonId(3), 2),
        (member(1),),
        (DaemonId(1), DaemonId(2)),
    )
    machine.hear(member(2), hello)
    assert machine.membership._site.penalties.excludes(machine.now, DaemonId(3))
    assert not machine.membership._site.penalties.excludes(machine.now, DaemonId(2))


def test_trouble_with_a_member_leaves_it_out() -> None:
    """TR-50."""
    machine = Machine(me=1)
    machine.hello(member(2))
    machine.membership.handle(machine.now, Trouble("blocked_window", DaemonId(2)))
    assert machine.membership._site.counted(machine.now) == {}


def test_trouble_during_a_change_is_no_news() -> None:
    machine = Coordinator()
    assert machine.tell(Trouble("token_loss", NOBODY)) == []


def test_progress_keeps_an_attempt_alive() -> None:
    """TR-69: a long recovery is no failure while it goes on."""
    machine = Machine(me=2)
    config = machine.accept()
    aborted: list[Word] = []
    for _ in range(20):
        machine.now += SETTINGS.attempt_us // 2
        machine.hello(member(1))
        machine.membership.handle(machine.now, Progress(config))
        if machine.membership.deadline() <= machine.now:
            aborted += machine.membership.handle(machine.now, WAKEUP)
    assert reasons(aborted, Kind.TROUBLE) == []
    for _ in range(3):
        machine.now += SETTINGS.attempt_us
        machine.hello(member(1))
        aborted += machine.membership.handle(machine.now, WAKEUP)
    assert reasons(aborted, Kind.TROUBLE) == ["attempt_timeout"]


def test_an_answer_that_is_repeated_is_no_progress() -> None:
    """Else each level waits until the one below has given up: members, leaders, coordinator
    (site seed 44029)."""
    machine = Coordinator()
    effects: list[Word] = []
    for _ in range(4):
        machine.now += SETTINGS.attempt_us // 2
        machine.hello(member(2), leader=1)
        machine.state_of(2)
        effects += machine.membership.handle(machine.now, WAKEUP)
    assert "attempt_timeout" in reasons(effects, Kind.TROUBLE)


def test_answers_to_an_attempt_that_a_higher_one_replaced_are_ignored() -> None:
    machine = Machine(me=2)
    old = machine.accept()
    higher = Propose(config_of(1, epoch=20), ((member(1), member(2)),), (), "again")
    assert len(of_kind(machine.hear(member(1), higher), Freeze)) == 1
    assert machine.membership.handle(machine.now, Holdings(old, NOTHING, 0, 0)) == []
    assert machine.membership.handle(machine.now, Recovered(old)) == []
    assert machine.membership.handle(machine.now, Progress(old)) == []


def test_a_repeated_proposal_changes_nothing() -> None:
    machine = Machine(me=2)
    config = machine.accept()
    propose = Propose(config, ((member(1), member(2)),), (), "why")
    assert machine.hear(member(1), propose) == []
    assert machine.membership.state == State.COLLECT


def test_one_who_waits_ready_for_too_long_stays_open_for_the_commit() -> None:
    """Others may have installed it: only a higher attempt may take its place."""
    machine = Machine(me=2)
    config = machine.accept()
    machine.hear(member(1), digest_of(machine, config))
    machine.membership.handle(machine.now, Recovered(config))
    effects: list[Word] = []
    for _ in range(4):
        machine.now += SETTINGS.attempt_us
        machine.hello(member(1))
        effects += machine.membership.handle(machine.now, WAKEUP)
    assert "attempt_timeout" in reasons(effects, Kind.TROUBLE)
    assert machine.membership.state == State.READY
    assert len(of_kind(machine.hear(member(1), Commit(config)), Install)) == 1
    assert drops(machine.hear(member(3), Commit(config))) == ["false_coordinator"]


class Installed(Coordinator):
    """Daemon 1 in a configuration with 2."""

    def __init__(self) -> None:
        super().__init__()
        self.hold()
        self.state_of(2)
        self.tell(Recovered(self.attempt))
        self.hear(member(2), Ready(self.attempt))
        assert self.membership.installed.id == self.attempt

    def word_of_2(
        self, config: ConfigId, trouble: str = "", accused: int = 0, leader: int = 1
    ) -> list[Word]:
        daemons = (DaemonId(1), DaemonId(2))
        return self.hear(
            member(2),
            Hello(
                config, DaemonId(leader), True, trouble, DaemonId(accused), 2, (self.me,), daemons
            ),
        )


def test_an_accusation_counts_only_in_its_configuration_and_never_against_me() -> None:
    """TR-50: old words come late, and nobody leaves itself out."""
    machine = Installed()
    machine.word_of_2(config_of(2, 1, 1), "blocked_window", accused=3)
    machine.word_of_2(machine.attempt, "blocked_window", accused=1)
    machine.word_of_2(machine.attempt, "token_loss", accused=3)
    penalties = machine.membership._site.penalties
    assert [penalties.excludes(machine.now, DaemonId(one)) for one in (1, 2, 3)] == [False] * 3


def test_a_members_trouble_with_this_configuration_ends_it() -> None:
    machine = Installed()
    machine.word_of_2(machine.attempt, "token_loss")
    effects: list[Word] = []
    for _ in range(8):
        machine.now += SETTINGS.hello_us
        effects += machine.word_of_2(machine.attempt, "token_loss")
        effects += machine.tell(WAKEUP)
    assert reasons(effects, Kind.ATTEMPT) == ["reported_trouble"]


def test_a_members_trouble_with_an_older_configuration_is_past() -> None:
    machine = Installed()
    effects: list[Word] = []
    for _ in range(8):
        machine.now += SETTINGS.hello_us
        effects += machine.word_of_2(config_of(2, 1, 1), "token_loss")
        effects += machine.tell(WAKEUP)
    assert reasons(effects, Kind.ATTEMPT) == []


def test_a_stranger_that_falls_silent_is_gone_without_any_other_event() -> None:
    machine = Machine(me=1)
    machine.now += SETTINGS.look_gap_us
    machine.hello(member(2))
    assert machine.membership._site.picture.mutual == [member(2)]
    machine.run(2 * SETTINGS.hear_us)
    assert machine.membership._site.picture.mutual == []


def test_hellos_that_come_together_are_looked_at_together() -> None:
    """Who goes with whom is worked out for the first, and once for all that follow at once."""
    machine = Machine(me=1)
    site = machine.membership._site
    machine.now += SETTINGS.look_gap_us
    for daemon in range(2, 10):
        machine.hello(member(daemon), member(1), *map(member, range(2, daemon)))
        assert site.picture.heard == [member(2)]
    assert machine.membership.deadline() <= machine.now + SETTINGS.look_gap_us
    machine.now += SETTINGS.look_gap_us
    machine.membership.handle(machine.now, WAKEUP)
    assert site.picture.heard == [member(daemon) for daemon in range(2, 10)]


def test_a_hello_that_leaves_knows_of_all_that_came() -> None:
    machine = Machine(me=1)
    machine.now = machine.membership.deadline() - 1
    machine.hello(member(2), member(1), member(3))
    machine.hello(member(3), member(1), member(2))
    machine.now += 1
    hellos = sent(machine.membership.handle(machine.now, WAKEUP), Hello)
    assert [told.clique for _, told in hellos if isinstance(told, Hello)] == [(1, 2, 3)]


def test_every_step_of_an_attempt_gets_its_own_time() -> None:
    """TR-69: collecting may take nearly as long as recovering after it."""
    machine = Machine(me=2)
    config = machine.accept()
    machine.now += SETTINGS.attempt_us - 1
    machine.hello(member(1))
    machine.hear(member(1), digest_of(machine, config))
    machine.now += SETTINGS.attempt_us - 1
    machine.hello(member(1))
    machine.membership.handle(machine.now, WAKEUP)
    assert machine.membership.state == State.RECOVER
    machine.now += 2
    machine.membership.handle(machine.now, WAKEUP)
    assert machine.membership.state == State.GATHER


def test_an_abandoned_attempt_does_not_fail_a_second_time() -> None:
    machine = Machine(me=2)
    machine.accept()
    found: list[str] = []
    for _ in range(6):
        machine.now += SETTINGS.attempt_us
        machine.hello(member(1))
        found += reasons(machine.membership.handle(machine.now, WAKEUP), Kind.TROUBLE)
    assert found == ["attempt_timeout"]


def test_an_id_once_proposed_keeps_its_members() -> None:
    """D5: who comes late is for the next attempt; two lists under one id would be two views."""
    machine = Coordinator()
    proposed = {machine.attempt: {one.parts for _, one in sent(machine.effects, Propose)}}
    for _ in range(40):
        machine.now += SETTINGS.hello_us
        effects = machine.hello(member(2), leader=1)
        effects += machine.hello(member(3), leader=1)
        effects += machine.tell(WAKEUP)
        for _, one in sent(effects, Propose):
            proposed.setdefault(one.config, set()).add(one.parts)
    assert len(proposed) > 1, "the newcomer was asked in another attempt"
    assert all(len(parts) == 1 for parts in proposed.values())
