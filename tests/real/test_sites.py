"""Real daemons in several sites: one configuration, one order, and a site that goes and comes."""

import asyncio
from pathlib import Path

import antiphon
from antiphon import Service
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import drops, messages, run, together

FAR = ("two", "four")
"""Daemons are given to the sites in turn."""


def two_sites(directory: Path) -> LocalCluster:
    return LocalCluster(4, directory, sites=2)


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
