"""Small tables: appended to, replaced, and never seen half written."""

from pathlib import Path

import pyarrow as pa
import pytest

from antiphon.pipeline import small


def table(*values: int) -> pa.Table:
    return pa.table({"value": pa.array(values, pa.int64())})


def values(folder: Path) -> list[int]:
    return sorted(row["value"] for row in small.read(folder))


def test_rows_are_added(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "table"
    small.append(table(), folder)
    assert values(folder) == []
    small.append(table(1, 2), folder)
    small.append(table(3), folder)
    assert values(folder) == [1, 2, 3]


def test_rows_are_replaced(tmp_path: Path) -> None:
    small.append(table(1, 2), tmp_path)
    (tmp_path / "_SUCCESS").touch()  # as Spark leaves it
    assert small.replace(table(7), tmp_path) == [{"value": 7}]
    assert values(tmp_path) == [7]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_could_not_be_written_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.append(table(1), tmp_path)

    def dies(rows: pa.Table, file: Path, **_: object) -> None:
        file.write_bytes(b"half a ta")
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(small.parquet(), "write_table", dies)
        with pytest.raises(OSError, match="disk is full"):
            small.replace(table(7), tmp_path)
    assert values(tmp_path) == [1]
