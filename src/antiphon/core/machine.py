"""The machine contract: `(now, event) -> effects`, deterministic, touching nothing else.

* Time is an integer of microseconds; only differences mean anything.
* Timers are state: a machine shows the earliest of its deadlines and the driver knows
  that one number. Nothing needs cancelling and no stale timer can fire.
* Effects are obligations in order. What stands after a `Persist` waits for the disk.
* What peers do wrong is dropped and recorded; what we do wrong is an assertion.
"""

from collections.abc import Sequence
from typing import Any, Protocol

Instant = int
"""Microseconds on the driver's monotonic clock."""

MILLISECOND = 1_000
SECOND = 1_000_000
NEVER: Instant = 1 << 62


class Wakeup:
    """The deadline that the machine asked for has come."""

    __slots__ = ()


WAKEUP = Wakeup()


class Machine(Protocol):
    """What every protocol looks like to the node that joins them."""

    def handle(self, now: Instant, event: Any) -> Sequence[Any]: ...

    def deadline(self) -> Instant: ...


class Timers:
    """Named deadlines of one machine. The earliest is remembered: it is asked for after
    every step, and few steps change it."""

    __slots__ = ("_at", "_earliest")

    def __init__(self) -> None:
        self._at: dict[str, Instant] = {}
        self._earliest: Instant | None = NEVER

    def set(self, name: str, at: Instant) -> None:
        earliest = self._earliest
        if earliest is not None:
            if at <= earliest:
                self._earliest = at
            elif self._at.get(name) == earliest:
                self._earliest = None
        self._at[name] = at

    def clear(self, name: str) -> None:
        if self._at.pop(name, None) == self._earliest:
            self._earliest = None

    def clear_all(self) -> None:
        self._at.clear()
        self._earliest = NEVER

    def at(self, name: str) -> Instant:
        """When it is due; NEVER if it is not set."""
        return self._at.get(name, NEVER)

    def running(self, name: str) -> bool:
        return name in self._at

    def due(self, now: Instant) -> list[str]:
        """Take out what is due, earliest first; equal ones by name."""
        if self.deadline() > now:
            return []
        found = sorted((at, name) for name, at in self._at.items() if at <= now)
        for _, name in found:
            del self._at[name]
        self._earliest = None
        return [name for _, name in found]

    def deadline(self) -> Instant:
        if self._earliest is None:
            self._earliest = min(self._at.values(), default=NEVER)
        return self._earliest

    def shift(self, gap: Instant) -> None:
        """We did not run for `gap`: nobody else is to blame for that time."""
        for name in self._at:
            self._at[name] += gap
        self._earliest = None
