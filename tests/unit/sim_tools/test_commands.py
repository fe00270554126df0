"""The command line: what it prints and how it exits."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.sim.sites_swarm import draw_sites
from antiphon.sim.trial import Trial, parse_trial, play
from antiphon.tools import sim_command
from antiphon.tools.sim_command import sim
from antiphon.tools.sim_report import Tally, failure_text

BREAKS_NOTHING = "daemons 3\nsessions 1\nquiet 2s\nuntil 5s\n"
ALONE = "daemons 2\nquiet 1s\nuntil 6s\n"
NEVER_MEETS = """
daemons 2
at 0s break 1 > 2
quiet 1s
until 5s
"""
FIGURES = (
    "seeds violations stuck events events_per_second messages configurations "
    "transitional_deliveries recoveries_aborted seconds median_events median_configurations "
    "least_messages"
)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(sim, list(arguments), catch_exceptions=False)


def test_a_swarm_ends_with_its_figures() -> None:
    result = call("--seeds", "0:2", "--jobs", "1", "--json")
    figures = json.loads(result.output.splitlines()[-1])
    assert list(figures) == FIGURES.split()
    assert figures["seeds"] == 2
    assert figures["events"] > 4_000
    assert figures["messages"] >= 2 * figures["least_messages"] >= 400
    assert result.exit_code == (1 if figures["violations"] or figures["stuck"] else 0)


def test_a_seed_has_a_timeline_and_a_verdict() -> None:
    result = call("--seed", "0", "--timeline", "--width", "80", "--kinds", "install,fault")
    lines = result.output.splitlines()
    assert lines[0].split() == ["time", "process", "kind", "details"]
    assert {text.split()[2] for text in lines[1:-2]} == {"install", "fault"}
    assert max(map(len, lines[:-2])) <= 80


def test_whatever_is_done_with_a_seed_can_be_done_with_one_of_several_sites() -> None:
    digest = play(draw_sites(2))[0].digest()
    assert call("digest", "--sites", "--seed", "2").output.strip() == digest
    assert call("digest", "--sites", "--seeds", "2:3").output.strip() == f"2 {digest}"
    kept = call("shrink", "--sites", "--seed", "2")
    assert kept.exit_code == 1 and "nothing to shrink" in kept.output
    broken = call("shrink", "--sites", "--seed", "2", "--mutant", "party-told-once", "--runs", "1")
    assert broken.exit_code == 0 and "sites " in broken.output
    changes = call("changes", "--sites", "--seeds", "2:3", "--jobs", "1", "--json")
    assert json.loads(changes.output.splitlines()[-1])["changes"] > 4


def test_the_script_of_a_seed_can_be_run_as_a_file(tmp_path: Path) -> None:
    script = call("--seed", "4", "--script").output
    file = tmp_path / "seed4"
    file.write_text(script)
    by_seed = call("--seed", "4", "--timeline", "--kinds", "all")
    by_file = call("run", str(file), "--kinds", "all")
    assert by_file.output.splitlines()[:-2] == by_seed.output.splitlines()[:-2]
    assert by_file.exit_code == by_seed.exit_code


def test_exit_codes_tell_kept_from_broken(tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_text(BREAKS_NOTHING)
    assert call("run", str(good)).exit_code == 0
    assert call("shrink", str(good)).exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--seed", "1", "--seeds", "0:2"],
        ["--seeds", "5"],
        ["--seeds", "5:5"],
        ["--seed", "1", "--kinds", "nonsense"],
        ["--seed", "1", "--mutant", "no-such-mutant"],
        ["shrink"],
        ["digest"],
        ["run", "no-such-file"],
    ],
)
def test_wrong_usage_exits_with_two(arguments: list[str]) -> None:
    assert call(*arguments).exit_code == 2


def test_a_wrong_script_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong"
    file.write_text("daemons 3\nat 1s dance 2\n")
    result = call("run", str(file))
    assert result.exit_code == 2
    assert "line 2" in result.output


def test_shrink_writes_a_script_that_fails_alike(tmp_path: Path) -> None:
    file, smaller = tmp_path / "long", tmp_path / "short"
    file.write_text(call("--seed", "1", "--script").output)
    arguments = ["--mutant", "strangers-ignored"]
    result = call("shrink", str(file), *arguments, "-o", str(smaller), "--runs", "60")
    assert result.exit_code == 0, result.output
    assert f"antiphon sim run --mutant strangers-ignored {smaller}" in result.output
    before, after = parse_trial(file.read_text()), parse_trial(smaller.read_text())
    assert len(after.script.steps) < len(before.script.steps)
    replayed = call("run", str(smaller), *arguments)
    assert replayed.exit_code == 1
    assert "P1 at" in replayed.output


def test_a_failing_seed_is_told_with_its_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(sites: bool, seed: int) -> Trial:
        return parse_trial(f"seed {seed}\n{ALONE}")

    monkeypatch.setattr(sim_command, "draw_trial", alone)
    result = call("--seeds", "7:9", "--jobs", "1", "--mutant", "strangers-ignored", "--json")
    assert result.exit_code == 1
    assert "antiphon sim --seed 8 --timeline" in result.output
    assert json.loads(result.output.splitlines()[-1])["stuck"] == 2


def test_seeds_over_sites_are_drawn_run_and_told_with_their_replay() -> None:
    text = call("--sites", "--seed", "3", "--script").output
    assert parse_trial(text) == draw_sites(3)
    result = call("--sites", "--seeds", "3:4", "--jobs", "1", "--reach")
    assert "whole site down" in result.output
    assert "NEVER MET" in result.output
    assert result.exit_code == 1
    outcome = sim_command.play(draw_sites(3), events_max=10)[1]
    assert "antiphon sim --sites --seed 3 --timeline" in failure_text(outcome)


def test_reach_prints_every_pair_and_fails_while_some_are_missing() -> None:
    result = call("--seeds", "0:1", "--jobs", "1", "--reach")
    assert result.exit_code == 1
    assert "NEVER MET" in result.output
    assert "recover" in result.output


def test_a_failure_names_promises_and_the_first_counterexample() -> None:
    outcome = sim_command.play(parse_trial(NEVER_MEETS))[1]
    assert not outcome.failed  # what does not hear each other owes nothing
    tally = Tally()
    tally.add(outcome)
    assert tally.figures()["violations"] == 0 and not tally.failed
    ended = sim_command.play(parse_trial(BREAKS_NOTHING), events_max=10)[1]
    assert "does not end" in failure_text(ended)
    tally.add(ended)
    assert tally.figures()["stuck"] == 1 and list(tally.failed) == [1]
