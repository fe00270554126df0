"""One chaos run: peace, faults, healing, quiet; then the records of all are ready to judge.

settle   all start, meet, and clients begin to send
faults   drawn from the seed, a few at a time
quiet    everything is healed, clients send no more: what is pending must be delivered
"""

import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from antiphon.core.errors import UsageError
from antiphon.core.ids import Member
from antiphon.core.trace import Kind
from antiphon.tools.chaos.faults import Fault, FaultKind, Places, draw_faults, rules_at
from antiphon.tools.chaos.namespaces import Namespaces, require_programs
from antiphon.tools.chaos.site import Site

START_SECONDS_MAX = 90.0
SETTLE_SECONDS = 3.0
QUIET_SECONDS = 10.0
SITES_QUIET_SECONDS = 20.0
"""Sites take longer to find each other."""

QUIETS_MAX = 4
STALL_LOOK_SECONDS = 0.1
STALL_SECONDS = 0.05
"""So long may a daemon have to wait for a processor from one look to the next. A ring that
misses its token for 150 ms takes it for lost, and that is no fault of the ring."""

TICK_SECONDS = 0.02
WARNING_SECONDS = (0.02, 0.12)
"""Clients are told of a fault of the network so long before."""


@dataclass(frozen=True, slots=True)
class Plan:
    seconds: float = 180.0
    """From when all are up to the end of the quiet time."""

    seed: int = 7
    daemons: int = 5
    workers: int = 2
    """Client processes at each daemon."""

    mutant: str = ""
    """Planted in the first daemon."""

    faults: bool = True
    sites: int = 1

    def __post_init__(self) -> None:
        if self.seconds < self.peace_seconds:
            what = f"{self.seconds} s leave no time for faults"
            raise UsageError("bad_choice", what, f"use at least {self.peace_seconds:.0f} s")

        if not 1 <= self.sites <= self.daemons:
            what = f"{self.sites} sites for {self.daemons} daemons"
            raise UsageError("bad_choice", what, "use fewer sites")

    @property
    def quiet_seconds(self) -> float:
        return SITES_QUIET_SECONDS if self.sites > 1 else QUIET_SECONDS

    @property
    def peace_seconds(self) -> float:
        """Before and after the faults."""
        return SETTLE_SECONDS + self.quiet_seconds

    def draw(self, places: Places = ()) -> list[Fault]:
        if not self.faults:
            return []
        lasting = self.seconds - self.peace_seconds
        rng = Random(f"faults {self.seed}")
        return draw_faults(rng, lasting, self.daemons, self.workers, places)


@dataclass(slots=True)
class Deeds:
    """What was done."""

    faults: Counter[str]
    unexpected: list[str]
    """Processes that ended by themselves."""


def perform(plan: Plan, directory: Path, say: Callable[[str], None]) -> Deeds:
    """Run it; the records are in `directory`/records afterwards, and nothing else is left."""
    require_programs(say)
    directory.mkdir(parents=True, exist_ok=True)
    with Namespaces(plan.daemons) as spaces:
        site = Site(spaces, directory, plan.workers, plan.seed, plan.mutant, plan.sites)
        run = _Run(plan, spaces, site, say)
        try:
            run.go()
        finally:
            site.kill_all()
            site.close()
    return Deeds(run.done, site.unexpected)


class _Run:
    def __init__(
        self, plan: Plan, spaces: Namespaces, site: Site, say: Callable[[str], None]
    ) -> None:
        self.done: Counter[str] = Counter()
        self._plan = plan
        self._spaces = spaces
        self._site = site
        self._say = say
        self._rng = Random(f"run {plan.seed}")
        self._lasting: list[Fault] = []

    def go(self) -> None:
        site, plan = self._site, self._plan
        for number in self._spaces.numbers:
            site.start_daemon(number)
        site.start_workers()
        self._wait_for_all()
        self._wait(SETTLE_SECONDS)
        self._suffer(plan.draw(site.places))
        assert not self._lasting, "faults end before the quiet time"
        self._wait_for_all()
        site.write(Kind.FAULT, reason="all is healed")
        site.silence_workers()
        self._be_quiet(plan.quiet_seconds)
        found = [site.member(number) for number in self._spaces.numbers]
        members: tuple[Member, ...] = tuple(one for one in found if one is not None)
        for member in members:
            site.write(Kind.REACH, member, members=members)
        site.freeze()

    def _be_quiet(self, seconds: float) -> None:
        """Undisturbed for so long. Where the machine itself disturbs, it begins anew, but not
        for ever: with a machine that never has time for the daemons nobody can be content."""
        self._say(f"quiet for {seconds:.0f} s")
        until = self._begin_quiet(seconds)
        last_begin = until + (QUIETS_MAX - 2) * seconds
        while (now := time.monotonic()) < until:
            waited = self._site.waited_seconds()
            self._wait(STALL_LOOK_SECONDS)
            waits = [
                one - before
                for one, before in zip(self._site.waited_seconds(), waited, strict=False)
            ]
            longest = max(*waits, time.monotonic() - now - STALL_LOOK_SECONDS)
            if longest > STALL_SECONDS and now < last_begin:
                told = f"a daemon waited {1000 * longest:.0f} ms for a processor"
                self._say(f"{told}; quiet begins anew")
                self._site.write(Kind.FAULT, reason=told)
                until = self._begin_quiet(seconds)

    def _begin_quiet(self, seconds: float) -> float:
        """When it ends."""
        self._site.write(Kind.QUIET)
        return time.monotonic() + seconds

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(TICK_SECONDS)
            self._site.mind()

    def _wait_for_all(self) -> None:
        """A fault at a process that is not up yet would be none, and nothing is owed by it."""
        until = time.monotonic() + START_SECONDS_MAX
        while down := self._site.down():
            if time.monotonic() > until:
                what = f"{', '.join(down)} did not start"
                raise UsageError("daemon_failed", what, f"see the logs in {self._site.directory}")
            self._wait(5 * TICK_SECONDS)

    # Faults.

    def _suffer(self, faults: list[Fault]) -> None:
        steps = [(fault.begin, True, fault) for fault in faults]
        steps += [(fault.end, False, fault) for fault in faults]
        began = time.monotonic()
        for at, begins, fault in sorted(steps, key=lambda step: step[:2]):
            self._wait(at - (time.monotonic() - began))
            (self._begin if begins else self._end)(fault)
        self._wait(self._plan.seconds - self._plan.peace_seconds - (time.monotonic() - began))

    def _begin(self, fault: Fault) -> None:
        site = self._site
        self._say(f"fault: {fault}")
        site.write(Kind.FAULT, reason=str(fault))
        self.done[fault.kind] += 1
        self._lasting.append(fault)
        match fault.kind:
            case FaultKind.CRASH | FaultKind.LEAD | FaultKind.SITE_DOWN:
                for daemon in fault.daemons:
                    site.kill_daemon(daemon)
            case FaultKind.STOP:
                site.stop_daemon(fault.daemon)
            case FaultKind.PAUSE:
                site.signal_daemon(fault.daemon, signal.SIGSTOP)
            case FaultKind.CLIENT:
                site.kill_worker(fault.daemon, fault.client)
            case FaultKind.HANG:
                site.signal_worker(fault.daemon, fault.client, signal.SIGSTOP)
            case FaultKind.STRANGER:
                site.send_stranger(fault.daemon, self._rng)
            case _:
                site.rouse_workers()
                self._wait(self._rng.uniform(*WARNING_SECONDS))
                self._filter()

    def _end(self, fault: Fault) -> None:
        site = self._site
        self._lasting.remove(fault)
        match fault.kind:
            case FaultKind.CRASH | FaultKind.STOP | FaultKind.LEAD | FaultKind.SITE_DOWN:
                for daemon in fault.daemons:
                    site.start_daemon(daemon)
            case FaultKind.PAUSE:
                site.signal_daemon(fault.daemon, signal.SIGCONT)
            case FaultKind.CLIENT:
                site.start_worker(fault.daemon, fault.client)
            case FaultKind.HANG:
                site.signal_worker(fault.daemon, fault.client, signal.SIGCONT)
            case FaultKind.STRANGER:
                return
            case _:
                self._filter()
        site.write(Kind.FAULT, reason=f"end of {fault}")

    def _filter(self) -> None:
        """One after the other, and each time in another order: a network does not fail at all
        places at once."""
        numbers = list(self._spaces.numbers)
        for number in self._rng.sample(numbers, len(numbers)):
            self._spaces.filter(number, rules_at(number, self._lasting))


def look_at(directory: Path) -> str:
    """How to see what happened."""
    where = directory / "records"
    return f"antiphon records judge {where}; antiphon records show {where} --kind fault"
