"""A run's records become figures and a verdict."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from antiphon.core.trace import Kind, Record
from antiphon.records.writer import DISK_FULL, SegmentWriter
from antiphon.sim.swarm import draw
from antiphon.sim.trial import play
from antiphon.tools.chaos.run import Deeds
from antiphon.tools.chaos.verdict import Verdict, print_verdict, reach_verdict


def verdict_of(directory: Path, rows: Iterable[Record], *unexpected: str) -> Verdict:
    writer = SegmentWriter(directory, "seed7", "sim", "r1", clock=lambda: 0)
    for row in rows:
        writer.add(row)
    writer.close()
    return reach_verdict(directory, Deeds(Counter({"crash": 2, "loss": 1}), [*unexpected]))


@pytest.fixture(scope="module")
def rows() -> list[Record]:
    return play(draw(7))[0].records


def test_a_sound_run_is_counted_and_passes(tmp_path: Path, rows: list[Record]) -> None:
    verdict = verdict_of(tmp_path, rows)
    assert not verdict.failed
    figures = verdict.figures()
    assert figures["faults"] == 3 and figures["faults_crash"] == 2
    assert figures["messages"] == sum(v for k, v in figures.items() if k.startswith("messages_"))
    sent = sum(row.count for row in rows if row.kind is Kind.SUBMIT and row.detail != "change")
    assert figures["messages"] == sent > 0
    assert figures["configurations"] > 1 and figures["views"] > 1 and figures["sessions"] > 1


def test_a_message_that_is_handed_twice_fails(tmp_path: Path, rows: list[Record]) -> None:
    twice = [copy for row in rows for copy in ([row] * (2 if row.kind is Kind.HAND else 1))]
    verdict = verdict_of(tmp_path, twice)
    assert verdict.failed and verdict.figures()["promises"]


def test_a_process_that_ended_by_itself_fails(
    tmp_path: Path, rows: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = verdict_of(tmp_path, rows, "one ended by itself with code 1")
    assert verdict.failed and not verdict.violations
    print_verdict(verdict)
    assert "one ended by itself" in capsys.readouterr().out


def test_troubles_after_the_last_quiet_are_told_where_it_failed(
    tmp_path: Path, rows: list[Record], capsys: pytest.CaptureFixture[str]
) -> None:
    end, node = rows[-1].time, rows[0].node
    early, late = (Record(Kind.TROUBLE, end + at, node, reason=f"t{at}") for at in (1, 3))
    quiet = Record(Kind.QUIET, end + 2, node)
    verdict = verdict_of(tmp_path, [*rows, early, quiet, late], "one ended by itself")
    print_verdict(verdict)
    said = capsys.readouterr().out
    assert "t3" in said and "t1" not in said


def test_missing_rows_fail(tmp_path: Path, rows: list[Record]) -> None:
    lost = Record(Kind.DROP, rows[-1].time, rows[0].node, reason=DISK_FULL, value=3)
    verdict = verdict_of(tmp_path, [*rows, lost])
    assert verdict.failed and verdict.lost == 3


def test_a_run_in_which_nobody_sent_shows_nothing(tmp_path: Path, rows: list[Record]) -> None:
    assert verdict_of(tmp_path, [row for row in rows if row.kind is Kind.START]).failed
