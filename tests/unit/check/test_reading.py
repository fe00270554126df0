"""Lives, sessions and wishes, as records tell them."""

import pytest

from antiphon.core.ids import Incarnation
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind
from tests.unit.check.story import Pair


def test_a_new_life_ends_the_old_one_even_if_its_end_was_not_told() -> None:
    story = Pair()
    story.send(story.bob, Service.RELIABLE, "g")
    assert story.broken() == ["D3", "P2"]
    story.daemon(2, life=2)
    assert story.broken() == []


def test_a_driver_that_knows_no_incarnation_means_the_last_life() -> None:
    story = Pair()
    story.send(story.bob, Service.RELIABLE, "g")
    nameless = story.two._replace(incarnation=Incarnation(0))
    story.tell(Kind.START, nameless._replace(daemon=story.one.daemon))
    story.tell(Kind.STOP, nameless)
    assert story.violations() == []


def test_who_asked_to_leave_before_its_first_view_may_miss_what_it_sent() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    story.tell(Kind.JOIN, cid, groups=("g",))
    story.tell(Kind.LEAVE, cid, groups=("g",))
    story.change("g", story.ann, story.bob, cid, cause=Cause.JOIN)
    story.say(Service.RELIABLE, by=cid)
    last = story.view.pop((cid, "g"))
    story.tell(Kind.LEFT, cid, groups=("g",), views=(last,))
    story.change("g", story.ann, story.bob, cause=Cause.LEAVE)
    assert story.broken() == []


def test_who_left_may_come_back_and_then_owes_again() -> None:
    story = Pair()
    story.leave("g", story.bob)
    story.join("g", story.bob)
    story.say(Service.RELIABLE)
    assert story.broken() == []
    message = story.send(story.bob, Service.RELIABLE, "g")
    story.receive(message, story.one, story.two, story.ann)
    assert story.broken() == ["D3", "P2"]


def test_a_record_that_names_no_message_is_refused() -> None:
    story = Pair()
    story.submit(story.ann, Service.RELIABLE, "g", count=0)
    with pytest.raises(AssertionError, match="names no message"):
        story.violations()
