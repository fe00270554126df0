"""From one session to the next: what the gap says, and what goes over."""

from antiphon.client.events import Event, Gap, GroupGap, Left, Message, MessageId, View
from antiphon.client.session import ClientSession
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.wire.client import JoinFrame, LeftFrame, MulticastFrame, Refuse
from tests.unit.client.sans_io import (
    ME,
    OTHER,
    asked,
    bundle,
    deliver,
    tell,
    view_frame,
    view_id,
    welcomed,
)

NEXT = SessionId(DaemonId(8), Incarnation(1), 1)
THIRD = SessionId(DaemonId(9), Incarnation(1), 1)


def in_groups(*groups: str) -> ClientSession:
    """Joined in this order, with views 1, 2, ...; events taken."""
    session = welcomed()
    for position, group in enumerate(groups, 1):
        session.join(group)
        asked(session)
        tell(session, view_frame(group, position))
    session.events.clear()
    session.outcomes.clear()
    return session


def lose(old: ClientSession, id: SessionId = NEXT) -> ClientSession:
    old.connection_lost("connection_lost")
    new = welcomed(id=id)
    new.resume(old)
    return new


def drain(session: ClientSession) -> list[Event]:
    events = []
    while session.events:
        events.append(session.next_event())
    return events


def test_the_gap_comes_when_all_groups_are_rejoined_and_before_the_rest() -> None:
    old = in_groups("g", "h")
    deliver(old, bundle((("g",), b"last"), first=5))
    new = lose(old)
    assert asked(new) == [JoinFrame("g"), JoinFrame("h")]
    (last,) = drain(new)  # of the old session
    assert isinstance(last, Message)
    tell(new, view_frame("g", 11, NEXT))
    deliver(new, bundle((("g",), b"new"), first=9))
    assert not new.events
    tell(new, view_frame("h", 12, NEXT))
    gap, *after = drain(new)
    assert gap == Gap(
        "connection_lost",
        ME,
        NEXT,
        (
            GroupGap("g", view_id(1), MessageId(OTHER, 5, False), view_id(11), True),
            GroupGap("h", view_id(2), None, view_id(12), True),
        ),
        0,
    )
    assert [type(event) for event in after] == [View, Message, View]


def test_without_groups_the_gap_comes_at_once() -> None:
    new = lose(in_groups())
    (gap,) = drain(new)
    assert isinstance(gap, Gap) and gap.groups == ()


def test_what_was_not_handed_over_goes_to_the_new_session_and_the_rest_is_unconfirmed() -> None:
    old = in_groups("g")
    old.multicast("g", b"handed over")
    old.multicast("g", b"too")
    asked(old)
    old.multicast("g", b"not")
    new = lose(old)
    join, waiting = asked(new)
    assert isinstance(join, JoinFrame) and isinstance(waiting, MulticastFrame)
    assert waiting.count == 1 and b"not" in waiting.body
    tell(new, view_frame("g", 1, NEXT))
    gap = new.next_event()
    assert isinstance(gap, Gap) and gap.unconfirmed == 2


def test_a_join_under_way_is_asked_again_and_answered() -> None:
    old = in_groups()
    key = old.join("g")
    new = lose(old)
    assert asked(new) == [JoinFrame("g")]
    tell(new, view_frame("g", 4, NEXT))
    (outcome,) = new.outcomes
    assert outcome.key == key and outcome.value.id == view_id(4)
    gap = new.next_event()
    assert isinstance(gap, Gap)
    assert gap.groups == (GroupGap("g", None, None, view_id(4), missed=False),)


def test_a_leave_under_way_has_come_true() -> None:
    old = in_groups("g", "h")
    key = old.leave("g")
    new = lose(old)
    assert asked(new) == [JoinFrame("h")]
    assert [outcome.key for outcome in new.outcomes] == [key]
    assert drain(new) == [Left("g")]


def test_a_group_that_refuses_us_there_is_left() -> None:
    new = lose(in_groups("g", "h"))
    tell(new, Refuse("not_allowed", "no", "ask", "g"), view_frame("h", 7, NEXT))
    gap, view, left = drain(new)
    assert isinstance(gap, Gap) and gap.groups[0].first_view is None
    assert isinstance(view, View) and left == Left("g")


def test_a_loss_on_the_way_over_makes_one_larger_gap() -> None:
    old = in_groups("g", "h", "i")
    old.multicast("g", b"1")
    asked(old)
    middle = lose(old)
    asked(middle)
    tell(middle, view_frame("g", 11, NEXT), view_frame("h", 12, NEXT))
    deliver(middle, bundle((("g",), b"never seen"), first=9))
    middle.leave("h")
    middle.multicast("g", b"2")
    asked(middle)
    new = lose(middle, THIRD)
    assert asked(new) == [JoinFrame("g"), JoinFrame("i")]
    tell(new, view_frame("g", 21, THIRD), view_frame("i", 22, THIRD))
    left, gap, *after = drain(new)
    assert left == Left("h") and [type(event) for event in after] == [View, View]
    assert isinstance(gap, Gap) and (gap.before, gap.after, gap.unconfirmed) == (ME, THIRD, 2)
    assert gap.groups == (
        GroupGap("g", view_id(1), None, view_id(21), True),
        GroupGap("i", view_id(3), None, view_id(22), True),
    )


def test_a_group_that_was_left_is_not_in_the_gap() -> None:
    old = in_groups("g")
    old.leave("g")
    tell(old, LeftFrame("g"))
    new = lose(old)
    left, gap = drain(new)
    assert left == Left("g") and isinstance(gap, Gap) and gap.groups == ()
