"""`bench check`: this tree against an older commit, by turns, so that what the machine does to
both cancels out. What counts is the ratio of a pair, and how far ratios lie apart."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import msgspec

import antiphon
from antiphon.core.errors import UsageError
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.traffic import Say

PAIRS_LEAST = 9
"""With fewer, quartiles say nothing."""

SOURCES = Path(antiphon.__file__).resolve().parent.parent


class Case(msgspec.Struct, frozen=True):
    size: int
    daemons: int


CASES = (Case(100, 1), Case(100, 3), Case(1_000, 3), Case(8_192, 3), Case(65_536, 3))


class Ratio(msgspec.Struct, frozen=True):
    """Our rate by the older one's, over all pairs."""

    size: int
    daemons: int
    first_quartile: float
    median: float
    third_quartile: float
    base: int
    """Messages a second of the older one, median."""


def run_check(
    base: str, cases: Sequence[Case], pairs: int, seconds: float, say: Say
) -> list[Ratio]:
    ratios: dict[Case, list[float]] = {case: [] for case in cases}
    bases: dict[Case, list[float]] = {case: [] for case in cases}
    with _checked_out(base) as older:
        for pair in range(pairs):
            for case in cases:
                say(f"pair {pair + 1} of {pairs}: {case.size} bytes, {case.daemons} daemons")
                # Who goes first changes, for the second one may find the machine warm.
                trees = [older, SOURCES] if pair % 2 else [SOURCES, older]
                rates = {tree: _rate(tree, case, seconds) for tree in trees}
                ratios[case].append(rates[SOURCES] / rates[older])
                bases[case].append(rates[older])
    return [_ratio(case, ratios[case], bases[case]) for case in cases]


def _ratio(case: Case, ratios: Sequence[float], bases: Sequence[float]) -> Ratio:
    low, middle, high = (round(one, 3) for one in quantiles(ratios, n=4, method="inclusive"))
    _, base, _ = quantiles(bases, n=4, method="inclusive")
    return Ratio(case.size, case.daemons, low, middle, high, round(base))


@contextmanager
def _checked_out(commit: str) -> Iterator[Path]:
    """The sources of a commit of the repository that this package is in."""
    with tempfile.TemporaryDirectory(prefix="antiphon-base-") as folder:
        tree = Path(folder) / "tree"
        try:
            _git("worktree", "add", "--detach", str(tree), commit)
        except (OSError, subprocess.CalledProcessError) as error:
            told = getattr(error, "stderr", "") or str(error)
            what = f"there is no tree of {commit}: {told.strip().splitlines()[-1]}"
            raise UsageError("no_commit", what, "name a commit, and call it in a clone") from None
        try:
            yield tree / "src"
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=SOURCES, check=True, capture_output=True, text=True)


def _rate(sources: Path, case: Case, seconds: float) -> float:
    command = [sys.executable, "-m", "antiphon", "bench", "flood", "--json"]
    command += ["--size", str(case.size), "--daemons", str(case.daemons)]
    command += ["--seconds", str(seconds)]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise BenchFailed(f"{' '.join(command[3:])} in {sources}: {done.stderr[-300:]}")
    return float(json.loads(done.stdout.splitlines()[-1])["messages_per_second"])
