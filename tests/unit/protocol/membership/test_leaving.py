"""A daemon that stops says so, and nobody waits until it is missed."""

from antiphon.core.effects import Install, Recovered, Word
from antiphon.core.machine import WAKEUP
from antiphon.core.trace import Kind
from antiphon.protocol.membership.membership import State
from antiphon.wire.control import Hello, Leaving, Propose, Ready
from tests.unit.protocol.membership.test_coordinator import Coordinator, reasons
from tests.unit.protocol.membership.test_membership import (
    SETTINGS,
    Machine,
    drops,
    member,
    of_kind,
    sent,
)


def pair() -> Coordinator:
    """Daemon 1, in one configuration with 2."""
    machine = Coordinator()
    machine.hold()
    machine.state_of(2)
    machine.tell(Recovered(machine.attempt))
    assert of_kind(machine.hear(member(2), Ready(machine.attempt)), Install)
    return machine


def settle(machine: Machine) -> list[Word]:
    """Nobody says anything, for as long as a wish must stand."""
    effects: list[Word] = []
    end = machine.now + SETTINGS.settle_us
    while machine.membership.deadline() <= end:
        machine.now = machine.membership.deadline()
        effects += machine.membership.handle(machine.now, WAKEUP)
    return effects


def test_a_goodbye_is_one_word_to_all() -> None:
    assert sent(Machine().membership.leave(), Leaving) == [(0, Leaving())]


def test_the_others_go_on_without_it_as_soon_as_the_wish_has_settled() -> None:
    machine = pair()
    effects = machine.hear(member(2), Leaving())
    assert machine.membership.state == State.OPERATIONAL, "the ring was not in trouble"
    effects += settle(machine)
    assert reasons(effects, Kind.TROUBLE) == []
    assert reasons(effects, Kind.ATTEMPT) == ["left"]
    assert machine.membership._attempt is not None
    assert machine.membership._attempt.reason == "2 has left"


def test_without_a_goodbye_nothing_changes_so_soon() -> None:
    assert reasons(settle(pair()), Kind.ATTEMPT) == []


def test_a_hello_that_the_goodbye_has_overtaken_is_refused() -> None:
    machine = pair()
    machine.hear(member(2), Leaving())
    assert drops(machine.hello(member(2), leader=1)) == ["old_incarnation"]
    assert drops(machine.hello(member(2, life=2), leader=1)) == []


def test_who_is_heard_long_after_its_goodbye_is_believed() -> None:
    """Somebody else has said it in its name."""
    machine = pair()
    machine.hear(member(2), Leaving())
    machine.now += SETTINGS.hear_us + 1
    assert drops(machine.hello(member(2), leader=1)) == []
    assert not machine.membership._site.peers.has_left(member(2))


def test_a_goodbye_of_an_earlier_life_is_no_news() -> None:
    machine = Machine(me=1)
    machine.hello(member(2, life=2), leader=1)
    machine.hear(member(2, life=1), Leaving())
    (_, last) = sent(machine.run(SETTINGS.hello_us), Hello)[-1]
    assert isinstance(last, Hello) and member(2, life=2) in last.heard


def test_an_attempt_with_one_that_leaves_is_given_up_at_once() -> None:
    machine = Coordinator()
    effects = machine.hear(member(2), Leaving())
    assert reasons(effects, Kind.ABORT) == ["member_lost"]


def test_who_left_before_it_was_installed_is_not_waited_for() -> None:
    """Its last word came between those of an attempt that others finished."""
    machine = pair()
    machine.membership._site.peers.leave(machine.now, member(2))
    machine.membership._site.peers.trust_ring(
        machine.now, machine.membership.installed, machine.membership.installed.members[0]
    )
    assert machine.membership._site.peers.hellos(machine.now) == {}


def test_the_next_one_leads_when_the_leader_leaves() -> None:
    machine = Machine(me=2)
    machine.hello(member(1))
    machine.hear(member(1), Leaving())
    (_, last) = sent(machine.run(SETTINGS.hello_us), Hello)[-1]
    assert isinstance(last, Hello) and last.leader == 2
    assert sent(machine.run(SETTINGS.settle_us), Propose) == []
