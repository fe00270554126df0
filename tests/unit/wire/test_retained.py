"""Parts and entries of kept groups: what is whole is read, what is torn ends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId
from antiphon.core.offsets import Branch
from antiphon.wire.body import pack_body, read_body
from antiphon.wire.retained import (
    KeptState,
    PartHead,
    check_kept,
    pack_entry,
    pack_part,
    read_part,
    walk,
)

CONFIG = ConfigId(3, DaemonId(1), Incarnation(7), 2)
MAIN, TAIL = Branch(CONFIG, 0), Branch(CONFIG, 9)
ORIGIN = SessionId(DaemonId(1), Incarnation(7), 4)
HEAD = PartHead(TAIL, 5, KeptState("g", ((MAIN, 4),), ((MAIN, 3),), (("q", 12),)))


def entry(sequence: int, payloads: tuple[bytes, ...], producer: str = "") -> bytes:
    zeros = (0,) * len(payloads)
    body = read_body(pack_body((("g",),), zeros, zeros, payloads, "ann"), len(payloads))
    messages = body.cut(0, len(payloads))
    count = len(payloads)
    return pack_entry(sequence, count, 4, ORIGIN, 70, "ann", producer, 30, messages)


def payloads_of(data: bytes) -> list[bytes]:
    found = []
    for one in walk(data):
        at = one.payloads_at
        for place in range(one.count):
            length = int.from_bytes(data[one.lengths_at + 4 * place :][:4])
            found.append(data[at : at + length])
            at += length
        assert at == one.end
    return found


@given(st.lists(st.lists(st.binary(max_size=20), min_size=1, max_size=5), max_size=5))
def test_entries_read_back(bundles: list[list[bytes]]) -> None:
    data = b""
    for number, payloads in enumerate(bundles):
        data += entry(number + 1, tuple(payloads), "query" if number % 2 else "")
    assert payloads_of(data) == [payload for bundle in bundles for payload in bundle]
    assert [one.key for one in walk(data)] == [30 * (at % 2) for at in range(len(bundles))]


@given(st.data())
def test_a_torn_end_is_cut_at_an_entry(data: st.DataObject) -> None:
    entries = [entry(at, (b"%d" % at, b"x" * at)) for at in range(1, 6)]
    whole = b"".join(entries)
    size = data.draw(st.integers(0, len(whole)))
    fits = [one for at, one in enumerate(entries) if len(b"".join(entries[: at + 1])) <= size]
    assert len(list(walk(whole[:size]))) == len(fits)


@given(st.data())
def test_a_changed_byte_is_found(data: st.DataObject) -> None:
    whole = bytearray(entry(1, (b"one", b"two")))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    assert list(walk(bytes(whole))) == []


@given(st.integers(0, len(pack_part(HEAD)) - 1))
def test_a_torn_head_is_no_part(size: int) -> None:
    assert read_part(pack_part(HEAD) + b"rest") == (HEAD, len(pack_part(HEAD)))
    with pytest.raises(DecodeError):
        read_part(pack_part(HEAD)[:size])


def test_a_subset_is_cut_out_of_a_body() -> None:
    payloads = (b"a", b"bb", b"", b"dddd")
    body = read_body(pack_body((("g",),), (0,) * 4, (1, 2, 3, 4), payloads, "ann"), 4)
    cut = body.cut(1, 3)
    assert cut == bytes([0, 0, 0, 2, 0, 0, 0, 0]) + bytes([0, 2, 0, 3]) + b"bb"


@pytest.mark.parametrize(
    "states",
    [
        (KeptState("b", (), (), ()), KeptState("a", (), (), ())),
        (KeptState("a", (), (), ()), KeptState("a", (), (), ())),
        (KeptState("a", ((TAIL, 1), (MAIN, 1)), (), ()),),
        (KeptState("a", (), ((MAIN, 1), (MAIN, 2)), ()),),
        (KeptState("a", (), (), (("q", 1), ("q", 2))),),
    ],
)
def test_what_is_told_twice_or_out_of_order_is_refused(states: tuple[KeptState, ...]) -> None:
    with pytest.raises(DecodeError):
        check_kept(states)
