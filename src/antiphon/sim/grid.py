"""Grids: one scenario in many variants, each played with many seeds.

An axis is a setting of a trial with the values it shall have, spelled as in a script:

    network.loss=0,0.01,0.05       node.packet-bytes=900,1400       daemons=3,5,9
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from antiphon.core.errors import ConfigError
from antiphon.sim.notation import Tokens, read_amounts
from antiphon.sim.script import AMOUNTS
from antiphon.sim.sites_swarm import draw_trial
from antiphon.sim.trial import NODE, Trial, parse_trial
from antiphon.sim.workload import WorkloadSettings

WAN = "wan"
COUNTS = ("daemons", "sessions")

SPLIT_AND_MERGE = """\
daemons 5
sessions 2
network latency=300us jitter=100us
workload rate=10 until=7s
at 2s cut 1 2 | 3 4 5
at 4s heal
quiet 5s
until 10s
"""
"""Played if no other scenario is named."""


class Axis(NamedTuple):
    name: str
    values: tuple[str, ...]


Cell = tuple[tuple[str, str], ...]
"""One value of each axis, by name."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a seed and a cell are played in: a script, or what a swarm draws from the seed."""

    text: str = SPLIT_AND_MERGE
    swarm: str = ""
    """`one-site` or `sites`: drawn, and the text does not count."""

    def trial(self, cell: Cell, seed: int) -> Trial:
        """ConfigError names what the scenario cannot be told."""
        drawn = self.swarm and draw_trial(self.swarm == "sites", seed)
        trial = drawn or parse_trial(self.text)
        trial = replace(trial, script=replace(trial.script, seed=seed))
        for name, value in cell:
            trial = _changed(trial, name, value)
        return parse_trial(str(trial))  # steps may name a daemon that is there no more


def read_axis(text: str) -> Axis:
    name, sign, values = text.partition("=")
    head = name.partition(".")[0]
    known = (*AMOUNTS, WAN, NODE, *COUNTS)
    if head not in known or not sign:
        what = f"{text!r} is no axis"
        raise ConfigError("vary", what, "write network.loss=0,0.01; heads are " + ", ".join(known))
    found = tuple(values.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise ConfigError("vary", f"{text!r} has an empty or doubled value", "remove it")
    return Axis(name, found)


def cells(axes: Iterable[Axis]) -> list[Cell]:
    axes = list(axes)
    names = [axis.name for axis in axes]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise ConfigError("vary", f"{doubled.pop()} stands twice", "put its values on one axis")
    told = [[(axis.name, value) for value in axis.values] for axis in axes]
    return list(product(*told))


def label(cell: Cell) -> str:
    return " ".join(f"{name}={value}" for name, value in cell) or "as it is"


def _changed(trial: Trial, name: str, value: str) -> Trial:
    head, _, setting = name.partition(".")
    script = trial.script
    if head == NODE:
        return replace(trial, variant=_read(trial.variant, name, value))
    changed: dict[str, Any]
    if head in COUNTS:
        if not value.isdigit() or int(value) < 1:
            raise ConfigError(name, f"{value!r} is no count", "write a whole number")
        changed = {head: int(value)}
    elif head == WAN:
        changed = {WAN: tuple(_far(each, name, value) for each in script.wan)}
    else:
        usual = getattr(script, head)
        changed = {head: _read(WorkloadSettings() if usual is None else usual, name, value)}
    return replace(trial, script=replace(script, **changed))


def _far(wan: Any, name: str, value: str) -> Any:
    return replace(wan, settings=_read(wan.settings, name, value))


def _read(settings: Any, name: str, value: str) -> Any:
    setting = name.partition(".")[2]
    try:
        return read_amounts(Tokens(1, f"{setting}={value}"), settings)
    except ConfigError as error:
        raise ConfigError(name, error.what, error.remedy) from None
