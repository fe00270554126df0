"""Jobs that write the same tables take turns: what one finds there holds until it has written."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "lock"


@contextmanager
def turn(tables: Path) -> Iterator[None]:
    """Alone, until the block ends; also among processes, and a killed one leaves nothing behind."""
    tables.mkdir(parents=True, exist_ok=True)
    with (tables / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
