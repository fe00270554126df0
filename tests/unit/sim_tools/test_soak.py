"""A soak goes on where it was stopped, and begins anew when the source has changed."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.tools import soak_command, soak_items
from antiphon.tools.soak_command import FIRST_NEW_SEED, read_state, soak, source_digest
from antiphon.tools.soak_items import ITEMS, NEW_SEEDS, Figures, Item, Soak

Ran = list[tuple[str, int]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Two items that only write down that they ran."""
    done: Ran = []

    def item(name: str, passes: bool) -> Item:
        def run(soaking: Soak) -> tuple[bool, Figures]:
            done.append((name, soaking.new_seeds_from))
            return passes, {"things": 7}

        return Item(f"the {name} one", run)

    monkeypatch.setattr(
        soak_command, "ITEMS", {"good": item("good", True), "bad": item("bad", False)}
    )
    return done


def call(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(soak, ["--state", str(path), *arguments], catch_exceptions=False)


def test_what_is_done_is_not_done_again(ran: Ran, tmp_path: Path) -> None:
    path = tmp_path / "out" / "soak.json"
    first = call(path, "--only", "good")
    assert first.exit_code == 0 and "things 7" in first.output
    second = call(path)
    assert [name for name, _ in ran] == ["good", "bad"]
    assert second.exit_code == 1 and "FAILED" in second.output
    call(path, "--fresh", "--only", "good")
    assert [name for name, _ in ran] == ["good", "bad", "good"]


def test_another_source_begins_anew_with_other_seeds(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "soak.json"
    call(path, "--only", "good")
    monkeypatch.setattr(soak_command, "source_digest", lambda: "another")
    call(path, "--only", "good")
    assert ran == [("good", FIRST_NEW_SEED), ("good", FIRST_NEW_SEED + NEW_SEEDS)]
    assert set(read_state(path).sources) == {"another", source_digest()}


def test_a_soak_that_is_stopped_keeps_what_is_done(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "soak.json"

    def interrupted(soaking: Soak) -> tuple[bool, Figures]:
        raise KeyboardInterrupt

    good = soak_command.ITEMS["good"]
    monkeypatch.setattr(
        soak_command, "ITEMS", {"good": good, "long": Item("a long one", interrupted)}
    )
    result = call(path)
    assert result.exit_code == 1
    assert "goes on with it" in result.output
    assert list(read_state(path).sources[source_digest()].items) == ["good"]


def test_the_list_runs_nothing(ran: Ran, tmp_path: Path) -> None:
    result = call(tmp_path / "soak.json", "--list")
    assert result.exit_code == 0 and not ran
    assert "not yet" in result.output
    assert call(tmp_path / "soak.json", "--only", "no-such-item").exit_code == 2


def test_a_broken_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"
    path.write_text("{")
    assert call(path, "--list").exit_code == 2


def test_the_items_are_those_that_are_owed() -> None:
    assert {"reach", "mutants", "fuzz", "digests", "speed"} < set(ITEMS)
    assert {"sites-reach", "sites-1", "sites-8", "sites-digests", "big"} < set(ITEMS)
    assert {"idle", "starved", "flooded", "loaded"} < set(ITEMS)


def test_the_large_run_is_judged_by_its_exit_and_gives_its_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(soak_items, "BIG_SITES", 4)
    monkeypatch.setattr(soak_items, "BIG_DAEMONS", 1)
    passed, figures = ITEMS["big"].run(Soak(0, None))
    assert passed
    assert (figures["sites"], figures["violations"], figures["messages"]) == (4, 0, 100)
    assert all(isinstance(value, int | float) for value in figures.values())
    monkeypatch.setattr(soak_items, "BIG_SITES", 1)  # there is nobody to lose
    assert ITEMS["big"].run(Soak(0, None)) == (False, {})


def test_seeds_of_several_sites_are_run_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def command(arguments: list[str]) -> tuple[bool, Figures]:
        told.append(" ".join(arguments))
        return True, {}

    monkeypatch.setattr(soak_items, "_command", command)
    for name in ("sites-reach", "sites-1", "sites-8", "seeds-2"):
        ITEMS[name].run(Soak(10_000, None))
    assert told == [
        "sim --seeds 0:500 --json --sites --reach",
        "sim --seeds 10000:10250 --json --sites",
        "sim --seeds 11750:12000 --json --sites",
        "sim --seeds 11000:12000 --json",
    ]
    assert sum(name.startswith("seeds-") for name in ITEMS) == 5
