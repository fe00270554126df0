"""P1 to P4: something good happens in the end, and nothing grows without bound."""

from typing import Any

from antiphon.core.ids import Member, SessionId
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind
from tests.unit.check.story import Pair


def reach(story: Pair, *members: Member, at: tuple[Member, ...] | None = None) -> None:
    for member in members if at is None else at:
        story.tell(Kind.REACH, member, members=members)


def quiet(story: Pair) -> None:
    story.tell(Kind.QUIET, story.one)
    story.time += 1000


def test_daemons_that_reach_each_other_in_two_configurations_break_p1() -> None:
    story = Pair()
    story.install(story.one)
    story.install(story.two)
    quiet(story)
    reach(story, story.one, story.two)
    assert story.broken() == ["P1"]
    assert story.broken(ended=False) == []


def test_a_configuration_with_somebody_out_of_reach_breaks_p1() -> None:
    story = Pair()
    quiet(story)
    reach(story, story.one)
    assert story.broken() == ["P1"]


def test_an_earlier_life_in_the_configuration_breaks_p1() -> None:
    story = Pair()
    story.stop(story.two)
    again = story.daemon(2, life=2)
    quiet(story)
    reach(story, story.one, again, at=(story.one,))
    assert story.broken() == ["P1"]


def test_an_install_late_in_the_quiet_time_breaks_p1() -> None:
    story = Pair()
    quiet(story)
    story.go_on()
    story.time += 900
    reach(story, story.one, story.two)
    assert story.broken() == ["P1"]


def test_an_install_early_in_the_quiet_time_is_what_p1_expects() -> None:
    story = Pair()
    quiet(story)
    story.go_on()
    story.time += 2000
    reach(story, story.one, story.two)
    assert story.broken() == []


def test_without_quiet_nothing_is_demanded_of_configurations() -> None:
    story = Pair()
    story.install(story.one)
    story.install(story.two)
    reach(story, story.one, story.two)
    assert story.broken() == []


def test_a_submitted_message_that_is_never_sent_breaks_p2() -> None:
    story = Pair()
    story.submit(story.ann, Service.RELIABLE, "g")
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2"]


def test_unreliable_messages_and_closed_sessions_break_no_p2() -> None:
    story = Pair()
    story.submit(story.ann, Service.UNRELIABLE, "g")
    story.submit(story.bob, Service.RELIABLE, "g")
    story.close(story.bob)
    assert story.broken() == []


def test_a_message_that_a_member_of_a_stable_configuration_misses_breaks_p2() -> None:
    story = Pair()
    message = story.own(story.one)
    story.deliver(message, story.one)
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2"]


def test_a_configuration_that_is_not_stable_owes_no_p2() -> None:
    story = Pair()
    message = story.send(story.ann, Service.AGREED, "h")
    story.deliver(message, story.one)
    story.submit(story.ann, Service.AGREED, "h")
    story.stop(story.two)
    assert story.broken() == []


def test_where_p1_is_broken_p2_is_not_asked_for() -> None:
    story = Pair()
    three = story.daemon(3)
    story.install(three)
    story.submit(story.ann, Service.AGREED, "g")
    quiet(story)
    reach(story, story.one, story.two, three)
    assert story.broken() == ["P1"]


def test_a_session_that_misses_a_message_in_its_last_view_breaks_p2() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    story.receive(message, story.one, story.two, story.ann)
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2"]


def test_an_outsider_whose_message_is_missed_in_the_last_view_breaks_d8_too() -> None:
    story = Pair()
    cid = story.session(story.one, 2)
    message = story.send(cid, Service.FIFO, "g")
    story.receive(message, story.one, story.two, story.ann)
    assert story.broken() == ["D8", "P2"]


def test_more_in_a_queue_than_its_limit_breaks_p3() -> None:
    story = Pair()
    story.tell(Kind.BACKLOG, story.bob, value=10, limit=10)
    assert story.broken() == []
    story.tell(Kind.BACKLOG, story.bob, value=11, limit=10)
    assert story.broken() == ["P3"]


def cut_off(story: Pair, who: SessionId, value: int = 10, **columns: Any) -> None:
    story.close(who, reason="slow", value=value, limit=10, **columns)
    story.view.pop((who, "g"))


def test_a_session_cut_off_with_room_in_its_queue_breaks_p3() -> None:
    story = Pair()
    cut_off(story, story.bob, value=9)
    story.change("g", story.ann, cause=Cause.DISCONNECT)
    assert story.broken() == ["P3"]


def test_a_session_cut_off_with_a_full_queue_is_as_promised() -> None:
    story = Pair()
    story.tell(Kind.BACKLOG, story.bob, value=10, limit=10)
    cut_off(story, story.bob, value=0)
    story.change("g", story.ann, cause=Cause.DISCONNECT)
    assert story.broken() == []


def test_a_cut_off_session_that_stays_in_the_view_breaks_p3() -> None:
    story = Pair()
    cut_off(story, story.bob)
    assert story.broken(ended=False) == []
    assert story.broken() == ["P3"]


def test_a_cut_off_session_that_leaves_by_another_cause_breaks_p3() -> None:
    story = Pair()
    cut_off(story, story.bob)
    story.install(story.one, story.two)
    story.change("g", story.ann)
    assert story.broken() == ["P3"]


def test_a_cut_off_session_may_vanish_with_its_daemon() -> None:
    story = Pair()
    cut_off(story, story.bob)
    story.install(story.one)
    story.change("g", story.ann)
    assert story.broken() == []


def test_more_in_the_buffers_than_their_limit_breaks_p4() -> None:
    story = Pair()
    story.tell(Kind.BUFFERS, story.one, value=8, limit=8)
    assert story.broken() == []
    story.tell(Kind.BUFFERS, story.one, value=9, limit=8)
    assert story.broken() == ["P4"]
