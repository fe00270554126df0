"""Every scenario gives its transcript to the letter, keeps every promise, and has no bug."""

from pathlib import Path

import pytest

from antiphon.check import judge
from antiphon.sim.nodes import make_nodes
from antiphon.sim.scenario import parse_scenario, play, rewritten

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scenario(file: Path, request: pytest.FixtureRequest) -> None:
    scenario = parse_scenario(file.read_text())
    run, transcript = play(scenario, make_nodes(scenario.script, scenario.settings))
    if request.config.getoption("--rewrite", default=False):
        file.write_text(rewritten(scenario, transcript))
        scenario = parse_scenario(file.read_text())
    assert transcript == scenario.expected
    assert run.bugs == []
    violations = judge(run.records, ended=scenario.script.quiet is not None)
    assert [str(violation) for violation in violations] == []


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 6
