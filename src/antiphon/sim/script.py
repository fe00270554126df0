"""Fault scripts: a text that says everything about a run, read and written.

    seed 7
    daemons 5
    sessions 3
    network latency=200us jitter=100us loss=0.01 bandwidth=100mbit
    workload rate=12 until=12s
    at 1s cut 1 2 | 3 4 5
    at 2s heal
    at 3s when 2 enters recover crash 1     # armed at 3s, done once
    when 1 trouble token_loss after 5ms drop token 2 > 3 x2
    quiet 14s
    until 20s

Daemons are 1 to n, `*` is any, `3.2` is slot 2 at daemon 3, `>` is one direction and `-`
both. At `quiet` all faults end that can end; later only sessions act. The verbs stand in
action.py. With sites, `site2` and `lead2` are places too (places.py):

    sites 1 2 | 3 4 5
    wan site1 - site2 latency=40ms loss=0.02
    at 1s crash lead2
"""

from dataclasses import dataclass, field
from typing import Any

from antiphon.core.errors import ConfigError
from antiphon.core.trace import Kind
from antiphon.sim.action import SESSION_VERBS, Action, read_action
from antiphon.sim.disk import DiskSettings
from antiphon.sim.network import FAR, Far, NetworkSettings
from antiphon.sim.notation import (
    ANY,
    Link,
    Tokens,
    read_amounts,
    read_time,
    write_amounts,
    write_parts,
    write_time,
)
from antiphon.sim.places import Lead, Place, Site
from antiphon.sim.workload import WorkloadSettings

TRIGGERS = {
    "enters": Kind.ENTER,
    "trouble": Kind.TROUBLE,
    "attempt": Kind.ATTEMPT,
    "abort": Kind.ABORT,
    "transitional": Kind.TRANSITIONAL,
    "install": Kind.INSTALL,
}
WITH_REASON = (Kind.ENTER, Kind.TROUBLE)

AMOUNTS: dict[str, Any] = {
    "network": NetworkSettings(),
    "disk": DiskSettings(),
    "workload": WorkloadSettings(),
}
HEADERS = ("seed", "daemons", "sites", "wan", "sessions", *AMOUNTS, "quiet", "until")


@dataclass(frozen=True, slots=True)
class Trigger:
    """The first record of this kind at the place (0: any) once the step is armed."""

    host: Place
    kind: Kind
    reason: str = ""
    delay: int = 0

    def __str__(self) -> str:
        what = next(word for word, kind in TRIGGERS.items() if kind is self.kind)
        words = ["when", str(self.host or ANY), what]
        if self.reason:
            words.append(self.reason)
        if self.delay:
            words += ["after", write_time(self.delay)]
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Step:
    """An action at a time, or armed at a time and done when triggered."""

    time: int
    action: Action
    trigger: Trigger | None = None

    def __str__(self) -> str:
        if self.trigger is None:
            return f"at {write_time(self.time)} {self.action}"
        armed = f"at {write_time(self.time)} " if self.time else ""
        return f"{armed}{self.trigger} {self.action}"


@dataclass(frozen=True, slots=True)
class Wan:
    """What links from one site to another are like."""

    link: Link
    """Between sites, or 0 for any."""

    settings: NetworkSettings

    def __str__(self) -> str:
        return f"wan {self.link} {write_amounts(self.settings, FAR)}".rstrip()


@dataclass(frozen=True, slots=True)
class Script:
    """Everything about a run; `str` gives the text that reads back as this script."""

    seed: int = 1
    daemons: int = 3
    sites: tuple[tuple[int, ...], ...] = ()
    """All daemons by site; nothing said is one site."""

    wan: tuple[Wan, ...] = ()
    """Later ones count for more."""

    sessions: int = 1
    network: NetworkSettings = field(default_factory=NetworkSettings)
    disk: DiskSettings = field(default_factory=DiskSettings)
    workload: WorkloadSettings | None = None
    """None: applications do only what the steps say."""

    steps: tuple[Step, ...] = ()
    """Sorted by time; equal times in the order written."""

    quiet: int | None = None
    until: int = 10_000_000

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", f"daemons {self.daemons}", f"sessions {self.sessions}"]
        if self.sites:
            lines.append(f"sites {write_parts(self.sites)}")
        lines += map(str, self.wan)
        lines.append(f"network {write_amounts(self.network, NetworkSettings())}".rstrip())
        if self.disk != DiskSettings():
            lines.append(f"disk {write_amounts(self.disk, DiskSettings())}")
        if self.workload is not None:
            amounts = write_amounts(self.workload, WorkloadSettings())
            lines.append(f"workload {amounts}".rstrip())
        lines += map(str, self.steps)
        if self.quiet is not None:
            lines.append(f"quiet {write_time(self.quiet)}")
        lines.append(f"until {write_time(self.until)}")
        return "\n".join(lines) + "\n"

    @property
    def far(self) -> Far:
        """For each ordered pair of sites of which something is said."""
        numbers = range(1, len(self.sites) + 1)
        found = {}
        for told in self.wan:
            for source in numbers:
                for target in numbers:
                    if source != target and _is_between(told.link, source, target):
                        found[source, target] = told.settings
        return found


def _is_between(link: Link, source: int, target: int) -> bool:
    ends = [(link.source, link.target), (link.target, link.source)]
    return any(
        here in (0, Site(source)) and there in (0, Site(target))
        for here, there in ends[: 1 + link.both]
    )


def parse_script(text: str) -> Script:
    """Read a script; ConfigError names the line."""
    head: dict[str, Any] = {}
    steps: list[tuple[Tokens, Step]] = []
    for number, line in enumerate(text.splitlines(), 1):
        tokens = Tokens(number, line)
        if tokens.empty:
            continue
        if tokens.peek() in HEADERS:
            _read_header(tokens, head)
        else:
            steps.append((tokens, read_step(tokens)))
        tokens.expect_end()
    ordered = sorted((step for _, step in steps), key=lambda step: step.time)
    script = Script(**head, steps=tuple(ordered))
    _check_sites(script)
    if script.quiet is not None and script.quiet > script.until:
        raise ConfigError("quiet", "it comes after the end", "let 'until' be the later one")
    for tokens, step in steps:
        _check_step(tokens, step, script)
    return script


def _read_header(tokens: Tokens, head: dict[str, Any]) -> None:
    name = tokens.next("header")
    if name == "wan":
        head[name] = (*head.get(name, ()), _read_wan(tokens))
    elif name in head:
        raise tokens.fault(f"{name!r} stands here for the second time", "keep one of them")
    elif name == "sites":
        head[name] = tokens.sites()
    elif name in AMOUNTS:
        head[name] = read_amounts(tokens, AMOUNTS[name])
    elif name in ("quiet", "until"):
        head[name] = read_time(tokens, tokens.next("a time"))
    else:
        head[name] = tokens.integer(name, least=0 if name in ("seed", "sessions") else 1)


def _read_wan(tokens: Tokens) -> Wan:
    link = tokens.link()
    if not all(end == 0 or isinstance(end, Site) for end in (link.source, link.target)):
        raise tokens.fault("it is between sites", "write 'wan site1 - site2 latency=40ms'")
    return Wan(link, read_amounts(tokens, FAR))


def _check_sites(script: Script) -> None:
    if script.sites:
        named = sorted(host for site in script.sites for host in site)
        if named != list(range(1, script.daemons + 1)):
            remedy = f"name each of 1 to {script.daemons} once"
            raise ConfigError("sites", "not every daemon is at one site", remedy)
    known = len(script.sites)
    for told in script.wan:
        for end in (told.link.source, told.link.target):
            if isinstance(end, Site) and end.number > known:
                raise ConfigError("wan", f"there is no {end}", "name it in 'sites'")


def read_step(tokens: Tokens) -> Step:
    timed = tokens.skip("at")
    time = read_time(tokens, tokens.next("a time")) if timed else 0
    trigger = _read_trigger(tokens) if tokens.skip("when") else None
    if not timed and trigger is None:
        raise tokens.fault(
            f"{tokens.peek()!r} is neither a header nor a step",
            "begin with 'at TIME', with 'when', or with one of " + ", ".join(HEADERS),
        )
    return Step(time, read_action(tokens), trigger)


def _read_trigger(tokens: Tokens) -> Trigger:
    host = tokens.place()
    kind = TRIGGERS[tokens.choice("a trigger", tuple(TRIGGERS))]
    reason = tokens.next("a state or a reason") if kind in WITH_REASON else ""
    delay = read_time(tokens, tokens.next("a time")) if tokens.skip("after") else 0
    return Trigger(host, kind, reason, delay)


def _check_step(tokens: Tokens, step: Step, script: Script) -> None:
    action = step.action
    for place in action.places | ({step.trigger.host} if step.trigger else set()):
        _check_place(tokens, place, script)
    if action.verb == "restart" and isinstance(action.host, Lead):
        raise tokens.fault("who leads runs already", f"restart site{action.host.number}")
    if any(isinstance(place, Lead) for side in action.sides for place in side):
        raise tokens.fault("a side has daemons and sites only", "write 'cut site1 | site2'")
    if action.slot > script.sessions:
        raise tokens.fault(f"there is no slot {action.slot}", f"use 1 to {script.sessions}")
    if action.verb in ("jump", "delay") and action.shift < 0:
        raise tokens.fault(f"{action.verb!r} goes forward only", "write a time from 0 on")
    if step.time > script.until:
        raise tokens.fault("this comes after the end", "raise 'until' or move the step")
    if script.quiet is None or step.time < script.quiet:
        return
    if step.trigger or action.verb not in SESSION_VERBS:
        raise tokens.fault("a fault after 'quiet'", "move it before, or 'quiet' behind it")


def _check_place(tokens: Tokens, place: Place, script: Script) -> None:
    if isinstance(place, int):
        if place > script.daemons:
            raise tokens.fault(f"there is no daemon {place}", f"use 1 to {script.daemons}")
    elif place.number > max(1, len(script.sites)):
        raise tokens.fault(f"there is no site {place.number}", "name it in 'sites'")
