"""Multicast is used for those who have lately said that it reaches them."""

from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.daemon.multicast import BELIEVED_US, PROBE_US, Reach, is_probe
from antiphon.daemon.secure.keys import KeyRing, new_key
from antiphon.daemon.secure.seal import Seal

ONE, TWO = Member(DaemonId(1), Incarnation(11)), Member(DaemonId(2), Incarnation(12))
CLUSTER = 5


def reach(me: Member) -> Reach:
    return Reach(CLUSTER, me)


def test_who_hears_a_probe_by_multicast_says_so_and_is_believed_for_a_while() -> None:
    one, two = reach(ONE), reach(TWO)
    probe = one.probe(0)
    assert probe is not None and is_probe(probe)
    answer = two.hear(5, probe, by_multicast=True)
    assert answer is not None and answer[0] == ONE.daemon
    assert one.hear(10, answer[1], by_multicast=False) is None
    assert one.reached(10 + BELIEVED_US) == {TWO.daemon}
    assert one.reached(11 + BELIEVED_US) == frozenset()


def test_probes_are_sent_now_and_then() -> None:
    one = reach(ONE)
    assert [one.probe(at) is not None for at in (0, PROBE_US - 1, PROBE_US)] == [True, False, True]


def test_a_probe_that_came_another_way_proves_nothing() -> None:
    probe = reach(ONE).probe(0)
    assert probe is not None
    assert reach(TWO).hear(1, probe, by_multicast=False) is None


def test_ones_own_probe_and_nonsense_are_ignored() -> None:
    one = reach(ONE)
    probe = one.probe(0)
    assert probe is not None
    assert one.hear(1, probe, by_multicast=True) is None
    assert one.hear(1, probe + b"!", by_multicast=True) is None
    assert one.reached(1) == frozenset()


def test_another_clusters_probe_is_not_answered() -> None:
    probe = Reach(CLUSTER + 1, ONE).probe(0)
    assert probe is not None
    assert reach(TWO).hear(1, probe, by_multicast=True) is None


def test_a_probe_can_be_sealed_as_every_packet() -> None:
    seal = Seal(KeyRing(new_key("first", bytes)), ONE, bytes)
    probe = reach(ONE).probe(0)
    assert probe is not None
    assert len(seal.seal(probe)) == len(probe) + seal.overhead
