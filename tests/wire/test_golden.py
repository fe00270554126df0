"""Golden bytes: what a daemon says today every later one understands, to the letter."""

import typing

import pytest

from antiphon.wire.changes import GroupChange
from antiphon.wire.control import TAGS
from antiphon.wire.packet import WIRE_VERSION, Tag
from tests.wire.messages import EXAMPLES, GOLDEN, Example


def golden() -> dict[str, bytes]:
    lines = [line.split(" ") for line in GOLDEN.read_text().splitlines()]
    return {name: bytes.fromhex(text) for name, text in lines}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_a_message_is_packed_to_its_golden_bytes(example: Example) -> None:
    """SP-175 to SP-183: every field of the token is in its bytes, and so for all messages."""
    assert example.raw.hex() == golden()[example.name].hex()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_golden_bytes_are_opened_to_their_message(example: Example) -> None:
    assert example.decode(golden()[example.name]) == example.value


def test_the_golden_file_has_each_example_once_and_nothing_else() -> None:
    names = [line.split(" ")[0] for line in GOLDEN.read_text().splitlines()]
    assert names == [example.name for example in EXAMPLES]


def test_every_tag_has_an_example() -> None:
    shown = {raw[1] for raw in golden().values() if raw[0] == WIRE_VERSION}
    assert [tag.name for tag in Tag if tag not in shown] == []


def test_every_message_and_group_change_has_an_example() -> None:
    declared = {*TAGS, *typing.get_args(GroupChange)}
    assert declared - {type(example.value) for example in EXAMPLES} == set()
