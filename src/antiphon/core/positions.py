"""Places in the one order of a configuration: (stamp, segment) as a single number (SP-64)."""

SEGMENT_BITS = 16
SEGMENTS_MAX = 1 << SEGMENT_BITS


def position(stamp: int, segment: int) -> int:
    return stamp << SEGMENT_BITS | segment


def stamp_of(position: int) -> int:
    return position >> SEGMENT_BITS


def place_name(position: int) -> str:
    """For people: the stamp, and the segment where it is not the first."""
    segment = position % SEGMENTS_MAX
    return f"{stamp_of(position)}.{segment}" if segment else f"{stamp_of(position)}"
