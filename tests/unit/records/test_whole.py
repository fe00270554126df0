"""A whole segment is read back as it was written."""

from pathlib import Path

from antiphon.core.ids import DaemonId
from antiphon.core.trace import Kind, Record
from antiphon.records.reader import read_segments
from antiphon.records.segment import SEGMENT, Heading, SegmentName
from antiphon.records.whole import whole_segment


def test_it_reads_back(tmp_path: Path) -> None:
    rows = [Record(Kind.START, 5, DaemonId(1)), Record(Kind.STOP, 9, DaemonId(1), reason="end")]
    path = SegmentName("sim", "run", 0).path(tmp_path, SEGMENT)
    path.write_bytes(whole_segment(rows, Heading(run="run", source="sim", name="sim")))
    assert list(read_segments([tmp_path])) == rows
