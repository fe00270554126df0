"""Entries become rows: all of a range, nothing else, whatever the size of the batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.errors import QueryFailed
from antiphon.client.log import LogRange, messages_in
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.offsets import NO_BRANCH
from antiphon.pipeline.stream import columns
from antiphon.pipeline.stream.columns import COLUMNS, Columns
from antiphon.wire.body import pack_body, read_body
from antiphon.wire.retained import pack_entry

ORIGIN = SessionId(DaemonId(1), Incarnation(2), 3)
bundles = st.lists(
    st.tuples(
        st.lists(st.binary(max_size=8), min_size=1, max_size=6),
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["", "query"]),
    ),
    min_size=1,
    max_size=8,
)


def packed(told: list[tuple[list[bytes], str, str]]) -> bytes:
    data, sequence = b"", 1
    for payloads, sender, producer in told:
        count = len(payloads)
        kinds = tuple(range(-1, count - 1))
        body = pack_body((("g",),), (0,) * count, kinds, tuple(payloads), sender)
        messages = read_body(body, count).cut(0, count)
        data += pack_entry(
            sequence, count, 4, ORIGIN, 10 * sequence, sender, producer, 7 * sequence, messages
        )
        sequence += count
    return data


@given(bundles, st.data())
def test_rows_are_the_messages_of_the_range(
    told: list[tuple[list[bytes], str, str]], data: st.DataObject
) -> None:
    total = sum(len(payloads) for payloads, _, _ in told)
    first = data.draw(st.integers(1, total))
    wanted = LogRange(NO_BRANCH, first, data.draw(st.integers(first, total)))
    raw = packed(told)
    gathered = Columns("g", wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "ROWS", data.draw(st.integers(1, 10)))
        batches = list(gathered.add(raw))
    if gathered.waiting:
        batches.append(gathered.batch())
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == [
        dict(
            zip(
                COLUMNS,
                (
                    *("g", str(NO_BRANCH), one.offset.sequence, one.sender, one.number),
                    *("agreed", one.kind, one.key[0] if one.key else None),
                    *(one.key[1] if one.key else None, one.payload),
                ),
                strict=True,
            )
        )
        for one in messages_in("g", wanted, raw)
    ]
    assert len(rows) == wanted.last - wanted.first + 1


def test_what_is_not_whole_is_not_taken() -> None:
    raw = packed([([b"one"], "ann", "")])
    with pytest.raises(QueryFailed):
        list(Columns("g", LogRange(NO_BRANCH, 1, 1)).add(raw[:-1]))
