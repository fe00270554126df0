"""What sessions have defined: the same at every daemon that gets a bundle which refers to it."""

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Defined
from antiphon.core.ids import GroupName, SessionId
from antiphon.core.service import Service
from antiphon.protocol.groups.directory import STANDINGS_MAX, Directory
from antiphon.protocol.groups.tables import Tables
from antiphon.wire.body import letters, referring_parts
from antiphon.wire.changes import DefineTable, pack_group_change
from antiphon.wire.tables import PLACES_MAX
from tests.unit.protocol.groups.hall import Hall, member

ALPHA, BETA, BOTH = ("alpha",), ("beta",), ("alpha", "beta")
SENDER = SessionId(*member(3), 31)


def hall_of_three() -> Hall:
    """Sessions at three daemons, in groups alpha, beta and both; 31 has defined all."""
    hall = Hall(3)
    for session, groups in ((11, ALPHA), (21, BETA), (22, BOTH), (31, ())):
        hall.open(session)
        for group in groups:
            hall.join(session, group)
    hall.define(31, ALPHA, BETA)
    hall.define(31, BOTH)
    return hall


def received(hall: Hall, session: int) -> list[tuple[bytes, tuple[GroupName, ...]]]:
    told = [letter for news in hall.messages(session) for letter in letters(news)]
    return [(letter.payload, letter.groups) for letter in told]


def test_a_table_grows_in_the_order_and_its_session_is_told() -> None:
    hall = hall_of_three()
    assert hall.of(31).told(31, Defined) == [Defined(2), Defined(3)]
    assert hall.of(11).told(11, Defined) == [], "it is nobody else's"


def test_messages_reach_the_groups_that_their_places_mean() -> None:
    hall = hall_of_three()
    hall.refer(31, 1, 0, 2, 1)
    assert received(hall, 11) == [(b"to 0", ALPHA), (b"to 2", BOTH)]
    assert received(hall, 21) == [(b"to 1", BETA), (b"to 2", BOTH), (b"to 1", BETA)]
    assert [payload for payload, _ in received(hall, 22)] == [b"to 1", b"to 0", b"to 2", b"to 1"]
    assert [news.chosen for news in hall.messages(22)] == [()], "all of them"
    assert received(hall, 31) == [], "it is in none"


def test_what_joins_and_leaves_change_holds_for_tables_too() -> None:
    hall = hall_of_three()
    hall.leave(11, "alpha")
    hall.join(11, "beta")
    hall.refer(31, 0, 1)
    assert received(hall, 11) == [(b"to 1", BETA)]


def test_newcomers_are_told_what_was_defined() -> None:
    """A daemon that was away while a session defined its table delivers what refers to it."""
    hall = hall_of_three()
    hall.install(1)
    hall.install(2, 3, together=((2, 3),))
    hall.define(31, ALPHA)
    hall.install(1, 2, 3, together=((2, 3),))
    assert all(daemon.settled for daemon in hall.daemons.values())
    hall.refer(31, 3, 1)
    assert received(hall, 11) == [(b"to 3", ALPHA)]
    assert received(hall, 21) == [(b"to 1", BETA)]


def test_what_waited_during_a_change_is_understood_after_it() -> None:
    hall = hall_of_three()
    hall.daemons[3].settled = False
    hall.refer(31, 0)
    assert received(hall, 11) == []
    hall.install(1, 2, 3)
    assert received(hall, 11) == [(b"to 0", ALPHA)]


def test_a_table_ends_with_its_session_and_with_its_daemon() -> None:
    hall = hall_of_three()
    tables = hall.daemons[1].groups._directory.tables
    assert len(tables.of(SENDER)) == 3
    hall.end(31)
    assert tables.of(SENDER) == ()
    hall = hall_of_three()
    hall.install(1, 2, together=((1, 2),))
    assert hall.daemons[1].groups._directory.tables.of(SENDER) == ()


def test_a_bundle_that_refers_to_nothing_is_dropped() -> None:
    """A peer's odd message, in the order like any other."""
    hall = hall_of_three()
    body = b"".join(referring_parts([3], [0], [b"to nobody"], "s31"))
    bundle = Bundle(member(3), 31, 3, 1, Service.AGREED, body)
    hall.deliver(bundle, hall.daemons[1].config)
    assert [received(hall, one) for one in (11, 21, 22)] == [[], [], []]


def test_a_table_has_an_end() -> None:
    hall = Hall(1)
    hall.open(11)
    hall.define(11, *[(f"g{number}",) for number in range(PLACES_MAX)])
    more = pack_group_change(DefineTable(11, (("one too many",),)))
    bundle = Bundle(member(1), 11, 2, 1, Service.AGREED, more, control=True)
    hall.deliver(bundle, hall.daemons[1].config)
    assert hall.of(11).told(11, Defined) == [Defined(PLACES_MAX)] * 2


def test_long_tables_are_told_in_several_states() -> None:
    """Whole daemons, as memberships are."""
    directory = Directory()
    members = tuple(map(member, (1, 2, 3)))
    many = tuple((f"g{number}",) for number in range(STANDINGS_MAX - 1))
    for one in members:
        directory.tables.define(SessionId(*one, 1), many)
    ranks = {one.daemon: place for place, one in enumerate(members, 1)}
    states = directory.states_of(members, ranks)
    assert [state.members for state in states] == [((1, 1),), ((2, 2),), ((3, 3),)]
    assert [table.destinations for state in states for table in state.tables] == [many] * 3


def test_names_of_a_table_are_told_once_and_anew_when_it_grows() -> None:
    tables = Tables()
    tables.define(SENDER, (ALPHA, BOTH))
    assert tables.names_of(SENDER) == ("alpha", "beta")
    tables.define(SENDER, (("gamma",),))
    assert tables.names_of(SENDER) == ("alpha", "beta", "gamma")
