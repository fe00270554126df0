"""What an experiment is, and what all of them are told."""

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.tools.bench.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Bench:
    """What all experiments are told."""

    messages: int
    trips: int
    seconds: float
    """Of what is measured by time."""

    seed: int
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Experiment:
    summary: str
    run: Callable[[Bench], Outcome]
