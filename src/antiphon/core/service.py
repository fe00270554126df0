"""The six services, weakest first (S1 to S6; SP-48 to SP-50)."""

from enum import IntEnum


class Service(IntEnum):
    UNRELIABLE = 0
    """At most once, whole or not at all; waits for nothing."""

    RELIABLE = 1
    """Delivered on arrival, repaired when lost."""

    FIFO = 2
    """After everything reliable that the same session sent before."""

    CAUSAL = 3
    """After everything that happened before it was sent."""

    AGREED = 4
    """In one order everywhere."""

    SAFE = 5
    """In that order, once every member holds it."""


ORDERED = (Service.AGREED, Service.SAFE)
EARLY = (Service.RELIABLE, Service.FIFO, Service.CAUSAL)
"""May be delivered before their turn in the total order."""
