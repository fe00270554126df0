"""An archive of Spark's classes as Java has them in memory: from it short jobs run in half the
time.

`python -m antiphon.pipeline.archive` makes it, once for a Java and a Spark; scripts/bootstrap does
that. A small job with something of everything is run by a Java that writes down at its end what
it has loaded. Without an archive, or with one that does not fit, Java starts as ever.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from hashlib import blake2b
from importlib import util
from pathlib import Path

from antiphon.core.errors import AntiphonError
from antiphon.pipeline.java import find_java
from antiphon.records.writer import SegmentWriter
from antiphon.sim.swarm import draw
from antiphon.sim.trial import play

QUIET = "-Xlog:disable"
"""Java's own words on archives, which it has on standard output."""

WRITE_SECONDS_MAX = 600


def archive_path(java: Path) -> Path:
    """Beside the packages that it is of: it goes when they go."""
    spark = util.find_spec("pyspark")
    assert spark is not None and spark.origin is not None
    files = ((java / "bin" / "java").resolve(), Path(spark.origin))
    of = " ".join(f"{file} {file.stat().st_mtime_ns}" for file in files)
    name = blake2b(of.encode(), digest_size=8).hexdigest()
    return Path(sys.prefix) / "share" / "antiphon" / f"spark-{name}.jsa"


def archive_options(java: Path) -> str:
    """For Java's command line; nothing if there is no archive."""
    path = archive_path(java)
    return f"{shlex.quote(f'-XX:SharedArchiveFile={path}')} {QUIET}" if path.exists() else ""


def make_archive() -> bool:
    """False if this Java knows no archives, or there is no room for one."""
    java = find_java()
    path = archive_path(java)
    if path.exists():
        return True
    program = java / "bin" / "java"
    if not _runs([program, "-Xshare:on", "-version"]):
        _runs([program, "-Xshare:dump"])  # one of its own classes, which an archive adds to
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            draft = Path(folder) / "draft.jsa"
            written = _runs([sys.executable, "-m", "antiphon.pipeline.archive", draft])
            if not written or not draft.exists():
                return False
            os.replace(draft, path)
    except OSError:
        return False
    return True


def _runs(command: list[str | Path]) -> bool:
    nowhere = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, timeout=WRITE_SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def write_archive(path: Path) -> None:
    """In a process of its own: the job, and then the end of its Java, which writes."""
    from pyspark import SparkContext

    from antiphon.pipeline.ingest import ingest
    from antiphon.pipeline.measure.measure import measure
    from antiphon.pipeline.session import SMALL, spark_session
    from antiphon.pipeline.verify.job import verify

    written_to = shlex.quote(f"-XX:ArchiveClassesAtExit={path}")
    options = f"{SMALL['spark.driver.extraJavaOptions']} {written_to}"
    with tempfile.TemporaryDirectory() as folder:
        records, tables = Path(folder) / "records", Path(folder) / "tables"
        writer = SegmentWriter(records, "seed7", "sim", "archive", clock=lambda: 0)
        for row in play(draw(7))[0].records:
            writer.add(row)
        writer.close()
        extra = {**SMALL, "spark.driver.extraJavaOptions": options}
        with spark_session("archive", "local[2]", "1g", extra) as spark:
            ingest(spark, [records], tables)
            verify(spark, tables).findings.collect()
            measure(spark, tables)
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(WRITE_SECONDS_MAX)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_archive(Path(sys.argv[1]))
        sys.exit()
    try:
        sys.exit(0 if make_archive() else 1)
    except AntiphonError as error:
        sys.exit(f"antiphon: {error}")
