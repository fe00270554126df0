"""What a record file is, if its writer goes on meanwhile."""

from pathlib import Path

import pytest

from antiphon.core.ids import DaemonId, Incarnation
from antiphon.core.trace import Kind, Record
from antiphon.pipeline.segments import GONE, WHOLE, look, rows_of
from antiphon.records.writer import SegmentWriter


def test_a_journal_that_became_a_segment_is_that_segment(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, "d1", "daemon", "r1", clock=lambda: 0)
    writer.add(Record(Kind.HAND, 1, DaemonId(1), Incarnation(1)))
    writer.spill(0)
    (journal,) = tmp_path.glob("*.rows")
    assert not look(journal).complete
    writer.close()
    found = look(journal)
    assert found == look(journal.with_suffix(".arrow"))
    assert (found.complete, found.rows, found.state) == (True, 1, WHOLE)


def test_a_journal_without_a_segment_is_gone(tmp_path: Path) -> None:
    assert look(tmp_path / "d1-r1-00000001.rows").state == GONE


def test_a_segment_that_goes_before_it_is_read_does_not_count_as_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(rows_of(tmp_path / "d1-r1-00000001.arrow"))
    assert not list(rows_of(tmp_path / "d1-r1-00000001.rows"))
