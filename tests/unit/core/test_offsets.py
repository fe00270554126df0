"""Offsets as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UsageError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.offsets import ORIGIN, Branch, Offset, parse_branch, parse_offset

number = st.integers(1, 2**64 - 1)


@given(number, number, number, number, number, number)
def test_an_offset_reads_back(
    epoch: int, daemon: int, life: int, n: int, line: int, at: int
) -> None:
    config = ConfigId(epoch, DaemonId(daemon), Incarnation(life), n)
    offset = Offset(Branch(config, line), at)
    assert parse_offset(str(offset)) == offset
    assert parse_branch(str(offset.branch)) == offset.branch


def test_the_origin_is_short() -> None:
    assert str(ORIGIN) == ":0"
    assert parse_offset(":0") == ORIGIN


@pytest.mark.parametrize("text", ["", "7", "1.2.3:4", "1.2.3.4.z:5", "1.2.3.4.0:", "1.2.3.4.0:-1"])
def test_what_is_no_offset_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_offset(text)
