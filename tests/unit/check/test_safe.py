"""S6: what one delivers, all that count deliver."""

from antiphon.core.service import Service
from antiphon.core.trace import Kind
from tests.unit.check.story import Message, Pair


def safe_at_one(story: Pair) -> Message:
    """A safe message that only the first daemon and its session have."""
    message = story.send(story.ann, Service.SAFE, "g")
    story.receive(message, story.one, story.ann)
    return message


def test_a_member_that_goes_on_without_a_safe_message_breaks_s6() -> None:
    story = Pair()
    message = story.own(story.one, Service.SAFE)
    story.deliver(message, story.one)
    story.install(story.two)
    assert story.broken(ended=False) == ["S6"]
    story.stop(story.two)
    assert story.broken(ended=False) == ["S6"]


def test_a_member_that_is_up_at_the_end_owes_a_safe_message() -> None:
    story = Pair()
    story.deliver(story.own(story.one, Service.SAFE), story.one)
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2", "S6"]


def test_a_member_that_crashed_owes_no_safe_message() -> None:
    story = Pair()
    safe_at_one(story)
    story.stop(story.two)
    assert story.broken() == []


def test_a_member_that_never_came_owes_a_safe_message() -> None:
    story = Pair()
    story.install(story.one, story.two, who=(story.one,))
    story.deliver(story.own(story.one, Service.SAFE), story.one)
    assert story.broken(ended=False) == []
    assert story.broken() == ["S6"]


def test_a_comrade_without_a_safe_message_of_the_transitional_part_breaks_s6() -> None:
    story = Pair()
    message = story.own(story.one, Service.SAFE)
    story.turn(story.one, story.two, along=(story.one, story.two))
    story.deliver(message, story.one)
    story.install(story.one, story.two, who=(story.one,))
    story.turned.discard(story.two)
    story.install(story.two, who=())
    assert story.broken(ended=False) == []
    story.turned.add(story.two)
    story.install(story.two)
    assert story.broken(ended=False) == ["S6"]


def test_a_member_that_did_not_come_along_may_miss_the_transitional_part() -> None:
    story = Pair()
    message = story.own(story.one, Service.SAFE)
    story.turn(story.one, along=(story.one,))
    story.deliver(message, story.one)
    story.install(story.one)
    story.install(story.two)
    assert story.broken() == []


def test_a_session_that_goes_on_without_a_safe_message_breaks_s6() -> None:
    story = Pair()
    message = safe_at_one(story)
    story.deliver(message, story.two)
    story.install(story.one)
    story.install(story.two)
    story.change("g", story.ann)
    story.change("g", story.bob)
    assert story.broken() == ["S6"]


def test_a_session_in_the_view_at_the_end_owes_a_safe_message() -> None:
    story = Pair()
    story.deliver(safe_at_one(story), story.two)
    assert story.broken(ended=False) == []
    assert story.broken() == ["P2", "S6"]


def test_a_session_that_closed_or_leaves_owes_no_safe_message() -> None:
    story = Pair()
    story.deliver(safe_at_one(story), story.two)
    story.close(story.bob)
    assert story.broken() == []
    story = Pair()
    story.deliver(safe_at_one(story), story.two)
    story.leave("g", story.bob)
    assert story.broken() == []


def test_after_the_signal_only_comrades_owe_a_safe_message() -> None:
    story = Pair()
    message = story.send(story.ann, Service.SAFE, "g")
    story.turn(story.one, along=(story.one,))
    story.signal("g", story.ann)
    story.receive(message, story.one, story.ann)
    story.install(story.one)
    story.install(story.two)
    story.change("g", story.ann)
    story.change("g", story.bob)
    assert story.broken() == []


def test_without_the_signal_all_members_of_the_view_owe_a_safe_message() -> None:
    story = Pair()
    message = story.send(story.ann, Service.SAFE, "g")
    story.turn(story.one, along=(story.one,))
    story.receive(message, story.one, story.ann)
    story.install(story.one)
    story.install(story.two)
    story.change("g", story.ann)
    story.change("g", story.bob)
    assert story.broken() == ["S6"]
    assert story.violations()[0].process == "session 2/1/1"


def test_after_the_signal_a_session_of_a_comrade_without_a_safe_message_breaks_s6() -> None:
    story = Pair()
    message = story.send(story.ann, Service.SAFE, "g")
    story.turn(story.one, story.two, along=(story.one, story.two))
    story.signal("g", story.ann, story.bob)
    story.receive(message, story.one, story.two, story.ann)
    story.install(story.one, story.two, who=(story.one,))
    story.turned.discard(story.one)
    story.install(story.two)
    story.change("g", story.ann)
    story.change("g", story.bob)
    assert story.broken() == ["S6"]


def test_a_sender_that_discards_owes_nothing_of_its_own() -> None:
    story = Pair()
    message = story.send(story.ann, Service.SAFE, "g", detail="discard")
    story.receive(message, story.one, story.two, story.bob)
    assert story.broken() == []


def test_a_member_that_never_came_and_crashed_owes_nothing() -> None:
    story = Pair()
    story.install(story.one, story.two, who=(story.one,))
    story.deliver(story.own(story.one, Service.SAFE), story.one)
    story.stop(story.two)
    assert story.broken() == []


def view_that_bob_misses(story: Pair) -> None:
    """A safe message in a view that only ann installs, though bob is in it."""
    story.change("g", story.ann, story.bob, who=(story.ann,))
    message = story.send(story.ann, Service.SAFE, "h", "g")
    story.records[-1].views = (None, story.view[story.ann, "g"])
    story.receive(message, story.one, story.two, story.ann)


def test_a_session_that_never_came_to_the_view_owes_a_safe_message() -> None:
    story = Pair()
    view_that_bob_misses(story)
    assert story.broken(ended=False) == []
    assert story.broken() == ["S6"]


def test_a_session_that_never_came_to_the_view_and_is_gone_owes_nothing() -> None:
    story = Pair()
    view_that_bob_misses(story)
    story.close(story.bob)
    assert story.broken() == []
    story = Pair()
    story.tell(Kind.LEAVE, story.bob, groups=("g",))
    view_that_bob_misses(story)
    assert story.broken() == ["P2"]  # for the leave itself
