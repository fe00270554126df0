"""`antiphon pipeline verify`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon.sim.mutants import MUTANTS
from antiphon.tools.pipeline_job import job_options, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from antiphon.pipeline.verify.job import Verdict

EXAMPLES = 3
"""Of one promise in one run, unless another number is asked for."""


@click.command()
@click.argument("tables", type=click.Path(path_type=Path), required=False)
@click.option("--run", "runs", multiple=True, help="Only this run; can be repeated.")
@click.option(
    "--ended/--running",
    "ended",
    default=None,
    help="Whether the runs came to rest. If not said: whether a row says that faults are over.",
)
@click.option("--examples", default=EXAMPLES, show_default=True, help="Of one promise and run.")
@click.option("--mutants", is_flag=True, help="Verify planted bugs, and compare with the judges.")
@click.option("--only", multiple=True, metavar="NAME", help="With --mutants: this one.")
@job_options
def verify(
    tables: Path | None,
    runs: tuple[str, ...],
    ended: bool | None,
    examples: int,
    mutants: bool,
    only: tuple[str, ...],
    **options: Any,
) -> None:
    """See whether every promise was kept in what `antiphon pipeline ingest` took into TABLES.

    Each broken promise is told with the processes, messages and views that show it. Runs of the
    simulator are judged one by one; what daemons and clients recorded is judged together.

    \b
    Examples:
      antiphon pipeline verify tables
      antiphon pipeline verify tables --run seed7 --json
      antiphon pipeline verify --mutants

    Exits with 1 if a promise was broken; with --mutants, if the judges say otherwise.
    """
    if mutants == (tables is not None):
        raise click.UsageError("name the tables, or say --mutants")
    unknown = [name for name in only if name not in MUTANTS]
    if unknown:
        raise click.UsageError(
            f"there is no mutant {unknown[0]!r}; see antiphon sim mutants --list"
        )
    if tables is not None and not tables.exists():
        raise click.UsageError(f"there is no {tables}; make it with antiphon pipeline ingest")
    with running("verify", options) as (spark, show):
        if tables is None:
            found = _compare(spark, only or tuple(MUTANTS))
        else:
            from antiphon.pipeline.verify.job import verify as judge

            found = _told(judge(spark, tables, runs, ended), examples)
            if not options["as_json"]:  # the text says all of it
                found["findings"] = [
                    {name: one[name] for name in ("promise", "run", "times", "text")}
                    for one in found["findings"]
                ]
        show(found)
    sys.exit(1 if found.get("violations") or found.get("disagreements") else 0)


def _told(verdict: "Verdict", examples: int) -> dict[str, Any]:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    findings = verdict.findings
    counts = findings.groupBy("run", "promise", "level").count().orderBy("run", "promise", "level")
    broken = [row.asDict() for row in counts.collect()]
    place = Window.partitionBy("run", "promise").orderBy("times", "text")
    few = findings.withColumn("place", F.row_number().over(place)).where(F.col("place") <= examples)
    shown = few.orderBy("run", "promise", "place").drop("place").collect()
    return {
        "rows": sum(one.rows for one in verdict.histories),
        "histories": len(verdict.histories),
        "violations": sum(one["count"] for one in broken),
        "promises": " ".join(sorted({one["promise"] for one in broken})) or "all kept",
        "broken": broken,
        "findings": [row.asDict() for row in shown],
    }


def _compare(spark: "SparkSession", names: tuple[str, ...]) -> dict[str, Any]:
    from antiphon.pipeline.verify.agreement import compare, mutant_case

    found = compare(spark, [mutant_case(name) for name in names])
    return {
        "mutants": len(found),
        "disagreements": sum(not one.agrees for one in found),
        "verdicts": [
            {
                "mutant": one.case.mutant,
                "judges": " ".join(one.judges),
                "verify": " ".join(one.verify),
                "agree": one.agrees,
            }
            for one in found
        ],
    }
