"""Lamport time: a stamp is larger than every stamp its writer has seen (SP-76)."""


class LamportClock:
    """Counts events in an order that respects cause and effect; reads no real clock (SP-25)."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def see(self, stamp: int) -> None:
        """Raise to a stamp that was seen, never above it."""
        if stamp > self.value:
            self.value = stamp

    def stamp(self, floor: int) -> int:
        """The next stamp: above everything seen and above `floor`."""
        self.value = max(self.value, floor) + 1
        return self.value
