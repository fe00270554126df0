"""What clients of Spread's protocol are told, without sockets: news in, bytes out."""

from collections import Counter

import pytest

from antiphon.core.effects import (
    Closed,
    Flow,
    Joined,
    Left,
    Message,
    Transition,
    View,
)
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Labelled, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.daemon.dialect import News
from antiphon.daemon.spread import deliveries
from antiphon.daemon.spread.spread import Spread, SpreadDialect
from antiphon.wire.body import pack_body
from tests.real.rawspread import (
    AGREED,
    JOINED,
    NETWORK,
    SELF_DISCARD,
    Got,
    choice,
    cut,
    field,
    hello,
    read_view,
)

D1, D2, D3 = DaemonId(5), DaemonId(2), DaemonId(9)
ERA = 0x5C8D7AEF_6AFA0889
ID = bytes.fromhex("ef7a8d5c 8908fa6a 01000000")


def session(daemon: DaemonId, number: int) -> SessionId:
    return SessionId(daemon, Incarnation(1), number)


ALICE = session(D1, 3)


def view_id(position: int) -> ViewId:
    return ViewId(ConfigId(1, D1, Incarnation(1), 1), position, 0)


def spread() -> Spread:
    made = Spread(Counter())
    made.load(True, [(D1, "d1"), (D2, "d2"), (D3, "d3")], [])
    return made


def client(
    made: Spread, name: str = "alice", me: SessionId = ALICE, membership: bool = True
) -> SpreadDialect:
    dialect = made.dialect("", ("NULL",))
    list(dialect.hear(hello(name, membership) + choice("NULL")))
    dialect.welcome(me, "")
    return dialect


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


def one(data: bytes) -> Got:
    (got,), rest = cut(data)
    assert not rest
    return got


# Views.

JOIN_VIEW = View(
    "grp", view_id(7), ((ALICE, "alice"),), (ALICE,), Cause.JOIN, "", (((ALICE, "alice"),),), ERA, 1
)


def test_the_worked_example() -> None:
    expected = (
        (raw("80110080") + field("grp") + raw("01000000 80000080 38000000") + field("#alice#d1"))
        + (ID + raw("01000000 00000000 01000000"))
        + field("#alice#d1")
    )
    assert client(spread()).tell(JOIN_VIEW) == expected


@pytest.mark.parametrize(
    ("cause", "kind"), [(Cause.JOIN, 0x11), (Cause.LEAVE, 0x12), (Cause.DISCONNECT, 0x14)]
)
def test_a_light_view_names_who_moved(cause: Cause, kind: int) -> None:
    members = ((session(D2, 1), "bob"), (ALICE, "alice"), (session(D1, 4), "Zed"))
    moved = (((session(D3, 1), "cat"),),)
    view = View("g", view_id(8), members, (), cause, "", moved, ERA, 4)
    got = one(client(spread()).tell(view))
    assert got.kind == kind << 8
    assert got.groups == ("#Zed#d1", "#alice#d1", "#bob#d2")
    assert read_view(got.data) == (ID[:8] + raw("04000000"), (("#cat#d3",),), 0)


def merged(made: Spread) -> tuple[View, dict[str, SpreadDialect]]:
    """amy and zed at d1 and bob at d2 meet cat at d3, as it was seen at a daemon of Spread."""
    who = {
        "amy": session(D1, 1),
        "zed": session(D1, 2),
        "bob": session(D2, 1),
        "cat": session(D3, 1),
    }
    labelled = {name: (id, name) for name, id in who.items()}
    sets: tuple[tuple[Labelled, ...], ...] = (
        (labelled["cat"],),
        (labelled["bob"], labelled["amy"], labelled["zed"]),
    )
    members = tuple(sorted(labelled.values()))
    view = View("g", view_id(1), members, (), Cause.NETWORK, "evidence", sets, ERA, 1)
    return view, {name: client(made, name, id) for name, id in who.items()}


def test_after_a_merge_each_is_told_where_its_own_set_is() -> None:
    made = spread()
    view, clients = merged(made)
    told = {name: one(dialect.tell(view)) for name, dialect in clients.items()}
    members = ("#amy#d1", "#zed#d1", "#bob#d2", "#cat#d3")
    sets = (("#cat#d3",), ("#amy#d1", "#zed#d1", "#bob#d2"))
    for name, offset in (("amy", 36), ("zed", 36), ("bob", 36), ("cat", 0)):
        got = told[name]
        assert (got.kind, got.name, got.groups) == (NETWORK, "g", members)
        assert len(got.data) == 156
        assert read_view(got.data) == (ID, sets, offset)


def test_a_view_is_packed_once_for_all_who_are_told_of_it() -> None:
    made = spread()
    view, clients = merged(made)
    for dialect in clients.values():
        dialect.tell(view)
    assert made.deliveries.view(view) is made.deliveries.view(view)


def test_a_transition_names_the_view_that_was_told_last() -> None:
    dialect = client(spread())
    assert dialect.tell(Transition("grp", view_id(7))) == b""  # it was told of none
    dialect.tell(JOIN_VIEW)
    told = dialect.tell(Transition("grp", view_id(7)))
    assert told == raw("80200080") + field("grp") + raw("00000000 80000080 0c000000") + ID


def test_who_leaves_is_told_so_if_it_wants_views() -> None:
    told = client(spread()).tell(Left("grp"))
    assert told == raw("80020080") + field("grp") + raw("00000000 80000080 00000000")
    assert client(spread(), membership=False).tell(Left("grp")) == b""


@pytest.mark.parametrize("news", [Joined("g"), Flow(False), Flow(True), Closed("slow")])
def test_what_has_no_word_in_this_protocol_is_not_told(news: News) -> None:
    assert client(spread()).tell(news) == b""


def test_the_end_is_only_an_end() -> None:
    assert client(spread()).end("slow") == b""


# Messages.


def heard(dialect: SpreadDialect, told: Message) -> bytes:
    return b"".join(dialect.message(told))


def message(
    payloads: tuple[bytes, ...] = (b"x",),
    groups: tuple[str, ...] = ("g",),
    sender: str = "bob",
    origin: SessionId = ALICE,
    big_endian: bool = False,
    self_discard: bool = False,
    chosen: tuple[int, ...] = (),
    kinds: tuple[int, ...] = (),
) -> Message:
    count = len(payloads)
    body = pack_body((groups,), (0,) * count, kinds or (0,) * count, payloads, sender, big_endian)
    return Message(origin, 1, count, Service.AGREED, body, False, chosen, self_discard)


def test_messages_are_told_in_our_byte_order_with_the_senders_hint() -> None:
    dialect = client(spread())
    told = heard(dialect, message((b"hello",), big_endian=True, kinds=(-2,)))
    expected = raw("90000080") + field("#bob#d1") + raw("01000000 00fffe00 05000000") + field("g")
    assert told == expected + b"hello"
    told = heard(dialect, message((b"hello",), kinds=(-2,)))
    assert told == expected.replace(raw("00fffe00"), raw("80feff80")) + b"hello"


def test_a_bundle_is_told_message_by_message() -> None:
    payloads = tuple(bytes(size) for size in (0, 5, 5, 70))
    told = heard(client(spread()), message(payloads, kinds=(1, 2, 2, -1), self_discard=True))
    found, rest = cut(told)
    assert not rest
    kind = AGREED | SELF_DISCARD
    hints = [raw("80010080"), raw("80020080"), raw("80020080"), raw("80ffff80")]
    assert found == [
        Got(kind, "#bob#d1", ("g",), hint, payload)
        for hint, payload in zip(hints, payloads, strict=True)
    ]


def test_only_those_that_are_chosen_are_told() -> None:
    told = heard(client(spread()), message((b"a", b"b", b"c"), chosen=(0, 2)))
    assert [got.data for got in cut(told)[0]] == [b"a", b"c"]


def test_private_groups_are_named_by_their_daemons() -> None:
    got = one(heard(client(spread()), message(groups=("g", f"#bob#{D2}", "##a#b", "#x#77"))))
    assert got.groups == ("g", "#bob#d2", "a#b", "#x#77")


def test_each_message_of_a_bundle_has_its_own_groups() -> None:
    table = (("g", "h"), ("h",))
    body = pack_body(table, (1, 0, 1), (0, 0, 0), (b"1", b"2", b"3"), "bob")
    told = heard(client(spread()), Message(ALICE, 1, 3, Service.SAFE, body, False))
    assert [(got.kind, got.groups, got.data) for got in cut(told)[0]] == [
        (32, ("h",), b"1"),
        (32, ("g", "h"), b"2"),
        (32, ("h",), b"3"),
    ]


def test_what_two_clients_are_told_is_packed_once() -> None:
    made = spread()
    first, second = client(made), client(made, "bob", session(D1, 4))
    sent = message()
    again = Message(sent.origin, 1, 1, Service.AGREED, sent.body, False)
    assert first.message(sent)[0] is second.message(again)[0]
    other = Message(session(D2, 1), 1, 1, Service.AGREED, sent.body, False)
    assert one(heard(second, other)).name == "#bob#d2"


# Omissions.


@pytest.mark.parametrize(
    "sender", ["n" * 28, "with space", "größe"], ids=["long", "space", "not ascii"]
)
def test_a_sender_whose_name_does_not_fit_is_not_heard(sender: str) -> None:
    made = spread()
    assert heard(client(made), message((b"a", b"b"), sender=sender)) == b""
    assert made.counts == {"omitted: name": 2}


def test_a_sender_at_an_unknown_daemon_is_not_heard() -> None:
    made = spread()
    assert heard(client(made), message(origin=session(DaemonId(88), 1))) == b""
    assert made.counts == {"omitted: name": 1}


def test_a_message_to_a_group_whose_name_does_not_fit_is_left_out() -> None:
    made = spread()
    body = pack_body((("g", "l" * 32), ("g",)), (0, 1), (0, 0), (b"1", b"2"), "bob")
    told = heard(client(made), Message(ALICE, 1, 2, Service.AGREED, body, False))
    assert [got.data for got in cut(told)[0]] == [b"2"]
    assert made.counts == {"omitted: name": 1}


def test_a_message_that_is_too_long_is_left_out_and_not_cut() -> None:
    made = spread()
    most = 143_952 - 32
    told = heard(client(made), message((b"before", bytes(most), bytes(most + 1), b"after")))
    assert [len(got.data) for got in cut(told)[0]] == [6, most, 5]
    assert made.counts == {"omitted: size": 1}


def test_a_bundle_that_would_grow_beyond_measure_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deliveries, "PACKED_BYTES_MAX", 10_000)
    made = spread()
    groups = tuple(f"g{number}" for number in range(100))
    assert heard(client(made), message((b"",) * 4, groups)) == b""
    assert len(cut(heard(client(made), message((b"",) * 2, groups)))[0]) == 2
    assert made.counts == {"omitted: bulk": 4}


STRANGER = (session(D2, 8), "a name with spaces")


def test_members_whose_names_do_not_fit_are_not_listed() -> None:
    made = spread()
    members = ((ALICE, "alice"), STRANGER)
    view = View("g", view_id(1), members, (), Cause.JOIN, "", (((ALICE, "alice"),),), ERA, 2)
    got = one(client(made).tell(view))
    assert (got.kind, got.groups) == (JOINED, ("#alice#d1",))
    assert made.counts == {"omitted: member": 1}


def test_sets_keep_their_offsets_without_members_that_do_not_fit() -> None:
    made = spread()
    bob = session(D2, 1)
    sets: tuple[tuple[Labelled, ...], ...] = ((STRANGER,), ((bob, "bob"),), ((ALICE, "alice"),))
    members = ((ALICE, "alice"), (bob, "bob"), STRANGER)
    view = View("g", view_id(1), members, (), Cause.NETWORK, "", sets, ERA, 1)
    seen = read_view(one(client(made).tell(view)).data)
    assert (seen.sets, seen.offset) == ((("#bob#d2",), ("#alice#d1",)), 36)


def test_the_coming_and_going_of_one_whose_name_does_not_fit_is_not_told() -> None:
    made = spread()
    dialect = client(made)
    dialect.tell(JOIN_VIEW)
    members = ((ALICE, "alice"), STRANGER)
    view = View("grp", view_id(9), members, (), Cause.JOIN, "", ((STRANGER,),), ERA, 2)
    assert dialect.tell(view) == b""
    assert made.counts == {"omitted: member": 1, "omitted: view": 1}
    told = dialect.tell(Transition("grp", view_id(9)))
    assert told.endswith(ID)  # of the last view it knows
