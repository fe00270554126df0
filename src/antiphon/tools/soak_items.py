"""The items of `antiphon soak`. Each runs in processes of its own and gives its figures."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import click
import msgspec

NEW_SEEDS = 5_000
PART = 1_000
"""Seeds of one item: what is lost when a soak is stopped."""

NEW_SITE_SEEDS = 2_000
SITE_PART = 250
"""A scenario of several sites takes four times as long."""

REACH_SEEDS = range(0, 500)
DIGEST_SEEDS = range(0, 20)
HASH_SEEDS = ("0", "1", "4711")
SPEED_SEEDS = range(0, 60)
FUZZ_INPUTS = 5_000_000
VIEWS_SIMULATED = 200_000
VIEWS_REAL = 5_000
LOADED_SECONDS = 1_800
BIG_SITES, BIG_DAEMONS = 100, 50

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Soak:
    new_seeds_from: int
    jobs: int | None


@dataclass(frozen=True, slots=True)
class Item:
    summary: str
    run: Callable[[Soak], tuple[bool, Figures]]


def _swarm(seeds: range, sites: bool, reach: bool, soak: Soak) -> tuple[bool, Figures]:
    arguments = ["sim", "--seeds", f"{seeds.start}:{seeds.stop}", "--json"]
    arguments += ["--sites"] * sites + ["--reach"] * reach
    return _command([*arguments, *_jobs(soak)])


def _new_seeds(sites: bool, size: int, part: int, soak: Soak) -> tuple[bool, Figures]:
    first = soak.new_seeds_from + part * size
    return _swarm(range(first, first + size), sites, False, soak)


def _mutants(soak: Soak) -> tuple[bool, Figures]:
    return _command(["sim", "mutants", "--json", *_jobs(soak)])


def _verify_mutants(soak: Soak) -> tuple[bool, Figures]:
    return _command(["pipeline", "verify", "--mutants", "--json"])


def _big(soak: Soak) -> tuple[bool, Figures]:
    sizes = ["--sites", str(BIG_SITES), "--daemons", str(BIG_DAEMONS)]
    return _command(["sim", "big", *sizes, "--json"])


def _fuzz(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.fuzz_command import print_report, run

    report = run(FUZZ_INPUTS, soak.new_seeds_from, soak.jobs or os.cpu_count() or 1)
    print_report(report)
    figures: Figures = {"inputs": report.inputs, "findings": len(report.findings)}
    return not report.findings, figures


def _digests(sites: bool, soak: Soak) -> tuple[bool, Figures]:
    """The same seeds under several hash seeds."""
    return _alike(sites, [{"PYTHONHASHSEED": one} for one in HASH_SEEDS])


def _compiled(soak: Soak) -> tuple[bool, Figures]:
    """The same seeds, played by the machines as they are and as C."""
    subprocess.run(["make", "fast"], check=True)
    ways: list[dict[str, str]] = [{}, {"PYTHONPATH": os.path.abspath("build/fast")}]
    (alone, figures), (together, sites) = _alike(False, ways), _alike(True, ways)
    return alone and together, {name: figures[name] + sites[name] for name in figures}


def _alike(sites: bool, ways: list[dict[str, str]]) -> tuple[bool, Figures]:
    """Whether seeds have the same records in environments that differ."""
    seeds = f"{DIGEST_SEEDS.start}:{DIGEST_SEEDS.stop}"
    told = []
    for way in ways:
        command = [sys.executable, "-P", "-m", "antiphon", "sim", "digest", "--seeds", seeds]
        command += ["--sites"] * sites
        done = subprocess.run(command, env=os.environ | way, stdout=subprocess.PIPE, check=True)
        told.append(done.stdout.decode().splitlines())
    different = [one[0].split()[0] for one in zip(*told, strict=True) if len(set(one)) > 1]
    for seed in different:
        click.echo(f"seed {seed} is not the same everywhere: {' '.join(map(str, ways))}")
    return not different, {"seeds": len(DIGEST_SEEDS), "different": len(different)}


def _speed(soak: Soak) -> tuple[bool, Figures]:
    """One process alone, so that it has a core for itself."""
    seeds = f"{SPEED_SEEDS.start}:{SPEED_SEEDS.stop}"
    passed, figures = _command(["sim", "--seeds", seeds, "--jobs", "1", "--json"])
    return passed, {name: figures[name] for name in ("events_per_second", "median_events")}


def _views_simulated(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.endurance import simulated_views

    return simulated_views(VIEWS_SIMULATED)


def _views_real(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.endurance import real_views

    return real_views(VIEWS_REAL)


def _idle(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.endurance import idle

    return idle(30)


def _starved(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.endurance import starved

    return starved(600)


def _flooded(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.endurance import flooded

    return flooded(5)


def _loaded(soak: Soak) -> tuple[bool, Figures]:
    from antiphon.tools.loaded import loaded

    return loaded(LOADED_SECONDS)


def _chaos(soak: Soak) -> tuple[bool, Figures]:
    return _command(["chaos", "--seconds", "300", "--runs", "12", "--json"])


def _jobs(soak: Soak) -> list[str]:
    return ["--jobs", str(soak.jobs)] if soak.jobs else []


def _command(arguments: list[str]) -> tuple[bool, Figures]:
    """Run a command of ours, show what it says, and take its last line as figures."""
    command = [sys.executable, "-m", "antiphon", *arguments]
    last = ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            click.echo(line, nl=False)
            last = line
    try:
        told = msgspec.json.decode(last, type=dict[str, object])
    except msgspec.DecodeError:
        return False, {}
    plain = {name: value for name, value in told.items() if not isinstance(value, dict)}
    figures = {name: _figure(value) for name, value in plain.items()}
    return running.returncode == 0, figures


def _figure(value: object) -> float:
    """Of a list, its length."""
    if isinstance(value, int | float):
        return value
    return len(value) if isinstance(value, list) else 0


ITEMS: dict[str, Item] = {
    "reach": Item(
        f"seeds {REACH_SEEDS.start}:{REACH_SEEDS.stop}, and what of the protocol they meet",
        partial(_swarm, REACH_SEEDS, False, True),
    ),
    "sites-reach": Item(
        f"seeds {REACH_SEEDS.start}:{REACH_SEEDS.stop} of several sites, and what they meet",
        partial(_swarm, REACH_SEEDS, True, True),
    ),
    **{
        f"seeds-{part + 1}": Item(
            f"{PART:,} seeds that were never run, part {part + 1} of {NEW_SEEDS // PART}",
            partial(_new_seeds, False, PART, part),
        )
        for part in range(NEW_SEEDS // PART)
    },
    **{
        f"sites-{part + 1}": Item(
            f"{SITE_PART:,} seeds of several sites that were never run, part {part + 1} of "
            f"{NEW_SITE_SEEDS // SITE_PART}",
            partial(_new_seeds, True, SITE_PART, part),
        )
        for part in range(NEW_SITE_SEEDS // SITE_PART)
    },
    "big": Item(
        f"{BIG_SITES} sites of {BIG_DAEMONS} daemons form, work, lose some and merge", _big
    ),
    "mutants": Item("known bugs are planted, and each must be caught", _mutants),
    "verify-mutants": Item("their records are verified on Spark and judged", _verify_mutants),
    "fuzz": Item(f"{FUZZ_INPUTS:,} random and mutated inputs", _fuzz),
    "digests": Item(
        f"{len(DIGEST_SEEDS)} seeds under {len(HASH_SEEDS)} values of PYTHONHASHSEED",
        partial(_digests, False),
    ),
    "sites-digests": Item(
        f"{len(DIGEST_SEEDS)} seeds of several sites under as many", partial(_digests, True)
    ),
    "compiled": Item("the same seeds with the machines compiled to C", _compiled),
    "speed": Item("events in a second on one core", _speed),
    "views-simulated": Item(
        f"{VIEWS_SIMULATED:,} view changes in the simulator, with flat memory", _views_simulated
    ),
    "views-real": Item(
        f"{VIEWS_REAL:,} view changes at real daemons, with flat memory", _views_real
    ),
    "idle": Item("what three idle daemons cost", _idle),
    "starved": Item("two busy loops on each core, and nobody is suspected", _starved),
    "flooded": Item("noise at a daemon's port, and what is left of the rate", _flooded),
    "loaded": Item(
        f"{LOADED_SECONDS // 60} minutes near the limit: flat memory and latency, and nobody is "
        "suspected",
        _loaded,
    ),
    "chaos": Item("real daemons and clients under faults", _chaos),
}
"""In the order in which they run."""
