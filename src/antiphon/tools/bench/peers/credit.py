"""How far a sender may be ahead of its slowest receiver, where the system itself does not say."""

WINDOW_BYTES = 4_000_000
"""Well below what NATS keeps for a client that is slow, 64 MB."""

STRIDES = 8
"""Receivers tell what they have taken so many times in a window."""


class Credit:
    def __init__(self, receivers: int, size: int) -> None:
        self._taken = [0] * receivers
        self._ahead = STRIDES * self.stride(size)
        self.limit = self._ahead
        """Number of the last message that may be sent."""

    @staticmethod
    def stride(size: int) -> int:
        """A receiver tells how many messages it has taken when so many more have come."""
        return max(1, WINDOW_BYTES // STRIDES // size)

    def hear(self, receiver: int, count: int) -> None:
        self._taken[receiver] = count
        self.limit = min(self._taken) + self._ahead
