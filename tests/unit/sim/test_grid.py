"""Axes change a scenario, and say so where they cannot."""

import pytest

from antiphon.core.errors import ConfigError
from antiphon.sim.grid import Axis, Scenario, cells, label, read_axis
from antiphon.sim.sites_swarm import draw_sites

SITES = """\
daemons 4
sites 1 2 | 3 4
wan site1 - site2 latency=40ms
at 1s crash 4
until 2s
"""


def test_an_axis_is_read() -> None:
    assert read_axis("network.loss=0,0.01") == Axis("network.loss", ("0", "0.01"))


@pytest.mark.parametrize("text", ["network.loss", "loss=1", "network.loss=", "daemons=3,3", "=1"])
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="vary"):
        read_axis(text)


def test_the_grid_has_every_combination() -> None:
    axes = [Axis("daemons", ("3", "5")), Axis("network.loss", ("0", "0.1"))]
    assert [label(cell) for cell in cells(axes)] == [
        "daemons=3 network.loss=0",
        "daemons=3 network.loss=0.1",
        "daemons=5 network.loss=0",
        "daemons=5 network.loss=0.1",
    ]
    assert cells([]) == [()]


def test_an_axis_stands_once() -> None:
    with pytest.raises(ConfigError, match="twice"):
        cells([Axis("daemons", ("3",)), Axis("daemons", ("5",))])


def test_a_cell_changes_the_trial() -> None:
    cell = (
        ("sessions", "5"),
        ("network.loss", "0.1"),
        ("wan.latency", "90ms"),
        ("workload.rate", "7"),
        ("node.packet-bytes", "900"),
    )
    trial = Scenario(SITES).trial(cell, 12)
    assert trial.script.seed == 12
    assert trial.script.sessions == 5
    assert trial.script.network.loss == 0.1
    assert [wan.settings.latency_us for wan in trial.script.wan] == [90_000]
    assert trial.script.workload is not None
    assert trial.script.workload.rate == 7
    assert trial.variant.packet_bytes == 900


def test_a_swarm_draws_from_the_seed() -> None:
    assert Scenario(swarm="sites").trial((), 3) == draw_sites(3)


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("network.los", "0", "network.los: 'los' is no setting"),
        ("network.loss", "2", "network.loss: '2' is no probability"),
        ("daemons", "many", "daemons: 'many' is no count"),
        ("daemons", "3", "not every daemon is at one site"),
    ],
)
def test_what_a_scenario_cannot_be_told_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Scenario(SITES).trial(((name, value),), 1)
