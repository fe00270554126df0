"""Streams of several segments: one order, nobody is left out, nothing is kept for ever."""

from random import Random

import pytest

from antiphon.core.bundle import Bundle
from antiphon.core.ids import DaemonId
from antiphon.core.service import ORDERED, Service
from tests.unit.protocol.stream.continent import Continent, Daemon

GROUPS = ("g0", "g1", "g2", "g3")
SIZES = (10, 10, 100, 3_000)


def continent(random: Random) -> Continent:
    sizes = [random.randrange(1, 4) for _ in range(random.randrange(2, 5))]
    far_us = random.choice([1_000, 5_000, 20_000])
    made = Continent(random, *sizes, loss=random.choice([0, 0.05, 0.1]), far_us=far_us)
    made.start()
    made.tell_groups(
        {name: tuple(one for one in made.daemons if random.random() < 0.6) for name in GROUPS}
    )
    return made


def load(land: Continent, count: int, senders: list[DaemonId]) -> int:
    """Messages of all services, to some groups; when the last is sent."""
    random, at = land.random, land.now
    for _ in range(count):
        at += random.randrange(3_000)
        sender, service = random.choice(senders), random.choice(list(Service))
        names = tuple(random.sample(GROUPS, random.randrange(1, 3)))
        session, size = random.randrange(1, 3), random.choice(SIZES)

        def send(
            number: int = sender,
            service: Service = service,
            names: tuple[str, ...] = names,
            session: int = session,
            size: int = size,
        ) -> None:
            land.send(number, service, names, session, size)

        land.at(at, send)
    return at


def reliable(daemon: Daemon, until: int | None = None) -> list[Bundle]:
    found = [bundle for bundle, _ in daemon.delivered[:until]]
    return [bundle for bundle in found if bundle.service != Service.UNRELIABLE]


def check_orders(bundles: list[Bundle]) -> None:
    """Nothing twice, agreed and safe by position, fifo and stronger by session (S3, S5)."""
    places = [(one.segment, one.sequence) for one in bundles]
    assert len(set(places)) == len(places)
    ordered = [one.position for one in bundles if one.service in ORDERED]
    assert ordered == sorted(ordered)
    for at, one in enumerate(bundles):
        if one.service != Service.RELIABLE:
            behind = [other for other in bundles[at + 1 :] if _session(other) == _session(one)]
            assert all(other.number > one.number for other in behind)


def _session(bundle: Bundle) -> tuple[int, int]:
    return bundle.sender.daemon, bundle.session


def check_the_same(land: Continent, daemons: list[Daemon], before_install: bool) -> None:
    """Everybody has what anybody has and is for its segment (D4, SP-120)."""
    segments = {member.daemon: at for at, part in enumerate(land.parts) for member in part}
    lists = {
        one.member: reliable(one, one.installed_at if before_install else None) for one in daemons
    }
    everything = {
        (bundle.segment, bundle.sequence): bundle
        for bundles in lists.values()
        for bundle in bundles
    }
    for member, bundles in lists.items():
        have = {(bundle.segment, bundle.sequence) for bundle in bundles}
        mine = segments[member.daemon]
        wanted = {place for place, bundle in everything.items() if bundle.way_to(mine) is not None}
        assert have == wanted
        check_orders(bundles)


def check_rest(daemons: list[Daemon]) -> None:
    """Nothing waits, and nothing is held that all have (P2, P4)."""
    for daemon in daemons:
        ring = daemon.stream._ring
        assert ring is not None and not daemon.stream.busy()
        assert not any(source.held or source.bytes for source in ring.delivery.sources)


@pytest.mark.parametrize("seed", range(12))
def test_one_order_over_all_segments(seed: int) -> None:
    """SP-64, SP-65, SP-107, SP-118, SP-120: by trees of any shape, with pruning."""
    land = continent(Random(seed))
    land.run(load(land, 120, list(land.daemons)) + 5_000_000)
    assert not land.trouble
    daemons = list(land.daemons.values())
    check_the_same(land, daemons, before_install=False)
    check_rest(daemons)


@pytest.mark.parametrize("seed", range(12))
def test_those_who_go_on_together_have_the_same(seed: int) -> None:
    """D4, TR-65: some daemons are lost in the midst of it, whole segments too."""
    random = Random(seed)
    land = continent(random)
    end = load(land, 100, list(land.daemons))
    land.run(random.randrange(end // 2, end + 20_000))
    gone = [number for number in land.daemons if random.random() < 0.3][: len(land.daemons) - 1]
    for number in gone:
        land.daemons[number].up = False
    going = [daemon for daemon in land.daemons.values() if daemon.up]
    before = land.parts
    left = [tuple(one for one in part if one.daemon not in gone) for part in before]
    land.change(tuple(part for part in left if part), 2)
    after, land.parts = land.parts, before
    check_the_same(land, going, before_install=True)
    land.parts = after
    land.run(load(land, 50, [daemon.member.daemon for daemon in going]) + 8_000_000)
    check_rest(going)
