"""A site that is slow, or stands still while its links do not: waited for, or cut off."""

from dataclasses import replace
from random import Random

from antiphon.core.effects import Arrived, Word
from antiphon.core.ids import DaemonId
from antiphon.core.machine import NEVER, Instant
from antiphon.core.service import Service
from antiphon.protocol.links.hop import Hop
from antiphon.protocol.presets import LAN
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.wire.packet import TAG_AT, Tag
from tests.unit.protocol.nation import House, Nation

SECOND = 1_000_000


class Deaf:
    """In place of a stream: what comes over links is acknowledged there, and lost."""

    def handle(self, now: Instant, event: Word) -> list[Word]:
        return []

    def deadline(self) -> Instant:
        return NEVER


def nation_with(stream: StreamSettings, *sizes: int) -> Nation:
    nation = Nation(Random(3), *sizes)
    nation.settings = replace(nation.settings, stream=stream)
    nation.start()
    nation.run_until(nation.whole, 10 * SECOND)
    nation.run(SECOND)
    return nation


def stand_still(nation: Nation) -> list[House]:
    """The third site takes nothing more; the others."""
    nation.houses[DaemonId(300)].node._routes[Arrived] = Deaf()
    nation.send(100, b"late", Service.SAFE)
    return [house for house in nation.alive() if house.node.me.daemon != 300]


def test_a_site_that_stands_still_is_waited_for() -> None:
    """SP-129: nobody is left out, and what needs all waits for all."""
    nation = nation_with(LAN.stream, 2, 2, 1)
    others = stand_still(nation)
    before = nation.houses[DaemonId(100)].node.membership.installed
    nation.run(10 * SECOND)
    assert all(house.node.membership.installed == before for house in others)
    assert not any(b"late" in body for house in others for body in house.got)


def test_by_policy_a_site_that_stands_still_is_cut_off_and_the_others_go_on() -> None:
    nation = nation_with(replace(LAN.stream, slow_site_us=SECOND), 2, 2, 1)
    others = stand_still(nation)
    nation.run_until(
        lambda: all(len(house.node.membership.installed.members) == 4 for house in others),
        5 * SECOND,
    )
    nation.run(100_000)
    assert all(any(b"late" in body for body in house.got) for house in others)
    alone = nation.houses[DaemonId(300)].node.membership.installed
    assert alone.daemons == (300,), "and it goes on by itself"


class Narrow(Nation):
    """The last site gets so many bytes in a second over its links, and not more."""

    BYTES = 400_000
    free_at = 0

    def _carry(self, source: DaemonId, to: DaemonId, packet: bytes) -> None:
        if to in self.sites[-1] and source not in self.sites[-1] and packet[TAG_AT] == Tag.LINK:
            self.free_at = max(self.free_at, self.now) + len(packet) * SECOND // self.BYTES
            self.at(self.free_at, lambda: super(Narrow, self)._carry(source, to, packet))
        else:
            super()._carry(source, to, packet)


def held_bytes(house: House) -> int:
    """Waiting on links, for the ring, and until it is stable: whichever is most."""
    node = house.node
    ring = node.stream._ring
    assert ring is not None and ring.abroad is not None
    gateway = ring.abroad.gateway
    arrived = sum(len(pieces.body) for _, pieces in gateway.arrived) if gateway else 0
    links = [link for link in node.links._links.values() if isinstance(link, Hop)]
    waiting = [link.backlog_bytes + link.sending.open_bytes for link in links]
    return max(sum(one.bytes for one in ring.delivery.sources), arrived, *waiting, 0)


def test_a_slow_site_slows_all_and_no_buffer_grows() -> None:
    """P4, SP-129: each segment counts its own bytes at once and those of others a way later."""
    limit = 200_000
    stream = replace(LAN.stream, far_bytes_min=130_000, far_bytes_low=50_000, far_bytes_max=limit)
    nation = Narrow(Random(3), 2, 1, 1)
    nation.settings = replace(nation.settings, stream=stream)
    nation.start()
    nation.run_until(nation.whole, 10 * SECOND)
    words = 150
    for number in range(words):
        for sender in (100, 101, 200):
            nation.send(sender, b"%d %d " % (sender, number) + bytes(8_000))
    most = 0
    for _ in range(400):
        nation.run(10_000)
        most = max(most, *(held_bytes(house) for house in nation.alive()))
    assert limit // 2 < most <= len(nation.sites) * limit, most
    slow = nation.houses[DaemonId(300)]
    assert 0 < len(slow.got) < 3 * words, "it is still behind, and has all that was sent so far"
    nation.run(10 * SECOND)
    assert {len(house.got) for house in nation.alive()} == {3 * words}
    assert len({house.node.membership.installed.id for house in nation.alive()}) == 1


def test_fast_receivers_run_ahead_of_the_slowest_by_one_window() -> None:
    """SP-210: the window is what the slowest way carries, whatever `far_bytes_max` allows."""
    nation = Narrow(Random(3), 1, 1, 1)
    nation.BYTES = 60_000
    nation.start()
    nation.run_until(nation.whole, 10 * SECOND)
    words, size = 200, 8_000
    for number in range(words):
        nation.send(100, b"%d " % number + bytes(size), Service.RELIABLE)
    fast, slow = nation.houses[DaemonId(200)], nation.houses[DaemonId(300)]
    began, lead, most = nation.now, 0, 0
    while len(slow.got) < words:
        nation.run(20_000)
        lead = max(lead, len(fast.got) - len(slow.got))
        most = max(most, *(held_bytes(house) for house in nation.alive()))
    limit = 2 * LAN.stream.far_bytes_min
    assert 0 < lead * size <= limit, lead
    assert most <= limit, most
    took_s = (nation.now - began) / SECOND
    assert words * size / took_s >= 0.8 * nation.BYTES, "headers take the rest"
