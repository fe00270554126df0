"""What a body tells of its messages without taking them apart."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.wire.body import pack_body, read_body

GROUPS = (("a",), ("b", "c"), ("d",))

messages = st.lists(
    st.tuples(st.integers(0, len(GROUPS) - 1), st.binary(max_size=4)), min_size=1, max_size=30
)


def body_of(sent: list[tuple[int, bytes]], producer: str = "") -> bytes:
    places, payloads = zip(*sent, strict=True)
    table = GROUPS[:1] if producer else GROUPS
    return pack_body(table, places, (0,) * len(sent), payloads, "me", False, producer, 7)


@given(sent=messages, alike=st.booleans())
def test_runs_have_one_destination_and_all_payloads_are_in_them(
    sent: list[tuple[int, bytes]], alike: bool
) -> None:
    if alike:
        sent = [(place, payload.ljust(4)) for place, payload in sent]
    body = read_body(body_of(sent), len(sent))
    runs = list(body.runs())
    assert [place for _, count, place in runs for _ in range(count)] == [one[0] for one in sent]
    assert all(one[2] != other[2] for one, other in zip(runs, runs[1:], strict=False))
    end = 0
    for start, count, _ in runs:
        assert start == end
        end += count
        payloads = [payload for _, payload in sent[start:end]]
        assert body.together(start, count) == b"".join(payloads)


def test_keyed_messages_are_told_one_by_one() -> None:
    body = read_body(body_of([(0, b"x"), (0, b"yy")], producer="p"), 2)
    assert list(body.runs()) == [(0, 1, 0), (1, 1, 0)]
    assert body.together(1, 1) == b"yy"
