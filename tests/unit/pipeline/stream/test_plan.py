"""Offsets become pieces; a daemon that cannot go on is not the last word."""

import pickle
from collections.abc import Callable
from threading import Lock
from typing import Any, cast

import pytest

from antiphon.client import blocking
from antiphon.client.errors import SessionError
from antiphon.client.log import LogGap, LogRange, LogReach
from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.offsets import ORIGIN, Branch, Offset
from antiphon.pipeline.stream import daemons as daemons_module
from antiphon.pipeline.stream.daemons import Daemons
from antiphon.pipeline.stream.options import read_options
from antiphon.pipeline.stream.plan import Planner


def branch(epoch: int) -> Branch:
    return Branch(ConfigId(epoch, DaemonId(1), Incarnation(1), epoch), 0)


A, B = branch(1), branch(2)


class FakeLog:
    """10 rows of A, then 5 of B."""

    def __init__(self, fault: Exception | None = None) -> None:
        self._fault = fault

    def earliest(self) -> Offset:
        return ORIGIN

    def latest(self) -> Offset:
        return Offset(B, 5)

    def after(self, at: Offset, *, rows: int, until: Offset | None) -> LogReach:
        if self._fault is not None:
            raise self._fault
        whole = [(A, sequence) for sequence in range(1, 11)] + [(B, one) for one in range(1, 6)]
        start = 0 if at == ORIGIN else whole.index(tuple(at)) + 1
        end = len(whole) if until is None else whole.index(tuple(until)) + 1
        taken = whole[start:end][:rows]
        ranges = [
            LogRange(of, min(found), max(found))
            for of in (A, B)
            if (found := [sequence for one, sequence in taken if one == of])
        ]
        return LogReach(tuple(ranges), Offset(*taken[-1]) if taken else at, ())


class FakeSession:
    def __init__(self, log: FakeLog) -> None:
        self._log = log

    def log(self, group: str, timeout: float) -> FakeLog:
        return self._log

    def close(self) -> None:
        pass


def gap(resume: Offset) -> LogGap:
    told = {"code": "missing", "branch": str(A), "first": 1, "last": 3, "resume": str(resume)}
    return LogGap("g", told)


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Planner]:
    def make(*logs: FakeLog | Exception, **options: str) -> Planner:
        addresses = [f"{4803 + place}@x" for place in range(len(logs))]
        places = dict(zip(addresses, logs, strict=True))

        def connect(address: str, **_: Any) -> FakeSession:
            found = places[address]
            if isinstance(found, Exception):
                raise found
            return FakeSession(found)

        monkeypatch.setattr(daemons_module.blocking, "connect", connect)
        monkeypatch.setattr(daemons_module, "RETRY_S", 0)
        told = {"connect": ",".join(addresses), "group": "g", "timeout": "0", **options}
        return Planner(read_options(told))

    return make


def test_ends_and_reach(having: Callable[..., Planner]) -> None:
    planner = having(FakeLog())
    assert planner.ends("earliest", "earliest") == {"g": ":0"}
    assert planner.ends({"g": Offset(A, 3)}, "earliest") == {"g": str(Offset(A, 3))}
    assert planner.latest({"g": ":0"}) == {"g": str(Offset(B, 5))}
    assert planner.latest({"g": ":0"}, 4) == {"g": str(Offset(A, 4))}
    assert planner.latest({"g": ":0"}, 0, {"g": str(Offset(A, 7))}) == {"g": str(Offset(A, 7))}


def test_pieces_cross_branches_and_are_cut(having: Callable[..., Planner]) -> None:
    planner = having(FakeLog(), rowsPerPartition="4")
    start, end = {"g": str(Offset(A, 2))}, {"g": str(Offset(B, 3))}
    assert planner.pieces(start, end) == [
        ("g", LogRange(A, 3, 6)),
        ("g", LogRange(A, 7, 10)),
        ("g", LogRange(B, 1, 3)),
    ]
    assert planner.pieces(end, end) == []


@pytest.mark.parametrize("fault", [gap(Offset(B, 0)), SessionError("gone", "it is", "wait")])
def test_another_daemon_is_asked(having: Callable[..., Planner], fault: SessionError) -> None:
    planner = having(FakeLog(fault), FakeLog())
    assert planner.latest({"g": ":0"}) == {"g": str(Offset(B, 5))}


def test_a_gap_of_all_is_an_error_that_names_the_range(having: Callable[..., Planner]) -> None:
    planner = having(FakeLog(gap(Offset(B, 2))), FakeLog(gap(Offset(B, 2))))
    with pytest.raises(LogGap, match="1 to 3"):
        planner.latest({"g": ":0"})


def test_a_gap_is_passed_if_that_is_wished(having: Callable[..., Planner]) -> None:
    planner = having(FakeLog(gap(Offset(B, 2))), onGap="skip")
    assert planner.latest({"g": ":0"}) == {"g": str(Offset(B, 2))}


def test_nobody_there_is_an_error(having: Callable[..., Planner]) -> None:
    planner = having(SessionError("unreachable", "nobody", "start it"))
    with pytest.raises(SessionError, match="nobody"):
        planner.latest({"g": ":0"})


def test_a_gap_may_close_while_somebody_is_away(having: Callable[..., Planner]) -> None:
    """One says it misses something, the other cannot be reached: that is no last word."""
    away = SessionError("unreachable", "away", "wait")
    planner = having(FakeLog(gap(Offset(B, 2))), away)
    with pytest.raises(LogGap):
        planner.latest({"g": ":0"})


def test_daemons_travel_without_their_session() -> None:
    some = Daemons(("4803@x",), "", 1.0)
    some._session = cast(blocking.Session, Lock())  # cannot travel, as no socket can
    there = pickle.loads(pickle.dumps(some))
    assert there._session is None
    assert there._addresses == some._addresses
