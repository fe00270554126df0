"""Whatever comes in: a message that encodes back to the same bytes, or DecodeError."""

import tracemalloc
from collections.abc import Callable
from functools import partial
from struct import pack
from typing import Any

import msgspec
import pytest
from hypothesis import example as given_example
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.wire.body import read_body
from antiphon.wire.packet import HEADER, HEADER_BYTES, WIRE_VERSION, open_header
from tests.wire.messages import CLUSTER, EXAMPLES, Example

EVERY_MESSAGE = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
PACKED = tuple(
    example for example in EXAMPLES if example.raw[0] != 0 and "ring" not in example.name
)
FEWER = settings(max_examples=settings().max_examples // 3)
NUMBERS = st.sampled_from([0, 1, 2, 63, 255, 256, 65_535, 2**31, 2**32 - 1, 2**32, 2**64 - 1])


def head_of(example: Example) -> int:
    """Where the part begins that is the message's own."""
    return HEADER_BYTES if example.raw[0] == WIRE_VERSION else 0


def feed(example: Example, raw: bytes) -> None:
    try:
        value = example.decode(raw)
    except DecodeError:
        return
    assert example.encode(value) == raw


@EVERY_MESSAGE
@FEWER
@given(noise=st.binary(max_size=400))
def test_noise_is_refused_or_understood_to_the_letter(example: Example, noise: bytes) -> None:
    feed(example, example.raw[: head_of(example)] + noise)


@st.composite
def edits(draw: st.DrawFn) -> list[tuple[float, int, bytes]]:
    """(where, how much goes, what comes instead), a few times."""
    numbers = st.one_of(
        st.binary(max_size=9),
        NUMBERS.map(lambda number: number.to_bytes(8, "big")),
        NUMBERS.map(lambda number: number.to_bytes(8, "big")[4:]),
    )
    edit = st.tuples(st.floats(0, 1), st.integers(0, 9), numbers)
    return draw(st.lists(edit, min_size=1, max_size=4))


@EVERY_MESSAGE
@FEWER
@given(changes=edits())
def test_a_message_with_a_few_bytes_changed_is_refused_or_understood(
    example: Example, changes: list[tuple[float, int, bytes]]
) -> None:
    head = head_of(example)
    raw = example.raw[head:]
    for where, gone, new in changes:
        at = int(where * len(raw))
        raw = raw[:at] + new + raw[at + gone :]
    feed(example, example.raw[:head] + raw)


def trees() -> st.SearchStrategy[Any]:
    leaves = st.one_of(
        NUMBERS,
        st.integers(-5, 70_000),
        st.text("aé#\0", max_size=5),
        st.binary(max_size=5),
        st.booleans(),
        st.none(),
        st.floats(),
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4), max_leaves=12)


@pytest.mark.parametrize("example", PACKED, ids=lambda example: example.name)
@FEWER
@given(data=st.data())
def test_a_well_formed_tree_of_other_values_is_refused_or_understood(
    example: Example, data: st.DataObject
) -> None:
    head = head_of(example)
    try:
        fields = msgspec.msgpack.decode(example.raw[head:])
    except msgspec.DecodeError:
        fields = [0]  # a token: packed by hand
    at = data.draw(st.integers(0, len(fields)))
    fields[at : at + 1] = [data.draw(trees())]  # in place of one, or one too many
    feed(example, example.raw[:head] + msgspec.msgpack.encode(fields))


@given(noise=st.binary(max_size=60), version=st.booleans(), cluster=st.booleans())
def test_a_header_is_refused_or_understood(noise: bytes, version: bool, cluster: bool) -> None:
    raw = noise
    if version:
        raw = bytes([WIRE_VERSION]) + raw[1:]
    if cluster:
        raw = raw[:2] + pack(">Q", CLUSTER) + raw[10:]
    try:
        tag, sender, incarnation = open_header(raw, CLUSTER)
    except DecodeError:
        return
    packed = HEADER.pack(WIRE_VERSION, tag, CLUSTER, sender, incarnation)
    assert packed == raw[:HEADER_BYTES]


@given(body=st.binary(max_size=200), count=st.integers(0, 65_535))
@given_example(body=EXAMPLES[-1].raw, count=65_535)
@given_example(body=EXAMPLES[-1].raw, count=0)
def test_a_body_does_not_mind_a_wrong_count(body: bytes, count: int) -> None:
    try:
        opened = read_body(body, count)
    except DecodeError:
        return
    assert len(opened.payloads) == len(opened.kinds) == len(opened.destinations) == count


MUCH = [
    *(b"\xdd" + pack(">I", size) for size in (2**32 - 1, 2**31, 2**24)),  # arrays
    *(b"\xdb" + pack(">I", size) for size in (2**32 - 1, 2**31, 2**24)),  # text
    *(b"\xc6" + pack(">I", size) for size in (2**32 - 1, 2**31, 2**24)),  # bytes
    b"\xdf" + pack(">I", 2**32 - 1),  # a map
    b"\x91" * 20_000,  # depth
    b"\xdd\xff\xff\xff\xff" * 1_000,  # both
]


def peak_of(action: Callable[[], object]) -> int:
    """Bytes that it had at one time, on top of what was there."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ROOM = 100_000
"""What an error and its trace may take, whatever the input."""


@EVERY_MESSAGE
def test_what_claims_to_be_huge_takes_no_memory(example: Example) -> None:
    """A few bytes that name gigabytes: what is taken depends on what came."""
    head = head_of(example)
    own = example.raw[head:]
    for much in MUCH:
        for at in {0, 1, len(own) // 2, len(own)}:
            raw = example.raw[:head] + own[:at] + much
            peak = peak_of(partial(feed, example, raw))
            assert peak < ROOM + 30 * len(raw), raw[:80].hex()


@EVERY_MESSAGE
def test_a_number_replaced_by_the_largest_takes_no_memory(example: Example) -> None:
    head = head_of(example)
    for width in (1, 2, 4, 8):
        for at in range(head, len(example.raw)):
            raw = example.raw[:at] + b"\xff" * width + example.raw[at + width :]
            peak = peak_of(partial(feed, example, raw))
            assert peak < ROOM + 30 * len(raw), raw.hex()


@pytest.mark.parametrize("count", [65_535, 3_000_000, 1 << 32, 1 << 62])
def test_a_body_of_few_bytes_and_many_messages_takes_no_memory(count: int) -> None:
    raw = EXAMPLES[-2].raw

    def read() -> None:
        with pytest.raises(DecodeError):
            read_body(raw, count)

    assert peak_of(read) < ROOM + 30 * len(raw)
