"""D5, D6: who is in it, and who came along."""

from antiphon.core.ids import NO_CONFIG, Member
from antiphon.core.service import Service
from antiphon.core.trace import Kind
from tests.unit.check.story import Pair, Story


def test_one_configuration_with_two_member_lists_breaks_d5() -> None:
    story = Story()
    one, two, three = (story.daemon(number) for number in (1, 2, 3))
    config = story.install(one, two, three, who=(one, three))
    story.install(two, three, who=(two,), config=config)
    assert story.broken() == ["D5"]


def test_a_daemon_outside_its_own_configuration_breaks_d5() -> None:
    story = Story()
    one, two = story.daemon(1), story.daemon(2)
    story.install(two, who=(one,))
    assert story.broken() == ["D5"]


def test_an_earlier_life_in_the_member_list_is_not_me() -> None:
    story = Story()
    again = story.daemon(1, life=2)
    story.install(Member(again.daemon, story.daemon(2).incarnation), who=(again,))
    assert story.broken() == ["D5"]


def test_a_configuration_installed_twice_breaks_d5() -> None:
    story = Story()
    one = story.daemon(1)
    story.install(one, config=story.install(one))
    assert story.broken() == ["D5"]


def test_one_view_with_two_member_lists_breaks_d5() -> None:
    story = Pair()
    story.install(story.one, story.two)
    view = story.change("g", story.ann, story.bob, who=(story.ann,))
    story.change("g", story.bob, who=(story.bob,), view=view, together=(story.ann, story.bob))
    assert story.broken() == ["D5"]


def test_two_groups_may_have_views_of_one_id() -> None:
    story = Pair()
    story.join("h", story.bob)
    story.install(story.one, story.two)
    view = story.change("g", story.ann, story.bob)
    story.change("h", story.bob, view=view)
    assert story.broken() == []


def test_a_session_outside_its_own_view_breaks_d5() -> None:
    story = Pair()
    story.install(story.one)
    story.install(story.two)
    story.change("g", story.ann, who=(story.ann,))
    story.change("g", story.ann, who=(story.bob,))
    assert "D5" in story.broken()


def test_a_view_installed_twice_breaks_d5() -> None:
    story = Pair()
    story.install(story.one, story.two)
    view = story.change("g", story.ann, story.bob)
    story.change("g", story.ann, story.bob, who=(story.ann,), view=view, together=(story.ann,))
    assert "D5" in story.broken()


def test_a_transitional_set_that_leaves_out_a_comrade_breaks_d6() -> None:
    story = Pair()
    story.turn(story.one, along=(story.one,))
    story.install(story.one, story.two)
    assert story.broken() == ["D6"]


def test_a_transitional_set_that_names_a_stranger_breaks_d6() -> None:
    story = Pair()
    three = story.daemon(3)
    story.install(three)
    story.turn(story.one, along=(story.one, story.two, three))
    story.install(story.one, story.two, three)
    assert story.broken() == ["D6"]


def test_a_daemon_that_parted_and_came_back_is_no_comrade() -> None:
    story = Pair()
    story.install(story.two)
    story.turn(story.one, along=(story.one, story.two))
    story.install(story.one, story.two)
    assert story.broken() == ["D6"]


def test_a_comrade_that_never_comes_may_be_named() -> None:
    story = Pair()
    story.turn(story.one, along=(story.one, story.two))
    story.install(story.one, story.two, who=(story.one,))
    story.stop(story.two)
    assert story.broken() == []


def test_an_install_without_transitional_set_breaks_d6() -> None:
    story = Pair()
    story.turned.add(story.one)
    story.install(story.one, story.two)
    assert story.broken() == ["D6"]


def test_an_install_that_names_a_wrong_base_breaks_d6() -> None:
    story = Pair()
    story.install(story.one, base=NO_CONFIG)
    assert story.broken() == ["D6"]


def test_a_transitional_set_for_another_configuration_breaks_d6() -> None:
    story = Pair()
    story.turn(story.one, along=(story.one,))
    story.records[-1].config = story.mint()
    story.install(story.one)
    assert story.broken() == ["D6"]


def test_a_delivery_on_the_wrong_side_of_the_turn_breaks_d6() -> None:
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    story.receive(message, story.two, story.ann, story.bob)
    story.deliver(message, story.one, transitional=True)
    assert story.broken() == ["D6"]
    story = Pair()
    message = story.send(story.ann, Service.FIFO, "g")
    story.receive(message, story.two, story.ann, story.bob)
    story.turn(story.one, along=(story.one, story.two))
    story.deliver(message, story.one, transitional=False)
    assert story.broken() == ["D6"]


def test_a_session_told_too_few_comrades_breaks_d6() -> None:
    story = Pair()
    story.install(story.one, story.two)
    view = story.change("g", story.ann, story.bob, who=(story.ann,), together=(story.ann,))
    story.change(
        "g",
        story.ann,
        story.bob,
        who=(story.bob,),
        view=view,
        together=(story.ann, story.bob),
    )
    assert story.broken() == ["D6"]


def test_a_session_told_too_many_comrades_breaks_d6() -> None:
    story = Pair()
    story.install(story.one)
    story.install(story.two)
    story.change("g", story.ann)
    story.change("g", story.bob)
    story.install(story.one, story.two)
    story.change("g", story.ann, story.bob)
    assert story.broken() == []
    story.records[-1].together = (story.ann, story.bob)
    assert story.broken() == ["D6"]


def test_a_session_that_enters_with_others_breaks_d6() -> None:
    story = Pair()
    story.records[-1].together = (story.ann, story.bob)
    assert story.records[-1].kind is Kind.VIEW
    assert story.broken() == ["D6"]


def test_a_view_that_does_not_follow_the_last_one_breaks_d6() -> None:
    story = Pair()
    story.install(story.one)
    story.change("g", story.ann)
    story.records[-1].views = (story.view[story.ann, "g"], None)
    assert story.broken() == ["D6"]


def test_a_signal_for_another_view_breaks_d6() -> None:
    story = Pair()
    old = story.view[story.ann, "g"]
    story.go_on()
    story.tell(Kind.SIGNAL, story.ann, groups=("g",), views=(old,))
    assert story.broken() == ["D6"]


def test_a_session_that_is_parted_without_a_signal_breaks_d6() -> None:
    story = Pair()
    story.install(story.one)
    story.change("g", story.ann, signal=False)
    assert story.broken() == ["D6"]
