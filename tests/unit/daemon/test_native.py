"""The client protocol at the daemon's end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core import effects
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.daemon.dialect import Greeting, News, Say
from antiphon.daemon.native import (
    EVIDENCE_MAX,
    TABLES_TOLD_MAX,
    Native,
    NativeDialect,
    NativeReader,
    bundle_bytes_for,
    frame_of,
    request_of,
    version_fault,
)
from antiphon.wire.body import Table, letters, referring_parts
from antiphon.wire.client import (
    CLIENT_VERSION,
    LENGTH,
    MAGIC,
    Answer,
    Close,
    FlowFrame,
    ForgetFrame,
    Frame,
    FrameReader,
    Goodbye,
    Hello,
    JoinedFrame,
    JoinFrame,
    LeaveFrame,
    LeftFrame,
    MulticastFrame,
    Query,
    Refuse,
    TableFrame,
    TransitionFrame,
    ViewFrame,
    Welcome,
    pack_frame,
    pack_multicast,
    read_frame,
)

HELLO = Hello(2, 3, "alice", 0, True, "")
STREAM = (
    MAGIC
    + pack_frame(HELLO)
    + pack_frame(JoinFrame("g"))
    + pack_multicast(Service.SAFE, 2, [b"body"], True)
    + pack_frame(Goodbye())
)
FRAMES = [HELLO, JoinFrame("g"), MulticastFrame(Service.SAFE, 2, b"body", True), Goodbye()]
SESSION = SessionId(DaemonId(1), Incarnation(2), 3)
VIEW = ViewId(ConfigId(1, DaemonId(1), Incarnation(2), 3), 4, 5)


def dialect() -> NativeDialect:
    return Native("one", lambda who, query: [who, query.what]).dialect()


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_however_a_stream_is_cut_its_frames_are_the_same(cuts: list[int]) -> None:
    reader = NativeReader()
    found = []
    places = [0, *sorted(cuts), len(STREAM)]
    for start, stop in zip(places, places[1:], strict=False):
        found += reader.feed(STREAM[start:stop])
    assert found == FRAMES


@given(st.binary(min_size=1, max_size=8))
def test_another_protocol_is_seen_at_its_first_wrong_byte(begin: bytes) -> None:
    reader = NativeReader()
    if MAGIC.startswith(begin[:4]):
        return
    with pytest.raises(DecodeError) as refused:
        for place in range(len(begin)):
            reader.feed(begin[place : place + 1])
    assert refused.value.reason == "unknown_protocol"


def test_a_stranger_may_not_announce_a_long_frame() -> None:
    with pytest.raises(DecodeError) as refused:
        NativeReader().feed(MAGIC + LENGTH.pack(4097))
    assert refused.value.reason == "too_long"


def test_a_frame_that_is_nested_too_deeply_is_refused() -> None:
    deep = b"\x06\x93\x01\xa1s\x81\xa1k" + b"\x91" * 4_000 + b"\x00"
    with pytest.raises(DecodeError) as refused:
        NativeReader().feed(MAGIC + LENGTH.pack(len(deep)) + deep)
    assert refused.value.reason == "malformed"


def test_what_a_client_asks() -> None:
    body = MulticastFrame(Service.AGREED, 1, b"body", False)
    assert request_of(3, body) == effects.Multicast(3, Service.AGREED, 1, b"body", False)
    assert request_of(3, JoinFrame("g")) == effects.Join(3, "g")
    assert request_of(3, LeaveFrame("g")) == effects.Leave(3, "g")
    assert request_of(3, Goodbye()) == effects.Disconnect(3)
    query = Query(1, "status", {})
    assert request_of(3, query) is query


@pytest.mark.parametrize(
    "frame", [HELLO, Welcome(3, SESSION, "one", 1), Close("slow"), FlowFrame(True), LeftFrame("g")]
)
def test_what_no_client_says_is_refused(frame: Frame) -> None:
    with pytest.raises(DecodeError) as refused:
        request_of(3, frame)
    assert refused.value.reason == "unexpected"


NEWS = [
    (
        effects.View("g", VIEW, ((SESSION, "alice"),), (SESSION,), Cause.JOIN, "why"),
        ViewFrame("g", VIEW, ((SESSION, "alice"),), (SESSION,), Cause.JOIN, "why"),
    ),
    (effects.Joined("g"), JoinedFrame("g")),
    (effects.Transition("g", VIEW), TransitionFrame("g", VIEW)),
    (effects.Left("g"), LeftFrame("g")),
    (effects.Flow(False), FlowFrame(False)),
    (
        effects.Refused("bad_group", "what", "remedy", "g"),
        Refuse("bad_group", "what", "remedy", "g"),
    ),
    (effects.Closed("slow"), Close("slow")),
]


@pytest.mark.parametrize(("news", "frame"), NEWS)
def test_what_a_client_is_told(news: News, frame: Frame) -> None:
    assert read_frame(dialect().tell(news)[LENGTH.size :]) == frame


def test_a_message_passes_unread() -> None:
    message = effects.Message(SESSION, 5, 3, Service.CAUSAL, b"body", True, (0, 2))
    assert read_frame(b"".join(dialect().message(message))[LENGTH.size :]) == message


TABLE = (("g",), ("g", "h"), ("x",))


def referring(*places: int, origin: SessionId = SESSION, table: Table = TABLE) -> effects.Message:
    body = b"".join(referring_parts(places, [0] * len(places), [b"p"] * len(places), "bob"))
    return effects.Message(origin, 5, len(places), Service.AGREED, body, False, table=table)


def told(speaks: NativeDialect, message: effects.Message) -> list[Frame | effects.Message]:
    frames = FrameReader().feed(b"".join(speaks.message(message)))
    found = [read_frame(frame) for frame in frames]
    return [one for one in found if isinstance(one, Frame | effects.Message)]


def speaking(newest: int = CLIENT_VERSION) -> NativeDialect:
    speaks = dialect()
    list(speaks.hear(MAGIC + pack_frame(Hello(2, newest, "alice", 0, True, ""))))
    speaks.welcome(SESSION, "")
    return speaks


def test_a_client_is_told_a_table_before_what_refers_to_it_and_once() -> None:
    speaks = speaking()
    first = told(speaks, referring(0, 1, table=TABLE[:2]))
    assert first[0] == TableFrame(SESSION, 0, TABLE[:2]) and len(first) == 2
    assert len(told(speaks, referring(1, 0, table=TABLE[:2]))) == 1
    assert told(speaks, referring(2))[0] == TableFrame(SESSION, 2, TABLE[2:])
    assert len(told(speaks, referring(2))) == 1


def test_the_table_that_was_not_used_for_longest_is_forgotten_at_both_ends() -> None:
    speaks = speaking()
    others = [SESSION._replace(number=100 + at) for at in range(TABLES_TOLD_MAX)]
    for other in others:
        told(speaks, referring(0, origin=other))
    told(speaks, referring(0, origin=others[0]))
    more = told(speaks, referring(0))
    assert [frame for frame in more if isinstance(frame, ForgetFrame)] == [ForgetFrame(others[1])]
    assert isinstance(told(speaks, referring(0, origin=others[1]))[0], TableFrame)
    assert len(told(speaks, referring(0, origin=others[0]))) == 1


def test_an_older_client_is_told_the_groups_by_name() -> None:
    many = tuple((f"g{number}",) for number in range(3000))
    message = referring(*range(3000), table=many)
    message.chosen = (1, 2999)
    found = told(speaking(newest=2), message)
    assert len(found) == 2, "a head has so many destinations; what is in none of them is left out"
    seen = []
    for one in found:
        assert isinstance(one, effects.Message)
        seen += [(letter.number, letter.groups) for letter in letters(one)]
    assert seen == [(6, ("g1",)), (3004, ("g2999",))]


def test_long_texts_are_cut_to_what_a_client_takes() -> None:
    long = "x" * (EVIDENCE_MAX + 1)
    view = effects.View("g", VIEW, (), (), Cause.NETWORK, long)
    assert isinstance(read_frame(frame_of(view)[LENGTH.size :]), ViewFrame)
    refused = effects.Refused("bad_group", long, "remedy", long)
    assert isinstance(read_frame(frame_of(refused)[LENGTH.size :]), Refuse)


@pytest.mark.parametrize(
    ("oldest", "newest", "is_fine"),
    [(1, 1, False), (1, 3, True), (3, 3, True), (4, 9, True), (5, 9, False), (1, 9, True)],
)
def test_versions_meet_or_both_are_named(oldest: int, newest: int, is_fine: bool) -> None:
    fault = version_fault(Hello(oldest, newest, "a", 0, True, ""), 3, 4)
    assert (fault == "") == is_fine
    assert is_fine or (f"{oldest} to {newest}" in fault and "3 to 4" in fault)


def test_what_a_client_says_with_its_hello_is_asked_by_its_session() -> None:
    spoken = dialect()
    found = []
    for heard in spoken.hear(STREAM):
        found.append(heard)
        if isinstance(heard, Greeting):
            welcome = read_frame(spoken.welcome(SESSION, "uid:1")[LENGTH.size :])
            assert isinstance(welcome, Welcome) and welcome.session == SESSION
    assert found == [
        Greeting("alice", 0, True),
        effects.Join(3, "g"),
        effects.Multicast(3, Service.SAFE, 2, b"body", True),
        effects.Disconnect(3),
    ]


def test_questions_are_answered_to_whom_they_are_from() -> None:
    spoken = dialect()
    for _ in spoken.hear(MAGIC + pack_frame(HELLO)):
        spoken.welcome(SESSION, "uid:1")
    (said,) = spoken.hear(pack_frame(Query(7, "status", {})))
    assert isinstance(said, Say)
    assert read_frame(said.data[LENGTH.size :]) == Answer(7, "", ["uid:1", "status"])


def test_a_view_is_packed_once_for_all_who_are_told_the_same() -> None:
    native = Native("one", lambda who, query: None)
    native.named = lambda text: text.replace("1", "one")
    view = effects.View("g", VIEW, ((SESSION, "alice"),), (SESSION,), Cause.NETWORK, "1 left")
    told = native.dialect().tell(view)
    assert native.dialect().tell(view) is told
    frame = read_frame(told[LENGTH.size :])
    assert isinstance(frame, ViewFrame) and frame.evidence == "one left"


def test_bundles_fill_packets_where_packets_are_made() -> None:
    """Each is cut into as few pieces as may be; a daemon that is alone cuts nothing."""
    assert 60_000 < bundle_bytes_for(65_000, daemons=3) < 65_000
    assert bundle_bytes_for(1_400, daemons=3) > 1_400
    assert bundle_bytes_for(65_000, daemons=1) > 4 * 60_000
