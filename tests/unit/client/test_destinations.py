"""Sending to many groups: named at first, then by reference to a table."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.destinations import UNDEFINED_MAX, Destinations, Groups
from antiphon.client.events import Message
from antiphon.client.outbox import FEW
from antiphon.client.session import ClientSession
from antiphon.core import effects
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.wire.body import Destination, Table, letters, read_body, referring_parts
from antiphon.wire.client import (
    DefinedFrame,
    DefineFrame,
    ForgetFrame,
    MulticastFrame,
    TableFrame,
    Welcome,
)
from antiphon.wire.tables import PLACES_MAX
from tests.unit.client.sans_io import ME, OTHER, asked, deliver, fresh, tell, view_frame, welcomed

MANY = [f"g{number}" for number in range(FEW + 2)]


def send(session: ClientSession, *groups: str | Destination) -> None:
    for name in groups:
        session.multicast(name, f"to {name}".encode())


def read(frame: object, table: Table = ()) -> list[tuple[Destination, bytes]]:
    assert isinstance(frame, MulticastFrame)
    told = effects.Message(ME, 1, frame.count, frame.service, frame.body, False, table=table)
    return [(letter.groups, letter.payload) for letter in letters(told)]


def refers(frame: object, table: Table) -> bool:
    assert isinstance(frame, MulticastFrame)
    return read_body(frame.body, frame.count, table).refers


def named(*groups: str) -> list[tuple[Destination, bytes]]:
    return [((name,), f"to {name}".encode()) for name in groups]


def with_table(*more: str) -> tuple[ClientSession, Table]:
    """A session whose daemon has all its destinations."""
    session = welcomed()
    send(session, *MANY, *more)
    _, define = asked(session)
    assert isinstance(define, DefineFrame)
    tell(session, DefinedFrame(len(define.destinations)))
    return session, define.destinations


def test_many_groups_are_named_once_and_then_referred_to() -> None:
    session = welcomed()
    send(session, *MANY)
    first, define = asked(session)
    assert read(first) == named(*MANY)
    assert define == DefineFrame(tuple((name,) for name in MANY))
    send(session, *MANY)
    (meanwhile,) = asked(session)
    assert read(meanwhile) == named(*MANY), "the daemon has not said that it has them"
    tell(session, DefinedFrame(len(MANY)))
    send(session, *reversed(MANY))
    (last,) = asked(session)
    assert refers(last, define.destinations)
    assert read(last, define.destinations) == named(*reversed(MANY))


def test_few_groups_are_named_each_time() -> None:
    session = welcomed()
    for _ in range(3):
        send(session, *MANY[:FEW])
        (frame,) = asked(session)
        assert read(frame) == named(*MANY[:FEW])


def test_one_group_is_named_though_it_is_in_the_table() -> None:
    """Its head is short, and the same each time."""
    session, table = with_table()
    send(session, MANY[3], MANY[3])
    (frame,) = asked(session)
    assert not refers(frame, table) and read(frame) == named(MANY[3], MANY[3])


def test_a_group_that_is_not_in_the_table_makes_its_bundle_name_all() -> None:
    session, table = with_table()
    send(session, *MANY, "new")
    frame, define = asked(session)
    assert read(frame) == named(*MANY, "new")
    assert define == DefineFrame((("new",),))
    tell(session, DefinedFrame(len(MANY) + 1))
    send(session, "new", *MANY)
    (last,) = asked(session)
    assert read(last, (*table, ("new",))) == named("new", *MANY)


@pytest.mark.parametrize("service", [Service.UNRELIABLE, Service.RELIABLE, Service.CAUSAL])
def test_what_comes_out_of_turn_names_its_groups(service: Service) -> None:
    """It may be delivered where the table is not known yet."""
    session, table = with_table()
    for name in MANY:
        session.multicast(name, b"", service)
    (frame,) = asked(session)
    assert not refers(frame, table)


def test_a_daemon_that_has_no_room_is_asked_no_more() -> None:
    session = welcomed()
    send(session, *MANY)
    asked(session)
    tell(session, DefinedFrame(0))
    assert session.numbering.sent == len(MANY), "what was refused took no number"
    send(session, *MANY, "new")
    (frame,) = asked(session)
    assert read(frame) == named(*MANY, "new")


def test_what_is_defined_takes_a_number() -> None:
    session, _ = with_table()
    assert session.numbering.sent == len(MANY) + 1


def test_an_older_daemon_is_told_of_no_table() -> None:
    session = fresh()
    session.data_to_send()
    tell(session, Welcome(2, ME, "three", 1 << 20))
    send(session, *MANY)
    (frame,) = asked(session)
    assert read(frame) == named(*MANY)


def test_another_daemon_gets_by_name_what_was_left() -> None:
    old, _ = with_table()
    send(old, *MANY)
    old.outbox.close_bundle()
    send(old, MANY[0])
    old.connection_lost("gone")
    new = welcomed()
    new.resume(old)
    first, second = asked(new)
    assert read(first) == named(*MANY) and read(second) == named(MANY[0])


def test_destinations_are_checked_before_they_are_remembered() -> None:
    session = welcomed()
    for bad in ("", "a#b", (), ["g", 5], [["g"]], ("g",) * 101):
        with pytest.raises(UsageError) as refused:
            session.multicast(bad, b"")
        assert refused.value.code == "bad_group"
    assert session.outbox.destinations.all == []


@pytest.mark.parametrize("ways", list(permutations(("g", ("g",), ["g"]))))
def test_a_group_and_a_list_of_it_are_one_destination(ways: tuple[Groups, ...]) -> None:
    destinations = Destinations()
    assert {destinations.place_of(one) for one in ways} == {0}
    assert destinations.all == [("g",)]
    assert destinations.find("g") == destinations.find(("g",)) == 0


def test_what_is_forgotten_is_not_found_however_it_was_named() -> None:
    destinations = Destinations()
    ways: tuple[Groups, ...] = ("g", ("h",), ("g", "h"))
    assert [destinations.place_of(one) for one in ways] == [0, 1, 2]
    assert [destinations.find(one) for one in ways] == [0, 1, 2]
    destinations.forget()
    assert [destinations.find(one) for one in (*ways, "h")] == [None] * 4
    assert [destinations.place_of(one) for one in reversed(ways)] == [0, 1, 2]


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 40))
def test_a_place_is_found_in_whatever_order_it_is_asked_for(order: list[int], cut: int) -> None:
    """By the very name or an equal one, and anew when it was forgotten."""
    ways: list[Groups] = ["a", ("b",), "c", ("d", "e"), "f", "".join(["a", "f"])]
    destinations = Destinations()
    for way in ways:
        destinations.place_of(way)
    for at, number in enumerate(order):
        if at == cut:
            destinations.forget()
            assert [destinations.place_of(way) for way in ways] == [*range(len(ways))]
        assert destinations.find(ways[number]) == number
        way = ways[number]
        if isinstance(way, str):
            assert destinations.find("".join([*way])) == number


def test_only_so_many_are_remembered() -> None:
    session = welcomed()
    for number in range(PLACES_MAX + 2 * UNDEFINED_MAX):
        session.multicast(f"group {number}", b"")
    frames = asked(session)
    assert len(session.outbox.destinations.all) <= UNDEFINED_MAX + PLACES_MAX
    sent = [
        letter for frame in frames if isinstance(frame, MulticastFrame) for letter in read(frame)
    ]
    assert [groups for groups, _ in sent] == [
        (f"group {number}",) for number in range(PLACES_MAX + 2 * UNDEFINED_MAX)
    ]
    (define,) = [frame for frame in frames if isinstance(frame, DefineFrame)]
    tell(session, DefinedFrame(len(define.destinations)))
    send(session, "group 0", "group 1")
    (frame,) = asked(session)
    assert read(frame, define.destinations) == named("group 0", "group 1")


# Receiving.


def referring(*places: int, chosen: tuple[int, ...] = ()) -> effects.Message:
    payloads = [b"%d" % place for place in places]
    body = b"".join(referring_parts(places, [0] * len(places), payloads, "bob"))
    return effects.Message(OTHER, 1, len(places), Service.AGREED, body, False, chosen)


def test_what_refers_to_a_table_is_read_by_it() -> None:
    session = welcomed()
    tell(session, view_frame("g", 1), TableFrame(OTHER, 0, (("g",), ("x", "g"))))
    tell(session, TableFrame(OTHER, 2, (("g", "y"),)))
    session.events.clear()
    deliver(session, referring(2, 0, 1, chosen=(0, 2)))
    events = list(session.events)
    assert [(one.groups, one.payload) for one in events if isinstance(one, Message)] == [
        (("g", "y"), b"2"),
        (("x", "g"), b"1"),
    ]
    last = session.last.of("g")
    assert last is not None and last.number == 3


@pytest.mark.parametrize(
    "frames",
    [
        [],
        [TableFrame(OTHER, 1, (("g",),))],
        [TableFrame(OTHER, 0, (("g",),)), TableFrame(OTHER, 0, (("g",),))],
        [TableFrame(OTHER, 0, (("g",),)), ForgetFrame(OTHER)],
        [TableFrame(ME, 0, (("g",),))],
    ],
)
def test_a_daemon_that_refers_to_what_it_has_not_told_is_left(frames: list[TableFrame]) -> None:
    session = welcomed()
    tell(session, *frames)
    deliver(session, referring(0))
    assert session.ended == "bad_frame"


def test_messages_keep_the_view_in_which_they_came() -> None:
    """Also those of a long table, whose views are looked up when asked."""
    session = welcomed()
    table = tuple((name,) for name in [*MANY, *(f"h{number}" for number in range(20))])
    tell(session, view_frame(MANY[0], 1), view_frame(MANY[1], 2), TableFrame(OTHER, 0, table))
    session.events.clear()
    deliver(session, referring(0, 1, 2))
    tell(session, view_frame(MANY[0], 7))
    deliver(session, referring(0))
    messages = [event for event in session.events if isinstance(event, Message)]
    found = [None if one.view is None else one.view.position for one in messages]
    assert found == [1, 2, None, 7]
