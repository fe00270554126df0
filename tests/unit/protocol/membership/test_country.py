"""Whole memberships of several sites under faults: what they agree on, and when."""

from collections.abc import Callable
from random import Random

import pytest

from antiphon.core.effects import LinkDead
from antiphon.core.ids import DaemonId
from antiphon.wire.packet import Tag
from tests.unit.protocol.membership.country import SETTINGS, Country, Daemon

SECOND = 1_000_000


def formed(*sizes: int, seed: int = 1, loss: float = 0.0) -> Country:
    country = Country(Random(seed), *sizes, loss=loss)
    country.start()
    country.run_until(country.whole, 10 * SECOND)
    return country


def sizes_since(country: Country, epoch: int) -> set[int]:
    """Of the configurations that were installed after that epoch."""
    return {len(one.members) for config, one in country.known.items() if config.epoch > epoch}


@pytest.mark.parametrize("sizes", [(1, 1), (3, 1), (2, 2, 2), (4, 3, 2, 1), (1, 1, 1, 1, 1)])
def test_sites_end_in_one_configuration_with_a_segment_for_each(sizes: tuple[int, ...]) -> None:
    """SP-13, SP-14, X-39: everybody starts alone; no site is configured to be the first."""
    country = formed(*sizes)
    configuration = country.alive()[0].installed
    assert [len(part) for part in configuration.segments] == list(sizes)
    pairs = len(sizes) * (len(sizes) - 1)
    assert len(configuration.edges) == pairs, "all hear all"
    attempts = country.attempts
    country.run(10 * SECOND)
    assert country.attempts == attempts and country.whole(), "and stay there"


def test_packets_that_are_lost_only_take_time() -> None:
    country = formed(3, 2, 2, seed=5, loss=0.2)
    country.loss = 0
    country.run_until(country.whole, 5 * SECOND)


def test_a_quiet_federation_costs_greetings_and_nothing_else() -> None:
    """SP-16: between sites it grows with the sites, not with their daemons."""
    spent = []
    for sizes in ((1, 1, 1), (4, 4, 4)):
        country = formed(*sizes)
        country.run(5 * SECOND)
        before = country.sent.copy()
        country.run(3 * SECOND)
        spent.append(country.sent - before)
    rounds = 3 * SECOND // SETTINGS.greet_us
    for sent in spent:
        assert 6 * (rounds - 1) <= sent.pop(Tag.GREETING) <= 6 * (rounds + 1)
        assert set(sent) <= {Tag.HELLO}


def test_a_daemon_that_dies_in_a_segment_is_left_out_without_waiting_for_reports() -> None:
    """SP-36: a light change; leaders and edges stay the same."""
    country = formed(3, 3, 3)
    edges = country.alive()[0].installed.edges
    country.crash(302)
    began = country.now
    country.run_until(country.whole, 5 * SECOND)
    assert country.now - began < 0.3 * SECOND + SETTINGS.settle_us + 0.2 * SECOND
    assert country.alive()[0].installed.edges == edges


def test_a_pair_of_sites_that_cannot_talk_excludes_nobody() -> None:
    """They are routed around before anyone is left out; attempts are relayed."""
    country = formed(2, 2, 2)
    epoch = country.alive()[0].installed.id.epoch
    country.cut(country.sites[0], country.sites[1])
    country.run_until(lambda: len(country.alive()[0].installed.edges) == 4, 5 * SECOND)
    country.run_until(country.whole, SECOND)
    assert sizes_since(country, epoch) == {6}
    country.crash(201)
    country.run_until(country.whole, 5 * SECOND)
    assert sizes_since(country, epoch) == {5, 6}, "whose leader is reached over another"
    attempts = country.attempts
    country.heal()
    country.run(5 * SECOND)
    assert country.attempts == attempts, "a better way starts nothing"


def test_sites_in_a_chain_are_one_configuration() -> None:
    """Not transitive: each hears only its neighbours."""
    country = Country(Random(3), 2, 1, 2, 1)
    for one in range(4):
        for two in range(4):
            if abs(one - two) > 1:
                country.cut(country.sites[one], country.sites[two])
    country.start()
    country.run_until(country.whole, 10 * SECOND)
    assert len(country.alive()[0].installed.edges) == 6


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_a_link_of_one_direction_is_none_and_nobody_spins(loss: float) -> None:
    country = Country(Random(2), 2, 2, loss=loss)
    country.cut(country.sites[0], country.sites[1], both=False)
    country.start()
    country.run(3 * SECOND)
    attempts = country.attempts
    country.run(20 * SECOND)
    assert country.together((100, 101), (200, 201))
    assert country.attempts == attempts


def test_a_site_that_is_cut_off_goes_on_alone_and_comes_back() -> None:
    country = formed(2, 3, 2)
    others = [*country.sites[0], *country.sites[2]]
    country.cut(country.sites[1], others)
    country.run_until(lambda: country.together(country.sites[1], others), 5 * SECOND)
    country.heal()
    country.run_until(country.whole, 5 * SECOND)


class Unlucky(Random):
    """Draws the longest wait each time."""

    def randrange(self, start: int, *rest: int) -> int:
        return start - 1


def test_sites_do_not_wait_long_for_faults_that_are_over() -> None:
    """However many attempts failed before, and whatever is drawn."""
    country = formed(2, 2)
    country.cut(*country.sites)
    country.run_until(lambda: country.together(*country.sites), 5 * SECOND)
    for daemon in country.alive():
        daemon.membership._settling._rng = Unlucky()
        daemon.membership._settling.failures = 20
    country.heal()
    country.run_until(country.whole, 4 * SECOND)


def test_several_components_become_one_at_once() -> None:
    country = Country(Random(4), 2, 2, 2, 2)
    for one in country.sites:
        for two in country.sites:
            if one != two:
                country.cut(one, two)
    country.start()
    country.run_until(lambda: country.together(*country.sites), 5 * SECOND)
    attempts = country.attempts
    country.heal()
    country.run_until(country.whole, 5 * SECOND)
    assert country.attempts <= attempts + 2


def test_a_torn_site_becomes_several_segments_and_one_again() -> None:
    country = formed(3, 2)
    country.cut([101], [102])
    parts = [[100, 101], [102], [200, 201]]

    def torn() -> bool:
        segments = country.alive()[0].installed.segments
        return [[int(one.daemon) for one in part] for part in segments] == parts

    country.run_until(lambda: torn() and country.together(country.everybody()), 5 * SECOND)
    country.heal()
    country.run_until(country.whole, 5 * SECOND)


def test_a_link_that_is_declared_dead_is_routed_around() -> None:
    """X-02: greetings come through, objects do not."""
    country = formed(2, 2, 2)
    epoch = country.alive()[0].installed.id.epoch
    country.tell(
        country.daemons[DaemonId(100)], LinkDead(country.daemons[DaemonId(200)].member, "nacks")
    )
    country.run_until(lambda: len(country.alive()[0].installed.edges) == 4, 3 * SECOND)
    country.run_until(country.whole, SECOND)
    assert sizes_since(country, epoch) == {6}
    assert "link_dead" in country.reasons


def test_with_the_only_link_dead_both_sides_wait_for_its_penalty() -> None:
    country = formed(2, 2)
    country.tell(
        country.daemons[DaemonId(200)], LinkDead(country.daemons[DaemonId(100)].member, "requests")
    )
    country.run_until(lambda: country.together(*country.sites), 3 * SECOND)
    country.run_until(country.whole, 5 * SECOND)


# Faults in each phase.

PHASES = ("collect", "recover", "ready", "operational")


def crash_in(country: Country, phase: str, who: Callable[[Daemon], bool]) -> None:
    """The first of these that enters the phase dies there; a member was lost before."""
    done: list[int] = []

    def watch(daemon: Daemon, state: str) -> None:
        if state == phase and not done and who(daemon):
            done.append(int(daemon.member.daemon))
            country.at(country.now, lambda: country.crash(done[0]))

    country.watch = watch
    country.crash(302)
    country.run_until(lambda: bool(done), 5 * SECOND)
    country.run_until(country.whole, 15 * SECOND)
    attempts = country.attempts
    country.run(3 * SECOND)
    assert country.whole() and country.attempts == attempts


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("number", [100, 200, 201])
def test_a_coordinator_leader_or_member_dies_in_any_phase(phase: str, number: int) -> None:
    for seed in range(3):
        country = formed(3, 3, 3, seed=seed)
        crash_in(country, phase, lambda daemon: daemon.member.daemon == number)


@pytest.mark.parametrize("phase", PHASES)
def test_a_site_is_cut_off_in_any_phase(phase: str) -> None:
    country = formed(3, 2, 3)
    others = [*country.sites[0], *country.sites[2]]
    done: list[bool] = []

    def watch(daemon: Daemon, state: str) -> None:
        if state == phase and daemon.member.daemon == 200 and not done:
            done.append(True)
            country.cut(country.sites[1], others)

    country.watch = watch
    country.crash(302)
    alive = [one for one in others if one != 302]
    country.run_until(lambda: bool(done), 5 * SECOND)
    country.run_until(lambda: country.together(country.sites[1], alive), 10 * SECOND)
    country.heal()
    country.run_until(country.whole, 10 * SECOND)


def test_a_leader_that_never_hears_the_commit_is_asked_again() -> None:
    """Its segment stays behind, and everybody waits for it: that must not last."""
    country = Country(Random(6), 2, 2)
    country.start()
    deaf = country.sites[1][0]
    country.lose = lambda sender, to, tag: to == deaf and tag == Tag.COMMIT and sender == 100
    country.run_until(
        lambda: len(country.daemons[DaemonId(100)].installed.members) == 4, 5 * SECOND
    )
    country.run(SECOND)
    assert len(country.daemons[deaf].installed.members) == 2
    country.run(2 * SETTINGS.attempt_far_us)
    country.lose = None
    country.run_until(country.whole, 10 * SECOND)


def misfortune(country: Country, random: Random) -> None:
    numbers = list(country.site_of)
    one, two = random.sample(country.sites, 2)
    leaders = [daemon for daemon in country.alive() if daemon.membership._site.leading]
    dead = [number for number in numbers if not country.daemons[number].up]
    match random.randrange(7):
        case 0:
            country.crash(random.choice(numbers))
        case 1 if dead:
            country.start(random.choice(dead))
        case 2:
            country.cut(one, two, both=random.random() < 0.7)
        case 3:
            country.cut(one, [number for number in numbers if number not in one])
        case 4:
            country.cut(random.sample(numbers, 1), random.sample(numbers, 1), both=False)
        case 5:
            country.heal()
        case 6 if leaders:
            number = random.choice(leaders).member.daemon
            country.crash(number)
            country.run(random.randrange(5_000, 100_000))
            country.start(number)
        case _:
            pass
    if random.random() < 0.4:
        country.loss = random.choice([0, 0.05, 0.3])


@pytest.mark.parametrize("seed", range(12))
def test_after_any_faults_all_who_are_up_are_together_again(seed: int) -> None:
    """P1, D5: ids rise, an id means one list of members, segments and edges, and in a quiet
    network there is one configuration in the end, and no attempt after it."""
    random = Random(seed)
    sizes = [random.randrange(1, 5) for _ in range(random.randrange(2, 6))]
    country = Country(
        random, *sizes, loss=random.choice([0, 0.1]), far_us=random.choice([2000, 45_000])
    )
    country.recovery_us = random.choice([1_000, 50_000, 400_000])
    country.start()
    for _ in range(random.randrange(3, 10)):
        country.run(random.choice([20_000, 200_000, SECOND, 3 * SECOND]))
        misfortune(country, random)
    if not country.alive():
        country.start(100)
    country.heal()
    country.loss = 0
    country.run_until(country.whole, 15 * SECOND)
    attempts = country.attempts
    country.run(4 * SECOND)
    assert country.whole() and country.attempts == attempts
