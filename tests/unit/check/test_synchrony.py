"""D2, D4, D8, S2: who stays together sees the same."""

import pytest

from antiphon.core.service import Service
from tests.unit.check.story import Pair

RELIABLE_AND_STRONGER = list(Service)[1:]


@pytest.mark.parametrize("service", Service)
def test_a_daemon_that_delivers_in_another_configuration_breaks_d2(service: Service) -> None:
    story = Pair()
    message = story.send(story.ann, service, "g")
    story.receive(message, story.one, story.ann, story.bob)
    story.install(story.one, who=(story.one,))
    story.install(story.two, who=(story.two,))
    story.deliver(message, story.two)
    assert "D2" in story.broken()


def test_a_delivery_labelled_with_another_configuration_than_sent_breaks_d2() -> None:
    story = Pair()
    message = story.send(story.ann, Service.UNRELIABLE, "g")
    new = story.install(story.one, story.two)
    story.deliver(message, story.two, config=new)
    assert story.broken() == ["D2"]


def test_a_stamping_in_another_configuration_breaks_d2() -> None:
    story = Pair()
    message = story.submit(story.ann, Service.UNRELIABLE, "g")
    story.stamp(message, config=story.mint())
    assert story.broken() == ["D2"]


@pytest.mark.parametrize("service", Service)
def test_a_session_that_gets_a_message_in_another_view_breaks_d2(service: Service) -> None:
    story = Pair()
    message = story.send(story.ann, service, "g")
    story.receive(message, story.one, story.two, story.ann)
    cid = story.session(story.two, 2)
    story.join("g", cid)
    story.hand(message, story.bob)
    assert "D2" in story.broken(ended=False)


def test_a_hand_that_names_a_view_where_the_session_is_not_breaks_d2() -> None:
    story = Pair()
    message = story.send(story.ann, Service.UNRELIABLE, "g")
    old = story.view[story.bob, "g"]
    story.go_on()
    story.hand(message, story.bob, views=(old,))
    assert story.broken() == ["D2"]


def test_a_hand_without_its_view_breaks_d2() -> None:
    story = Pair()
    message = story.send(story.ann, Service.UNRELIABLE, "g")
    story.hand(message, story.bob, views=())
    assert story.broken() == ["D2"]


def test_a_message_to_nobody_that_arrives_breaks_d2_and_d8() -> None:
    story = Pair()
    message = story.submit(story.ann, Service.UNRELIABLE, "h")
    story.stamp(message)
    story.join("h", story.bob)
    story.hand(message, story.bob)
    assert story.broken() == ["D2", "D8"]


def test_the_transitional_part_of_a_view_is_the_same_view() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    story.turn(story.one, story.two, along=(story.one, story.two))
    story.signal("g", story.ann, story.bob)
    story.receive(message, *story.everybody)
    story.go_on()
    assert story.broken() == []


@pytest.mark.parametrize("service", RELIABLE_AND_STRONGER)
def test_daemons_together_with_different_messages_break_d4(service: Service) -> None:
    story = Pair()
    message = story.send(story.ann, service, "h")
    story.deliver(message, story.one)
    story.turn(story.one, story.two, along=(story.one, story.two))
    story.go_on()
    broken = set(story.broken())
    assert "D4" in broken
    assert broken <= {"D4", "S2", "S6"}
    assert ("S2" in broken) == (service == Service.RELIABLE)


def test_daemons_that_part_may_have_different_messages() -> None:
    story = Pair()
    message = story.send(story.ann, Service.AGREED, "h")
    story.deliver(message, story.one)
    story.install(story.one)
    story.change("g", story.ann)
    story.install(story.two)
    story.change("g", story.bob)
    story.go_on()
    assert story.broken() == []


def test_the_daemons_own_messages_obey_d4() -> None:
    story = Pair()
    message = story.own(story.one)
    story.deliver(message, story.one)
    story.go_on()
    assert story.broken() == ["D4"]


@pytest.mark.parametrize("service", [Service.FIFO, Service.CAUSAL, Service.AGREED])
def test_sessions_together_with_different_messages_break_d4(service: Service) -> None:
    story = Pair()
    message = story.send(story.ann, service, "g")
    story.receive(message, story.one, story.two, story.ann)
    story.go_on()
    assert story.broken() == ["D4"]


def test_a_reliable_message_that_one_of_two_sessions_misses_breaks_s2_too() -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g")
    story.receive(message, story.one, story.two, story.ann)
    story.go_on()
    assert story.broken() == ["D4", "S2"]


def test_sessions_that_part_may_have_different_messages() -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g")
    story.receive(message, story.one, story.ann)
    story.install(story.one)
    story.change("g", story.ann)
    story.install(story.two)
    story.change("g", story.bob)
    story.go_on()
    assert story.broken() == []


def test_a_discarded_message_is_excused_at_its_sender_only() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    story.join("g", cid)
    message = story.send(story.ann, Service.FIFO, "g", detail="discard")
    story.receive(message, story.one, story.two, story.bob)
    story.install(story.one, story.two)
    story.change("g", story.ann, story.bob, cid)
    (violation,) = story.violations()
    assert (violation.promise, violation.process) == ("D4", "session 2/1/2")


@pytest.mark.parametrize(
    ("service", "promises"),
    [(Service.RELIABLE, ["D4", "D8", "S2"]), (Service.AGREED, ["D4", "D8"])],
)
def test_an_outsider_whose_message_one_member_misses_breaks_d8_too(
    service: Service, promises: list[str]
) -> None:
    story = Pair()
    cid = story.session(story.one, 2)
    message = story.send(cid, service, "g")
    story.receive(message, story.one, story.two, story.ann)
    story.go_on()
    assert story.broken() == promises


def test_an_outsider_whose_message_all_members_get_breaks_nothing() -> None:
    story = Pair()
    cid = story.session(story.one, 2)
    story.say(Service.SAFE, by=cid)
    story.go_on()
    assert story.broken() == []
