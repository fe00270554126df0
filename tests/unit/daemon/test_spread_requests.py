"""What clients of Spread's protocol ask, without sockets: bytes in, requests out."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.effects import Disconnect, Join, Leave, Message, Multicast, Refused
from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.service import Service
from antiphon.daemon.dialect import Heard, Say
from antiphon.daemon.spread import bundling
from antiphon.daemon.spread.spread import Spread, SpreadDialect
from antiphon.wire.body import HEAD_BYTES_MAX, Letter, letters, read_body
from tests.real.rawspread import (
    AGREED,
    CAUSAL,
    FIFO,
    JOIN,
    KILL,
    LEAVE,
    REJECT,
    RELIABLE,
    SAFE,
    SELF_DISCARD,
    UNRELIABLE,
    Got,
    choice,
    cut,
    field,
    hello,
    packed,
    packed_big,
)

SESSION = SessionId(DaemonId(5), Incarnation(1), 3)
OWN = "#alice#d1"


def alice(counts: Counter[str] | None = None) -> SpreadDialect:
    spread = Spread(Counter() if counts is None else counts)
    spread.load(True, [(DaemonId(5), "d1"), (DaemonId(9), "d2")], [])
    dialect = spread.dialect("", ("NULL",))
    list(dialect.hear(hello("alice") + choice("NULL")))
    dialect.welcome(SESSION, "")
    return dialect


def heard(dialect: SpreadDialect, *pieces: bytes) -> list[Heard]:
    return [one for piece in pieces for one in dialect.hear(piece)]


def letters_of(request: Heard) -> list[Letter]:
    assert isinstance(request, Multicast)
    service, count, body = request.service, request.count, request.body
    assert read_body(body, count).sender == "alice"
    return letters(Message(SESSION, 1, count, service, body, False))


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


def test_the_worked_example() -> None:
    join = raw("80000180") + field(OWN) + raw("01000000 80000080 00000000") + field("grp")
    sent = (
        raw("d0000080")
        + field(OWN)
        + raw("02000000 80070080 02000000")
        + field("grp")
        + field("#bob#d1")
        + b"xy"
    )
    asked, multicast = heard(alice(), join + sent)
    assert asked == Join(3, "grp")
    assert isinstance(multicast, Multicast)
    assert (multicast.session, multicast.service, multicast.self_discard) == (
        3,
        Service.AGREED,
        True,
    )
    assert letters_of(multicast) == [Letter(1, ("grp", "#bob#5"), 7, b"xy")]
    assert not read_body(multicast.body, 1).big_endian


def test_a_big_endian_client_is_understood() -> None:
    sent = raw("00000010") + field(OWN) + raw("00000001 00fffe00 00000005") + field("g") + b"hello"
    (multicast,) = heard(alice(), sent)
    assert letters_of(multicast) == [Letter(1, ("g",), -2, b"hello")]
    assert isinstance(multicast, Multicast) and read_body(multicast.body, 1).big_endian


@pytest.mark.parametrize(
    ("bit", "service"),
    [
        (UNRELIABLE, Service.UNRELIABLE),
        (RELIABLE, Service.RELIABLE),
        (FIFO, Service.FIFO),
        (CAUSAL, Service.CAUSAL),
        (AGREED, Service.AGREED),
        (SAFE, Service.SAFE),
    ],
)
def test_each_service_is_ours(bit: int, service: Service) -> None:
    (multicast,) = heard(alice(), packed(bit, OWN, ["g"], b"x"))
    assert isinstance(multicast, Multicast) and multicast.service is service
    assert not multicast.self_discard


def test_requests_name_one_group() -> None:
    asked = heard(
        alice(),
        packed(JOIN, OWN, ["g", "ignored"]),
        packed_big(LEAVE, OWN, ["g"]),
        packed(KILL, OWN, [OWN]),
    )
    assert asked == [Join(3, "g"), Leave(3, "g"), Disconnect(3)]


STREAM = (
    packed(JOIN, OWN, ["g"])
    + packed(AGREED, OWN, ["g"], b"one", 1)
    + packed(AGREED, OWN, ["h", "#bob#d2"], b"", 2)
    + packed(SAFE, OWN, ["g"], b"three", 3)
    + packed_big(SAFE, OWN, ["g"], b"four", 4)
    + packed(LEAVE, OWN, ["g"])
)


def said(requests: list[Heard]) -> list[object]:
    """What is asked for, however it is bundled."""
    found: list[object] = []
    for request in requests:
        if isinstance(request, Multicast):
            found += [(request.service, *one[1:]) for one in letters_of(request)]
        else:
            found.append(request)
    return found


SAID = [
    Join(3, "g"),
    (Service.AGREED, ("g",), 1, b"one"),
    (Service.AGREED, ("h", "#bob#9"), 2, b""),
    (Service.SAFE, ("g",), 3, b"three"),
    (Service.SAFE, ("g",), 4, b"four"),
    Leave(3, "g"),
]


def test_at_every_split_the_same_is_asked() -> None:
    for at in range(1, len(STREAM)):
        assert said(heard(alice(), STREAM[:at], STREAM[at:])) == SAID
    assert said(heard(alice(), *(bytes([byte]) for byte in STREAM))) == SAID


def test_what_comes_with_the_greeting_is_asked_after_it() -> None:
    spread = Spread(Counter())
    spread.load(True, [(DaemonId(5), "d1"), (DaemonId(9), "d2")], [])
    dialect = spread.dialect("", ("NULL",))
    found = []
    for one in dialect.hear(hello("alice") + choice("NULL") + STREAM):
        found.append(one)
        if len(found) == 2:
            dialect.welcome(SESSION, "")
    assert said(found[2:]) == SAID


# Bundles.


def counts_of(requests: list[Heard]) -> list[int]:
    return [request.count for request in requests if isinstance(request, Multicast)]


def test_what_comes_together_and_is_of_one_kind_is_one_bundle() -> None:
    stream = b"".join(
        [
            *(packed(AGREED, OWN, [f"g{number % 3}"], b"x", number) for number in range(30)),
            *(packed(AGREED | SELF_DISCARD, OWN, ["g"], b"x") for _ in range(4)),
            *(packed_big(AGREED | SELF_DISCARD, OWN, ["g"], b"x") for _ in range(5)),
            *(packed(SAFE, OWN, ["g"], b"x") for _ in range(6)),
            packed(JOIN, OWN, ["g"]),
            *(packed(SAFE, OWN, ["g"], b"x") for _ in range(7)),
        ]
    )
    found = heard(alice(), stream)
    assert counts_of(found) == [30, 4, 5, 6, 7]
    first = letters_of(found[0])
    assert [letter.kind for letter in first] == list(range(30))
    assert [letter.groups for letter in first[:4]] == [("g0",), ("g1",), ("g2",), ("g0",)]


def test_bundles_are_cut_at_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    thousand = b"".join(packed(AGREED, OWN, ["g"], bytes(1000)) for _ in range(140))
    assert counts_of(heard(alice(), thousand)) == [66, 66, 8]
    monkeypatch.setattr(bundling, "MESSAGES_PER_BUNDLE_MAX", 3)
    few = b"".join(packed(AGREED, OWN, ["g"]) for _ in range(7))
    assert counts_of(heard(alice(), few)) == [3, 3, 1]


def test_destinations_are_bounded_by_number_and_bytes() -> None:
    many = b"".join(packed(AGREED, OWN, [f"g{number}"]) for number in range(1030))
    assert counts_of(heard(alice(), many)) == [1024, 6]
    groups: list[str | bytes] = [f"{number:031}" for number in range(100)]
    wide = b"".join(packed(AGREED, OWN, [f"{number:031}", *groups[1:]]) for number in range(50))
    found = heard(alice(), wide)
    assert sum(counts_of(found)) == 50 and len(found) > 2
    for request in found:
        assert isinstance(request, Multicast)
        assert int.from_bytes(request.body[:4]) <= HEAD_BYTES_MAX
        assert letters_of(request)


def test_groups_are_delivered_as_they_were_sent() -> None:
    """Also what is there twice, or is nobody's name."""
    counts: Counter[str] = Counter()
    groups: list[str | bytes] = ["g", "g", "a#b", "", b"\xff", "#bob#nowhere"]
    (multicast,) = heard(alice(counts), packed(AGREED, OWN, groups, b"x"))
    (letter,) = letters_of(multicast)
    assert letter.groups == ("g", "g", "##a#b", "##", "##\xff", "###bob#nowhere")
    assert counts["unreachable: strange group"] == 1


def test_a_message_to_no_group_goes_to_nobody() -> None:
    counts: Counter[str] = Counter()
    stream = packed(AGREED, OWN, [], b"x") + packed(AGREED, OWN, ["g"], b"y")
    (multicast,) = heard(alice(counts), stream, packed(JOIN, OWN, []), packed(LEAVE, OWN, []))
    assert [letter.payload for letter in letters_of(multicast)] == [b"y"]
    assert counts["unreachable: no group"] == 3


def test_a_hundred_groups_and_the_longest_message_pass() -> None:
    groups: list[str | bytes] = [f"g{number}" for number in range(100)]
    (multicast,) = heard(alice(), packed(AGREED, OWN, groups, bytes(143_952 - 3200)))
    (letter,) = letters_of(multicast)
    assert len(letter.groups) == 100 and len(letter.payload) == 140_752


# Refusals.


def answered(
    dialect: SpreadDialect, data: bytes, refuses: Callable[[Heard], str]
) -> tuple[list[Heard], list[Got]]:
    """With a node that refuses some requests: what it was asked, and what the client is told."""
    asked, told = [], b""
    for request in dialect.hear(data):
        if isinstance(request, Say):
            told += request.data
            continue
        asked.append(request)
        code = refuses(request)
        if code:
            told += dialect.tell(Refused(code, "what", "remedy"))
    return asked, cut(told)[0]


@pytest.mark.parametrize("code", ["not_allowed", "bad_group", "too_many_groups", "queue_full"])
def test_a_join_that_is_refused_comes_back(code: str) -> None:
    join = packed(JOIN, OWN, ["g"], hint=0)
    _, (rejected,) = answered(alice(), join, lambda request: code)
    assert rejected == Got(REJECT, OWN, ("g", OWN), raw("80000080"), b"", 0x100)


@pytest.mark.parametrize("code", ["already_joined", "not_joined"])
def test_joining_and_leaving_twice_is_no_mistake(code: str) -> None:
    stream = packed(JOIN, OWN, ["g"]) + packed(LEAVE, OWN, ["g"])
    assert answered(alice(), stream, lambda request: code)[1] == []


def test_a_group_that_cannot_be_is_refused_like_any_other() -> None:
    asked, told = answered(alice(), packed(JOIN, OWN, ["a#b"]), lambda request: "bad_group")
    assert asked == [Join(3, "##a#b")]
    assert [got.groups for got in told] == [("a#b", OWN)]


def test_messages_that_are_refused_come_back_one_by_one() -> None:
    stream = b"".join(packed(AGREED | SELF_DISCARD, OWN, ["g"], bytes([at]), 7) for at in range(3))
    _, told = answered(alice(), stream, lambda request: "not_allowed")
    kind = AGREED | SELF_DISCARD
    assert told == [
        Got(REJECT | SELF_DISCARD, OWN, ("g", OWN), raw("80070080"), bytes([at]), kind)
        for at in range(3)
    ]


def test_messages_to_other_groups_do_not_suffer_from_one_that_is_refused() -> None:
    places = ["yes", "no", "yes", "yes", "no"]
    stream = b"".join(packed(AGREED, OWN, [place], bytes([at])) for at, place in enumerate(places))

    def refuses(request: Heard) -> str:
        return "not_allowed" if any("no" in one.groups for one in letters_of(request)) else ""

    asked, told = answered(alice(), stream, refuses)
    granted = [one.payload for each in asked if not refuses(each) for one in letters_of(each)]
    assert granted == [b"\0", b"\2", b"\3"]
    assert [(got.data, got.groups) for got in told] == [(b"\1", ("no", OWN)), (b"\4", ("no", OWN))]


# What ends a session.

TOO_LONG = packed(AGREED, OWN, ["g"])[:44]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (packed(AGREED | SAFE, OWN, ["g"]), "two_services"),
        (packed(AGREED | JOIN, OWN, ["g"]), "two_services"),
        (packed(0, OWN, ["g"]), "no_service"),
        (packed(0x1000, OWN, ["g"]), "no_service"),
        (packed(AGREED, "#bob#d1", ["g"]), "foreign_sender"),
        (packed(AGREED, "#alice#d2", ["g"]), "foreign_sender"),
        (packed(AGREED, OWN, ["g"] * 101), "groups_count"),
        (raw("90000080") + field(OWN) + raw("ffffffff 80000080 00000000"), "groups_count"),
        (raw("90000080") + field(OWN) + raw("01000000 81000080 00000000"), "bad_hint"),
        (packed(AGREED, OWN, ["g"], bytes(143_921)), "too_long"),
        (TOO_LONG + raw("ffffffff"), "too_long"),
        (TOO_LONG + raw("00000080"), "too_long"),
        (packed(AGREED, OWN, [b"x" * 32]), "bad_field"),
        (raw("90000000") + packed(AGREED, OWN, ["g"])[4:], "bad_field"),
    ],
)
def test_what_breaks_the_protocol_ends_the_session_after_what_came_before(
    bad: bytes, reason: str
) -> None:
    dialect = alice()
    found = []
    with pytest.raises(DecodeError) as error:
        for one in dialect.hear(packed(AGREED, OWN, ["g"], b"before") + bad):
            found.append(one)
    assert error.value.reason == reason
    assert [letter.payload for letter in letters_of(found[0])] == [b"before"]
    assert dialect.refuse(reason, "", "") == b""


@given(st.lists(st.binary(max_size=200) | st.just(packed(AGREED, OWN, ["g"], b"x")), max_size=8))
def test_no_bytes_of_a_client_do_more_than_end_its_session(pieces: list[bytes]) -> None:
    dialect = alice()
    try:
        heard(dialect, *pieces)
    except DecodeError as error:
        assert error.reason


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
)
def test_no_header_does_either(kind: int, groups: int, hint: int, size: int) -> None:
    header = kind.to_bytes(4) + field(OWN) + b"".join(n.to_bytes(4) for n in (groups, hint, size))
    try:
        heard(alice(), header + bytes(100))
    except DecodeError as error:
        assert error.reason
