"""Reports of leaders, and the picture they give."""

from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.protocol.membership.reports import Reports
from antiphon.wire.control import SiteReport


def leader(number: int, life: int = 1) -> Member:
    return Member(DaemonId(number), Incarnation(life))


def report(who: Member, *hears: Member, number: int = 1) -> SiteReport:
    return SiteReport(who, number, ConfigId(1, *who, 1), 1, (who,), (), tuple(sorted(hears)))


ONE, TWO, THREE, FOUR = map(leader, (1, 2, 3, 4))


def reports(mine: SiteReport, *others: SiteReport) -> Reports:
    made = Reports(mine)
    for other in others:
        assert made.add(0, other)
    return made


def component(made: Reports) -> list[int]:
    return [one.leader.daemon for one in made.component()]


def test_an_edge_needs_the_word_of_both() -> None:
    """A one-way link is none."""
    made = reports(report(ONE, TWO), report(TWO))
    assert component(made) == [1] and made.edges() == []
    assert made.add(1, report(TWO, ONE, number=2))
    assert component(made) == [1, 2] and made.edges() == [(1, 2), (2, 1)]


def test_an_edge_is_between_lives() -> None:
    """Who restarted is another: it has to be heard anew."""
    made = reports(report(ONE, TWO), report(leader(2, life=2), ONE))
    assert component(made) == [1]
    made = reports(report(ONE, leader(2, life=2)), report(leader(2, life=2), leader(1, life=0)))
    assert component(made) == [1]


def test_who_is_reached_over_others_belongs_to_the_component() -> None:
    """Where not all hear all nobody is left out while a way exists."""
    made = reports(report(ONE, TWO), report(TWO, ONE, THREE), report(THREE, TWO), report(FOUR))
    assert component(made) == [1, 2, 3]
    assert made.edges() == [(1, 2), (2, 1), (2, 3), (3, 2)]
    assert [one.leader.daemon for one in made.reached_without({TWO.daemon})] == [1]


def test_the_highest_number_of_the_newest_life_counts() -> None:
    made = reports(report(ONE, TWO), report(TWO, ONE, number=5))
    assert not made.add(1, report(TWO, number=4))
    assert not made.add(1, report(TWO, number=5))
    assert made.add(1, report(leader(2, life=2), number=1))
    assert not made.add(1, report(TWO, number=9))


def test_two_who_know_the_same_have_the_same_summary() -> None:
    first, second = report(ONE, TWO), report(TWO, ONE)
    one, two = reports(first, second), reports(second, first)
    assert one.summary() == two.summary() and one.held() == two.held()
    assert two.add(1, report(ONE, TWO, THREE, number=2))
    assert one.summary() != two.summary()
    assert [told.number for told in two.newer_than(one.held())] == [2]
    assert one.newer_than(two.held()) == []
    assert len(one.newer_than(())) == 2


def test_what_nobody_reaches_is_not_passed_on_and_forgotten_in_time() -> None:
    """Else those who forget it later would teach it again to those who did so earlier."""
    made = reports(report(ONE), report(TWO, THREE), report(THREE, TWO))
    assert [told.leader for told in made.newer_than(())] == [ONE]
    made.forget(10, 100)
    made.forget(99, 100)
    assert made.leaders == [1, 2, 3]
    made.forget(110, 100)
    assert made.leaders == [1]


def test_who_comes_back_in_time_is_kept() -> None:
    made = reports(report(ONE, TWO), report(TWO))
    made.forget(10, 100)
    assert made.add(50, report(TWO, ONE, number=2))
    made.forget(60, 100)
    assert made.add(70, report(TWO, number=3))
    made.forget(169, 100)
    assert made.leaders == [1, 2], "its silence is counted anew"
    made.forget(170, 100)
    assert made.leaders == [1]


def following(
    who: Member, party: tuple[Member, ...], *hears: Member, number: int = 1
) -> SiteReport:
    return SiteReport(who, number, ConfigId(1, *who, 1), 1, party, (), tuple(sorted(hears)))


def test_who_names_a_leader_as_its_follower_counts_no_more() -> None:
    """The heir is heard before the dead one has been silent for long."""
    made = reports(report(ONE, TWO, THREE), following(TWO, (TWO, THREE), ONE))
    assert component(made) == [1, 2]
    assert made.add(1, report(THREE, ONE))
    assert component(made) == [1, 3] and made.edges() == [(1, 3), (3, 1)]
    assert made.add(2, report(TWO, ONE, THREE, number=2)), "it lives, with a smaller party"
    assert component(made) == [1, 2, 3]


def test_the_word_of_a_leader_that_nobody_hears_belies_nobody() -> None:
    made = reports(report(ONE, TWO), following(TWO, (TWO, THREE), ONE), report(THREE, ONE))
    assert component(made) == [1, 2]


def test_another_life_of_a_follower_belies_nobody() -> None:
    again = leader(3, life=2)
    made = reports(report(ONE, TWO, again), following(TWO, (TWO, THREE), ONE), report(again, ONE))
    assert component(made) == [1, 2, 3]


def test_i_am_not_belied_to_myself() -> None:
    made = reports(following(ONE, (ONE, TWO), TWO, THREE), report(TWO, ONE), report(THREE, ONE))
    assert component(made) == [1, 2, 3]
