"""Real daemons in several sites: one configuration, one order, and a site that goes and comes."""

import asyncio
from pathlib import Path

import antiphon
from antiphon import Service
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import drops, messages, run, together

FAR = ("two", "four")
"""Daemons are given to the sites in turn."""


def two_sites(directory: Path, extra: str = "") -> LocalCluster:
    return LocalCluster(4, directory, sites=2, extra=extra)


def test_sites_share_one_order(tmp_path: Path) -> None:
    """SP-12, SP-65."""

    async def story(cluster: LocalCluster) -> None:
        sessions = [await antiphon.connect(address) for address in cluster.addresses]
        for session in sessions:
            await together(session, 4)
            await session.join("orders")
        payloads = [bytes([place]) * 3000 for place in range(40)]
        for service in (Service.AGREED, Service.SAFE):
            sending = [
                session.multicast("orders", payload, service=service)
                for place, payload in enumerate(payloads)
                for session in [sessions[place % 4]]
            ]
            await asyncio.gather(*sending)
            got = [
                [(one.sender, one.payload) for one in await messages(session, len(payloads))]
                for session in sessions
            ]
            assert all(each == got[0] for each in got)
            assert sorted(payload for _, payload in got[0]) == payloads
        for session in sessions:
            assert not {"other_site", "one_site"} & (await drops(session)).keys()
            await session.close()

    with two_sites(tmp_path) as cluster:
        run(story(cluster))


def test_a_site_goes_and_comes_back(tmp_path: Path) -> None:
    async def story(cluster: LocalCluster) -> None:
        near = await antiphon.connect(cluster.addresses[0])
        await together(near, 4)
        for name in FAR:
            cluster.kill(name)
        await together(near, 2)
        cluster.start(FAR)
        await together(near, 4)
        await near.close()

    with two_sites(tmp_path) as cluster:
        run(story(cluster))


def test_the_leader_of_a_site_shows_its_links(tmp_path: Path) -> None:
    """SP-165, SP-44: the settings of the edge hold, and distances are measured and used."""

    async def story(cluster: LocalCluster) -> None:
        near = await antiphon.connect(cluster.addresses[0])
        await together(near, 4)
        await near.join("orders")
        for _ in range(50):
            await near.multicast("orders", bytes(1000), service=Service.SAFE)
        await messages(near, 50)
        asked = [await antiphon.connect(address) for address in cluster.addresses]
        told = [await session.query("status") for session in asked]
        leading = [status for status in told if status["links"]]
        assert len(leading) == 2, "one in each site"
        for status in leading:
            (link,) = status["links"]
            assert (link["kind"], link["rate_bits"]) == ("hop", 80_000_000)
            assert 0 < link["round_trip_ms"] < 1000
            (leader,) = status["leaders"]
            assert leader["leader"] == link["peer"] and leader["weight"] >= 1
        for session in [near, *asked]:
            await session.close()

    links = """
[overlay]
weights = "measured"
[hop]
rate = "1Mbit"
[[edge]]
between = ["site1", "site2"]
rate = "80Mbit"
"""
    with two_sites(tmp_path, links) as cluster:
        run(story(cluster))
