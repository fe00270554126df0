"""D1, D3, S1: nothing invented, nothing twice, nothing of one's own lost."""

import pytest

from antiphon.core.service import Service
from antiphon.core.trace import Kind
from tests.unit.check.story import Message, Pair

RELIABLE_AND_STRONGER = list(Service)[1:]


@pytest.mark.parametrize("service", RELIABLE_AND_STRONGER)
def test_a_daemon_that_delivers_a_message_twice_breaks_d1(service: Service) -> None:
    story = Pair()
    story.deliver(story.say(service), story.two)
    assert story.broken() == ["D1"]


@pytest.mark.parametrize("service", RELIABLE_AND_STRONGER)
def test_a_session_that_is_handed_a_message_twice_breaks_d1(service: Service) -> None:
    story = Pair()
    story.hand(story.say(service), story.bob)
    assert story.broken() == ["D1"]


def test_a_message_delivered_again_inside_a_larger_run_breaks_d1() -> None:
    story = Pair()
    message = story.say(Service.RELIABLE)
    larger = story.submit(story.ann, Service.RELIABLE, "g", count=2)
    story.stamp(larger)
    story.receive(larger, *story.everybody)
    story.deliver(larger, story.one, first=message.first, count=2)
    assert story.broken() == ["D1"]


def test_a_delivery_that_nobody_stamped_breaks_d1() -> None:
    story = Pair()
    invented = Message(story.ann, 7, 1, Service.AGREED, ("g",), 0)
    story.deliver(invented, story.one, config=story.first)
    assert story.broken() == ["D1"]


def test_a_delivery_before_the_stamping_breaks_d1() -> None:
    story = Pair()
    message = story.submit(story.ann, Service.AGREED, "g")
    story.deliver(message, story.two, config=story.first)
    story.stamp(message)
    story.receive(message, story.one, story.ann, story.bob)
    assert story.broken() == ["D1"]


def test_a_delivery_with_another_service_breaks_d1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g")
    story.deliver(message, story.one, service=int(Service.FIFO))
    story.receive(message, story.two, story.ann, story.bob)
    assert story.broken() == ["D1"]


def test_a_hand_that_nobody_submitted_breaks_d1() -> None:
    story = Pair()
    story.hand(Message(story.ann, 7, 1, Service.AGREED, ("g",), 0), story.bob)
    assert story.broken() == ["D1"]


def test_a_hand_before_the_stamping_breaks_d1() -> None:
    story = Pair()
    message = story.submit(story.ann, Service.AGREED, "g")
    story.hand(message, story.bob)
    story.stamp(message)
    story.receive(message, story.one, story.two, story.ann)
    assert story.broken() == ["D1"]


def test_a_hand_with_another_content_breaks_d1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    story.receive(message, story.one, story.two, story.ann)
    story.hand(message, story.bob, value=message.content + 1)
    assert story.broken() == ["D1"]


def test_a_hand_with_another_service_breaks_d1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    story.receive(message, story.one, story.two, story.ann)
    story.hand(message, story.bob, service=int(Service.RELIABLE))
    assert story.broken() == ["D1"]


def test_a_hand_cut_otherwise_than_submitted_breaks_d1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g", count=2)
    story.receive(message, story.one, story.two, story.ann)
    story.hand(message, story.bob, count=1)
    story.hand(message, story.bob, first=message.first + 1, count=1)
    assert story.broken() == ["D1"]


def test_a_hand_for_a_group_it_was_not_sent_to_breaks_d1_and_d2() -> None:
    story = Pair()
    story.join("h", story.bob)
    message = story.send(story.ann, Service.FIFO, "g")
    story.receive(message, story.one, story.two, story.ann)
    views = (story.view[story.bob, "g"], story.view[story.bob, "h"])
    story.hand(message, story.bob, groups=("g", "h"), views=views)
    assert story.broken() == ["D1", "D2", "D8"]


def test_a_message_stamped_twice_breaks_d1() -> None:
    story = Pair()
    message = story.say(Service.RELIABLE)
    story.stamp(message, sequence=77)
    assert story.broken() == ["D1"]


def test_a_stamping_without_submit_breaks_d1() -> None:
    story = Pair()
    message = Message(story.ann, 1, 1, Service.RELIABLE, ("g",), 5)
    story.stamp(message)
    story.deliver(message, story.one, story.two)
    assert "D1" in story.broken()
    (violation, *_) = story.violations()
    assert "nobody submitted" in violation.text


def test_two_messages_with_one_number_break_d1() -> None:
    story = Pair()
    story.say(Service.RELIABLE)
    story.numbers.clear()
    story.submit(story.ann, Service.RELIABLE, "g")
    assert story.broken() == ["D1"]


def test_unreliable_messages_have_numbers_of_their_own() -> None:
    story = Pair()
    first = [story.say(service).first for service in (Service.UNRELIABLE, Service.RELIABLE)]
    assert first == [1, 1]
    assert story.broken() == []


def test_one_bundle_stamped_in_rows_for_each_destination_is_one_stamping() -> None:
    story = Pair()
    story.join("h", story.ann, story.bob)
    to_g = story.submit(story.ann, Service.AGREED, "g", count=2)
    to_h = story.submit(story.ann, Service.AGREED, "h")
    story.stamp(to_g, to_h, sequence=1)
    whole = to_g._replace(count=3)
    story.deliver(whole, story.one, story.two, config=story.first, sequence=1)
    for message in (to_g, to_h):
        story.hand(message, story.ann, story.bob)
    assert story.broken() == []
    story.deliver(to_h, story.two, sequence=1)
    assert story.broken() == ["D1"]


def test_a_daemon_that_does_not_deliver_what_it_stamped_breaks_d3() -> None:
    story = Pair()
    story.install(story.one)
    story.change("g", story.ann)
    story.send(story.ann, Service.RELIABLE, "h")
    story.install(story.one)
    assert story.broken(ended=False) == ["D3"]


def test_a_daemon_that_is_up_at_the_end_owes_what_it_stamped() -> None:
    story = Pair()
    story.own(story.two)
    assert story.broken(ended=False) == []
    assert story.broken() == ["D3", "P2"]


def test_a_daemon_that_crashed_owes_nothing_of_its_own() -> None:
    story = Pair()
    story.own(story.two)
    story.stop(story.two)
    assert story.broken() == []


def test_a_session_that_does_not_get_its_own_message_breaks_d3() -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g")
    story.receive(message, story.one, story.two)
    story.go_on()
    assert story.broken(ended=False) == ["D3"]


def test_a_session_in_the_same_view_at_the_end_owes_its_own_message() -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g")
    story.receive(message, story.one, story.two, story.bob)
    assert story.broken(ended=False) == []
    assert story.broken() == ["D3", "P2"]


def test_self_discard_excuses_from_d3() -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g", detail="discard")
    story.receive(message, story.one, story.two, story.bob)
    story.go_on()
    assert story.broken() == []


@pytest.mark.parametrize("way", ["close", "leave", "stop"])
def test_who_goes_away_may_miss_its_own_message(way: str) -> None:
    story = Pair()
    message = story.send(story.ann, Service.RELIABLE, "g")
    story.receive(message, story.two, story.bob)
    if way == "stop":
        story.stop(story.one)
    else:
        story.deliver(message, story.one)
        if way == "leave":
            story.leave("g", story.ann)
        else:
            story.close(story.ann)
    assert story.broken() == []


def test_an_unreliable_message_delivered_twice_breaks_s1() -> None:
    story = Pair()
    story.deliver(story.say(Service.UNRELIABLE), story.two)
    assert story.broken() == ["S1"]


def test_an_unreliable_message_handed_twice_breaks_s1() -> None:
    story = Pair()
    story.hand(story.say(Service.UNRELIABLE), story.bob)
    assert story.broken() == ["S1"]


def test_an_unreliable_message_with_another_content_breaks_s1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.UNRELIABLE, "g")
    story.receive(message, story.two)
    story.hand(message, story.bob, value=0)
    assert story.broken() == ["S1"]


def test_an_unreliable_message_may_be_lost() -> None:
    story = Pair()
    story.receive(story.send(story.ann, Service.UNRELIABLE, "g"), story.one)
    story.go_on()
    assert story.broken() == []


def test_an_unreliable_message_that_waits_after_it_is_whole_breaks_s1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.UNRELIABLE, "g")
    story.tell(Kind.COMPLETE, story.two, **story.named(message))
    at_once = story.time
    story.deliver(message, story.two, time=at_once)
    assert story.broken() == []
    story.records[-1].time = at_once + 1
    assert story.broken() == ["S1"]


def test_an_unreliable_message_that_is_whole_and_never_delivered_breaks_s1() -> None:
    story = Pair()
    message = story.send(story.ann, Service.UNRELIABLE, "g")
    story.tell(Kind.COMPLETE, story.two, **story.named(message))
    assert story.broken() == ["S1"]
    story.tell(Kind.STOP, story.two, time=story.time)
    assert story.broken() == []
