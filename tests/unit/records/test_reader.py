"""Files are read whatever happened to them, and old ones for ever."""

import shutil
from pathlib import Path

import msgspec
import pytest

from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.trace import SCHEMA, Kind, Record
from antiphon.records.journal import frame
from antiphon.records.reader import Notes, read_segments
from antiphon.records.segment import Heading
from antiphon.records.writer import SegmentLimits, SegmentWriter

GOLDEN = Path(__file__).parents[2] / "records" / "golden"


def fill(directory: Path, rows: int, name: str = "d1") -> Path:
    limits = SegmentLimits(batch_rows=50, segment_rows=10**6)
    out = SegmentWriter(directory, name, "daemon", "r", clock=lambda: 0, limits=limits)
    for number in range(rows):
        out.add(Record(Kind.RECEIVED, number, 1, value=number))
        out.maybe_rotate(0)
    out.close()
    return directory / f"{name}-r-00000001.arrow"


def values(path: Path, notes: Notes) -> list[int]:
    return [row.value for row in read_segments([path], notes)]


@pytest.mark.parametrize("version", range(1, SCHEMA + 1))
def test_a_golden_segment_stays_readable(version: int) -> None:
    expected = (GOLDEN / f"schema-{version}.json").read_bytes()
    rows = list(read_segments([GOLDEN / f"schema-{version}.arrow"]))
    assert rows == msgspec.json.decode(expected, type=list[Record])
    assert {row.kind for row in rows} == {*Kind} or version < SCHEMA


def test_a_cut_segment_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    cut = fill(tmp_path, 200)
    fill(tmp_path, 3, "d2")
    cut.write_bytes(cut.read_bytes()[:-100])
    notes = Notes()
    assert values(tmp_path, notes) == [0, 1, 2]
    assert [*notes.torn] == [str(cut)]


def test_a_segment_with_a_spoiled_middle_never_raises(tmp_path: Path) -> None:
    path = fill(tmp_path, 200)
    whole = path.read_bytes()
    torn = 0
    for start in range(8, len(whole), len(whole) // 40):
        path.write_bytes(whole[:start] + bytes(64) + whole[start + 64 :])
        notes = Notes()
        list(read_segments([path], notes))
        torn += bool(notes.torn)
    assert torn > 5


def test_a_cut_journal_gives_its_whole_frames(tmp_path: Path) -> None:
    path = tmp_path / "d1-r-00000001.rows"
    frames = [frame([Record(Kind.RECEIVED, number, 1, value=number)]) for number in (1, 2)]
    whole = frame(Heading("r", "daemon", "d1", 1)) + b"".join(frames)
    path.write_bytes(whole[:-3])
    notes = Notes()
    assert values(path, notes) == [1]
    assert [*notes.torn] == [str(path)]
    path.write_bytes(whole[:3])
    assert values(path, notes) == []


def test_a_copy_of_a_segment_is_read_once(tmp_path: Path) -> None:
    path = fill(tmp_path / "a", 5)
    (tmp_path / "b").mkdir()
    shutil.copy(path, tmp_path / "b" / "renamed.arrow")
    notes = Notes()
    assert values(tmp_path, notes) == [*range(5)]
    assert notes.duplicates == 1


def test_a_journal_beside_its_segment_is_not_read(tmp_path: Path) -> None:
    path = fill(tmp_path, 5)
    rows = [Record(Kind.RECEIVED, 0, 1, value=99)]
    path.with_suffix(".rows").write_bytes(frame(Heading("r", "daemon", "d1", 1)) + frame(rows))
    assert values(tmp_path, Notes()) == [*range(5)]


def test_an_unfinished_file_is_left_alone(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    (tmp_path / "d1-r-00000002.tmp").write_bytes(b"half a segment")
    notes = Notes()
    assert values(tmp_path, notes) == [0]
    assert (notes.unfinished, notes.torn) == (1, {})


def test_a_newer_schema_is_refused_by_both_numbers(tmp_path: Path) -> None:
    newer = Heading("r", "daemon", "d1", schema=SCHEMA + 1)
    (tmp_path / "d1-r-00000001.rows").write_bytes(frame(newer))
    with pytest.raises(ConfigError, match=f"schema {SCHEMA + 1}.* up to {SCHEMA}"):
        list(read_segments([tmp_path]))


def test_a_place_that_is_none_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        list(read_segments([tmp_path / "nowhere"]))
