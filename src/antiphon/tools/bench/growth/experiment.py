"""What an experiment of `bench growth` is: points that differ in one thing, measured by turns."""

from typing import Literal

import msgspec

from antiphon.tools.bench.plan import Plan

By = Literal["rate_by_first", "cost_by_first"]
Of = Literal[
    "messages_per_second", "deliveries_per_second", "latency_p50_ms", "cost_us", "delivery_cost_us"
]


class Point(msgspec.Struct, frozen=True):
    """The daemons and the load of one measurement."""

    at: int | str
    """What is different here."""

    plan: Plan
    daemons: int = 3
    level: str = "views"
    """Of the daemons' records."""

    extra: str = ""
    """In the daemons' configuration."""

    series: str = ""
    """Points are compared with the first of their series."""

    @property
    def label(self) -> str:
        at = f"{self.at:,}" if isinstance(self.at, int) else self.at
        return f"{self.series}, {at}" if self.series else at


class Claim(msgspec.Struct, frozen=True):
    """How much a point may differ from the first of its series."""

    at: int | str
    by: By
    least: float = 0.0
    most: float = float("inf")


class Panel(msgspec.Struct, frozen=True):
    """What is drawn of the lines of an experiment."""

    of: Of
    title: str
    series: str | None = None
    """Only this one; all if not said."""


class Experiment(msgspec.Struct, frozen=True):
    name: str
    summary: str
    grows: str
    """What the points differ in."""

    points: tuple[Point, ...]
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...] = ()
    side_by_side: bool = False
    """All points are there at once, and flood by turns: for claims of so few per cent that the
    machine differs by more from one run to the next."""

    rows: str = ""
    """Ids of what it shows of the papers."""

    def up_to(self, most: int | None) -> "Experiment":
        """Without points that are larger, but for the first of each series."""
        firsts = {point.series: point for point in reversed(self.points)}
        kept = tuple(
            point
            for point in self.points
            if most is None
            or not isinstance(point.at, int)
            or point.at <= most
            or point is firsts[point.series]
        )
        return msgspec.structs.replace(self, points=kept)
