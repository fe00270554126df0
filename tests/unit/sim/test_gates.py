"""Gates: what is shut, and what opens it again."""

from antiphon.core.ids import DaemonId
from antiphon.sim.gates import EVERY_WAY, Gates, Ways

ONE, TWO, THREE, FOUR = map(DaemonId, (1, 2, 3, 4))
ONE_TO_TWO = Ways(frozenset([ONE]), frozenset([TWO]))
PAIRS = [(a, b) for a in (ONE, TWO, THREE, FOUR) for b in (ONE, TWO, THREE, FOUR)]


def shut(gates: Gates) -> set[tuple[int, int]]:
    return {pair for pair in PAIRS if gates.shut(*pair)}


def test_ways_lead_from_these_to_those_and_back_if_both() -> None:
    some = Ways(frozenset([ONE, TWO]), frozenset([TWO, THREE]), both=True)
    covered = {pair for pair in PAIRS if some.cover(*pair)}
    assert covered == {(1, 2), (1, 3), (2, 3), (2, 1), (3, 1), (3, 2)}
    to_all = Ways(frozenset([ONE]), None)
    assert {pair for pair in PAIRS if to_all.cover(*pair)} == {(1, 2), (1, 3), (1, 4)}
    assert EVERY_WAY.all and not to_all.all
    assert not EVERY_WAY.cover(ONE, ONE)


def test_a_cut_takes_the_place_of_the_one_before() -> None:
    gates = Gates()
    gates.cut([[ONE], [TWO]])
    assert shut(gates) == {pair for pair in PAIRS if len({*pair} & {1, 2}) and pair[0] != pair[1]}
    gates.cut([[ONE, TWO]])
    assert gates.joined(ONE, TWO) and gates.joined(THREE, FOUR)
    assert not gates.joined(ONE, THREE)
    gates.heal()
    assert shut(gates) == set()


def test_a_closed_way_opens_when_it_is_healed_or_all_is() -> None:
    gates = Gates()
    gates.close(ONE_TO_TWO)
    gates.close(Ways(frozenset([THREE]), frozenset([FOUR])))
    assert shut(gates) == {(1, 2), (3, 4)} and not gates.joined(TWO, ONE)
    gates.heal(ONE_TO_TWO)
    assert shut(gates) == {(3, 4)}
    gates.close(ONE_TO_TWO)
    gates.heal()
    assert shut(gates) == set()


def test_one_way_of_a_cut_can_be_mended_and_is_shut_by_the_next_cut() -> None:
    gates = Gates()
    gates.cut([[ONE, TWO]])
    both = Ways(frozenset([ONE]), frozenset([THREE]), both=True)
    gates.heal(both)
    assert gates.joined(ONE, THREE) and not gates.joined(TWO, THREE)
    gates.cut([[ONE, TWO]])
    assert not gates.joined(ONE, THREE)


def test_what_is_broken_stays_so() -> None:
    gates = Gates()
    gates.break_for_ever(ONE_TO_TWO)
    gates.heal(ONE_TO_TWO)
    gates.heal()
    assert shut(gates) == {(1, 2)}
