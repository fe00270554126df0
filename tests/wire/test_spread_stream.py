"""Streams of Spread's messages that are split, merged, hostile or endless."""

import time
from struct import pack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.wire.spread import handshake, stream, views, words
from antiphon.wire.spread.messages import SpreadMessage, letterhead, pack_join, pack_message
from antiphon.wire.spread.stream import MessageReader, StreamFault
from tests.wire.test_spread_golden import (
    ALICE,
    GRP,
    JAVA,
    JOIN,
    KILL,
    LEAVE,
    LINES,
    SENT,
    raw,
)

OWN = "#alice#d1"
FROM_CLIENT = (JOIN, SENT, JAVA, LEAVE, KILL)
FROM_DAEMON = tuple(line.bytes for line in LINES.values())


def read_all(reader: MessageReader, pieces: list[bytes]) -> list[SpreadMessage]:
    return [message for piece in pieces for message in reader.feed(piece)]


@pytest.mark.parametrize("messages, own", [(FROM_CLIENT, OWN), (FROM_DAEMON, None)])
def test_a_stream_is_the_same_wherever_it_is_split(
    messages: tuple[bytes, ...], own: str | None
) -> None:
    whole = b"".join(messages)
    expected = read_all(MessageReader(own), list(messages))
    assert len(expected) == len(messages)
    assert MessageReader(own).feed(whole) == expected
    for at in range(1, len(whole)):
        assert read_all(MessageReader(own), [whole[:at], whole[at:]]) == expected
    assert (
        read_all(MessageReader(own), [whole[at : at + 1] for at in range(len(whole))]) == expected
    )


GREETING = raw("05 00 01 01 05") + b"alice"
ANSWER = raw("01 05 00 01 09") + b"#alice#d1"


def test_a_greeting_is_complete_at_its_last_byte_and_not_before() -> None:
    choice = b"TOKEN" + bytes(85)
    for cut in range(len(GREETING)):
        assert handshake.read_hello(GREETING[:cut]) is None
    for cut in range(len(choice)):
        assert handshake.read_choice(choice[:cut]) is None
    for cut in range(6):
        assert handshake.read_methods(raw("05 4e 55 4c 4c 20")[:cut]) is None
        assert handshake.read_token(b"\x05hello"[:cut]) is None
    for cut in range(len(ANSWER)):
        assert handshake.read_accept(ANSWER[:cut], handshake.OURS) is None


def test_what_follows_a_greeting_is_not_used() -> None:
    for more in (b"", b"x", GREETING * 2):
        hello = handshake.read_hello(GREETING + more)
        assert hello is not None and hello[1] == len(GREETING)
        accept = handshake.read_accept(ANSWER + more, handshake.OURS)
        assert accept is not None and accept[1] == len(ANSWER)


# Hostile headers.


def header(
    kind: int = 0x80000090,
    name: bytes = ALICE,
    groups: int = 1,
    hint: int = 0x80000080,
    size: int = 0,
) -> bytes:
    return pack("<I32sIII", kind, name, groups, hint, size)


BAD_REQUESTS = [
    ("two_services", header(kind=0x800000B0)),
    ("two_services", header(kind=0x80010090)),
    ("two_services", header(kind=0x80030080)),
    ("no_service", header(kind=0x80000080)),
    ("no_service", header(kind=0x800010C0)),
    ("foreign_sender", header(name=b"#bob#d1".ljust(32, b"\0"))),
    ("foreign_sender", header(name=b"#alice#d2".ljust(32, b"\0"))),
    ("foreign_sender", header(name=bytes(32))),
    ("groups_count", header(groups=101)),
    ("groups_count", header(groups=0xFFFFFFFF)),
    ("groups_count", header(groups=0x80000000)),
    ("groups_count", header(groups=0x08000000)),
    ("bad_hint", header(hint=0x80000081)),
    ("bad_hint", header(hint=0x81000080)),
    ("bad_hint", header(hint=0x40000080)),
    ("too_long", header(size=0xFFFFFFFF)),
    ("too_long", header(size=0x80000000)),
    ("too_long", header(size=144_001)),
    ("too_long", header(size=143_953 - 32)),
    ("too_long", header(groups=100, size=143_953 - 3200)),
    ("bad_field", header(kind=0x00000090)),
    ("bad_field", header(kind=0x80000010)),
    ("bad_field", header(name=b"x" * 32)),
]


@pytest.mark.parametrize("reason, bad", BAD_REQUESTS)
def test_a_header_that_may_not_be_ends_the_stream_with_its_reason(reason: str, bad: bytes) -> None:
    with pytest.raises(StreamFault) as caught:
        MessageReader(OWN).feed(bad)
    assert caught.value.reason == reason
    assert caught.value.before == []


@pytest.mark.parametrize(
    "reason, bad", [case for case in BAD_REQUESTS if case[0] not in ("bad_field",)]
)
def test_the_same_header_from_the_other_byte_order_too(reason: str, bad: bytes) -> None:
    kind, name, groups, hint, size = (
        int.from_bytes(bad[:4], "little") & ~0x80000080,
        bad[4:36],
        *(int.from_bytes(bad[at : at + 4], "little") for at in (36, 40, 44)),
    )
    swapped = pack(">I32sIII", kind, name, groups, hint & ~0x80000080, size)
    with pytest.raises(StreamFault) as caught:
        MessageReader(OWN).feed(swapped)
    assert caught.value.reason == reason


def test_what_came_before_the_fault_is_not_lost() -> None:
    with pytest.raises(StreamFault) as caught:
        MessageReader(OWN).feed(JOIN + SENT + header(groups=101))
    assert [message.head.type for message in caught.value.before] == [0x10000, 0x50]


def test_the_largest_message_passes_and_no_group_is_no_fault() -> None:
    """SP-99."""
    data = bytes(range(256)) * 563
    for groups, size in (((), 143_952), (("grp",), 143_120), (("grp",), 143_920)):
        packed = pack_message(0x10, OWN, groups, words.pack_hint(0), data[:size])
        (message,) = MessageReader(OWN).feed(packed)
        assert message.data == data[:size]
    (nobody,) = MessageReader(OWN).feed(header(groups=0))
    assert nobody.head.groups == ()
    hundred = tuple(f"g{number}" for number in range(100))
    packed = pack_message(0x10, OWN, hundred, words.pack_hint(0), b"x")
    assert MessageReader(OWN).feed(packed)[0].head.groups == hundred


@pytest.mark.parametrize(
    "reason, bad",
    [
        ("too_long", header(groups=0xFFFFFFFF)),
        ("too_long", header(groups=1 << 27)),
        ("too_long", header(size=0xFFFFFFFF)),
        ("too_long", header(size=1 << 31)),
        ("too_long", header(groups=1 << 18, size=(1 << 23) + 1)),
        ("bad_hint", header(hint=1)),
        ("bad_field", header(name=b"x" * 32)),
        ("bad_field", header() + b"x" * 32),
    ],
)
def test_a_daemon_is_not_trusted_either(reason: str, bad: bytes) -> None:
    with pytest.raises(StreamFault) as caught:
        MessageReader().feed(bad)
    assert caught.value.reason == reason


def test_a_long_message_in_many_pieces_is_not_copied_each_time() -> None:
    packed = pack_message(0x10, OWN, ("grp",), words.pack_hint(0), bytes(143_000))

    def seconds(step: int) -> float:
        reader = MessageReader(OWN)
        began = time.process_time()
        for at in range(0, len(packed), step):
            reader.feed(packed[at : at + step])
        return time.process_time() - began

    assert seconds(8) < 1.0  # copying each time would move 1.3 GB


def test_a_peer_that_never_repeats_itself_is_not_remembered_for_ever() -> None:
    reader = MessageReader(OWN)
    for number in range(4000):
        groups = tuple(f"{number}.{place}" for place in range(1 + number % 9))
        (message,) = reader.feed(pack_message(0x10, OWN, groups, words.pack_hint(0), b"data"))
        assert message.head.groups == groups
    assert reader._remembered_bytes <= stream.REMEMBERED_BYTES_MAX
    kept = sum(len(names) for top in reader._tops.values() for names in top.heads)
    assert kept <= stream.REMEMBERED_BYTES_MAX


def test_messages_of_one_sender_to_one_group_share_their_head() -> None:
    reader = MessageReader(OWN)
    sender = letterhead(0x10, OWN, ("grp",))
    one, other = reader.feed(b"".join(sender.pack_many([MARK, MARK], [b"1", b"23"])))
    assert one.head is other.head
    assert (one.data, other.data) == (b"1", b"23")


MARK = words.pack_hint(0)


# Hostile bodies.


def body(sets: int, offset: int, *rest: bytes) -> bytes:
    return pack("<5I", 1, 2, 3, sets, offset) + b"".join(rest)


@pytest.mark.parametrize(
    "reason, data",
    [
        ("too_short", b""),
        ("too_short", body(1, 0)[:-1]),
        ("wrong_size", body(0, 0)),
        ("wrong_size", body(1, 0)),
        ("wrong_size", body(1, 0, pack("<I", 1))),
        ("wrong_size", body(1, 0, pack("<I", 0xFFFFFFFF), GRP)),
        ("wrong_size", body(1, 0, pack("<I", 0x08000000), GRP)),
        ("wrong_size", body(1, 0, pack("<I", 1), GRP, b"xx")),
        ("wrong_size", body(2, 0, pack("<I", 1), GRP)),
        ("wrong_size", body(0xFFFFFFFF, 0, pack("<I", 1), GRP)),
        ("wrong_size", body(1, 4, pack("<I", 1), GRP)),
        ("wrong_size", body(1, 0xFFFFFFFF, pack("<I", 1), GRP)),
        ("bad_field", body(1, 0, pack("<I", 1), b"x" * 32)),
    ],
)
def test_the_body_of_a_view_that_does_not_add_up_is_refused(reason: str, data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        views.read_view_body(data, True)
    assert caught.value.reason == reason


@pytest.mark.parametrize("data", [b"", bytes(11), bytes(13)])
def test_a_group_id_has_12_bytes(data: bytes) -> None:
    with pytest.raises(DecodeError):
        views.read_id(data, True)


@pytest.mark.parametrize("kind", [0x1000, 0x1300, 0x1F00])
def test_a_view_has_one_cause(kind: int) -> None:
    with pytest.raises(DecodeError):
        views.cause_of(kind)


@pytest.mark.parametrize(
    "answer",
    [
        b"\x02",
        b"\x00",
        raw("01 85 00 01 09") + b"#alice#d1",
        raw("01 05 00 01 20") + b"x" * 32,
        raw("01 05 00 01 05") + b"alice",
        raw("01 02 00 01 09") + b"#alice#d1",
        b"\x80",
    ],
)
def test_an_answer_that_cannot_be_is_refused(answer: bytes) -> None:
    with pytest.raises(DecodeError):
        handshake.read_accept(answer, handshake.OURS)


@pytest.mark.parametrize("methods", [b"\x5b", b"\x7f", b"\x80", b"\xff\x00"[:1] + b"x"])
def test_a_list_of_methods_that_cannot_be_is_refused_or_is_a_code(methods: bytes) -> None:
    try:
        read = handshake.read_methods(methods)
    except DecodeError:
        return
    assert read is not None and isinstance(read[0], words.Code)


# Anything at all.

names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=7)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(FROM_DAEMON + FROM_CLIENT),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=6),
    st.binary(max_size=60),
    st.sampled_from([None, OWN]),
)
def test_damaged_messages_raise_decode_errors_and_nothing_else(
    good: bytes, changes: list[tuple[int, int]], more: bytes, own: str | None
) -> None:
    damaged = bytearray(good)
    for at, value in changes:
        damaged[at % len(damaged)] = value
    try:
        found = MessageReader(own).feed(bytes(damaged) + more)
    except StreamFault as fault:
        found = fault.before
    for message in found:
        try:
            views.read_view_body(message.data, message.head.little)
        except DecodeError:
            pass


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_noise_in_a_greeting_raises_decode_errors_and_nothing_else(noise: bytes) -> None:
    handshake.read_hello(noise)
    handshake.read_choice(noise)
    handshake.read_token(noise)
    for read in (handshake.read_methods, lambda data: handshake.read_accept(data, handshake.OURS)):
        try:
            read(noise)
        except DecodeError:
            pass


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 5),
    names,
    st.lists(names, max_size=5),
    st.integers(-0x8000, 0x7FFF),
    st.binary(max_size=200),
    st.booleans(),
    st.booleans(),
)
def test_what_is_written_is_read_again(
    bit: int,
    sender: str,
    groups: list[str],
    kind: int,
    data: bytes,
    little: bool,
    hint_little: bool,
) -> None:
    hint = words.pack_hint(kind, hint_little)
    packed = pack_message(1 << bit, sender, groups, hint, data, little)
    (message,) = MessageReader(sender).feed(packed)
    assert message.head.type == 1 << bit and message.head.little is little
    assert (message.head.name, message.head.groups) == (sender, tuple(groups))
    assert (message.hint, message.kind, message.data) == (hint, kind, data)
    assert words.is_little(message.hint) is hint_little
    assert letterhead(1 << bit, sender, tuple(groups), little).pack(hint, data) == packed


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(*[st.integers(0, 0xFFFFFFFF)] * 3),
    st.lists(st.lists(names, max_size=4), min_size=1, max_size=4),
    st.integers(0, 3),
    st.booleans(),
)
def test_views_are_read_again(
    id: tuple[int, int, int], sets: list[list[str]], own: int, little: bool
) -> None:
    own %= len(sets)
    group_id = views.GroupId(*id)
    body = views.pack_view_body(group_id, sets, own, little)
    assert views.read_view_body(body, little) == views.ViewBody(
        group_id, tuple(map(tuple, sets)), own
    )
    assert views.read_id(views.pack_id(group_id, little), little) == group_id


def test_names_that_are_no_utf8_are_told_back_as_they_came() -> None:
    field = b"caf\xe9".ljust(32, b"\0")
    assert words.pack_name(words.read_name(field)) == field
    assert not words.is_group_name(words.read_name(field))


@pytest.mark.parametrize(
    "name, joins, fits",
    [
        ("grp", True, True),
        ("$~", True, True),
        ("x" * 31, True, True),
        ("x" * 32, False, False),
        ("ß" * 16, False, False),
        ("ß" * 15, False, True),
        ("", False, True),
        ("a b", False, True),
        ("a#b", False, True),
        ("a\0b", False, False),
    ],
)
def test_which_names_can_be_joined_and_which_can_be_told(
    name: str, joins: bool, fits: bool
) -> None:
    assert words.is_group_name(name) is joins
    assert words.fits_field(name) is fits


def test_names_of_sessions_and_daemons() -> None:
    assert words.is_session_name("") and words.is_session_name("tencharsxx")
    assert not words.is_session_name("elevenchars") and not words.is_session_name("a#")
    assert words.is_daemon_name("d" * 19)
    assert not words.is_daemon_name("d" * 20) and not words.is_daemon_name("")


def test_a_join_of_either_byte_order_is_the_same_request() -> None:
    one = MessageReader(OWN).feed(pack_join(OWN, "grp", little=True))[0].head
    other = MessageReader(OWN).feed(pack_join(OWN, "grp", little=False))[0].head
    assert (one.type, one.groups) == (other.type, other.groups) == (words.JOIN, ("grp",))
