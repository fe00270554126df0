"""Options that several `antiphon sim` commands share."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from antiphon.core.errors import ConfigError
from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind
from antiphon.sim.timeline import USUAL_KINDS, Choice
from antiphon.sim.trial import Planter, Trial, parse_trial


class SeedRange(click.ParamType[range]):
    """A:B, the seeds from A up to but not including B."""

    name = "A:B"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        if isinstance(value, range):
            return value
        first, colon, last = str(value).partition(":")
        if not (colon and first.isdigit() and last.isdigit() and int(first) < int(last)):
            self.fail(f"{value!r} is no range of seeds; write 0:500", param, ctx)
        return range(int(first), int(last))


class Kinds(click.ParamType[tuple[Kind, ...]]):
    """Kinds of records, with commas; + adds to the usual ones, `all` is all."""

    name = "KINDS"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Kind, ...]:
        if isinstance(value, tuple):
            return value
        text = str(value)
        if text == "all":
            return tuple(Kind)
        usual = USUAL_KINDS if text.startswith("+") else ()
        try:
            return (*usual, *map(Kind, text.removeprefix("+").split(",")))
        except ValueError:
            known = ", ".join(kind.value for kind in Kind)
            self.fail(f"{text!r} names no kinds; use all or some of {known}", param, ctx)


def timeline_options(command: Callable[..., None]) -> Callable[..., None]:
    """What to show of a run."""
    for option in (
        click.option("--width", type=click.IntRange(min=20), help="Cut its lines to this."),
        click.option("--to", "last", type=float, help="Timeline up to this second."),
        click.option("--from", "first", type=float, help="Timeline from this second on."),
        click.option("--daemon", type=int, multiple=True, help="Timeline of this daemon."),
        click.option(
            "--kinds", type=Kinds(), help="Records in the timeline: view,hand or +view or all."
        ),
    ):
        command = option(command)
    return command


def sites_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option("--sites", is_flag=True, help="Scenarios of several sites.")(command)


def mutant_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option("--mutant", help="Plant this mutant in every node.")(command)


def choice_of(options: dict[str, Any]) -> Choice:
    """Made of what `timeline_options` gave."""
    choice = Choice(options["kinds"] or USUAL_KINDS, options["daemon"], width=options["width"] or 0)
    if options["first"] is not None:
        choice = replace(choice, first_us=int(options["first"] * SECOND))
    if options["last"] is not None:
        choice = replace(choice, last_us=int(options["last"] * SECOND))
    return choice


def planter_of(mutant: str | None) -> Planter | None:
    """Loaded here only: few runs need the mutants."""
    if mutant is None:
        return None
    mutants = importlib.import_module("antiphon.sim.mutants").MUTANTS
    if mutant not in mutants:
        known = ", ".join(sorted(mutants))
        raise click.UsageError(f"there is no mutant {mutant!r}; use one of {known}")
    plant: Planter = mutants[mutant].plant
    return plant


def read_trial(file: Path) -> Trial:
    try:
        return parse_trial(file.read_text())
    except ConfigError as error:
        raise click.UsageError(f"{file}: {error}") from None
