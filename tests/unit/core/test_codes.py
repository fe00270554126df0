"""Every code that the source uses is explained, and every explanation is whole."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.core.codes import CODES
from antiphon.sim.reach import DROP_REASONS, REFUSALS
from antiphon.sim.sites_reach import SITE_DROP_REASONS

SOURCE = Path(__file__).parents[3] / "src" / "antiphon"
MAKERS = {
    *("UsageError", "DecodeError", "SessionError", "Refused", "Refuse", "Disconnected"),
    *("Unreachable", "QueryFailed", "Unsent", "Refusal", "Close", "Untrusted"),
}
"""Their first argument is a code."""

METHODS = {"_close": 2, "connection_lost": 0, "disconnected": 0, "say_goodbye": 0}
"""And of these calls another one is."""


def codes_in(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            where = 0 if name in MAKERS else METHODS.get(name, -1)
            found = texts(node)[:1] if name == "_refuse" else []
            if 0 <= where < len(node.args) and isinstance(node.args[where], ast.Constant):
                found = texts(node)[:1]
            # What has spaces is prose: a click.UsageError, or an error's own text.
            yield from ((text, node.lineno) for text in found if " " not in text)


def texts(call: ast.Call) -> list[str]:
    return [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def test_every_code_in_the_source_is_in_the_table() -> None:
    used = {
        code: f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for code, line in codes_in(path)
    }
    assert {"already_joined", "not_allowed", "bad_field", "no_daemon", "slow"} <= used.keys()
    assert not [f"{place}: {code}" for code, place in used.items() if code not in CODES]


def test_every_reason_that_the_simulator_counts_is_in_the_table() -> None:
    assert not {*DROP_REASONS, *SITE_DROP_REASONS, *REFUSALS} - CODES.keys()


@pytest.mark.parametrize("code", CODES)
def test_an_explanation_is_whole(code: str) -> None:
    summary, cause, remedy = CODES[code]
    assert code.isidentifier() and code == code.lower()
    assert summary and not summary.endswith(".") and not remedy.endswith(".")
    assert cause.endswith(".") and remedy
