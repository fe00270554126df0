"""Waiting for what other processes do, with a deadline."""

import time
from collections.abc import Callable

LOOK_AGAIN_S = 0.02


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Look again and again; so long nobody takes unless something is wrong."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come"
        time.sleep(LOOK_AGAIN_S)
