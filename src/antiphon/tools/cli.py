"""The root of the command line: which commands there are, and where each one lives.

A command's module is imported when the command is called, so that `antiphon --help` and each
command load only what they show or use.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from antiphon import __version__


@dataclass(frozen=True, slots=True)
class LazyCommand:
    location: str
    """module:attribute of the click command."""

    summary: str
    """Its line in the help; here, because asking the command would import it."""

    section: str = "Commands"
    """Under which heading of the help it stands."""


def _ours(module: str, attribute: str, summary: str, section: str) -> LazyCommand:
    return LazyCommand(f"antiphon.tools.{module}:{attribute}", summary, section)


USE, OPERATE, SET_UP, PROVE = "Use", "Operate", "Set up", "Prove"

COMMANDS = {
    "up": _ours("up_command", "up", "Run a cluster on this machine, to try things.", USE),
    "shell": _ours("shell_command", "shell", "Join, send and watch, by hand.", USE),
    "send": _ours("send_command", "send", "Send messages to a group.", USE),
    "listen": _ours("listen_command", "listen", "Print what groups receive.", USE),
    "status": _ours("status_command", "status", "Show how daemons are.", OPERATE),
    "groups": _ours("groups_command", "groups", "List the groups that have members.", OPERATE),
    "members": _ours("groups_command", "members", "List who is in a group.", OPERATE),
    "stop": _ours("stop_command", "stop", "Stop daemons cleanly.", OPERATE),
    "reload": _ours("stop_command", "reload", "Have daemons read their files again.", OPERATE),
    "partition": _ours(
        "partition_command", "partition", "DANGEROUS: cut a cluster in parts, for drills.", OPERATE
    ),
    "doctor": _ours(
        "doctor_command", "doctor", "Look for what is wrong with host and network.", OPERATE
    ),
    "explain": _ours(
        "explain_command", "explain", "Say what a code means, and the remedy.", OPERATE
    ),
    "daemon": _ours("daemon_command", "daemon", "Run one daemon of a configuration.", SET_UP),
    "config": _ours("config_command", "config", "Check, show and make configurations.", SET_UP),
    "keys": _ours("keys_command", "keys", "Make and rotate the keys of a cluster.", SET_UP),
    "completion": _ours(
        "completion_command", "completion", "Print what makes a shell complete.", SET_UP
    ),
    "demo": _ours("demo.command", "demo", "A cluster under faults, verified and measured.", PROVE),
    "records": _ours("records_command", "records", "Show and judge what was recorded.", PROVE),
    "pipeline": _ours(
        "pipeline_command", "pipeline", "Tables, verdicts and figures, on Spark.", PROVE
    ),
    "sim": _ours("sim_command", "sim", "Run simulated groups under faults; judge them.", PROVE),
    "fuzz": _ours(
        "fuzz_command", "fuzz", "Feed mutated bytes to every decoder and to nodes.", PROVE
    ),
    "bench": _ours("bench_command", "bench", "Measure a cluster; every message is checked.", PROVE),
    "chaos": _ours(
        "chaos.chaos_command", "chaos", "Real daemons and clients under real faults.", PROVE
    ),
    "wan": _ours("wan_command", "wan", "Sites with emulated links, for real programs.", PROVE),
    "soak": _ours("soak_command", "soak", "Run everything that takes long.", PROVE),
}
"""In the order of the help."""


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is called."""

    def __init__(self, *arguments: Any, lazy: Mapping[str, LazyCommand], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self._lazy.get(cmd_name)
        if lazy is None:
            return None
        module_name, _, attribute = lazy.location.partition(":")
        try:
            command = getattr(importlib.import_module(module_name), attribute)
        except ModuleNotFoundError as missing:
            if missing.name is None or missing.name.partition(".")[0] == "antiphon":
                raise  # ours is missing: a fault of ours, and the traceback says where
            raise click.UsageError(
                f"{cmd_name!r} needs the package {missing.name}, which is not installed; "
                f"see the extras in pyproject.toml, and scripts/bootstrap --help"
            ) from missing
        assert isinstance(command, click.Command), lazy.location
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, lazy in self._lazy.items():
            sections.setdefault(lazy.section, []).append((name, lazy.summary))
        width = max(map(len, self._lazy))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in rows])


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="antiphon")
def main() -> None:
    """Group communication: ordered multicast and membership.

    \b
    Examples:
      antiphon up                  three daemons on this machine
      antiphon listen chat         in a second terminal
      antiphon send chat hello     in a third
      antiphon demo                a cluster under faults, verified and measured
      antiphon sim demo            a group forms, splits and merges, simulated

    \b
    Exit codes:
      0  fine
      1  it failed: a promise was broken, a check or a request did not pass
      2  wrong usage
      3  cannot connect, or cannot start
    """
