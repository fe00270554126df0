"""What Spark makes of the records of a demo: tables, a verdict, figures and a page."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from antiphon.pipeline.session import SMALL, spark_session
from antiphon.pipeline.small import Rows
from antiphon.tools.demo.story import Say


@dataclass
class Results:
    rows: int
    violations: list[str]
    figures: dict[str, Rows]
    report: Path


def analyse(directory: Path, master: str, say: Say) -> Results:
    records, tables, out = directory / "records", directory / "tables", directory / "report.html"
    with ExitStack() as stack:
        with _stderr_into(directory / "spark.log"):
            spark = stack.enter_context(spark_session("demo", master, "2g", SMALL))
        from antiphon.pipeline.ingest import ingest
        from antiphon.pipeline.measure.measure import measure
        from antiphon.pipeline.report.report import report
        from antiphon.pipeline.verify.job import verify

        say("started Spark, embedded")
        counts = ingest(spark, [records], tables)
        rows = counts["rows"] + counts["open_rows"]
        say(f"ingest: {rows:,} rows from {counts['files']} files of daemons and clients")
        broken = verify(spark, tables).findings.orderBy("promise", "text").collect()
        violations = [f"{one.promise}: {one.text}" for one in broken]
        kept = "every promise was kept" if not violations else f"{len(violations)} BROKEN PROMISES"
        say(f"verify: {kept}")
        figures = measure(spark, tables)
        say(f"measure: {len(figures)} tables in {tables / 'measures'}")
        page = report([tables], [], "Antiphon demo")
        page.subtitle = f"{rows:,} records of daemons and clients: {kept}"
        out.write_text(page.html())
    return Results(rows, violations, figures, out)


@contextmanager
def _stderr_into(path: Path) -> Iterator[None]:
    """For what is started here: Java has things to say that are no step of a demo."""
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
