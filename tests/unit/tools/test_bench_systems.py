"""Systems beside us: what happens if one is not there, and how far a sender may be ahead."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from antiphon.core.errors import UsageError
from antiphon.tools.bench.peers.credit import STRIDES, WINDOW_BYTES, Credit
from antiphon.tools.bench.peers.peer import require_library, require_program
from antiphon.tools.bench.peers.systems import COROSYNC, Start, Systems
from antiphon.tools.bench.reception import BenchFailed
from antiphon.tools.bench.traffic import Say, silent


class Scripted:
    """Rates by turns; it fails when they are over."""

    def __init__(self, rates: list[float]) -> None:
        self._rates = rates

    def flood(self, size: int, seconds: float) -> float:
        if not self._rates:
            raise BenchFailed("message 7 of sender 0, not 6")
        return self._rates.pop(0)


def starting(*rates: float, ended: list[str] | None = None) -> Start:
    @contextmanager
    def start(say: Say) -> Iterator[Scripted]:
        try:
            yield Scripted([*rates])
        finally:
            if ended is not None:
                ended.append("ended")

    return start


@contextmanager
def missing(say: Say) -> Iterator[Scripted]:
    raise UsageError("no_programs", "it cannot be installed", "install it by hand")
    yield


def test_medians_are_of_each_system_and_size() -> None:
    starts = {COROSYNC: starting(1, 10, 2, 20, 9, 90), "NATS": starting(5, 50, 5, 50, 5, 50)}
    with Systems(silent, starts) as systems:
        for _ in range(3):
            systems.flood(100, 1.0)
            systems.flood(1_000, 1.0)
    assert systems.medians == {COROSYNC: {100: 2, 1_000: 20}, "NATS": {100: 5, 1_000: 50}}
    assert systems.without == {}


def test_without_a_reference_it_goes_on_and_says_why() -> None:
    with Systems(silent, {COROSYNC: starting(1), "NATS": missing}) as systems:
        systems.flood(100, 1.0)
    assert systems.medians == {COROSYNC: {100: 1}}
    assert "it cannot be installed" in systems.without["NATS"]


def test_a_reference_that_fails_is_left_out_from_there_on() -> None:
    said: list[str] = []
    starts = {COROSYNC: starting(1, 1, 1), "NATS": starting(4)}
    with Systems(said.append, starts) as systems:
        for _ in range(3):
            systems.flood(100, 1.0)
    assert systems.medians["NATS"] == {100: 4}
    assert systems.without == {"NATS": "message 7 of sender 0, not 6"}
    assert sum(line.startswith("NATS") for line in said) == 2


def test_without_corosync_there_are_no_bars() -> None:
    ended: list[str] = []
    with pytest.raises(UsageError), Systems(silent, {COROSYNC: missing}):
        pass
    with pytest.raises(BenchFailed):
        with Systems(silent, {COROSYNC: starting(ended=ended)}) as systems:
            systems.flood(100, 1.0)
    assert ended == ["ended"]


def test_what_runs_is_ended_if_corosync_does_not_come() -> None:
    ended: list[str] = []
    starts = {"NATS": starting(ended=ended), COROSYNC: missing}
    with pytest.raises(UsageError), Systems(silent, starts):
        pass
    assert ended == ["ended"]


def test_a_library_that_is_not_there_is_named_with_the_remedy() -> None:
    require_library("json", "json")
    with pytest.raises(UsageError, match="no-such is not installed.*scripts/bootstrap bench"):
        require_library("no_such_module", "no-such")


@pytest.mark.parametrize("ends_with", [0, 100])
def test_what_apt_cannot_install_is_told_in_a_line(
    ends_with: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text(f"#!/bin/sh\nprintf 'no\\nroom\\n' >&2\nexit {ends_with}\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if not ends_with:
        require_program("no-such-server", ["no-such"], silent)
        return
    with pytest.raises(UsageError, match="no-such cannot be installed: .* 100: no room"):
        require_program("no-such-server", ["no-such"], silent)


def test_without_apt_nothing_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no-such cannot be installed"):
        require_program("no-such-server", ["no-such"], silent)


def test_a_sender_waits_for_the_slowest_receiver() -> None:
    credit = Credit(receivers=2, size=1_000)
    ahead = credit.limit
    credit.hear(0, 500)
    assert credit.limit == ahead
    credit.hear(1, 300)
    assert credit.limit == ahead + 300


@pytest.mark.parametrize("size", [100, 1_000, 8_192, 65_536, 16_000_000])
def test_a_receiver_tells_often_enough_to_let_the_sender_go_on(size: int) -> None:
    """Else both would wait: a window that is full must hold a report of each receiver."""
    limit = Credit(1, size).limit
    assert limit == STRIDES * Credit.stride(size)
    assert limit * size <= WINDOW_BYTES or limit == STRIDES
