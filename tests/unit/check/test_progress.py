"""P1, P2: something good happens in the end."""

from antiphon.core.ids import Member
from antiphon.core.service import Service
from antiphon.core.trace import Kind
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


def three_sites() -> tuple[Pair, tuple[Member, ...]]:
    """Daemons 1 and 2 at one site, 3 at another, 4 at a third; the judges know only names."""
    story = Pair()
    return story, (story.one, story.two, story.daemon(3), story.daemon(4))


def test_sites_with_a_way_through_another_owe_one_configuration() -> None:
    """1 and 3 may have no edge: who said that they reach each other has seen to that."""
    story, everybody = three_sites()
    story.install(*everybody)
    quiet(story)
    reach(story, *everybody)
    assert story.broken() == []


def test_a_site_left_out_though_it_can_be_reached_breaks_p1() -> None:
    story, everybody = three_sites()
    story.install(*everybody[:3])
    story.install(everybody[3])
    quiet(story)
    reach(story, *everybody)
    found = [one for one in story.violations() if one.promise == "P1"]
    assert {one.process for one in found} == {f"daemon {number}/1" for number in (1, 2, 3, 4)}


def test_sites_parted_for_good_owe_one_configuration_each() -> None:
    story, (one, two, three, four) = three_sites()
    story.install(one, two, three)
    story.install(four)
    quiet(story)
    reach(story, one, two, three)
    reach(story, four)
    assert story.broken() == []
    story, (one, two, three, four) = three_sites()
    story.install(one, two, three, four)
    quiet(story)
    reach(story, one, two, three)
    reach(story, four)
    assert story.broken() == ["P1"], "they cannot all be in one"


def test_where_nothing_is_said_of_a_torn_site_the_others_are_still_judged() -> None:
    story, (one, two, three, four) = three_sites()
    story.install(one, two)
    story.install(three)
    story.install(four)
    quiet(story)
    reach(story, three, four)
    found = {violation.process for violation in story.violations()}
    assert found == {"daemon 3/1", "daemon 4/1"}


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


def view_at_the_end(story: Pair) -> None:
    quiet(story)
    reach(story, story.one, story.two)


def test_sessions_that_end_in_two_views_break_p1() -> None:
    story = Pair()
    story.change("g", story.ann, story.bob, who=(story.ann,))
    assert story.broken() == []
    view_at_the_end(story)
    assert story.broken() == ["P1"]


def test_a_last_view_with_a_closed_session_breaks_p1() -> None:
    story = Pair()
    story.close(story.bob)
    assert story.broken() == []
    view_at_the_end(story)
    assert story.broken() == ["P1"]


def test_a_join_that_nothing_comes_of_breaks_p2() -> None:
    story = Pair()
    story.tell(Kind.JOIN, story.bob, groups=("h",))
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2"]
    story.tell(Kind.REFUSE, story.bob, reason="no_such_right")
    assert story.broken() == []


def test_a_leave_that_nothing_comes_of_breaks_p2() -> None:
    story = Pair()
    story.tell(Kind.LEAVE, story.bob, groups=("g",))
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2"]


def test_requests_of_who_is_gone_break_no_p2() -> None:
    story = Pair()
    story.tell(Kind.JOIN, story.ann, groups=("h",))
    story.tell(Kind.JOIN, story.bob, groups=("h",))
    story.close(story.ann)
    story.stop(story.two)
    assert story.broken() == []
