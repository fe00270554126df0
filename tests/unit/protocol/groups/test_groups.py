"""Groups: views with their causes, and who gets which message."""

import pytest

from antiphon.core.bundle import Bundle
from antiphon.core.effects import (
    Delivered,
    Ended,
    Installed,
    Join,
    Left,
    Multicast,
    Transition,
    Transitional,
)
from antiphon.core.ids import ConfigId, Configuration, private_group
from antiphon.core.positions import position
from antiphon.core.service import Service
from antiphon.protocol.groups.routing import TABLE_REMEMBERED_MAX
from antiphon.wire.body import letters, pack_body
from antiphon.wire.changes import LeaveGroup, pack_group_change
from tests.unit.protocol.groups.hall import Hall, member

HALL_STATES = 2
"""Group changes with which a hall of two begins: each daemon tells its state."""


def hall_of(*members: int, daemons: int = 2, group: str = "alpha") -> Hall:
    hall = Hall(daemons)
    for session in members:
        hall.open(session)
        hall.join(session, group)
    return hall


# Views.


def test_a_join_is_a_view_at_every_member_with_its_cause() -> None:
    """D7, SP-81: the newcomer stays together with itself alone, the others with each other."""
    hall = hall_of(11, 21, 22)
    assert hall.last_view(11) == ([11, 21, 22], [11, 21], "join")
    assert hall.last_view(21) == ([11, 21, 22], [11, 21], "join")
    assert hall.last_view(22) == ([11, 21, 22], [22], "join")
    assert [len(hall.views(one)) for one in (11, 21, 22)] == [3, 2, 1]


def test_all_members_see_the_same_view() -> None:
    """D5."""
    hall = hall_of(11, 21, 22)
    ids = {hall.views(one)[-1].id for one in (11, 21, 22)}
    names = {hall.views(one)[-1].members for one in (11, 21, 22)}
    assert len(ids) == len(names) == 1
    assert [label for _, label in names.pop()] == ["s11", "s21", "s22"]


def test_a_join_or_leave_costs_one_message() -> None:
    """SP-35."""
    hall = Hall()
    hall.open(11)
    for request in (Join(11, "alpha"), Join(11, "beta")):
        hall.ask(11, request)
    assert [bundle.control for bundle in hall.daemons[1].waiting] == [True, True]
    hall.order()
    hall.ask(11, Ended(11))
    assert len(hall.daemons[1].waiting) == 1, "out of all its groups by one message"


def test_a_leave_is_told_to_who_leaves_and_is_a_view_for_the_others() -> None:
    """D7, SP-82."""
    hall = hall_of(11, 21)
    hall.leave(11, "alpha")
    assert hall.daemons[1].told(11, Left) == [Left("alpha")]
    assert len(hall.views(11)) == 2
    assert hall.last_view(21) == ([21], [21], "leave")


def test_the_end_of_a_session_is_a_disconnect_in_all_its_groups() -> None:
    """D7, P3, SP-80."""
    hall = hall_of(11, 21)
    hall.join(11, "beta")
    hall.join(21, "beta")
    hall.end(11)
    ends = [(view.group, view.cause.value) for view in hall.views(21)[-2:]]
    assert ends == [("alpha", "disconnect"), ("beta", "disconnect")]
    assert hall.daemons[1].told(11, Left) == [], "nobody is there to be told"


def test_who_wants_no_views_gets_none_and_still_gets_messages() -> None:
    """SP-79."""
    hall = Hall()
    hall.open(11, membership=False)
    hall.join(11, "alpha")
    hall.send(11, "alpha")
    assert hall.views(11) == []
    assert hall.payloads(11) == [b"message"]


def test_a_leave_of_a_group_that_it_is_not_in_changes_nothing() -> None:
    """A peer's odd message, in the order like any other."""
    hall = hall_of(11, 21)
    before = len(hall.daemons[1].news)
    body = pack_group_change(LeaveGroup(22, "alpha"))
    bundle = Bundle(member(2), 22, 1, 1, Service.AGREED, body, control=True)
    hall.deliver(bundle, hall.daemons[2].config)
    assert len(hall.daemons[1].news) == before


def test_a_group_change_that_cannot_be_read_is_dropped() -> None:
    hall = hall_of(11, 21)
    before = len(hall.daemons[1].news)
    hall.deliver(
        Bundle(member(2), 22, 1, 1, Service.AGREED, b"\xff", control=True), hall.daemons[2].config
    )
    hall.send(21, "alpha")
    assert len(hall.daemons[1].news) == before + 1


# Messages.


def test_a_message_reaches_the_members_and_nobody_else() -> None:
    hall = hall_of(11, 21)
    hall.open(22)
    hall.send(11, "alpha")
    assert [hall.payloads(one) for one in (11, 21, 22)] == [[b"message"], [b"message"], []]


def test_a_non_member_may_send() -> None:
    """SP-92, D8: open groups; it does not get its own message."""
    hall = hall_of(11, 21)
    hall.open(12)
    hall.send(12, "alpha")
    assert [hall.payloads(one) for one in (11, 12, 21)] == [[b"message"], [], [b"message"]]


def test_a_message_to_several_groups_comes_once_and_names_them_all() -> None:
    """SP-89: the union of the groups, each member once."""
    hall = hall_of(11, 21)
    hall.join(21, "beta")
    hall.open(22)
    hall.join(22, "beta")
    hall.send(11, "alpha", "beta", "nobody")
    for one in (11, 21, 22):
        assert letters(hall.messages(one)[0])[0].groups == ("alpha", "beta", "nobody")
    assert [len(hall.payloads(one)) for one in (11, 21, 22)] == [1, 1, 1]


def test_a_bundle_is_cut_to_what_is_for_the_receiver() -> None:
    """Numbers, kinds and payloads of the messages that are for it."""
    hall = hall_of(11)
    hall.open(21)
    hall.join(21, "beta")
    hall.send(21, "beta", payload=b"before")
    hall.send_bundle(21, [(("alpha",), b"a0"), (("beta",), b"b1"), (("alpha", "beta"), b"ab2")])
    (message,) = hall.messages(11)
    told = letters(message)
    assert [one.payload for one in told] == [b"a0", b"ab2"]
    assert [one.kind for one in told] == [0, 2]
    assert [one.number - message.first for one in told] == [0, 2]
    assert hall.payloads(21)[-2:] == [b"b1", b"ab2"]


def test_who_gets_no_message_of_a_bundle_is_told_nothing() -> None:
    """Whoever packed it: a table may name destinations that no message uses."""
    hall = hall_of(11)
    hall.open(21)
    hall.join(21, "beta")
    body = pack_body((("alpha",), ("beta",)), (0, 0), (0, 0), (b"a0", b"a1"))
    hall.ask(21, Multicast(21, Service.AGREED, 2, body))
    hall.order()
    assert hall.payloads(11) == [b"a0", b"a1"]
    assert hall.messages(21) == []


def test_a_private_message_reaches_one_session() -> None:
    hall = hall_of(11, 21)
    hall.open(22)
    hall.send(11, private_group("s22", member(2).daemon))
    assert [hall.payloads(one) for one in (11, 21, 22)] == [[], [], [b"message"]]
    hall.send(11, private_group("s22", member(1).daemon))
    assert len(hall.payloads(22)) == 1, "the name belongs to a daemon"


def test_nobody_gets_the_private_messages_of_one_who_is_gone() -> None:
    hall = hall_of(11, 21)
    hall.open(22)
    hall.end(22)
    hall.send(11, private_group("s22", member(2).daemon))
    assert hall.payloads(22) == []


@pytest.mark.parametrize("others", [0, TABLE_REMEMBERED_MAX])
def test_a_remembered_route_follows_every_change(others: int) -> None:
    """A table, or each destination of a long one, is routed once per directory; joins, leaves, ends
    and openings change it."""
    hall = hall_of(11, 21)
    private = private_group("s12", member(1).daemon)
    nobody: list[tuple[tuple[str, ...], bytes]] = [
        ((f"nobody {number}",), b"") for number in range(others)
    ]

    def reached() -> list[int]:
        before = {one: len(hall.payloads(one)) for one in (11, 12, 21)}
        hall.send_bundle(21, [(("alpha", private), b"message"), *nobody])
        return [one for one in (11, 12, 21) if len(hall.payloads(one)) > before[one]]

    assert reached() == [11, 21]
    hall.open(12)
    assert reached() == [11, 12, 21]
    hall.leave(11, "alpha")
    assert reached() == [12, 21]
    hall.join(11, "alpha")
    assert reached() == [11, 12, 21]
    hall.end(12)
    assert reached() == [11, 21]
    hall.install(2)
    assert reached() == [21]


def test_self_discard_spares_the_sender_only() -> None:
    hall = hall_of(11, 12, 21)
    hall.send(11, "alpha", self_discard=True)
    assert [hall.payloads(one) for one in (11, 12, 21)] == [[], [b"message"], [b"message"]]


def test_numbers_count_messages_and_unreliable_ones_apart() -> None:
    """SP-53, SP-77."""
    hall = hall_of(11)
    hall.send_bundle(11, [(("alpha",), b"1"), (("alpha",), b"2")])
    hall.send(11, "alpha", service=Service.UNRELIABLE)
    hall.send(11, "alpha")
    hall.send(11, "alpha", service=Service.UNRELIABLE)
    numbers = [
        (one.service, tuple(letter.number for letter in letters(one))) for one in hall.messages(11)
    ]
    join = 1  # takes a number, too: it stands in line with the messages
    assert numbers == [
        (Service.AGREED, (join + 1, join + 2)),
        (Service.UNRELIABLE, (1,)),
        (Service.AGREED, (join + 3,)),
        (Service.UNRELIABLE, (2,)),
    ]


def test_a_message_comes_between_the_views_that_it_was_sent_between() -> None:
    """D2, D7."""
    hall = hall_of(11, 21)
    hall.send(21, "alpha", payload=b"before")
    hall.leave(21, "alpha")
    hall.send(21, "alpha", payload=b"after")
    kinds = [type(news).__name__ for _, news in hall.daemons[1].news]
    assert kinds == ["View", "View", "Message", "View", "Message"]


def test_an_unreliable_message_of_another_view_is_lost() -> None:
    """D2, S1: it waits for no view, so where its sender was in another one it is dropped."""
    hall = hall_of(11, 21)
    hall.send(21, "alpha", service=Service.UNRELIABLE, payload=b"in time")
    hall.open(12)
    hall.join(12, "alpha")
    late = Bundle(
        member(2), 21, 2, 1, Service.UNRELIABLE, body=b"", after_change=position(HALL_STATES + 2, 0)
    )
    late.body = pack_body((("alpha",),), (0,), (0,), (b"late",))
    hall.daemons[1].tell(Delivered(late, False))
    assert hall.payloads(11) == [b"in time"]
    late.after_change = position(HALL_STATES + 3, 0)
    hall.daemons[1].tell(Delivered(late, False))
    assert hall.payloads(11) == [b"in time", b"late"], "its sender had that view"


def test_an_unreliable_message_is_lost_if_one_of_its_views_is_another() -> None:
    """D2: a session that got it by the other group would take it for one of both."""
    hall = hall_of(11, 21)
    hall.join(11, "beta")
    between = position(HALL_STATES + 3, 0)
    hall.open(12)
    hall.join(12, "alpha")
    late = Bundle(member(2), 21, 1, 1, Service.UNRELIABLE, body=b"", after_change=between)
    late.body = pack_body((("alpha", "beta"),), (0,), (0,), (b"late",))
    hall.daemons[1].tell(Delivered(late, False))
    assert hall.payloads(11) == []
    late.body = pack_body((("beta",),), (0,), (0,), (b"beta only",))
    hall.daemons[1].tell(Delivered(late, False))
    assert hall.payloads(11) == [b"beta only"]


# Configurations.


def test_when_daemons_go_their_sessions_are_cut_from_every_group() -> None:
    """D6, D7: at once at the install, without any message."""
    hall = hall_of(11, 12, 21)
    hall.install(1)
    assert hall.last_view(11) == ([11, 12], [11, 12], "network")
    assert hall.daemons[1].told(11, Transition) != []
    assert hall.daemons[1].settled


def test_a_group_that_loses_nobody_sees_no_view() -> None:
    """D7: precise views."""
    hall = hall_of(11, 12)
    hall.open(21)
    before = len(hall.daemons[1].news)
    hall.install(1)
    assert len(hall.daemons[1].news) == before
    hall.install(1, 2)
    assert len(hall.daemons[1].news) == before


def test_after_a_merge_members_of_several_views_get_a_joint_one() -> None:
    """D5, D6: each is told who came with it from its own view."""
    hall = hall_of(11, 12, 21, 22)
    hall.install(1)
    hall.install(2)
    hall.install(1, 2)
    assert hall.last_view(11) == ([11, 12, 21, 22], [11, 12], "network")
    assert hall.last_view(22) == ([11, 12, 21, 22], [21, 22], "network")
    assert hall.views(11)[-1].id == hall.views(22)[-1].id


def test_daemons_that_come_together_share_what_stayed_the_same() -> None:
    """D6: three daemons, two of which were together all the time."""
    hall = hall_of(11, 21, 31, daemons=3)
    hall.install(1, 2, together=((1, 2),))
    assert hall.last_view(11) == ([11, 21], [11, 21], "network")
    hall.install(3)
    hall.install(1, 2, 3, together=((1, 2),))
    assert hall.last_view(11) == ([11, 21, 31], [11, 21], "network")
    assert hall.last_view(31) == ([11, 21, 31], [31], "network")


def test_a_merge_with_strangers_leaves_groups_of_one_side_alone() -> None:
    hall = Hall(2)
    hall.install(1)
    hall.install(2)
    hall.open(11)
    hall.join(11, "alpha")
    before = len(hall.views(11))
    hall.install(1, 2)
    assert len(hall.views(11)) == before
    hall.open(21)
    hall.send(21, "alpha")
    assert hall.payloads(11) == [b"message"], "and yet everybody knows them"


def moved(hall: Hall, session: int) -> list[list[str]]:
    return [[label for _, label in one] for one in hall.views(session)[-1].moved]


def standing(hall: Hall, session: int) -> tuple[int, int]:
    view = hall.views(session)[-1]
    return view.era, view.index


def test_a_view_tells_who_moved() -> None:
    """Of a join or leave the one session; of a change of the network every set that came."""
    hall = hall_of(11, 21, 31, daemons=3)
    assert moved(hall, 11) == moved(hall, 31) == [["s31"]]
    hall.leave(21, "alpha")
    assert moved(hall, 11) == [["s21"]]
    hall.join(21, "alpha")
    hall.install(1, 2, together=((1, 2),))
    assert moved(hall, 11) == [["s11", "s21"]]
    hall.install(3)
    hall.install(1, 2, 3, together=((1, 2),))
    assert sorted(moved(hall, 11)) == [["s11", "s21"], ["s31"]]
    assert moved(hall, 11) == moved(hall, 21) == moved(hall, 31)


def test_views_are_counted_from_the_last_that_the_network_made() -> None:
    hall = hall_of(11, 21)
    era, index = standing(hall, 11)
    assert index == 2 and standing(hall, 21) == (era, 2)
    hall.leave(21, "alpha")
    assert standing(hall, 11) == (era, 3)
    hall.join(21, "alpha")
    hall.install(1)
    hall.install(2)
    cut, other = standing(hall, 11), standing(hall, 21)
    assert cut[1] == other[1] == 1 and len({cut[0], other[0], era}) == 3
    hall.install(1, 2)
    joint = standing(hall, 11)
    assert joint == standing(hall, 21) and joint[1] == 1 and joint[0] not in (cut[0], other[0])


def test_an_era_goes_on_where_a_merge_changes_no_member() -> None:
    """Also for daemons that learn of the group only then."""
    hall = Hall(2)
    hall.install(1)
    hall.install(2)
    hall.open(11)
    hall.join(11, "alpha")
    era, index = standing(hall, 11)
    hall.install(1, 2)
    hall.open(21)
    hall.join(21, "alpha")
    assert standing(hall, 11) == standing(hall, 21) == (era, index + 1)


def test_where_nobody_is_new_nothing_is_exchanged() -> None:
    """SP-35: a daemon that goes costs no message at all on the group level."""
    hall = hall_of(11, 21, 31, daemons=3)
    coming = (member(1), member(2))
    for number in (1, 2):
        daemon = hall.daemons[number]
        daemon.tell(Transitional(coming))
        base, config = daemon.config, ConfigId(50, *member(1), 1)
        daemon.config, daemon.settled = config, False
        daemon.tell(Installed(Configuration(config, coming), base, coming, ""))
        assert daemon.settled and not daemon.states


def test_what_is_asked_during_the_exchange_waits_for_its_end() -> None:
    """TR-69 to TR-73: nothing is refused."""
    hall = hall_of(11, 21)
    hall.daemons[1].settled = False
    hall.send(11, "alpha", payload=b"meanwhile")
    assert hall.payloads(21) == []
    hall.install(1, 2, together=((1, 2),))
    assert hall.payloads(21) == [b"meanwhile"]


def test_a_transitional_signal_is_told_once_to_those_who_lose_somebody() -> None:
    """D6: a group that is not torn hears nothing of it."""
    hall = hall_of(11, 21)
    hall.join(11, "own")
    hall.daemons[1].tell(Transitional((member(1),)))
    signals = hall.daemons[1].told(11, Transition)
    assert [one.group for one in signals if isinstance(one, Transition)] == ["alpha"]


@pytest.mark.parametrize("lost", [1, 2])
def test_both_halves_of_a_split_call_their_views_differently(lost: int) -> None:
    """D5: two views with one id would be one view."""
    hall = hall_of(11, 21)
    hall.install(1)
    hall.install(2)
    assert hall.views(11)[-1].id != hall.views(21)[-1].id
    stays = 3 - lost
    assert hall.last_view(10 * stays + 1) == ([10 * stays + 1], [10 * stays + 1], "network")
