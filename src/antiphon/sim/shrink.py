"""Shrinking: a smaller trial that still breaks the same promise.

Any change of a script changes the whole run, so there is no way to know beforehand what is
needed: candidates are tried, the boldest first, and one that still fails takes the place
of the trial. It ends when no candidate fails any more, or when the runs are used up.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from antiphon.core.errors import ConfigError
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.sim.disk import DiskSettings
from antiphon.sim.network import NetworkSettings
from antiphon.sim.script import Script, Step
from antiphon.sim.trial import NodeVariant, Outcome, Planter, Trial, play
from antiphon.sim.without import without_daemon, without_site, without_slot

DAEMONS_MIN = 2
QUIET_US_MIN = 4 * SECOND
"""What is owed in the end gets so much time at least."""

RUNS_MAX = 600
OTHER_SEEDS = (1, 2, 3, 4)
NO_END = "END"
"""In place of a promise: the run did not come to an end."""

Fails = Callable[[Trial], bool]
Told = Callable[[Trial, int], None]
"""Told of each smaller trial, and how many runs it took so far."""


class Budget:
    """Counts runs and remembers what was tried."""

    def __init__(self, fails: Fails, runs_max: int, told: Told) -> None:
        self.runs = 0
        self.patient = False
        """Whether a candidate that does not fail gets a chance with other seeds."""

        self._fails = fails
        self._runs_max = runs_max
        self._told = told
        self._tried: set[str] = set()

    @property
    def spent(self) -> bool:
        return self.runs >= self._runs_max

    def failing(self, candidate: Trial) -> Trial | None:
        """The candidate if it still fails, perhaps with another seed; nothing is tried twice."""
        for seed in (candidate.script.seed, *(OTHER_SEEDS if self.patient else ())):
            trial = _with(candidate, seed=seed)
            text = str(trial)
            if self.spent or text in self._tried:
                continue
            self._tried.add(text)
            self.runs += 1
            if self._fails(trial):
                self._told(trial, self.runs)
                return trial
        return None


def breaks(promise: str, plant: Planter | None = None) -> Fails:
    """Fails with this promise; others may be broken too."""

    def fails(trial: Trial) -> bool:
        try:
            _, outcome = play(trial, plant)
        except ConfigError:
            return False  # settings of the node that do not fit together
        return promise in broken(outcome)

    return fails


def broken(outcome: Outcome) -> list[str]:
    """What a shrunk run must break, too."""
    return outcome.promises + ([NO_END] if outcome.exhausted else [])


def shrink(trial: Trial, fails: Fails, runs_max: int = RUNS_MAX, told: Told | None = None) -> Trial:
    """A trial that fails as this one does, and has nothing that one change could take away."""
    budget = Budget(fails, runs_max, told or (lambda smaller, runs: None))
    for patient in (False, True):
        budget.patient = patient
        before = None
        while trial != before and not budget.spent:
            before = trial
            trial = _shrink_once(trial, budget)
    return trial


def _shrink_once(trial: Trial, budget: Budget) -> Trial:
    trial = _settle(trial, _shorter, budget)
    trial = _shrink_steps(trial, budget)
    for make in PASSES:
        trial = _settle(trial, make, budget)
    return trial


def _settle(trial: Trial, make: Callable[[Trial], Iterator[Trial]], budget: Budget) -> Trial:
    """Take the first candidate that fails, and begin anew from it."""
    found: Trial | None = trial
    while found is not None:
        trial = found
        tried = (budget.failing(smaller) for smaller in make(trial))
        found = next((smaller for smaller in tried if smaller is not None), None)
    return trial


def _shrink_steps(trial: Trial, budget: Budget) -> Trial:
    """Leave out runs of steps, half of them first, then ever fewer."""
    size = max(1, len(trial.script.steps) // 2)
    while size and not budget.spent:
        at = 0
        while at < len(trial.script.steps):
            steps = trial.script.steps
            smaller = budget.failing(_with_steps(trial, steps[:at] + steps[at + size :]))
            if smaller is not None:
                trial = smaller
            else:
                at += size
        size //= 2
    return trial


def _with(trial: Trial, **changes: Any) -> Trial:
    return replace(trial, script=replace(trial.script, **changes))


def _with_steps(trial: Trial, steps: tuple[Step, ...]) -> Trial:
    return _with(trial, steps=steps)


# What could be smaller, each with its candidates, boldest first.


def _shorter(trial: Trial) -> Iterator[Trial]:
    """An earlier end, with and without the quiet time; what comes later is left out."""
    script = trial.script
    if script.quiet is not None:
        yield replace(trial, script=replace(_ended(script, script.quiet), quiet=None))
        for share in (0.25, 0.5, 0.75, 0.9):
            yield _with_times(trial, int(script.quiet * share), script.until - script.quiet)
        rest = script.until - script.quiet
        if rest > QUIET_US_MIN:
            yield _with_times(trial, script.quiet, max(QUIET_US_MIN, rest // 2))
    else:
        for share in (0.25, 0.5, 0.75, 0.9, 0.97):
            yield replace(trial, script=_ended(script, _round(int(script.until * share))))


def _with_times(trial: Trial, quiet: int, rest: int) -> Trial:
    """Faults up to `quiet`, and sessions' steps move with it."""
    quiet = _round(quiet)
    script = trial.script
    assert script.quiet is not None
    moved = script.quiet - quiet
    steps = [step for step in script.steps if step.time < quiet]
    for step in script.steps:
        if script.quiet <= step.time < script.quiet + rest:
            steps.append(replace(step, time=step.time - moved))
    workload = script.workload
    if workload is not None and workload.until_us > quiet + rest:
        workload = replace(workload, until_us=max(quiet, workload.until_us - moved))
    return _with(trial, steps=tuple(steps), quiet=quiet, until=quiet + rest, workload=workload)


def _ended(script: Script, until: int) -> Script:
    steps = tuple(step for step in script.steps if step.time <= until)
    return replace(script, steps=steps, until=until)


def _round(time: int) -> int:
    """Times that people can read."""
    for unit in (SECOND, 100 * MILLISECOND, 10 * MILLISECOND, MILLISECOND):
        if time >= 5 * unit:
            return time - time % unit
    return max(1, time)


def _fewer_daemons(trial: Trial) -> Iterator[Trial]:
    script = trial.script
    if script.daemons > DAEMONS_MIN:
        for daemon in range(script.daemons, 0, -1):
            yield replace(trial, script=without_daemon(script, daemon))


def _fewer_sites(trial: Trial) -> Iterator[Trial]:
    """All daemons at one place, or one site less, or everybody nearer."""
    script = trial.script
    if not script.sites:
        return
    if not any(_names_a_site(step) for step in script.steps):
        yield _with(trial, sites=(), wan=())
    for number in range(len(script.sites), 0, -1):
        smaller = without_site(script, number)
        if smaller.daemons >= DAEMONS_MIN:
            yield replace(trial, script=smaller)
    if script.wan:
        yield _with(trial, wan=())
    for at in range(len(script.wan)):
        yield _with(trial, wan=script.wan[:at] + script.wan[at + 1 :])


def _names_a_site(step: Step) -> bool:
    places = step.action.places | ({step.trigger.host} if step.trigger else set())
    return not all(isinstance(place, int) for place in places)


def _fewer_sessions(trial: Trial) -> Iterator[Trial]:
    script = trial.script
    if script.sessions:
        for slot in range(script.sessions, 0, -1):
            yield replace(trial, script=without_slot(script, slot))


def _less_work(trial: Trial) -> Iterator[Trial]:
    workload = trial.script.workload
    if workload is None:
        return
    yield _with(trial, workload=None)
    for share in (0.1, 0.5, 0.8):
        yield _with(trial, workload=replace(workload, rate=round(workload.rate * share, 2) or 0.01))
    for share in (0.25, 0.5, 0.75):
        until = _round(int(min(workload.until_us, trial.script.until) * share))
        yield _with(trial, workload=replace(workload, until_us=until))
    for name in ("churn", "replies", "large", "slow"):
        if getattr(workload, name):
            never: dict[str, Any] = {name: 0.0}
            yield _with(trial, workload=replace(workload, **never))
    for groups in range(1, workload.groups):
        yield _with(trial, workload=replace(workload, groups=groups))


def _plainer_settings(trial: Trial) -> Iterator[Trial]:
    """Each setting as usual: all at once, then one by one."""
    script = trial.script
    yield replace(trial, variant=NodeVariant())
    for variant in _resets(trial.variant, NodeVariant()):
        yield replace(trial, variant=variant)
    yield _with(trial, disk=DiskSettings())
    yield _with(trial, network=NetworkSettings())
    for network in _resets(script.network, NetworkSettings()):
        yield _with(trial, network=network)
    if script.network.jitter_us:
        yield _with(trial, network=replace(script.network, jitter_us=0))


def _resets(settings: Any, usual: Any) -> Iterator[Any]:
    for each in fields(settings):
        value = getattr(usual, each.name)
        if getattr(settings, each.name) != value:
            yield replace(settings, **{each.name: value})


def _plainer_steps(trial: Trial) -> Iterator[Trial]:
    """Without triggers, and at rounder times."""
    steps = trial.script.steps
    for at, step in enumerate(steps):
        if step.trigger is not None and step.trigger.delay:
            without_delay = replace(step, trigger=replace(step.trigger, delay=0))
            yield _with_steps(trial, (*steps[:at], without_delay, *steps[at + 1 :]))
        rounder = replace(step, time=_round(step.time)) if step.time else step
        if rounder != step:
            moved = (*steps[:at], rounder, *steps[at + 1 :])
            yield _with_steps(trial, tuple(sorted(moved, key=lambda each: each.time)))


PASSES: tuple[Callable[[Trial], Iterator[Trial]], ...] = (
    _fewer_sites,
    _fewer_daemons,
    _less_work,
    _plainer_settings,
    _fewer_sessions,
    _plainer_steps,
)
