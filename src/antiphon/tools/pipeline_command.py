"""`antiphon pipeline`: jobs on Spark over what was recorded."""

import click

from antiphon.tools.cli import LazyCommand, LazyGroup

COMMANDS = {
    "ingest": LazyCommand(
        "antiphon.tools.pipeline_ingest:ingest", "Take record files into tables."
    ),
    "verify": LazyCommand(
        "antiphon.tools.pipeline_verify:verify", "See whether every promise was kept."
    ),
    "synthetic": LazyCommand(
        "antiphon.tools.pipeline_synthetic:synthetic", "Write tables of a made-up history."
    ),
    "measure": LazyCommand(
        "antiphon.tools.pipeline_measure:measure",
        "Latency, traffic, rounds, changes and overhead of what was recorded.",
    ),
    "report": LazyCommand(
        "antiphon.tools.pipeline_report:report", "One page with tables and plots."
    ),
    "campaign": LazyCommand(
        "antiphon.tools.pipeline_campaign:campaign",
        "Play simulations over a grid of settings and many seeds.",
    ),
    "stream": LazyCommand(
        "antiphon.tools.pipeline_stream:stream",
        "Logs of kept groups through SQL to a group, files or the screen.",
    ),
    "regions": LazyCommand(
        "antiphon.tools.pipeline_regions:regions",
        "Find nodes that should hear their groups together.",
    ),
    "overlay": LazyCommand(
        "antiphon.tools.pipeline_overlay:overlay", "Plan the trees between sites; what if."
    ),
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
def pipeline() -> None:
    """Tables, verdicts and figures from what daemons, clients and simulations recorded.

    Runs on Spark: embedded here, or on the master that --master names.

    \b
    Examples:
      antiphon pipeline ingest records --into tables
      antiphon pipeline ingest records --into tables --follow
      antiphon pipeline ingest records --into tables --master spark://host:7077

    \b
    Exit codes:
      0  fine
      1  the job found something wrong
      2  wrong usage, or Spark or Java is missing
    """
