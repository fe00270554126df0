"""The demo shows a partition, a merge and kept promises."""

from click.testing import CliRunner

from antiphon.sim.demo import EYES, PROMISES, tell
from antiphon.tools.demo_command import demo


def test_the_story_has_a_split_a_merge_and_late_messages() -> None:
    told = tell()
    assert not told.outcome.failed
    sizes = [len(record.members) for record in told.installs()]
    assert sizes[0] == 5 and sizes[-1] == 5
    assert sorted(sizes[1:-1]) == [2, 3]
    for daemon in EYES:
        kinds = [entry.kind for entry in told.diaries[daemon]]
        assert {"message", "late", "view", "transition"} == set(kinds)


def test_both_clients_tell_common_messages_in_one_order() -> None:
    told = tell()
    left, right = ([entry.text for entry in told.diaries[daemon]] for daemon in EYES)
    common = [text for text in left if text in right]
    assert len(common) > 8
    assert common == [text for text in right if text in left]


def test_side_by_side_loses_nothing() -> None:
    told = tell()
    pairs = list(told.side_by_side())
    for index, daemon in enumerate(EYES):
        assert [pair[index] for pair in pairs if pair[index]] == told.diaries[daemon]


def test_the_command_prints_the_verdict_of_every_promise() -> None:
    result = CliRunner().invoke(demo, catch_exceptions=False)
    assert result.exit_code == 0
    assert all(f" {promise} " in result.output for promise in PROMISES)
    assert result.output.count("kept") == len(PROMISES)
