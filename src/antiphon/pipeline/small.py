"""Tables of few rows. They are written and read here, for a job of Spark's takes half a second
however little it has to do; Spark reads them as it reads its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4

Rows = list[dict[str, Any]]
SUFFIX = ".parquet"


def append(table: Any, folder: Path) -> None:
    """An Arrow table, to what the folder has."""
    with _written(table, folder) as file:
        file.rename(folder / f"{uuid4().hex}{SUFFIX}")


def replace(table: Any, folder: Path) -> Rows:
    """What the folder has, by an Arrow table; its rows."""
    with _written(table, folder) as file:
        old = [path for path in folder.iterdir() if path != file]
        file.rename(folder / f"{uuid4().hex}{SUFFIX}")
        for path in old:
            path.unlink()
    rows: Rows = table.to_pylist()
    return rows


def read(folder: Path) -> Rows:
    rows: Rows = parquet().read_table(folder).to_pylist()
    return rows


def parquet() -> Any:
    return import_module("pyarrow.parquet")


@contextmanager
def _written(table: Any, folder: Path) -> Iterator[Path]:
    """As a file that nobody sees yet."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f".{uuid4().hex}"
    parquet().write_table(table, file, compression="zstd")
    yield file
