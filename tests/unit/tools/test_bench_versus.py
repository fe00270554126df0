"""A tree against an older commit: by turns, and by the ratios of pairs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.core.errors import UsageError
from antiphon.tools.bench import versus
from antiphon.tools.bench.traffic import silent
from antiphon.tools.bench.versus import SOURCES, Case, Ratio, run_check

OLDER = Path("older")
CASE = Case(100, 3)


def test_pairs_are_measured_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine gets slower all the time, and we are a quarter faster: that is seen."""
    asked: list[Path] = []

    @contextmanager
    def older(_: str) -> Iterator[Path]:
        yield OLDER

    def rate(sources: Path, case: Case, seconds: float) -> float:
        assert (case, seconds) == (CASE, 2.0)
        asked.append(sources)
        speed = 1_000.0 * 0.99 ** len(asked)
        return 1.25 * speed if sources == SOURCES else speed

    monkeypatch.setattr(versus, "_checked_out", older)
    monkeypatch.setattr(versus, "_rate", rate)
    [found] = run_check("base", [CASE], 10, 2.0, silent)
    assert asked[:4] == [SOURCES, OLDER, OLDER, SOURCES] and len(asked) == 20
    assert found == Ratio(100, 3, 1.238, 1.25, 1.263, 900)


def test_an_unknown_commit_is_told() -> None:
    with pytest.raises(UsageError, match="no tree of nonsense"):
        with versus._checked_out("nonsense"):
            pass
