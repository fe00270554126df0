"""Multicast is used for those who have lately said that it reaches them."""

from antiphon.core.ids import DaemonId
from antiphon.daemon.multicast import BELIEVED_US, MARK, PROBE_US, Reach

ONE, TWO = DaemonId(1), DaemonId(2)


def test_who_hears_a_probe_by_multicast_says_so_and_is_believed_for_a_while() -> None:
    one, two = Reach(ONE), Reach(TWO)
    probe = one.probe(0)
    assert probe is not None and probe[0] == MARK
    answer = two.hear(5, probe, by_multicast=True)
    assert answer is not None and answer[0] == ONE
    assert one.hear(10, answer[1], by_multicast=False) is None
    assert one.reached(10 + BELIEVED_US) == {TWO}
    assert one.reached(11 + BELIEVED_US) == frozenset()


def test_probes_are_sent_now_and_then() -> None:
    one = Reach(ONE)
    assert [one.probe(at) is not None for at in (0, PROBE_US - 1, PROBE_US)] == [True, False, True]


def test_a_probe_that_came_another_way_proves_nothing() -> None:
    probe = Reach(ONE).probe(0)
    assert probe is not None
    assert Reach(TWO).hear(1, probe, by_multicast=False) is None


def test_ones_own_probe_and_nonsense_are_ignored() -> None:
    one = Reach(ONE)
    probe = one.probe(0)
    assert probe is not None
    assert one.hear(1, probe, by_multicast=True) is None
    assert one.hear(1, probe + b"!", by_multicast=True) is None
    assert one.reached(1) == frozenset()
