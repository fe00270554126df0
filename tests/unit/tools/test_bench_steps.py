"""Single steps do what they are called, and each is measured."""

import json

import pytest
from click.testing import CliRunner

from antiphon.tools.bench import steps
from antiphon.tools.bench.direct import Direct, bundle_body
from antiphon.tools.bench_command import bench


@pytest.mark.parametrize("step", steps.STEPS, ids=lambda step: step.name)
@pytest.mark.parametrize("size", [100, 8192])
def test_a_step_can_be_done_over_and_over(step: steps.Step, size: int) -> None:
    work = step.prepare(size)
    units = [work() for _ in range(3)]
    assert units[0] > 0 and units.count(units[0]) == 3


def test_a_bundle_is_full_and_never_empty() -> None:
    assert bundle_body(100)[1] > 500
    assert bundle_body(1 << 16)[1] == 1


def test_every_receiver_gets_every_bundle() -> None:
    cluster = Direct(3, 1000)
    before = cluster.taken
    for _ in range(5):
        cluster.bundle()
    assert cluster.taken == before + 15


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ROUND_SECONDS", 0.001)
    arguments = ["steps", "--only", "seal", "--only", "client packs", "--size", "64", "--json"]
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert [one["step"] for one in found] == ["client packs", "seal"]
    assert all(one["size"] == 64 and one["microseconds"] > 0 for one in found)


def test_a_step_can_rest_before_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(steps.time, "sleep", rests.append)
    arguments = ["steps", "--only", "seal", "--size", "64", "--rest-ms", "10", "--json"]
    done = CliRunner().invoke(bench, arguments)
    assert json.loads(done.stdout)[0]["microseconds"] > 0
    assert rests == [0.01] * steps.RESTED_TIMES
