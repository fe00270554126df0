"""Rows of segments that are still written. Every ingest writes them anew beside those of the last
one, which stay for a while: a job that has begun to read them goes on."""

import shutil
import time
from itertools import pairwise
from pathlib import Path

from pyspark.sql import DataFrame

from antiphon.pipeline.tables import OPEN

NUMBERED = "ingest="
DONE = "_SUCCESS"
"""Spark's mark of a folder that is written to the end."""

KEPT_S = 600.0
"""Rows that were replaced so long ago are read by nobody."""


def newest(tables: Path) -> Path:
    """Where they are now. Older versions had them in the folder itself."""
    done = [folder for folder in _folders(tables) if (folder / DONE).exists()]
    return done[-1] if done else tables / OPEN


def replace(rows: DataFrame | None, tables: Path) -> None:
    """None if there are none."""
    folders = _folders(tables)
    number = int(folders[-1].name.removeprefix(NUMBERED)) + 1 if folders else 1
    folder = tables / OPEN / f"{NUMBERED}{number:08}"
    if rows is None:
        folder.mkdir()
        (folder / DONE).touch()
    else:
        rows.write.partitionBy("run").parquet(str(folder))
    for old, successor in pairwise([*folders, folder]):
        if time.time() - successor.stat().st_mtime > KEPT_S:
            shutil.rmtree(old)


def _folders(tables: Path) -> list[Path]:
    return sorted((tables / OPEN).glob(f"{NUMBERED}*"))
