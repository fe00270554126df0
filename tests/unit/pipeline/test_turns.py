"""Whoever writes tables does it alone."""

import fcntl
from pathlib import Path

import pytest

from antiphon.pipeline.turns import LOCK, turn


def test_a_turn_is_of_one_until_its_end(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    with turn(tables), (tables / LOCK).open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tables / LOCK).open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
