"""Which segments a bundle is for."""

from typing import NamedTuple


class Reach(NamedTuple):
    """A segment that a bundle is for."""

    segment: int
    before: int
    """Sequence of the stream's last bundle before it that is for that segment; 0: none."""

    previous: int
    """The same among the bundles of its session."""
