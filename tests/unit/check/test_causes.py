"""D7: why a view changed, and where in the stream of messages."""

import pytest

from antiphon.core.ids import SessionId
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind
from tests.unit.check.story import Pair


def test_one_view_with_two_causes_breaks_d7() -> None:
    story = Pair()
    story.join("g", story.session(story.two, 2))
    assert story.broken() == []
    story.records[-1].reason = Cause.NETWORK.value
    assert story.broken() == ["D7"]


def test_a_join_that_was_not_asked_for_breaks_d7() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    story.change("g", story.ann, story.bob, cid, cause=Cause.JOIN)
    assert story.broken() == ["D7"]


def test_a_join_of_two_breaks_d7() -> None:
    story = Pair()
    cid, dan = story.session(story.two, 2), story.session(story.one, 2)
    for session in (cid, dan):
        story.tell(Kind.JOIN, session, groups=("g",))
    story.change("g", story.ann, story.bob, cid, dan, cause=Cause.JOIN)
    assert story.broken() == ["D7"]


def test_a_join_that_takes_somebody_away_breaks_d7() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    story.tell(Kind.JOIN, cid, groups=("g",))
    story.close(story.bob)
    story.change("g", story.ann, cid, cause=Cause.JOIN)
    assert story.broken() == ["D7"]


def test_a_join_of_nobody_breaks_d7() -> None:
    story = Pair()
    story.change("g", story.ann, story.bob, cause=Cause.JOIN)
    assert story.broken() == ["D7"]


def test_a_leave_that_was_not_asked_for_breaks_d7() -> None:
    story = Pair()
    story.close(story.bob)
    story.change("g", story.ann, cause=Cause.LEAVE)
    assert story.broken() == ["D7"]


def test_a_disconnect_of_a_session_that_did_not_close_breaks_d7() -> None:
    story = Pair()
    story.tell(Kind.LEAVE, story.bob, groups=("g",))
    story.change("g", story.ann, cause=Cause.DISCONNECT)
    assert story.broken(ended=False) == ["D7"]


def test_a_disconnect_before_the_close_breaks_d7() -> None:
    story = Pair()
    story.change("g", story.ann, cause=Cause.DISCONNECT)
    story.close(story.bob)
    assert story.broken() == ["D7"]


def test_a_session_that_enters_by_a_leave_breaks_d7() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    story.tell(Kind.JOIN, cid, groups=("h",))
    story.change("h", cid, cause=Cause.LEAVE)
    assert story.broken() == ["D7"]


def test_an_unknown_cause_breaks_d7() -> None:
    story = Pair()
    story.change("g", story.ann, story.bob, reason="weather")
    assert story.broken() == ["D7"]


def test_a_network_change_that_takes_a_session_of_my_own_daemon_breaks_d7() -> None:
    story = Pair()
    cid = story.session(story.one, 2)
    story.join("g", cid)
    story.close(cid)
    story.install(story.one, story.two)
    story.change("g", story.ann, story.bob, who=(story.bob,))
    assert story.broken(ended=False) == []
    story.change("g", story.ann, story.bob, view=story.view[story.bob, "g"], who=(story.ann,))
    assert "D7" in story.broken(ended=False)


@pytest.mark.parametrize("service", [Service.CAUSAL, Service.AGREED])
def test_a_view_in_two_places_between_messages_breaks_d7(service: Service) -> None:
    story = Pair()
    message = story.send(story.ann, service, "g")
    old = story.view[story.bob, "g"]
    story.receive(message, story.one, story.two, story.ann)
    story.go_on()
    story.hand(message, story.bob, views=(old,))
    assert "D7" in story.broken()


def test_a_reliable_message_has_no_place_relative_to_views_beyond_d4() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    old = story.view[story.bob, "g"]
    story.receive(message, story.one, story.two, story.ann)
    story.go_on()
    story.hand(message, story.bob, views=(old,))
    assert story.broken() == ["D2", "D4"]


def test_a_session_may_enter_by_a_network_change_only_if_it_asked_to() -> None:
    story = Pair()
    cid = story.session(story.two, 2)
    story.change("h", cid)
    assert story.broken() == ["D7"]
    story = Pair()
    cid = story.session(story.two, 2)
    story.tell(Kind.JOIN, cid, groups=("h",))
    story.change("h", cid)
    assert story.broken() == []


def test_a_join_of_a_session_that_never_opened_breaks_d7() -> None:
    story = Pair()
    ghost = SessionId(story.two.daemon, story.two.incarnation, 9)
    story.change("g", story.ann, story.bob, ghost, who=(story.ann, story.bob), cause=Cause.JOIN)
    assert story.broken() == ["D7"]
