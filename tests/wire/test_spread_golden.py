"""Spread's client protocol, byte by byte as a daemon of Spread 5.0.1 was seen to speak it.

The bytes are written here by hand; none of them was made by the codec.
"""

from typing import NamedTuple

import pytest

from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.spread import handshake, views, words
from antiphon.wire.spread.messages import (
    Head,
    SpreadMessage,
    letterhead,
    pack_join,
    pack_kill,
    pack_leave,
    pack_message,
    pack_reject,
)
from antiphon.wire.spread.stream import MessageReader
from antiphon.wire.spread.views import GroupId, ViewBody
from antiphon.wire.spread.words import Code


def field(name: str) -> bytes:
    return name.encode() + bytes(32 - len(name))


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


GRP, ALICE, BOB = field("grp"), field("#alice#d1"), field("#bob#d1")
ID = raw("ef7a8d5c 8908fa6a 01000000")
GROUP_ID = GroupId(0x5C8D7AEF, 0x6AFA0889, 1)

JOIN = raw("80000180") + ALICE + raw("01000000 80000080 00000000") + GRP
LEAVE = raw("80000280") + ALICE + raw("01000000 80000080 00000000") + GRP
KILL = raw("80000480") + ALICE + raw("01000000 80000080 00000000") + ALICE
JOINED = (
    (raw("80110080") + GRP + raw("01000000 80000080 38000000") + ALICE)
    + (ID + raw("01000000 00000000 01000000"))
    + ALICE
)
LIGHT = {
    Cause.JOIN: JOINED,
    Cause.LEAVE: raw("80120080") + JOINED[4:],
    Cause.DISCONNECT: raw("80140080") + JOINED[4:],
}
SENT = raw("d0000080") + ALICE + raw("02000000 80070080 02000000") + GRP + BOB + b"xy"
JAVA = raw("00000010") + ALICE + raw("00000001 00fffe00 00000005") + GRP + b"hello"
JAVA_DELIVERED = raw("90000080") + ALICE + raw("01000000 00fffe00 05000000") + GRP + b"hello"
TRANSITION = raw("80200080") + GRP + raw("00000000 80000080 0c000000") + ID
SELF_LEAVE = raw("80020080") + GRP + raw("00000000 80000080 00000000")

AMY, ZED, BOB2, CAT = (field(name) for name in ("#amy#d1", "#zed#d1", "#bob#d2", "#cat#d3"))
MERGED_MEMBERS = ("#amy#d1", "#zed#d1", "#bob#d2", "#cat#d3")
SETS = raw("01000000") + CAT + raw("03000000") + AMY + ZED + BOB2


def merged(offset: str) -> bytes:
    """After healing; each receiver has its own offset."""
    top = raw("80180080") + GRP + raw("04000000 80000080 9c000000")
    return top + AMY + ZED + BOB2 + CAT + ID + raw("02000000") + raw(offset) + SETS


SURVIVED = (
    (raw("80180080") + GRP + raw("02000000 80000080 58000000") + AMY + ZED)
    + (ID + raw("01000000 00000000 02000000"))
    + (AMY + ZED)
)
REJECTED_JOIN = raw("80004080") + ALICE + raw("02000000 80000080 00000000 80010080") + GRP + ALICE


def read_one(data: bytes, own: str | None = None) -> SpreadMessage:
    (message,) = MessageReader(own).feed(data)
    return message


# The beginning of a session.


def test_the_hello_of_the_c_library() -> None:
    hello = raw("05 00 01 01 05") + b"alice"
    said = handshake.Hello(handshake.Version(5, 0, 1), "alice", membership=True)
    assert handshake.read_hello(hello) == (said, 10)
    assert handshake.pack_hello(said) == hello
    assert said.asks_methods


def test_the_hello_of_the_java_library() -> None:
    said = handshake.Hello(handshake.Version(4, 4, 0), "j", membership=False, priority=1)
    assert handshake.read_hello(raw("04 04 00 10 01") + b"j") == (said, 6)


def test_old_hellos_have_no_patch_byte_and_older_ones_no_methods() -> None:
    old = handshake.read_hello(raw("03 0f 02 00 01") + b"x")
    assert old == (handshake.Hello(handshake.Version(3, 15, 2), "x", membership=False), 6)
    older = handshake.read_hello(raw("03 0e 01 01") + b"x")
    assert older == (handshake.Hello(handshake.Version(3, 14), "x", membership=True), 5)
    oldest = handshake.read_hello(raw("03 01 01 01") + b"x")
    assert oldest == (handshake.Hello(handshake.Version(3, 1), "x", membership=True), 5)
    newer = handshake.read_hello(raw("03 10 00 01 01") + b"x")
    for read, methods in ((old, False), (older, False), (oldest, False), (newer, True)):
        assert read is not None and isinstance(read[0], handshake.Hello)
        assert read[0].asks_methods is methods
        assert handshake.pack_hello(read[0])[-1:] == b"x"


def test_a_hello_without_a_name_lets_the_daemon_invent_one() -> None:
    said = handshake.Hello(handshake.Version(5, 0, 1), "", membership=True)
    assert handshake.read_hello(raw("05 00 01 01 00")) == (said, 5)
    accepted = handshake.read_accept(
        raw("01 05 00 01 0c") + b"#r6736-12#d1", handshake.Version(5, 0, 1)
    )
    assert accepted is not None and isinstance(accepted[0], handshake.Accept)
    assert accepted[0].private_group == "#r6736-12#d1"


@pytest.mark.parametrize(
    "hello, code",
    [
        (raw("03 00 00 01 61"), Code.REJECT_VERSION),
        (raw("02 09 00 01 61"), Code.REJECT_VERSION),
        (raw("00 00"), Code.REJECT_VERSION),
        (raw("ff 00 00 00 00"), Code.REJECT_VERSION),
        (raw("05 00 01 01 0b") + b"elevenchars", Code.REJECT_ILLEGAL_NAME),
        (raw("05 00 01 01 ff"), Code.REJECT_ILLEGAL_NAME),
        *(
            (raw("05 00 01 01 03") + b"a" + bytes([bad]) + b"b", Code.REJECT_ILLEGAL_NAME)
            for bad in (0x20, 0x21, 0x22, 0x23, 0x00, 0x0A, 0x7F, 0xE9)
        ),
    ],
)
def test_a_hello_that_is_refused_has_its_code(hello: bytes, code: Code) -> None:
    read = handshake.read_hello(hello)
    assert read is not None and read[0] is code


@pytest.mark.parametrize(
    "code, byte",
    [
        (Code.REJECT_QUOTA, 0xFD),
        (Code.REJECT_ILLEGAL_NAME, 0xFB),
        (Code.REJECT_NOT_UNIQUE, 0xFA),
        (Code.REJECT_VERSION, 0xF9),
        (Code.REJECT_AUTH, 0xF7),
    ],
)
def test_a_rejection_is_one_signed_byte_wherever_it_comes(code: Code, byte: int) -> None:
    assert handshake.pack_rejection(code) == bytes([byte])
    assert handshake.read_methods(bytes([byte])) == (code, 1)
    assert handshake.read_accept(bytes([byte]), handshake.OURS) == (code, 1)


def test_the_stock_list_of_methods_and_ours() -> None:
    assert handshake.pack_methods(("NULL",)) == raw("05 4e 55 4c 4c 20")
    assert handshake.read_methods(raw("05 4e 55 4c 4c 20")) == (("NULL",), 6)
    both = bytes([11]) + b"NULL TOKEN "
    assert handshake.pack_methods(("NULL", "TOKEN")) == both
    assert handshake.read_methods(both) == (("NULL", "TOKEN"), 12)
    assert handshake.read_methods(b"\0") == ((), 1)


def test_the_choice_has_90_bytes() -> None:
    choice = b"NULL" + bytes(86)
    assert handshake.pack_choice(("NULL",)) == choice
    assert handshake.read_choice(choice) == (("NULL",), 90)
    three = b"IP" + bytes(28) + b"NULL" + bytes(26) + b"TOKEN" + bytes(25)
    assert handshake.pack_choice(("IP", "NULL", "TOKEN")) == three
    assert handshake.read_choice(three + b"more") == (("IP", "NULL", "TOKEN"), 90)
    assert handshake.read_choice(bytes(90)) == (Code.REJECT_AUTH, 90)
    assert handshake.read_choice(choice[:89]) is None


def test_the_token_follows_the_choice() -> None:
    packed = bytes([8]) + "geheimß".encode()
    assert handshake.pack_token("geheimß") == packed
    assert handshake.read_token(packed + b"x") == ("geheimß", 9)
    assert handshake.read_token(b"\x02\xff\xfe") == (Code.REJECT_AUTH, 3)
    assert handshake.read_token(packed[:-1]) is None


def test_the_accept_has_a_patch_byte_for_those_who_know_it() -> None:
    accept = raw("01 05 00 01 09") + b"#alice#d1"
    new, old = handshake.Version(5, 0, 1), handshake.Version(3, 14)
    said = handshake.Accept(handshake.OURS, "#alice#d1")
    assert handshake.pack_accept(new, "#alice#d1") == accept
    assert handshake.read_accept(accept, new) == (said, 14)
    short = raw("01 05 00 09") + b"#alice#d1"
    assert handshake.pack_accept(old, "#alice#d1") == short
    assert handshake.read_accept(short, old) == (
        handshake.Accept(handshake.Version(5, 0), "#alice#d1"),
        13,
    )


# Messages.


class Line(NamedTuple):
    """What crosses the wire, what it means, and how we write it."""

    bytes: bytes
    head: Head
    kind: int
    data: bytes
    packed: bytes


def head(kind: int, name: str, *groups: str, little: bool = True, rejected: int = 0) -> Head:
    return Head(kind, name, groups, little, rejected)


LIGHT_DATA = ID + raw("01000000 00000000 01000000") + ALICE
LIGHT_PACKED = views.pack_view_body(GROUP_ID, [["#alice#d1"]])
MARK = words.pack_hint(0)
LINES = {
    "join": Line(JOIN, head(0x10000, "#alice#d1", "grp"), 0, b"", pack_join("#alice#d1", "grp")),
    "leave": Line(LEAVE, head(0x20000, "#alice#d1", "grp"), 0, b"", pack_leave("#alice#d1", "grp")),
    "kill": Line(KILL, head(0x40000, "#alice#d1", "#alice#d1"), 0, b"", pack_kill("#alice#d1")),
    "light join": Line(
        LIGHT[Cause.JOIN],
        head(0x1100, "grp", "#alice#d1"),
        0,
        LIGHT_DATA,
        views.pack_view("grp", Cause.JOIN, ["#alice#d1"], LIGHT_PACKED),
    ),
    "light leave": Line(
        LIGHT[Cause.LEAVE],
        head(0x1200, "grp", "#alice#d1"),
        0,
        LIGHT_DATA,
        views.pack_view("grp", Cause.LEAVE, ["#alice#d1"], LIGHT_PACKED),
    ),
    "light disconnect": Line(
        LIGHT[Cause.DISCONNECT],
        head(0x1400, "grp", "#alice#d1"),
        0,
        LIGHT_DATA,
        views.pack_view("grp", Cause.DISCONNECT, ["#alice#d1"], LIGHT_PACKED),
    ),
    "agreed, self-discard, to two": Line(
        SENT,
        head(0x50, "#alice#d1", "grp", "#bob#d1"),
        7,
        b"xy",
        letterhead(0x50, "#alice#d1", ("grp", "#bob#d1")).pack(words.pack_hint(7), b"xy"),
    ),
    "from java": Line(
        JAVA,
        head(0x10, "#alice#d1", "grp", little=False),
        -2,
        b"hello",
        pack_message(
            0x10, "#alice#d1", ("grp",), words.pack_hint(-2, little=False), b"hello", little=False
        ),
    ),
    "from java, delivered": Line(
        JAVA_DELIVERED,
        head(0x10, "#alice#d1", "grp"),
        -2,
        b"hello",
        letterhead(0x10, "#alice#d1", ("grp",)).pack(0x00FEFF00, b"hello"),
    ),
    "transition": Line(
        TRANSITION, head(0x2000, "grp"), 0, ID, views.pack_transition("grp", GROUP_ID)
    ),
    "self-leave": Line(SELF_LEAVE, head(0x200, "grp"), 0, b"", views.pack_self_leave("grp")),
    "merge, zed's copy": Line(
        merged("24000000"),
        head(0x1800, "grp", *MERGED_MEMBERS),
        0,
        ID + raw("02000000 24000000") + SETS,
        views.pack_view(
            "grp",
            Cause.NETWORK,
            MERGED_MEMBERS,
            views.pack_view_body(GROUP_ID, [MERGED_MEMBERS[3:], MERGED_MEMBERS[:3]], 1),
        ),
    ),
    "merge, cat's copy": Line(
        merged("00000000"),
        head(0x1800, "grp", *MERGED_MEMBERS),
        0,
        ID + raw("02000000 00000000") + SETS,
        views.pack_view(
            "grp",
            Cause.NETWORK,
            MERGED_MEMBERS,
            views.pack_view_body(GROUP_ID, [MERGED_MEMBERS[3:], MERGED_MEMBERS[:3]], 0),
        ),
    ),
    "crash of others": Line(
        SURVIVED,
        head(0x1800, "grp", "#amy#d1", "#zed#d1"),
        0,
        ID + raw("01000000 00000000 02000000") + AMY + ZED,
        views.pack_view(
            "grp",
            Cause.NETWORK,
            MERGED_MEMBERS[:2],
            views.pack_view_body(GROUP_ID, [MERGED_MEMBERS[:2]]),
        ),
    ),
    "rejected join": Line(
        REJECTED_JOIN,
        head(0x400000, "#alice#d1", "grp", "#alice#d1", rejected=0x100),
        0,
        b"",
        pack_reject(head(0x10000, "#alice#d1", "grp"), "#alice#d1", MARK, b""),
    ),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_message_is_read_as_it_was_seen(line: Line) -> None:
    message = read_one(line.bytes)
    assert message.head == line.head
    assert message.kind == line.kind
    assert message.data == line.data


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_message_is_written_as_it_was_seen(line: Line) -> None:
    assert line.packed == line.bytes


@pytest.mark.parametrize("bit, service", list(enumerate(Service)))
def test_services_are_the_six_lowest_bits(bit: int, service: Service) -> None:
    """SP-48 to SP-50."""
    packed = bytes([0x80 | 1 << bit]) + raw("000080") + ALICE + raw("00000000 80000080 00000000")
    assert read_one(packed, "#alice#d1").head.service is service
    assert letterhead(words.service_bit(service), "#alice#d1", ()).pack(MARK, b"") == packed


def test_a_daemon_converts_all_but_the_hint_and_the_data() -> None:
    """What comes from a big-endian client leaves a little-endian daemon."""
    sent = read_one(JAVA, "#alice#d1")
    sender = letterhead(sent.head.type, sent.head.name, sent.head.groups)
    assert sender.pack(sent.hint, sent.data) == JAVA_DELIVERED
    assert not words.is_little(sent.hint)
    assert words.is_little(read_one(SENT).hint)


def test_what_stands_behind_a_name_does_not_matter() -> None:
    dirty = SENT.replace(ALICE, b"#alice#d1\0" + b"\xffdirt" + bytes(17))
    dirty = dirty.replace(GRP, b"grp\0" + b"x" * 28)
    assert read_one(dirty, "#alice#d1").head == read_one(SENT).head


def test_self_discard_stays_visible_and_groups_stay_as_listed() -> None:
    twice = SENT.replace(BOB, GRP)
    read = read_one(twice).head
    assert read.self_discard and read.service is Service.AGREED
    assert read.groups == ("grp", "grp")


def test_a_rejected_message_carries_all_it_had() -> None:
    full = Head(0x50, "#alice#d1", tuple(f"g{number}" for number in range(100)), True)
    read = read_one(pack_reject(full, "#alice#d1", words.pack_hint(-7), b"data"))
    assert (read.head.type, read.head.rejected) == (0x400040, 0x50)
    assert read.head.groups == (*full.groups[:99], "#alice#d1")
    assert (read.kind, read.data) == (-7, b"data")


# The bodies of views.


@pytest.mark.parametrize("offset, own", [("24000000", 1), ("00000000", 0)])
def test_a_merge_tells_each_member_its_own_set(offset: str, own: int) -> None:
    message = read_one(merged(offset))
    assert len(message.data) == 156
    body = views.read_view_body(message.data, message.head.little)
    assert body == ViewBody(GROUP_ID, (("#cat#d3",), ("#amy#d1", "#zed#d1", "#bob#d2")), own)
    assert views.cause_of(message.head.type) is Cause.NETWORK


@pytest.mark.parametrize("cause", LIGHT)
def test_a_light_view_names_who_came_or_went(cause: Cause) -> None:
    message = read_one(LIGHT[cause])
    assert len(message.data) == 56
    body = views.read_view_body(message.data, True)
    assert body == ViewBody(GROUP_ID, (("#alice#d1",),), 0)
    assert views.cause_of(message.head.type) is cause
    assert not views.is_self_leave(message.head.type)


def test_a_transition_tells_the_id_of_the_view_that_ends() -> None:
    assert views.read_id(read_one(TRANSITION).data, True) == GROUP_ID
    assert views.is_self_leave(read_one(SELF_LEAVE).head.type)


def test_views_in_the_other_byte_order() -> None:
    """A big-endian daemon's merge, by hand."""
    data = (
        raw("5c8d7aef 6afa0889 00000001 00000002 00000024 00000001")
        + CAT
        + (raw("00000003") + AMY + ZED + BOB2)
    )
    packed = raw("00001800") + GRP + raw("00000001 00000000 0000009c") + AMY + data
    message = read_one(packed)
    assert message.head == head(0x1800, "grp", "#amy#d1", little=False)
    body = views.read_view_body(message.data, message.head.little)
    assert body == ViewBody(GROUP_ID, (("#cat#d3",), ("#amy#d1", "#zed#d1", "#bob#d2")), 1)
    again = views.pack_view_body(body.id, body.sets, body.own, little=False)
    assert views.pack_view("grp", Cause.NETWORK, ["#amy#d1"], again, little=False) == packed
    signal = raw("00002000") + GRP + raw("00000000 00000000 0000000c") + data[:12]
    assert views.pack_transition("grp", GROUP_ID, little=False) == signal
    assert views.read_id(read_one(signal).data, False) == GROUP_ID
