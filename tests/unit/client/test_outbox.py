"""Bundling: what goes together, what does not, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.destinations import Groups
from antiphon.client.outbox import BUNDLE_BYTES, LOOK_BYTES, Outbox, join_payload
from antiphon.core import effects
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.wire.body import MESSAGES_PER_BUNDLE_MAX, Letter, letters
from antiphon.wire.client import LENGTH, MulticastFrame, read_frame
from tests.unit.client.sans_io import ME


def bundles(outbox: Outbox) -> list[MulticastFrame]:
    found = []
    while (request := outbox.pop()) is not None:
        frame = read_frame(request.frame[LENGTH.size :])
        assert isinstance(frame, MulticastFrame) and frame.count == request.count
        found.append(frame)
    assert outbox.size == 0 and len(outbox) == 0
    return found


def read(frame: MulticastFrame) -> list[Letter]:
    return letters(effects.Message(ME, 1, frame.count, frame.service, frame.body, False))


def send(outbox: Outbox, payload: bytes, groups: Groups = "g", kind: int = 0) -> None:
    outbox.multicast(groups, payload, Service.AGREED, kind, False)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["g", "h", ("g", "h"), ["h", "g"], "#bob#5"]),
            st.binary(max_size=30),
            st.sampled_from([Service.AGREED, Service.FIFO]),
            st.sampled_from([0, 0, 0, 7, -0x8000, 0x7FFF]),
            st.booleans(),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_everything_comes_out_in_order_with_what_was_said(
    sent: list[tuple[Groups, bytes, Service, int, bool, bool]],
) -> None:
    outbox = Outbox("alice")
    found = []
    for groups, payload, service, kind, discard, look in sent:
        if not outbox.go_along(groups, payload, service, kind, discard):
            outbox.multicast(groups, payload, service, kind, discard)
        if look:
            found += bundles(outbox)
    found += bundles(outbox)
    got = [
        (letter.groups, letter.payload, frame.service, letter.kind, frame.self_discard)
        for frame in found
        for letter in read(frame)
    ]
    assert got == [
        ((groups,) if isinstance(groups, str) else tuple(groups), payload, service, kind, discard)
        for groups, payload, service, kind, discard, _ in sent
    ]


def test_an_idle_session_sends_one_message_and_a_busy_one_fills_bundles() -> None:
    outbox = Outbox("alice")
    send(outbox, b"x")
    assert [one.count for one in bundles(outbox)] == [1]
    for _ in range(1000):
        send(outbox, bytes(100))
    sizes = [len(one.body) for one in bundles(outbox)]
    assert len(sizes) == 4 and max(sizes) <= BUNDLE_BYTES


def test_only_what_is_like_the_last_message_and_fits_goes_along() -> None:
    outbox = Outbox("alice")
    assert not outbox.go_along("g", b"", Service.AGREED, 0, False), "there is no bundle"
    send(outbox, b"first")
    assert outbox.go_along("g", b"second", Service.AGREED, 0, False)
    assert not outbox.go_along(["g"], b"", Service.AGREED, 0, False)
    assert not outbox.go_along("h", b"", Service.AGREED, 0, False)
    assert not outbox.go_along("g", bytearray(1), Service.AGREED, 0, False)
    assert not outbox.go_along("g", b"", Service.SAFE, 0, False)
    assert not outbox.go_along("g", b"", Service.AGREED, 1, False)
    assert not outbox.go_along("g", b"", Service.AGREED, 0, True)
    assert not outbox.go_along("g", bytes(BUNDLE_BYTES), Service.AGREED, 0, False)
    size = outbox.size
    outbox.close_bundle()
    assert not outbox.go_along("g", b"", Service.AGREED, 0, False), "it has gone"
    (frame,) = bundles(outbox)
    assert [letter.payload for letter in read(frame)] == [b"first", b"second"]
    assert size >= len(b"first") + len(b"second")


def test_a_bundle_that_may_be_longer_is_looked_at_now_and_then() -> None:
    outbox = Outbox("alice")
    outbox.bundle_bytes = 4 * LOOK_BYTES
    counts = []
    for _ in range(3):
        assert not outbox.go_along("g", bytes(1000), Service.AGREED, 0, False)
        send(outbox, bytes(1000))
        counts.append(1)
        while outbox.go_along("g", bytes(1000), Service.AGREED, 0, False):
            counts[-1] += 1
        assert outbox.is_ready(1000)
    assert [one.count for one in bundles(outbox)] == [sum(counts)]
    assert 60 <= min(counts) and max(counts) <= 66


def test_a_long_message_is_a_bundle_by_itself() -> None:
    outbox = Outbox("alice")
    for size in (10, 10 * BUNDLE_BYTES, 10):
        send(outbox, bytes(size))
    assert [one.count for one in bundles(outbox)] == [1, 1, 1]


def test_empty_messages_fill_a_bundle_too() -> None:
    outbox = Outbox("alice")
    for _ in range(2 * MESSAGES_PER_BUNDLE_MAX):
        send(outbox, b"")
    counts = [one.count for one in bundles(outbox)]
    assert sum(counts) == 2 * MESSAGES_PER_BUNDLE_MAX
    assert BUNDLE_BYTES // 10 < counts[0] < BUNDLE_BYTES


def test_many_destinations_still_fit_the_head() -> None:
    outbox = Outbox("alice")
    for number in range(400):
        groups = tuple(f"{number:03}{at:03}" + "x" * 249 for at in range(100))
        send(outbox, b"", groups)
    assert sum(len(read(one)) for one in bundles(outbox)) == 400


@pytest.mark.parametrize(
    ("groups", "payload", "kind", "code"),
    [
        ("", b"", 0, "bad_group"),
        ("a\n", b"", 0, "bad_group"),
        ("a#b", b"", 0, "bad_group"),
        ("#" + 255 * "a", b"", 0, "bad_group"),
        ([], b"", 0, "bad_group"),
        (["g"] * 101, b"", 0, "bad_group"),
        ([b"g"], b"", 0, "bad_group"),
        ("g", b"", 0x8000, "bad_kind"),
        ("g", b"", 0.5, "bad_kind"),
        ("g", "text", 0, "bad_payload"),
        ("g", ["text"], 0, "bad_payload"),
    ],
)
def test_mistakes_are_told_at_once(groups: Groups, payload: bytes, kind: int, code: str) -> None:
    outbox = Outbox("alice")
    with pytest.raises(UsageError) as raised:
        send(outbox, join_payload(payload), groups, kind)
    assert raised.value.code == code and len(outbox) == 0


def test_a_payload_may_be_scattered() -> None:
    assert join_payload([b"a", bytearray(b"b"), memoryview(b"c")]) == b"abc"
    assert join_payload(memoryview(b"abc")) == b"abc"
