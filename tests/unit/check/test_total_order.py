"""S5: one order of agreed and safe messages, without holes."""

import pytest

from antiphon.core.service import Service
from antiphon.core.trace import Kind
from tests.unit.check.story import Message, Pair, Story

ORDERED = [Service.AGREED, Service.SAFE]


@pytest.mark.parametrize("service", ORDERED)
def test_two_daemons_with_two_orders_break_s5(service: Service) -> None:
    story = Pair()
    first = story.send(story.ann, Service.AGREED, "g")
    second = story.send(story.bob, service, "g")
    story.receive(first, story.one)
    story.receive(second, story.two, story.one)
    story.receive(first, story.two)
    for message in (first, second):
        story.hand(message, story.ann, story.bob)
    assert story.broken() == ["S5"]
    (violation,) = story.violations()
    assert "daemon 1/1" in violation.text and "daemon 2/1" in violation.text


@pytest.mark.parametrize("service", ORDERED)
def test_two_sessions_with_two_orders_break_s5(service: Service) -> None:
    story = Pair()
    first = story.send(story.ann, Service.AGREED, "g")
    second = story.send(story.bob, service, "g")
    for message in (first, second):
        story.receive(message, story.one, story.two, story.ann)
    story.hand(second, story.bob)
    story.hand(first, story.bob)
    assert story.broken() == ["S5"]


def test_an_outsider_whose_message_is_out_of_order_breaks_d8_too() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    first = story.send(story.ann, Service.AGREED, "g")
    second = story.send(cid, Service.AGREED, "g")
    for message in (first, second):
        story.receive(message, story.one, story.two, story.ann)
    story.hand(second, story.bob)
    story.hand(first, story.bob)
    assert story.broken() == ["D8", "S5"]


def test_a_session_in_another_order_than_all_daemons_breaks_s5() -> None:
    story = Pair()
    first, second = (story.send(who, Service.AGREED, "g") for who in (story.ann, story.bob))
    for message in (first, second):
        story.receive(message, story.one, story.two)
    for message in (second, first):
        story.hand(message, story.ann, story.bob)
    assert story.broken() == ["S5"]


def test_the_order_is_one_across_groups() -> None:
    story = Pair()
    story.join("h", story.ann, story.bob)
    first = story.send(story.ann, Service.AGREED, "g")
    second = story.send(story.bob, Service.AGREED, "h")
    for message in (first, second):
        story.receive(message, story.one, story.two, story.ann)
    story.hand(second, story.bob)
    story.hand(first, story.bob)
    assert story.broken() == ["S5"]


def test_weaker_messages_have_no_common_order() -> None:
    story = Pair()
    first = story.send(story.ann, Service.CAUSAL, "g")
    second = story.send(story.bob, Service.AGREED, "g")
    story.receive(first, story.one, story.ann)
    story.receive(second, *story.everybody)
    story.receive(first, story.two, story.bob)
    assert story.broken() == []


def trio() -> tuple[Story, list[Message]]:
    """Three daemons that part; each has sent one message before."""
    story = Story()
    daemons = [story.daemon(number) for number in (1, 2, 3)]
    story.install(*daemons)
    return story, [story.own(daemon) for daemon in daemons]


def test_three_daemons_that_go_round_in_a_circle_break_s5() -> None:
    story, messages = trio()
    daemons = list(story.config)
    for place, daemon in enumerate(daemons):
        story.turn(daemon, along=(daemon,))
        story.deliver(messages[place], daemon)
        story.deliver(messages[(place + 1) % 3], daemon)
    assert story.broken(ended=False) == ["S5"]
    (violation,) = story.violations(ended=False)
    assert all(f"daemon {number}/1" in violation.text for number in (1, 2, 3))


def test_a_hole_in_the_regular_part_breaks_s5() -> None:
    story, (first, second, _) = trio()
    one, two, three = story.config
    story.deliver(first, one)
    story.deliver(second, one, three)
    assert story.broken(ended=False) == ["S5"]
    (violation,) = story.violations(ended=False)
    assert violation.process == "daemon 3/1"


def test_a_hole_of_a_comrade_in_the_transitional_part_breaks_s5() -> None:
    story, (first, second, _) = trio()
    one, two, three = story.config
    story.deliver(first, one)
    story.deliver(second, one)
    story.turn(three, along=(one, three))
    story.deliver(second, three)
    assert story.broken(ended=False) == ["S5"]


def test_a_hole_of_a_lost_sender_in_the_transitional_part_is_allowed() -> None:
    story, (first, second, _) = trio()
    one, two, three = story.config
    story.deliver(first, one)
    story.deliver(second, one)
    story.turn(three, along=(two, three))
    story.deliver(second, three)
    assert story.broken(ended=False) == []


def test_messages_that_no_delivery_relates_make_no_hole() -> None:
    story, (first, second, _) = trio()
    one, two, three = story.config
    story.deliver(first, one)
    story.deliver(second, three)
    assert story.broken(ended=False) == []


def test_a_hole_is_found_by_way_of_others() -> None:
    story, (first, second, third) = trio()
    one, two, three = story.config
    story.deliver(first, one)
    story.deliver(second, one)
    story.turn(two, along=(two,))
    story.deliver(second, two)
    story.deliver(third, two)
    story.deliver(second, three)
    story.deliver(third, three)
    found = {violation.process for violation in story.violations(ended=False)}
    assert found == {"daemon 3/1"}


def test_a_session_with_a_hole_breaks_s5() -> None:
    story = Pair()
    first, second = (story.send(who, Service.AGREED, "g") for who in (story.ann, story.bob))
    story.receive(first, story.one, story.two, story.ann)
    story.receive(second, *story.everybody)
    assert story.broken(ended=False) == ["S5"]
    assert story.violations(ended=False)[0].process == "session 2/1/1"


def test_a_session_with_a_hole_where_an_outsider_spoke_breaks_d8_too() -> None:
    story = Pair()
    cid = story.session(story.one, 2)
    first = story.send(cid, Service.AGREED, "g")
    story.receive(first, story.one, story.two, story.ann)
    story.say(Service.AGREED, by=story.bob)
    assert story.broken(ended=False) == ["D8", "S5"]


def test_a_lost_outsider_leaves_no_hole_in_a_group_that_stays_whole() -> None:
    story = Pair()
    three = story.daemon(3)
    story.install(story.one, story.two, three)
    story.change("g", story.ann, story.bob)
    cid = story.session(three)
    lost = story.send(cid, Service.AGREED, "g")
    kept = story.send(story.ann, Service.AGREED, "g")
    story.turn(three, along=(three,))
    story.receive(lost, three)
    story.receive(kept, three)
    story.turn(story.one, story.two, along=(story.one, story.two))
    story.receive(kept, *story.everybody)
    story.install(story.one, story.two)
    story.install(three)
    assert story.broken() == []


def test_a_session_may_discard_its_own_message_without_a_hole() -> None:
    story = Pair()
    first = story.send(story.ann, Service.AGREED, "g", detail="discard")
    story.receive(first, story.one, story.two, story.bob)
    story.say(Service.AGREED)
    assert story.broken() == []


def test_a_session_that_joined_later_has_no_hole() -> None:
    story = Pair()
    story.say(Service.AGREED)
    cid = story.session(story.two, 2)
    story.join("g", cid)
    story.everybody = (*story.everybody, cid)
    story.say(Service.AGREED)
    assert story.broken() == []
    assert story.records[-1].kind is Kind.HAND


def test_a_group_without_members_makes_nobody_an_outsider() -> None:
    story = Pair()
    first = story.send(story.ann, Service.AGREED, "empty", "g")
    second = story.send(story.bob, Service.AGREED, "empty", "g")
    for message in (first, second):
        story.receive(message, story.one, story.two, story.ann)
    story.hand(second, story.bob)
    story.hand(first, story.bob)
    assert story.broken() == ["S5"]


def test_a_message_delivered_again_in_the_next_configuration_spoils_no_order() -> None:
    """It has two places then; its first one counts, and the rest is judged all the same."""
    story = Pair()
    again = story.say(Service.AGREED)
    story.go_on()
    story.say(Service.AGREED)
    story.deliver(again, story.one)
    assert story.broken() == ["D1", "D2"]
