"""`antiphon partition`: which sides can be, and that nothing is cut by accident."""

import click
import pytest
from click.testing import CliRunner

from antiphon.tools.partition_command import (
    check_complete,
    partition,
    read_sides,
    with_daemons,
)
from antiphon.tools.reaching import Target

THREE = ["one", "two", "three"]
TARGETS = {name: (Target((name,), name), THREE) for name in THREE}


@pytest.mark.parametrize(
    "words",
    [
        ["one,two", "three"],
        ["one,two | three"],
        ["one,", "two", "|", "three"],
        ["one, two|three"],
    ],
)
def test_sides_are_words_or_stand_between_bars(words: list[str]) -> None:
    assert read_sides(words) == (("one", "two"), ("three",))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["one,two,three"], "fewer than two"),
        (["one | "], "fewer than two"),
        (["one,two", "two"], "two stands twice"),
    ],
)
def test_sides_that_cannot_be_are_refused(words: list[str], told: str) -> None:
    with pytest.raises(click.UsageError, match=told):
        read_sides(words)


def test_every_daemon_is_on_a_side_and_has_an_address() -> None:
    check_complete((("one", "two"), ("three",)), TARGETS)
    with pytest.raises(click.UsageError, match="three is on no side"):
        check_complete((("one",), ("two",)), TARGETS)
    with pytest.raises(click.UsageError, match="no daemon is called four"):
        check_complete((("one", "two"), ("three", "four")), TARGETS)
    with pytest.raises(click.UsageError, match="no address of three"):
        known = {name: TARGETS[name] for name in ("one", "two")}
        check_complete((("one", "two"), ("three",)), known)


def test_without_a_terminal_it_must_be_said() -> None:
    refused = CliRunner().invoke(partition, ["set", "one", "two"])
    assert refused.exit_code == 2
    assert "--yes" in refused.stderr


def test_help_says_that_it_is_dangerous() -> None:
    for arguments in (["--help"], ["set", "--help"]):
        assert "DANGEROUS" in CliRunner().invoke(partition, arguments).output


def test_a_site_means_its_daemons() -> None:
    sites = {"one": "west", "two": "east", "three": "west", "west-1": "east"}
    assert with_daemons((("west",), ("east",)), sites) == (("one", "three"), ("two", "west-1"))
    assert with_daemons((("one",), ("two", "nobody")), sites) == (("one",), ("two", "nobody"))
    with pytest.raises(click.UsageError, match="one stands twice"):
        with_daemons((("west",), ("one", "east")), sites)
