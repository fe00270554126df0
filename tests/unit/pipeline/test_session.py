"""What a job may count with on a master."""

import os

import pytest

from antiphon.pipeline.session import cores

HERE = os.cpu_count() or 1


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        *(("local", 1), ("local[3]", 3), ("local[2,4]", 2), ("local[*]", HERE)),
        ("spark://host:7077", 2 * HERE),
    ],
)
def test_cores(master: str, expected: int) -> None:
    assert cores(master) == expected
