"""Clocks, errors, services, bundles: the small words."""

import pytest

from antiphon.core.bundle import Bundle
from antiphon.core.clocks import LamportClock
from antiphon.core.errors import AntiphonError, ConfigError, DecodeError, PeerError, UsageError
from antiphon.core.ids import DaemonId, Incarnation, Member, SessionId
from antiphon.core.ranges import RangeSet
from antiphon.core.service import EARLY, ORDERED, Service


def test_a_stamp_is_above_all_that_was_seen_and_above_its_floor() -> None:
    """SP-76: Lamport's rule; SP-25: no real clock."""
    clock = LamportClock()
    assert clock.stamp(0) == 1
    clock.see(10)
    assert clock.stamp(5) == 11
    assert clock.stamp(20) == 21
    clock.see(3)
    assert clock.stamp(0) == 22


def test_services_are_ordered_from_the_weakest_and_each_is_early_ordered_or_unreliable() -> None:
    """SP-48 to SP-50."""
    names = [service.name for service in sorted(Service)]
    assert names == ["UNRELIABLE", "RELIABLE", "FIFO", "CAUSAL", "AGREED", "SAFE"]
    assert sorted([Service.UNRELIABLE, *EARLY, *ORDERED]) == sorted(Service)


def test_errors_say_whose_fault_it_was() -> None:
    usage = UsageError("bad", "what happened", "do this")
    config = ConfigError("key", "is wrong", "do that")
    decode = DecodeError("too_short", "3 bytes")
    assert (str(usage), usage.code) == ("what happened; do this", "bad")
    assert (str(config), config.key) == ("key: is wrong; do that", "key")
    assert (str(decode), decode.reason) == ("too_short: 3 bytes", "too_short")
    assert str(DecodeError("own")) == "own"
    assert isinstance(decode, PeerError)
    assert all(isinstance(error, AntiphonError) for error in (usage, config, decode))
    assert not isinstance(usage, PeerError)


def test_a_bundle_names_the_session_it_came_from() -> None:
    """SP-77."""
    sender = Member(DaemonId(4), Incarnation(5))
    bundle = Bundle(sender, 6, 1, 1, Service.FIFO, b"")
    assert bundle.origin == SessionId(sender.daemon, sender.incarnation, 6)


@pytest.mark.parametrize(
    ("runs", "text"),
    [([], "RangeSet([])"), ([(1, 2), (4, 4), (3, 3)], "RangeSet([(1, 4)])")],
)
def test_a_range_set_shows_its_runs(runs: list[tuple[int, int]], text: str) -> None:
    assert repr(RangeSet(runs)) == text


def test_a_range_set_is_nothing_but_a_range_set() -> None:
    assert RangeSet([(1, 2)]) != {1, 2}
