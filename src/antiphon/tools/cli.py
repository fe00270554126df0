"""The root of the command line: which commands there are, and where each one lives.

A command's module is imported when the command is called, so that `antiphon --help` and each
command load only what they show or use.
"""

import importlib
from dataclasses import dataclass

import click

from antiphon import __version__


@dataclass(frozen=True, slots=True)
class LazyCommand:
    location: str
    """module:attribute of the click command."""

    summary: str
    """Its line in `antiphon --help`; here, because asking the command would import it."""


COMMANDS = {
    "config": LazyCommand(
        "antiphon.tools.config_command:config",
        "Check, show and make configuration files.",
    ),
    "keys": LazyCommand(
        "antiphon.tools.keys_command:keys",
        "Make and rotate the keys of a cluster.",
    ),
    "records": LazyCommand(
        "antiphon.tools.records_command:records",
        "Show and judge what daemons and clients have recorded.",
    ),
    "daemon": LazyCommand(
        "antiphon.tools.daemon_command:daemon",
        "Run one daemon of a configuration.",
    ),
    "fuzz": LazyCommand(
        "antiphon.tools.fuzz_command:fuzz",
        "Feed random and mutated bytes to every decoder and to running nodes.",
    ),
    "sim": LazyCommand(
        "antiphon.tools.sim_command:sim",
        "Run simulated groups under faults and judge what they did.",
    ),
    "soak": LazyCommand(
        "antiphon.tools.soak_command:soak",
        "Run everything that takes long, going on where it was stopped.",
    ),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = COMMANDS.get(cmd_name)
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
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="antiphon")
def main() -> None:
    """Group communication: ordered multicast and membership.

    \b
    Examples:
      antiphon sim demo            a group forms, splits and merges
      antiphon sim --seed 7        one simulated run, the same each time
      antiphon sim --seeds 0:200   two hundred of them, judged
      antiphon sim --help          what else the simulator can do

    \b
    Exit codes:
      0  fine
      1  a promise was broken, or a check failed
      2  wrong usage
    """
