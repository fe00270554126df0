"""The root of the command line: every command is there, helps, and is loaded only when called."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from antiphon.tools import sim_command
from antiphon.tools.cli import COMMANDS, PROVE, LazyCommand, LazyGroup, main

HEAVY = ("asyncio", "msgspec", "rich", "pyarrow", "antiphon.client", "antiphon.daemon")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_helps(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"], catch_exceptions=False)
    assert shown.exit_code == 0
    is_for_users = COMMANDS[name].section != PROVE
    if is_for_users:
        assert f"antiphon {name}" in shown.output.partition("Examples:")[2] or name == "keys"


def test_help_lists_every_command_under_its_heading() -> None:
    lines = CliRunner().invoke(main, ["--help"]).output.splitlines()
    for name, lazy in COMMANDS.items():
        assert f"{lazy.section}:" in lines
        assert any(line.split() == [name, *lazy.summary.split()] for line in lines), name


def test_help_and_version_load_nothing_heavy() -> None:
    code = (
        "import sys; from antiphon.tools.cli import main\n"
        "try: main([sys.argv[1]])\n"
        "except SystemExit: print('loaded', *sys.modules)"
    )
    for option in ("--help", "--version"):
        ran = subprocess.run(
            [sys.executable, "-c", code, option], capture_output=True, text=True, check=True
        )
        loaded = ran.stdout.partition("loaded ")[2].split()
        assert "click" in loaded
        assert not set(HEAVY) & set(loaded)


def test_an_unknown_command_is_wrong_usage() -> None:
    assert CliRunner().invoke(main, ["dance"]).exit_code == 2


def test_the_simulator_has_its_own_commands() -> None:
    assert isinstance(sim_command.sim, LazyGroup)
    shown = CliRunner().invoke(main, ["sim", "--help"]).output
    for name in sim_command.COMMANDS:
        assert f"\n  {name} " in shown
    assert CliRunner().invoke(main, ["sim", "digest", "--help"]).exit_code == 0


def test_a_package_that_is_not_installed_is_named() -> None:
    group = LazyGroup("group", lazy={"far": LazyCommand("no_such_package:far", "Far.")})
    with pytest.raises(click.UsageError, match="needs the package no_such_package"):
        group.get_command(click.Context(group), "far")
    broken = LazyGroup("group", lazy={"ours": LazyCommand("antiphon.no_such_room:x", "Ours.")})
    with pytest.raises(ModuleNotFoundError):
        broken.get_command(click.Context(broken), "ours")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_our_name(shell: str) -> None:
    made = CliRunner().invoke(main, ["completion", shell])
    assert made.exit_code == 0
    assert "_ANTIPHON_COMPLETE" in made.stdout


def test_completion_knows_the_commands() -> None:
    environment = {"_ANTIPHON_COMPLETE": "bash_complete", "COMP_WORDS": "antiphon st"}
    made = CliRunner().invoke(
        main, [], prog_name="antiphon", env={**environment, "COMP_CWORD": "1"}
    )
    assert made.stdout.split() == ["plain,status", "plain,stop"]
