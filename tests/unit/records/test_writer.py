"""Segments are written, closed, kept within limits, and lost without harm."""

import errno
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.trace import Kind, Record
from antiphon.records.reader import Notes, read_segments
from antiphon.records.segment import JOURNAL, SEGMENT
from antiphon.records.writer import SegmentLimits, SegmentWriter, open_new

SMALL = SegmentLimits(
    batch_rows=4, segment_rows=10, segment_age_us=1_000, held_rows_max=50, retry_us=100
)


class Disk:
    """Opens files until it is told to fail."""

    def __init__(self) -> None:
        self.error = 0
        self.files: list[IO[bytes]] = []

    def open(self, path: Path) -> IO[bytes]:
        if self.error:
            raise OSError(self.error, "told to fail")
        self.files.append(open_new(path))
        return self.files[-1]

    def end_process(self) -> None:
        for file in self.files:
            file.close()


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def writer(directory: Path, disk: Disk | None = None, **options: object) -> SegmentWriter:
    opener = (disk or Disk()).open
    settings = {"limits": SMALL, "wall": lambda: 10**15, "max_age_us": 10**16, **options}
    return SegmentWriter(directory, "d-1", "daemon", "run1", Clock(), open_file=opener, **settings)


def row(number: int) -> Record:
    return Record(Kind.RECEIVED, number, 7, 9, value=number)


def values(directory: Path, notes: Notes | None = None) -> list[int]:
    return [row.value for row in read_segments([directory], notes)]


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_closed_writer_leaves_one_complete_segment(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for number in range(7):
        out.add(row(number))
    out.close()
    assert files(tmp_path) == ["d-1-run1-00000001.arrow"]
    assert values(tmp_path) == [*range(7)]
    assert out.written == 7


def test_a_segment_closes_when_it_has_its_rows(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for number in range(25):
        out.add(row(number))
        out.maybe_rotate(0)
    assert [name for name in files(tmp_path) if name.endswith(SEGMENT)] == [
        "d-1-run1-00000001.arrow",
        "d-1-run1-00000002.arrow",
    ]
    assert out.written == 20
    assert values(tmp_path) == [*range(25)]
    out.close()
    assert values(tmp_path) == [*range(25)]


def test_a_segment_closes_when_it_is_old(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.add(row(1))
    out.maybe_rotate(5)
    out.maybe_rotate(1_004)
    assert out.written == 0
    out.maybe_rotate(1_005)
    assert out.written == 1


def test_rows_that_come_at_once_are_converted_by_pieces(tmp_path: Path) -> None:
    """Its process stands still meanwhile, and others would miss it."""
    out = writer(tmp_path)
    for number in range(20):
        out.add(row(number))
    for turn in (1, 2, 3):
        out.maybe_rotate(0)
        assert out.written == 0, turn
    out.maybe_rotate(0)
    out.maybe_rotate(0)
    assert out.written == 20
    assert values(tmp_path) == [*range(20)]


def test_rows_that_wait_for_their_piece_survive_the_death_of_the_writer(tmp_path: Path) -> None:
    disk = Disk()
    out = writer(tmp_path, disk)
    for number in range(20):
        out.add(row(number))
    out.maybe_rotate(0)
    disk.end_process()
    assert values(tmp_path) == [*range(20)]


def test_rows_survive_the_death_of_the_writer(tmp_path: Path) -> None:
    disk = Disk()
    out = writer(tmp_path, disk)
    for number in range(6):
        out.add(row(number))
        out.maybe_rotate(0)
    out.add(row(6))
    out.spill(0)
    out.add(row(7))  # not spilled: lost
    disk.end_process()
    notes = Notes()
    assert values(tmp_path, notes) == [*range(7)]
    assert notes.unfinished == 1 and not notes.torn
    again = writer(tmp_path)
    again.add(row(8))
    again.close()
    assert values(tmp_path) == [*range(7), 8]
    assert files(tmp_path) == ["d-1-run1-00000001.rows", "d-1-run1-00000002.arrow"]


@pytest.mark.parametrize(
    ("code", "reason"), [(errno.ENOSPC, "disk_full"), (errno.EIO, "records_io")]
)
def test_a_bad_disk_loses_rows_and_the_next_segment_says_so(
    tmp_path: Path, code: int, reason: str
) -> None:
    disk = Disk()
    out = writer(tmp_path, disk)
    disk.error = code
    for number in range(3):
        out.add(row(number))
    out.maybe_rotate(0)
    out.add(row(3))
    out.maybe_rotate(50)  # the disk is left alone
    disk.error = 0
    out.add(row(4))
    out.maybe_rotate(99)
    assert out.dropped == {reason: 5}
    assert files(tmp_path) == []
    out.add(row(5))
    out.maybe_rotate(100)
    out.close()
    told, first = read_segments([tmp_path])
    assert (told.kind, told.reason, told.value, told.node) == (Kind.DROP, reason, 5, 7)
    assert first == row(5)


def test_a_disk_that_fills_in_the_midst_loses_the_segment(tmp_path: Path) -> None:
    disk = Disk()
    out = writer(tmp_path, disk)
    out.add(row(0))
    out.spill(0)
    disk.error = errno.ENOSPC  # the journal is open, the columns are not
    for number in range(1, 5):
        out.add(row(number))
    out.maybe_rotate(0)
    assert out.dropped == {"disk_full": 5}
    assert files(tmp_path) == []
    disk.error = 0
    out.add(row(9))
    out.close()
    assert values(tmp_path) == [5, 9]


def test_what_was_lost_is_told_once_though_the_telling_fails_too(tmp_path: Path) -> None:
    disk = Disk()
    out = writer(tmp_path, disk)
    disk.error = errno.ENOSPC
    out.add(row(0))
    out.maybe_rotate(0)
    disk.error = 0
    out.add(row(1))
    out.spill(200)  # the journal begins with the drop
    disk.error = errno.ENOSPC
    for number in range(2, 5):
        out.add(row(number))
    out.maybe_rotate(200)
    disk.error = 0
    assert out.dropped == {"disk_full": 5}
    out.add(row(9))
    out.close()
    assert values(tmp_path) == [5, 9]


def test_memory_is_bounded(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for number in range(60):
        out.add(row(number))
    assert out.dropped == {"records_overflow": 10}
    out.close()
    assert values(tmp_path) == [10, *range(50)]


def test_the_oldest_segments_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    out = writer(tmp_path)
    for number in range(10):
        out.add(row(number))
        out.maybe_rotate(0)
    size = (tmp_path / files(tmp_path)[0]).stat().st_size
    (tmp_path / "e-1-run1-00000001.arrow").write_bytes(b"of another writer" * size)
    out = writer(tmp_path, max_bytes=size * 5 // 2)
    for number in range(10, 50):
        out.add(row(number))
        out.maybe_rotate(0)
    left = [name for name in files(tmp_path) if name.startswith("d-1")]
    assert left == ["d-1-run1-00000004.arrow", "d-1-run1-00000005.arrow"]
    assert "e-1-run1-00000001.arrow" in files(tmp_path)


def test_old_segments_go_by_age(tmp_path: Path) -> None:
    wall = Clock()
    out = writer(tmp_path, wall=wall, max_age_us=1_000)
    out.add(row(0))
    out.close()
    wall.now = 10**17
    out.add(row(1))
    out.close()
    assert files(tmp_path) == []


def test_a_journal_is_gone_with_its_segment(tmp_path: Path) -> None:
    out = writer(tmp_path)
    out.add(row(0))
    out.spill(0)
    assert [name.endswith(JOURNAL) for name in files(tmp_path)] == [True]
    out.close()
    assert [name.endswith(SEGMENT) for name in files(tmp_path)] == [True]


@pytest.mark.parametrize("words", [("a/b", "daemon", "r"), ("a", "cat", "r"), ("a", "sim", "r-1")])
def test_a_name_that_cannot_be_read_back_is_refused(
    tmp_path: Path, words: tuple[str, str, str]
) -> None:
    name, source, run = words
    with pytest.raises(UsageError):
        SegmentWriter(tmp_path, name, source, run, Clock())


def test_a_directory_that_is_none_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"records\.directory"):
        writer(tmp_path / "file")


FIRST_SEGMENT = """
import sys
from pathlib import Path
from antiphon.core.trace import Kind, Record
from antiphon.records.writer import SegmentWriter
from antiphon.tools.daemon_command import WithoutPandas

if sys.argv[2] == "daemon":
    sys.meta_path.insert(0, WithoutPandas)
writer = SegmentWriter(Path(sys.argv[1]), "d1", "daemon", "r", clock=lambda: 0)
before = set(sys.modules)
writer.add(Record(Kind.START, 0, 1))
writer.close()
large = [name for name in set(sys.modules) - before if name.startswith(("pandas", "pyarrow"))]
print(len(large), "pandas" in sys.modules)
"""


@pytest.mark.parametrize("process", ["daemon", "client"])
def test_the_first_segment_imports_nothing_large(tmp_path: Path, process: str) -> None:
    """It would stand still for a third of a second, ten seconds after its start."""
    command = [sys.executable, "-c", FIRST_SEGMENT, str(tmp_path), process]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert said[0] == "0"
    assert process == "client" or said[1] == "False"
