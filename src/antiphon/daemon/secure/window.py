"""Which counters of one life were there already."""

WIDTH = 4096
"""So far behind the newest a counter is still known: more than a socket's buffer holds, for
one socket may be read long after another."""


class Window:
    """Bit i of the mask: counter base + i was there. Below base everything counts as seen.

    The mask grows to twice the width before it is cut, so that most counters cost one `|`.
    """

    __slots__ = ("base", "mask")

    def __init__(self, after: int) -> None:
        self.base = after + 1
        self.mask = 0

    def first_time(self, counter: int) -> bool:
        place = counter - self.base
        if place < 0:
            return False
        if place >= 2 * WIDTH:
            past = place - WIDTH + 1
            self.mask >>= past
            self.base += past
            place = WIDTH - 1
        bit = 1 << place
        if self.mask & bit:
            return False
        self.mask |= bit
        return True
