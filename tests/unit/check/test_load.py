"""P3, P4: nothing grows without bound, and one slow client harms nobody else."""

from antiphon.core.ids import SessionId, ViewId
from antiphon.core.trace import Cause, Kind
from tests.unit.check.story import Pair


def test_more_in_a_queue_than_its_limit_breaks_p3() -> None:
    story = Pair()
    story.tell(Kind.BACKLOG, story.bob, value=10, limit=10)
    assert story.broken() == []
    story.tell(Kind.BACKLOG, story.bob, value=11, limit=10)
    assert story.broken() == ["P3"]


def cut_off(story: Pair, who: SessionId, value: int = 10) -> None:
    story.close(who, reason="slow", value=value, limit=10)
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


def test_a_cut_off_session_that_was_leaving_anyway_is_not_waited_for() -> None:
    story = Pair()
    story.tell(Kind.LEAVE, story.bob, groups=("g",))
    cut_off(story, story.bob)
    assert story.broken() == []


def test_a_cut_off_session_may_have_left_and_joined_again_before() -> None:
    """Others see all of that later, one view after the other (site seed 20259)."""
    story = Pair()
    ann, bob = story.ann, story.bob
    last = story.view.pop((bob, "g"))
    story.tell(Kind.LEAVE, bob, groups=("g",))
    story.tell(Kind.LEFT, bob, groups=("g",), views=(last,))
    story.tell(Kind.JOIN, bob, groups=("g",))
    config, place = story.config[story.one], story.minted
    without, again, alone = (ViewId(config, place + at, 0) for at in (1, 2, 3))
    story.change("g", ann, bob, who=(bob,), view=again, cause=Cause.JOIN)
    cut_off(story, bob)
    story.change("g", ann, view=without, cause=Cause.LEAVE)
    story.change("g", ann, bob, who=(ann,), view=again, cause=Cause.JOIN)
    told = len(story.records)
    story.change("g", ann, view=alone, cause=Cause.DISCONNECT)
    assert "P3" not in story.broken()
    story.records[told:] = []
    story.change("g", ann, view=alone, cause=Cause.LEAVE)
    assert "P3" in story.broken()


def test_a_session_cut_off_at_my_own_daemon_leaves_by_disconnect() -> None:
    story = Pair()
    cid = story.session(story.one, 2)
    story.join("g", cid)
    cut_off(story, cid)
    story.change("g", story.ann, story.bob, cause=Cause.LEAVE)
    assert story.broken() == ["D7", "P3"]
