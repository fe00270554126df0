"""Frames between a client and its daemon: one spelling, bounded, however the bytes are split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.effects import Message
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.client import (
    CRUMB_BYTES,
    FRAMES,
    Answer,
    ClientTag,
    Close,
    DefinedFrame,
    DefineFrame,
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
    pack_deliver,
    pack_frame,
    pack_multicast,
    read_frame,
)

SESSION = SessionId(DaemonId(3), Incarnation(1 << 60), 7)
VIEW = ViewId(ConfigId(4, DaemonId(3), Incarnation(5), 6), 9, 0)
EXAMPLES: list[Frame] = [
    Hello(2, 3, "anna", 3, True, "secret"),
    JoinFrame("alpha"),
    LeaveFrame("alpha"),
    Goodbye(),
    Query(4, "status", {"all": True}),
    DefineFrame((("alpha",), ("alpha", "beta"))),
    DefinedFrame(300),
    TableFrame(SESSION, 2, (("gamma",),)),
    ForgetFrame(SESSION),
    Welcome(3, SESSION, "one", 1 << 24),
    Refuse("bad_group", "what", "remedy", "alpha"),
    ViewFrame("alpha", VIEW, ((SESSION, "anna"),), (SESSION,), Cause.JOIN, ""),
    JoinedFrame("alpha"),
    TransitionFrame("alpha", VIEW),
    LeftFrame("alpha"),
    FlowFrame(False),
    Close("slow"),
    Answer(4, "", {"sessions": [1, 2]}),
]


def cut(data: bytes) -> bytes:
    (frame,) = FrameReader().feed(data)
    return frame


def test_there_is_an_example_of_every_frame() -> None:
    assert {type(example) for example in EXAMPLES} == set(FRAMES.values())


@pytest.mark.parametrize("frame", EXAMPLES, ids=lambda frame: type(frame).__name__)
def test_a_frame_comes_back_as_it_was_sent(frame: Frame) -> None:
    assert read_frame(cut(pack_frame(frame))) == frame


@pytest.mark.parametrize("chosen", [(), (0, 2)])
def test_a_delivery_keeps_its_body_and_what_was_chosen(chosen: tuple[int, ...]) -> None:
    message = Message(SESSION, 12, 3, Service.SAFE, b"body", True, chosen)
    assert read_frame(cut(b"".join(pack_deliver(message)))) == message


def test_a_multicast_keeps_its_body() -> None:
    frame = read_frame(cut(pack_multicast(Service.CAUSAL, 3, [b"bo", b"dy"], True)))
    assert frame == MulticastFrame(Service.CAUSAL, 3, b"body", True)


@given(st.data())
def test_frames_are_the_same_however_their_bytes_are_split(data: st.DataObject) -> None:
    frames = data.draw(st.lists(st.sampled_from(EXAMPLES), max_size=6))
    stream = b"".join(map(pack_frame, frames))
    reader = FrameReader()
    found = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert [read_frame(one) for one in found] == frames


@given(st.lists(st.sampled_from([1, 3, CRUMB_BYTES - 1, CRUMB_BYTES, 20_000]), max_size=40))
def test_long_frames_are_the_same_however_their_bytes_are_split(sizes: list[int]) -> None:
    body = bytes(range(256)) * 200
    delivered = Message(SESSION, 12, 3, Service.SAFE, body, False, (0, 2))
    packed = [pack_multicast(Service.CAUSAL, 3, [body], True), *pack_deliver(delivered)]
    stream = b"".join(packed)
    reader = FrameReader()
    found = []
    for size in [*sizes, len(stream)]:
        found += reader.feed(stream[:size])
        stream = stream[size:]
    expected = [MulticastFrame(Service.CAUSAL, 3, body, True), delivered]
    assert [read_frame(one) for one in found] == expected


def test_a_frame_that_comes_byte_by_byte_is_not_kept_byte_by_byte() -> None:
    stream = pack_multicast(Service.CAUSAL, 1, [bytes(3 * CRUMB_BYTES)], False)
    reader = FrameReader()
    (frame,) = [one for byte in stream for one in reader.feed(bytes([byte]))]
    assert isinstance(frame, list)
    assert len(frame) == 1
    assert read_frame(frame) == MulticastFrame(Service.CAUSAL, 1, bytes(3 * CRUMB_BYTES), False)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "too_short"),
        (b"\x00", "unknown_tag"),
        (bytes([ClientTag.MULTICAST]), "malformed"),
        (bytes([ClientTag.MULTICAST, 99, 0, 0, 1]), "malformed"),
        (bytes([ClientTag.MULTICAST, 0, 2, 0, 1]), "bad_field"),
        (bytes([ClientTag.JOIN, 0x91, 0x01]), "malformed"),
        (bytes([ClientTag.GOODBYE, 0x91, 0x01]), "malformed"),
    ],
)
def test_what_no_client_sends_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(DecodeError) as refused:
        read_frame(raw)
    assert refused.value.reason == reason


def test_a_choice_outside_of_the_bundle_is_refused() -> None:
    message = Message(SESSION, 12, 2, Service.SAFE, b"body", True, (0, 2))
    with pytest.raises(DecodeError, match="bad_field"):
        read_frame(cut(b"".join(pack_deliver(message))))


def test_a_frame_that_announces_too_much_is_refused_before_it_comes() -> None:
    reader = FrameReader(limit=100)
    with pytest.raises(DecodeError, match="too_long"):
        reader.feed((101).to_bytes(4, "big"))


@given(st.binary(max_size=200))
def test_nothing_but_the_declared_error(raw: bytes) -> None:
    try:
        read_frame(raw)
    except DecodeError:
        pass
