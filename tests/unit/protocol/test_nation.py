"""Whole nodes of several sites: clients of all of them are in one group."""

from dataclasses import replace
from random import Random

import pytest

from antiphon.core.ids import DaemonId
from antiphon.core.service import Service
from antiphon.wire.packet import Tag
from tests.unit.protocol.nation import Nation

SECOND = 1_000_000


def formed(*sizes: int, seed: int = 1, loss: float = 0.0) -> Nation:
    nation = Nation(Random(seed), *sizes, loss=loss)
    nation.start()
    nation.run_until(nation.whole, 10 * SECOND)
    return nation


def speak(nation: Nation, word: bytes) -> None:
    for house in nation.alive():
        nation.send(house.node.me.daemon, b"%s %d" % (word, house.node.me.daemon))


def last(nation: Nation, count: int) -> set[tuple[bytes, ...]]:
    """What the clients got last, in their order."""
    return {tuple(house.got[-count:]) for house in nation.alive()}


@pytest.mark.parametrize("sizes", [(1, 1), (2, 2, 1), (3, 1, 2)])
def test_clients_of_all_sites_see_one_view_and_one_order(sizes: tuple[int, ...]) -> None:
    """S5, D5 over sites."""
    nation = formed(*sizes)
    assert len({house.views[-1].id for house in nation.alive()}) == 1
    speak(nation, b"hello")
    nation.run(SECOND)
    assert len(last(nation, sum(sizes))) == 1
    assert all(len(house.got) == sum(sizes) for house in nation.alive())


def test_a_pair_of_sites_that_cannot_talk_excludes_nobody() -> None:
    """They are routed around; clients do not notice."""
    nation = formed(2, 2, 1)
    views = len(nation.alive()[0].views)
    nation.cut(nation.sites[0], nation.sites[1])
    nation.run(3 * SECOND)
    assert nation.whole()
    assert len(nation.alive()[0].views) == views
    speak(nation, b"detour")
    nation.run(SECOND)
    assert len(last(nation, 5)) == 1


def test_a_site_that_is_cut_off_comes_back() -> None:
    nation = formed(2, 2)
    nation.cut(nation.sites[0], nation.sites[1])
    nation.run(3 * SECOND)
    assert [len(house.views[-1].members) for house in nation.alive()] == [2, 2, 2, 2]
    speak(nation, b"apart")
    nation.run(SECOND)
    nation.cuts.clear()
    nation.run_until(nation.whole, 5 * SECOND)
    speak(nation, b"together")
    nation.run(SECOND)
    assert len(last(nation, 4)) == 1


@pytest.mark.parametrize("number", [100, 200, 201])
def test_whoever_dies_the_others_have_the_same_messages(number: int) -> None:
    """D4: what a leader had passed on to some is fetched by the others (SP-127)."""
    for seed in range(4):
        nation = formed(2, 2, 2, seed=seed)
        for word in (b"a", b"b", b"c"):
            speak(nation, word)
            nation.run(nation.random.randrange(30_000))
        nation.crash(number)
        nation.run_until(nation.whole, 10 * SECOND)
        nation.run(SECOND)
        stories = {tuple(house.got) for house in nation.alive()}
        assert len(stories) == 1
        for house in nation.alive():
            own = b"c %d" % house.node.me.daemon
            assert sum(own in one for one in house.got) == 1, "D3: what it sent itself"


@pytest.mark.parametrize("newcomer", [201, 300])
def test_a_reload_brings_daemons_and_sites(newcomer: int) -> None:
    """SP-14: whoever is in the list may take part; the list may change while daemons run."""
    nation = Nation(Random(1), 2, 2, 1)
    full = nation.settings
    known = [tuple(one for one in site if one != newcomer) for site in nation.sites]
    sites = tuple(site for site in known if site)
    daemons = tuple(one for site in sites for one in site)
    nation.settings = replace(full, daemons=daemons, sites=sites)
    nation.start(*daemons)
    nation.run_until(nation.whole, 10 * SECOND)
    nation.settings = full
    nation.start(newcomer)
    nation.run(3 * SECOND)
    assert not nation.whole(), "nobody listens to whom it does not know"
    for house in nation.alive():
        house.node.reload(full)
    nation.run_until(nation.whole, 10 * SECOND)
    for house in nation.alive():
        if house.node.me.daemon != newcomer:
            house.node.reload(replace(full, daemons=daemons, sites=sites))
    nation.crash(newcomer)
    nation.run_until(nation.whole, 10 * SECOND)


@pytest.mark.parametrize("number", [100, 200])
def test_the_heir_of_a_leader_is_not_waited_for(number: int) -> None:
    """SP-13: a dead representative is replaced as fast as its own site misses it, and not
    only when the others have heard nothing of it for long."""
    nation = formed(3, 3, 3)
    nation.run(SECOND)
    nation.crash(number)
    nation.run_until(nation.whole, 600_000 + 2 * nation.far_us)


def test_what_only_another_site_holds_is_fetched_from_there() -> None:
    """SP-127: a site dies whose last messages reached only one of two others."""
    nation = formed(2, 1, 2)
    nation.torn.add((DaemonId(200), DaemonId(300)))
    nation.send(200, b"last words")
    nation.run(50_000)
    nation.crash(200)
    nation.run_until(nation.whole, 10 * SECOND)
    assert nation.far[Tag.RECOVERY_REQUEST] and nation.far[Tag.RECOVERY_DATA]
    assert all(b"last words" in house.got[-1] for house in nation.alive())


def test_what_is_fetched_from_far_may_be_relayed() -> None:
    """As above, where the one that has it and the one that lacks it do not hear each other."""
    nation = formed(2, 1, 2, 1)
    nation.cut(nation.sites[0], nation.sites[2])
    nation.run(3 * SECOND)
    nation.torn |= {(DaemonId(200), DaemonId(300)), (DaemonId(200), DaemonId(400))}
    nation.torn |= {(DaemonId(100), DaemonId(400)), (DaemonId(100), DaemonId(300))}
    nation.send(200, b"last words")
    nation.run(50_000)
    nation.crash(200)
    relayed = nation.far[Tag.RELAYED]
    nation.run_until(nation.whole, 10 * SECOND)
    assert nation.far[Tag.RELAYED] > relayed
    assert all(b"last words" in house.got[-1] for house in nation.alive())


def test_safe_messages_reach_all_sites() -> None:
    nation = formed(2, 2, loss=0.05)
    nation.send(100, b"safe", Service.SAFE)
    nation.run(2 * SECOND)
    assert all(len(house.got) == 1 for house in nation.alive())


@pytest.mark.parametrize("seed", range(4))
def test_after_any_faults_there_is_one_view_again(seed: int) -> None:
    """P1, P2, D4 over sites."""
    random = Random(seed)
    sizes = [random.randrange(1, 4) for _ in range(random.randrange(2, 5))]
    nation = Nation(random, *sizes, loss=random.choice([0, 0.05, 0.1]))
    nation.start()
    numbers = list(nation.site_of)
    for _ in range(random.randrange(3, 7)):
        nation.run(random.choice([50_000, 500_000, 2 * SECOND]))
        one, two = random.sample(nation.sites, 2)
        match random.randrange(5):
            case 0 if len(nation.alive()) > 1:
                nation.crash(random.choice(nation.alive()).node.me.daemon)
            case 1:
                nation.start(*[at for at in numbers if not nation.houses[at].up][:1] or [one[0]])
            case 2:
                nation.cut(one, two)
            case 3:
                nation.cut(one, [number for number in numbers if number not in one])
            case _:
                nation.cuts.clear()
        speak(nation, b"fault")
    nation.cuts.clear()
    nation.loss = 0
    nation.run_until(nation.whole, 15 * SECOND)
    speak(nation, b"end")
    nation.run(SECOND)
    assert len(last(nation, len(nation.alive()))) == 1
