"""Scenarios: a script, `----`, and the transcript that it must give.

    daemons 3
    at 1s crash 1
    until 2s
    show install trouble
    ----
    0.131 1 install 1.1 {1 2 3} from 0.0

Like a trial, the script may have a `node` line. A transcript has one line for each record of the
kinds after `show`: seconds, process, kind, and the columns that matter. It is made of
records, so that no rewording breaks a test.
"""

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.core.errors import ConfigError
from antiphon.core.ids import ConfigId, Member, SessionId, ViewId
from antiphon.core.machine import SECOND
from antiphon.core.positions import place_name
from antiphon.core.service import Service
from antiphon.core.trace import DAEMON, Kind, Record
from antiphon.protocol.presets import NodeSettings
from antiphon.sim.faults import Run, run
from antiphon.sim.script import Script
from antiphon.sim.trial import NodeVariant, parse_trial
from antiphon.sim.world import MakeNode

BORDER = "----"
SHOW = "show"
SHOWN_UNLESS_SAID: tuple[Kind, ...] = (Kind.START, Kind.STOP, Kind.TROUBLE, Kind.INSTALL)


@dataclass(frozen=True, slots=True)
class Scenario:
    script: Script
    variant: NodeVariant
    show: tuple[Kind, ...]
    told: str
    """The text above the border, as written."""

    expected: str

    @property
    def settings(self) -> NodeSettings:
        return self.variant.settings(self.script.daemons, self.script.sites)


def parse_scenario(text: str) -> Scenario:
    told, border, expected = text.partition(f"\n{BORDER}\n")
    lines = told.splitlines()
    show = SHOWN_UNLESS_SAID
    for number, line in enumerate(lines, 1):
        if line.split()[:1] == [SHOW]:
            show = _read_show(number, line)
            lines[number - 1] = ""
    trial = parse_trial("\n".join(lines))
    return Scenario(trial.script, trial.variant, show, told, expected if border else "")


def _read_show(number: int, line: str) -> tuple[Kind, ...]:
    known = [kind.value for kind in Kind]
    for word in line.split()[1:]:
        if word not in known:
            raise ConfigError(f"line {number}", f"no record {word!r}", "use " + ", ".join(known))
    return tuple(Kind(word) for word in line.split()[1:])


def play(scenario: Scenario, make_node: MakeNode) -> tuple[Run, str]:
    """The run and its transcript."""
    played = run(scenario.script, make_node)
    return played, transcript(played.records, scenario.show)


def transcript(records: list[Record], show: tuple[Kind, ...]) -> str:
    return "".join(f"{line(record)}\n" for record in records if record.kind in show)


def rewritten(scenario: Scenario, actual: str) -> str:
    """The text of the scenario with this transcript."""
    told = scenario.told.rstrip("\n")
    return f"{told}\n{BORDER}\n{actual}"


def line(record: Record) -> str:
    """One record in one line."""
    words = [f"{record.time / SECOND:.3f}", process(record), record.kind.value]
    columns = COLUMNS.get(record.kind, _reason)
    return " ".join(words + [word for word in columns(record) if word])


def process(record: Record) -> str:
    if record.session != DAEMON:
        return f"{record.node}.{record.session}"
    return str(record.node or "-")


def config(id: ConfigId) -> str:
    """Short, and different for any two configurations that one daemon ever sees."""
    return f"{id.epoch}.{id.coordinator}"


def view(id: ViewId | None) -> str:
    return "none" if id is None else f"{config(id.config)}/{place_name(id.position)}"


def daemons(members: tuple[Member, ...]) -> str:
    return "{" + " ".join(str(member.daemon) for member in members) + "}"


def sessions(ids: tuple[SessionId, ...]) -> str:
    return "{" + " ".join(f"{id.daemon}.{id.number}" for id in ids) + "}"


def messages(record: Record) -> str:
    """Whose and which: 2.1:5 or 2.1:5-8."""
    last = record.first + record.count - 1
    run = f"{record.first}-{last}" if record.count > 1 else f"{record.first}"
    return f"{record.origin.daemon}.{record.origin.number}:{run}"


def _reason(record: Record) -> list[str]:
    peer = str(record.peer) if record.peer else ""
    value = f"{record.value}/{record.limit}" if record.limit else str(record.value or "")
    return [",".join(record.groups), record.reason, peer, record.detail, value]


def _attempt(record: Record) -> list[str]:
    return [config(record.config), daemons(record.members), record.reason]


def _abort(record: Record) -> list[str]:
    return [config(record.config), record.reason]


def _transitional(record: Record) -> list[str]:
    return [config(record.config), daemons(record.members)]


def _install(record: Record) -> list[str]:
    return [config(record.config), daemons(record.members), "from", config(record.base)]


def _reach(record: Record) -> list[str]:
    return [daemons(record.members)]


def _place(record: Record) -> list[str]:
    """A bundle in the order of its configuration."""
    late = "transitional" if record.transitional else ""
    place = f"{config(record.config)}/{record.sequence}"
    return [place, messages(record), _service(record), ",".join(record.groups), late]


def _message(record: Record) -> list[str]:
    late = "transitional" if record.transitional else ""
    return [messages(record), _service(record), ",".join(record.groups), record.detail, late]


def _service(record: Record) -> str:
    return Service(record.service).name.lower()


def _view(record: Record) -> list[str]:
    new = view(record.views[0]) if record.views else ""
    together = f"together {sessions(record.together)}"
    return [",".join(record.groups), new, sessions(record.sessions), together, record.reason]


COLUMNS: dict[Kind, Callable[[Record], list[str]]] = {
    Kind.ATTEMPT: _attempt,
    Kind.ABORT: _abort,
    Kind.TRANSITIONAL: _transitional,
    Kind.INSTALL: _install,
    Kind.REACH: _reach,
    Kind.SEND: _place,
    Kind.DELIVER: _place,
    Kind.COMPLETE: _message,
    Kind.SUBMIT: _message,
    Kind.HAND: _message,
    Kind.VIEW: _view,
}
