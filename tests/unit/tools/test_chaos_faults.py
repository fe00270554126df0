"""The faults of a chaos run: drawn from a seed, a few at a time, all over before the quiet."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.tools.chaos.faults import (
    AT_ONCE_MAX,
    KINDS,
    LOSS_PERCENT,
    SLOW_KBYTES,
    Fault,
    FaultKind,
    draw_faults,
    rules_at,
)


def draw(seed: int, seconds: float = 60.0, daemons: int = 5) -> list[Fault]:
    return draw_faults(Random(seed), seconds, daemons, clients=2)


def lasting(faults: list[Fault], at: float) -> list[Fault]:
    return [fault for fault in faults if fault.begin <= at < fault.end]


@given(st.integers(0, 1000), st.floats(0.0, 40.0), st.integers(2, 9))
def test_faults_are_over_in_time_and_few_at_once(seed: int, seconds: float, daemons: int) -> None:
    faults = draw(seed, seconds, daemons)
    for fault in faults:
        assert 0 < fault.begin < fault.end <= seconds
        assert 0 <= fault.daemon <= daemons and 0 <= fault.client < 2
        now = lasting(faults, fault.begin)
        assert len(now) <= AT_ONCE_MAX
        suffering = [other.daemon for other in now if other.daemon]
        assert len(suffering) == len(set(suffering)), "one fault of its own at a time"


def test_the_same_seed_draws_the_same_faults() -> None:
    assert draw(7) == draw(7)
    assert draw(7) != draw(8)


@pytest.mark.parametrize("seed", range(5))
def test_three_minutes_have_thirty_faults_of_every_kind(seed: int) -> None:
    faults = draw(seed, 180.0)
    assert len(faults) >= 30
    assert {fault.kind for fault in faults} == {*KINDS}


@pytest.mark.parametrize("seed", range(5))
def test_links_are_as_their_kind_says(seed: int) -> None:
    for fault in draw(seed, 180.0):
        back = {(target, source) for source, target in fault.links}
        assert all(source != target for source, target in fault.links)
        match fault.kind:
            case FaultKind.SPLIT:
                side = {source for source, _ in fault.links if (1, source) not in fault.links}
                other = {*range(1, 6)} - side
                across = {(one, two) for one in side for two in other}
                assert side and other and {*fault.links} == across | {(b, a) for a, b in across}
            case FaultKind.ONE_WAY:
                assert len(fault.links) == 1
            case FaultKind.TRIANGLE:
                assert len(fault.links) == 2 and back == {*fault.links}
            case FaultKind.LOSS:
                assert len(fault.links) == 20
                assert LOSS_PERCENT[0] <= fault.percent <= LOSS_PERCENT[1]
            case _:
                assert not fault.links and fault.daemon


def test_rules_drop_what_arrives_along_a_link() -> None:
    cut = Fault(FaultKind.ONE_WAY, 0.0, 1.0, links=((2, 1),))
    loss = Fault(FaultKind.LOSS, 0.0, 1.0, links=((2, 1), (1, 2)), percent=5)
    assert rules_at(1, [cut]) == ["ip saddr 10.203.0.2 drop"]
    assert rules_at(2, [cut]) == []
    assert rules_at(2, [cut, loss]) == ["ip saddr 10.203.0.1 numgen random mod 100 < 5 drop"]
    assert len(rules_at(1, [cut, cut, loss])) == 2


def test_a_fault_is_told_in_a_line() -> None:
    cut = Fault(FaultKind.ONE_WAY, 1.0, 2.5, links=((2, 1),))
    assert str(cut) == "one-way 2>1 for 1.5 s"
    assert str(Fault(FaultKind.CLIENT, 0.0, 1.0, 3, 1)) == "client 3.1 for 1.0 s"
    assert str(Fault(FaultKind.CRASH, 0.0, 1.0, 3)) == "crash 3 for 1.0 s"
    assert str(Fault(FaultKind.LOSS, 0.0, 1.0, percent=9)) == "loss 9 % for 1.0 s"


PLACES = ((4, 1), (2, 5), (3, 6))


@pytest.mark.parametrize("seed", range(5))
def test_several_sites_are_killed_cut_and_slowed_down_too(seed: int) -> None:
    faults = draw_faults(Random(seed), 240.0, 6, 2, PLACES)
    assert {fault.kind for fault in faults} == {*FaultKind}
    for fault in faults:
        across = {(one, two) for one, two in fault.links if {one, two} <= {4, 1}}
        match fault.kind:
            case FaultKind.LEAD:
                assert fault.daemons in ((4,), (2,), (3,))
            case FaultKind.SITE_DOWN:
                assert fault.daemons in PLACES
            case FaultKind.SITE_CUT:
                assert len(fault.links) == 16 and not across and "drop" in rules_at(1, [fault])[0]
            case FaultKind.SITE_SLOW:
                assert SLOW_KBYTES[0] <= fault.kbytes <= SLOW_KBYTES[1]
                rule = f"limit rate over {fault.kbytes} kbytes/second drop"
                assert any(rule in one for one in rules_at(1, [fault]))
        now = lasting(faults, fault.begin)
        suffering = [daemon for other in now for daemon in other.daemons]
        assert len(suffering) == len(set(suffering)), "one fault of its own at a time"
