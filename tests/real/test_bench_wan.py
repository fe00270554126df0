"""The wide-area bench, as short as can be: two sites, few messages. What it asserts is far below
what `antiphon bench wan` is for. Needs root."""

import os
from collections.abc import Iterator

import pytest

from antiphon.core.service import Service
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.links import false_nacks, figure5
from antiphon.tools.bench.wan.measure import ping, round_trips, stream, throughput
from antiphon.tools.bench.wan.stage import Stage
from antiphon.tools.bench.wan.wiring import wires
from antiphon.tools.chaos.namespaces import require_programs
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
SITES = ("a", "b")


@pytest.fixture
def pair() -> Iterator[Emulation]:
    require_programs(print)
    with Emulation(topology_of("two-sites:delay_ms=10,mbit=10")) as emulation:
        yield emulation


@needs_root
@pytest.mark.parametrize("link", ["hop", "tcp"])
def test_daemons_of_two_sites_are_measured(pair: Emulation, link: str) -> None:
    """SP-222: round trips, and a stream whose every byte is checked."""
    with Stage(pair, SITES, wires(SITES, link=link)) as stage:
        trips = round_trips(stage, *SITES, count=5)
        # The way itself takes 20 ms; one ping and one trip are not compared on a busy machine.
        assert 20 < ping(pair, *SITES, count=3).least < 500
        assert 20 < trips.least < 500
        assert throughput(stage, "a", ["b"], 300)["b"] > 500
        assert pair.counters()["a", "b"].bytes > 300 * 1024
        agreed = stream(stage, "a", SITES, 5, 100.0, Service.AGREED)
        assert min(agreed["b"].one_way_ms) > 10 and min(agreed["a"].one_way_ms) > 20


@needs_root
def test_loss_on_the_way_is_made_good(pair: Emulation) -> None:
    """SP-221."""
    with Stage(pair, SITES, wires(SITES, rate="5Mbit")) as stage:
        pair.set_link("a", "b", loss=0.1)
        pair.set_link("b", "a", loss=0.1)
        assert throughput(stage, "a", ["b"], 300)["b"] > 300
        assert pair.counters()["a", "b"].lost > 0


def test_experiments_without_daemons_hold() -> None:
    """SP-149, SP-171."""
    bench = Bench(messages=1000, trips=2, seconds=2, seed=7, say=print)
    for experiment in (figure5, false_nacks):
        outcome = experiment(bench)
        assert outcome.tables and all(one.holds for one in outcome.statements)
