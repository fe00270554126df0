"""Campaigns: what is played, what is kept, and that a start goes on where the last one was."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antiphon.core.errors import ConfigError, UsageError
from antiphon.pipeline.campaign.failures import keep_failures
from antiphon.pipeline.campaign.plan import Plan
from antiphon.pipeline.campaign.summary import latencies, outcomes
from antiphon.pipeline.campaign.waves import MARK, RUNS, play_campaign
from antiphon.sim.grid import Axis, Scenario, cells
from antiphon.sim.trial import parse_trial, play

pytestmark = pytest.mark.xdist_group("spark")

SHORT = """\
daemons 3
network latency=300us
workload rate=20 until=2s
at 500ms cut 1 | 2 3
at 1s heal
quiet 1.2s
until 3s
"""
LOSS = Axis("network.loss", ("0", "0.05"))


class Seen:
    """What a campaign tells of its progress."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int, int]] = []

    def __call__(self, over: int, every: int, failed: int) -> None:
        self.told.append((over, every, failed))


def plan_of(seeds: range, mutant: str = "") -> Plan:
    return Plan(Scenario(SHORT), cells([LOSS]), seeds, mutant)


def test_a_campaign_is_played_and_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    seen = Seen()
    runs = play_campaign(spark, plan_of(range(2)), tmp_path, 1, seen)
    assert seen.told == [(0, 4, 0), (4, 4, 0)]
    rows = {row.part: row for row in outcomes(runs).collect()}
    assert {part: row.runs for part, row in rows.items()} == {
        "network.loss=0": 2,
        "network.loss=0.05": 2,
    }
    assert all(row.violations == row.stuck == 0 and row.merge_p50_ms > 0 for row in rows.values())
    table = {(row.part, row.service): row for row in latencies(runs).collect()}
    quick, slow = (table[f"network.loss={loss}", "safe"] for loss in LOSS.values)
    assert 300 < quick.p50_us <= quick.p99_us
    assert quick.p50_us < slow.p50_us

    again = Seen()
    more = play_campaign(spark, plan_of(range(3)), tmp_path, 1, again)
    assert again.told == [(4, 6, 0), (6, 6, 0)]
    assert more.count() == 6
    fewer = play_campaign(spark, plan_of(range(1)), tmp_path, 1, Seen())
    assert sorted(row.seed for row in fewer.collect()) == [0, 0]


def test_an_interrupted_wave_is_played_again(spark: SparkSession, tmp_path: Path) -> None:
    plan = plan_of(range(1))
    play_campaign(spark, plan, tmp_path, 1, Seen())
    (tmp_path / RUNS / plan.name / "wave=000000" / MARK).unlink()
    seen = Seen()
    runs = play_campaign(spark, plan, tmp_path, 1, seen)
    assert seen.told == [(0, 2, 0), (2, 2, 0)]
    assert runs.count() == 2


def test_failures_can_be_replayed(spark: SparkSession, tmp_path: Path) -> None:
    mutant = "sent-across-changes"
    plan = plan_of(range(1), mutant)
    runs = play_campaign(spark, plan, tmp_path, 1, Seen())
    failures = keep_failures(runs, plan, tmp_path)
    assert failures
    script = Path(failures[0].replay.split()[3])
    played, outcome = play(parse_trial(script.read_text()), plan.planter())
    assert outcome.promises == failures[0].promises
    assert list(script.parent.glob("*.arrow"))


def test_what_cannot_be_played_is_refused_before(spark: SparkSession, tmp_path: Path) -> None:
    bad = Plan(Scenario(SHORT), cells([Axis("network.loss", ("7",))]), range(1))
    with pytest.raises(ConfigError, match="network.loss"):
        play_campaign(spark, bad, tmp_path, 1, Seen())
    with pytest.raises(UsageError, match="mutant"):
        play_campaign(spark, plan_of(range(1), "nonsense"), tmp_path, 1, Seen())
