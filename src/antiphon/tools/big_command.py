"""`antiphon sim big`: many sites of many daemons in one run, judged, and what it costs."""

import gc
import resource
import sys
from statistics import mean
from time import process_time

import click
import msgspec

from antiphon.sim.big import BigRun, Chapter, control_per_pair

CONTROL = ("find", "agree", "recover", "links", "order", "groups")
SECOND_US = 1_000_000
SHOWN_MAX = 20
"""So many broken promises are enough to begin with."""


@click.command()
@click.option("--sites", type=click.IntRange(min=4, max=200), default=10, help="How many.")
@click.option("--daemons", type=click.IntRange(min=1, max=200), default=5, help="At each site.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Of the world.")
@click.option("--json", "as_json", is_flag=True, help="End with one line of JSON.")
def big(sites: int, daemons: int, seed: int, as_json: bool) -> None:
    """Let many sites of many daemons find each other, work, lose some, and merge again.

    Prints for each chapter how long it took, and the bytes that crossed between sites and are
    no message of a client, divided by the pairs of sites.
    """
    gc.disable()  # millions of objects that stay: looking for garbage among them takes hours
    began = process_time()
    run = BigRun(sites, daemons, seed)
    click.echo(f"{sites} sites of {daemons} daemons; bytes of control per pair of sites")
    click.echo(line("chapter", "s", "cpu s", "events", "configs", *CONTROL, "all"))
    chapters = []
    for chapter in run.chapters():
        chapters.append(chapter)
        click.echo(line(*row(chapter, sites)))
        if chapter.configurations:
            gc.collect()  # what belonged to the configurations before
    violations = run.violations()
    for bug in run.world.bugs:
        click.echo(f"daemon {bug.node} at {bug.time}: {bug.trace}")
    for found in violations[:SHOWN_MAX]:
        click.echo(str(found))
    ended = all(chapter.ended for chapter in chapters) and not run.world.bugs
    figures = {
        "sites": sites,
        "daemons": daemons,
        "ended": ended,
        "violations": len(violations),
        "messages": run.sent,
        "records": len(run.world.records),
        "cpu_seconds": round(process_time() - began, 1),
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "idle_bytes_per_pair_and_second": round(idle(chapters, sites), 1),
        "bytes_per_pair": {
            name: round(mean(control_per_pair(one, sites) for one in told), 1)
            for name, told in by_name(chapters).items()
        },
    }
    for name, value in figures.items():
        if not isinstance(value, dict):
            click.echo(f"{name.replace('_', ' ')}: {value}")
    if as_json:
        click.echo(msgspec.json.encode(figures).decode())
    sys.exit(0 if ended and not violations else 1)


def line(name: str, *cells: str) -> str:
    return f"{name:<24}" + "".join(f"{cell:>11}" for cell in cells)


def row(chapter: Chapter, sites: int) -> list[str]:
    pairs = sites * (sites - 1) / 2
    return [
        chapter.name if chapter.ended else f"{chapter.name} (not ended)",
        f"{chapter.span_us / SECOND_US:.1f}",
        f"{chapter.seconds:.1f}",
        f"{chapter.events:,}",
        str(chapter.configurations),
        *(f"{chapter.crossed.get(purpose, 0) / pairs:,.0f}" for purpose in CONTROL),
        f"{control_per_pair(chapter, sites):,.0f}",
    ]


def by_name(chapters: list[Chapter]) -> dict[str, list[Chapter]]:
    """Messages are sent in several."""
    found: dict[str, list[Chapter]] = {}
    for chapter in chapters:
        found.setdefault(chapter.name, []).append(chapter)
    return found


def idle(chapters: list[Chapter], sites: int) -> float:
    quiet = [chapter for chapter in chapters if chapter.name == "idle"]
    spans = sum(chapter.span_us for chapter in quiet) / SECOND_US
    return sum(control_per_pair(chapter, sites) for chapter in quiet) / spans if spans else 0.0
