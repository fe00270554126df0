"""`antiphon send`: what is sent."""

import asyncio

from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from antiphon.tools.send_command import BATCH, made_up, payloads_of, send


def payloads(*arguments: object) -> list[list[bytes]]:
    async def collect() -> list[list[bytes]]:
        return [batch async for batch in payloads_of(*arguments)]  # type: ignore[arg-type]  # mixed

    return asyncio.run(collect())


def test_each_word_is_a_message_so_often() -> None:
    assert payloads(("a", "b c"), None, None) == [[b"a", b"b c"]]
    assert payloads(("a", "b"), 2, None) == [[b"a", b"a", b"b", b"b"]]


def test_made_up_messages_come_in_batches() -> None:
    batches = payloads((), BATCH + 1, 8)
    assert [len(batch) for batch in batches] == [BATCH, 1]
    assert batches[1] == [b"1001 ..."]
    assert len(payloads((), 1, None)[0][0]) == 100
    assert payloads((), None, 0) == [[b""]]


@given(st.integers(1, 50), st.integers(0, 40))
def test_made_up_messages_have_their_size_and_number(count: int, size: int) -> None:
    made = list(made_up(count, size))
    assert [len(payload) for payload in made] == [size] * count
    if size >= 3:
        assert [int(payload.split()[0]) for payload in made] == list(range(1, count + 1))


def test_a_size_for_messages_that_are_given_is_wrong_usage() -> None:
    assert CliRunner().invoke(send, ["chat", "hello", "--size", "3"]).exit_code == 2
    assert CliRunner().invoke(send, ["chat", "hello", "--service", "best"]).exit_code == 2
