"""Who is let in, at the client port and between daemons; whoever is not, is counted."""

import os
import random
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import antiphon
from antiphon import Refusal, Refused
from antiphon.daemon.secure.datagram import COUNTER, ORIGIN, PACKET
from antiphon.daemon.secure.keyfile import create_keys
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.tools.cluster import LocalCluster, free_ports
from antiphon.wire.client import CLIENT_VERSION, CLIENT_VERSION_OLDEST, Close, Hello, Refuse
from tests.real.certificates import Authority
from tests.real.rawclient import RawClient
from tests.real.stage import PATIENT, drops, edit, message, run, together, until

KEY = Key("k1", b"1" * 32)
OTHER_KEY = Key("k1", b"2" * 32)

FLOOD_S = 2.0
FLOOD_PER_S = 20_000


def use_key(cluster: LocalCluster, key: Key) -> None:
    create_keys(cluster.directory / "cluster.key", KeyRing(key))
    edit(cluster, 'name = "local"', 'name = "local"\nkey_file = "cluster.key"')


def twin(cluster: LocalCluster, directory: Path) -> LocalCluster:
    """The same daemons at the same ports, with a file and directory of their own."""
    made = LocalCluster(len(cluster.daemons), directory)
    for own, other in zip(made.daemons, cluster.daemons, strict=True):
        own.udp_port, own.client_port = other.udp_port, other.client_port
    made.config.write_text(cluster.config.read_text())
    return made


# Between daemons.


@pytest.mark.parametrize(
    ("name", "keys", "reasons"),
    [
        ("rival", (None, None), ("other_cluster", "other_cluster")),
        ("local", (KEY, OTHER_KEY), ("unknown_key", "unknown_key")),
        ("local", (None, KEY), ("sealed", "not_sealed")),
    ],
)
def test_two_clusters_never_mix(
    tmp_path: Path, name: str, keys: Sequence[Key | None], reasons: Sequence[str]
) -> None:
    """SP-19. Each believes that the other's daemon is its own."""

    async def main() -> None:
        for address, reason in zip(first.addresses, reasons, strict=True):
            await apart(address, reason)

    async def apart(address: str, reason: str) -> None:
        async with await antiphon.connect(address) as session:

            async def is_counted() -> bool:
                return (await drops(session)).get(reason, 0) > 5

            await until(is_counted, reason)
            status = await session.query("status")
            assert len(status["members"]) == 1
            assert set(status["drops"]) == {reason}

    first = LocalCluster(2, tmp_path / "a")
    clusters = [first, twin(first, tmp_path / "b")]
    for cluster, key in zip(clusters, keys, strict=True):
        if key is not None:
            use_key(cluster, key)
    edit(clusters[1], 'name = "local"', f'name = "{name}"')
    try:
        clusters[0].start(["one"])
        clusters[1].start(["two"])
        run(main())
    finally:
        for cluster in clusters:
            cluster.stop()


def garbage(rng: random.Random, key: Key) -> bytes:
    """What an attacker without the key may send: noise, and headers that look right."""
    seemly = ORIGIN.pack(PACKET, key.id, rng.randrange(1, 4), rng.getrandbits(64))
    foreign = ORIGIN.pack(PACKET, rng.getrandbits(32), 1, 1)
    noise = rng.randbytes(rng.randrange(1, 1400))
    kinds = [noise, b"\x01" + noise, seemly + noise, foreign + noise]
    return rng.choice(kinds) + rng.choice((b"", COUNTER.pack(1) + bytes(100)))


def flood(port: int, packets: Sequence[bytes], sent: list[int]) -> None:
    """At an even pace, in a thread."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gun:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < FLOOD_S:
            while sent[0] < passed * FLOOD_PER_S:
                gun.sendto(packets[sent[0] % len(packets)], ("127.0.0.1", port))
                sent[0] += 1
            time.sleep(0.001)


def test_service_goes_on_under_a_flood_of_garbage(tmp_path: Path) -> None:
    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses[0])
        receiver = await antiphon.connect(cluster.addresses[1])
        await together(sender, 2)
        before = await sender.query("status")
        await receiver.join("g")
        sent = [0]
        rng = random.Random(7)
        packets = [garbage(rng, KEY) for _ in range(1_000)]
        port = cluster.daemons[0].udp_port
        attack = threading.Thread(target=flood, args=(port, packets, sent))
        attack.start()
        rounds = 0
        while attack.is_alive():
            await sender.multicast("g", rounds.to_bytes(4))
            assert (await message(receiver)).payload == rounds.to_bytes(4)
            rounds += 1
        attack.join()
        print(f"{sent[0]} packets of garbage, {rounds} round trips meanwhile")
        assert rounds > 50
        status = await sender.query("status")
        refused = status["drops"]
        assert sum(refused.values()) > sent[0] / 2  # the kernel may lose some before us
        assert {"not_sealed", "bad_seal", "unknown_key", "too_short"} <= refused.keys()
        assert status["configuration"] == before["configuration"]
        assert status["records"]["dropped"] == {}
        await sender.close()
        await receiver.close()

    cluster = LocalCluster(2, tmp_path, extra=PATIENT)
    use_key(cluster, KEY)
    with cluster:
        run(main())


class Relay:
    """A UDP port that passes everything on, and keeps it."""

    def __init__(self, port: int, target: int) -> None:
        self.seen: list[bytes] = []
        self._target = ("127.0.0.1", target)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while datagram := self._socket.recv(65_536):
            self.seen.append(datagram)
            self._socket.sendto(datagram, self._target)

    def replay(self, datagrams: Sequence[bytes]) -> None:
        for datagram in datagrams:
            self._socket.sendto(datagram, self._target)

    def close(self) -> None:
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()


def test_a_replayed_packet_is_refused_also_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with await antiphon.connect(theirs.addresses[1]) as session:
            await together(session, 2)
            await session.join("g")
            await session.multicast("g", b"once")
            await message(session)
            recorded[:] = [one for one in relay.seen if one[0] == PACKET][-50:]
            before = (await drops(session)).get("replayed", 0)
            relay.replay(recorded)

            async def are_refused() -> bool:
                return (await drops(session)).get("replayed", 0) >= before + len(recorded)

            await until(are_refused, "replays are counted")
            await session.multicast("g", b"twice")
            assert (await message(session)).payload == b"twice"

    async def after_restart() -> None:
        async with await antiphon.connect(theirs.addresses[1]) as session:
            relay.replay(recorded)

            async def are_refused() -> bool:
                refused = await drops(session)
                return refused.get("unproven", 0) + refused.get("replayed", 0) > len(recorded) / 2

            await until(are_refused, "replays of an earlier life are counted")
            assert (await session.query("status"))["members"] == ["two"]

    recorded: list[bytes] = []
    ours = LocalCluster(2, tmp_path / "a")
    use_key(ours, KEY)
    theirs = twin(ours, tmp_path / "b")
    create_keys(theirs.directory / "cluster.key", KeyRing(KEY))
    (port,) = free_ports(1)
    edit(ours, f"127.0.0.1:{ours.daemons[1].udp_port}", f"127.0.0.1:{port}")
    relay = Relay(port, ours.daemons[1].udp_port)
    try:
        ours.start(["one"])
        theirs.start(["two"])
        run(main())
        ours.kill("one")
        theirs.kill("two")
        theirs.start(["two"])
        run(after_restart())
    finally:
        ours.stop()
        theirs.stop()
        relay.close()


# Clients.


def test_a_client_of_another_version_is_told_both(tmp_path: Path) -> None:
    with LocalCluster(1, tmp_path) as cluster:
        with RawClient(("127.0.0.1", cluster.daemons[0].client_port)) as client:
            client.begin(Hello(7, 9, "later", 0, True, ""))
            refused, end = client.read_all()
            assert isinstance(refused, Refuse) and refused.code == "client_version"
            assert (
                "7 to 9" in refused.what
                and f"{CLIENT_VERSION_OLDEST} to {CLIENT_VERSION}" in refused.what
            )
            assert end == Close("client_version")


def test_tokens_and_access_rules(tmp_path: Path) -> None:
    async def refusal(token: str) -> str:
        with pytest.raises(Refused) as refused:
            await antiphon.connect(cluster.addresses, token=token)
        return refused.value.code

    async def main() -> None:
        assert await refusal("") == "not_authenticated"
        assert await refusal("guessed") == "bad_token"
        async with (
            await antiphon.connect(cluster.addresses, token="s-alice") as alice,
            await antiphon.connect(cluster.addresses, token="s-bob") as bob,
            await antiphon.connect(str(cluster.daemons[0].socket)) as local,
        ):
            await alice.join("orders.eu")
            await local.join("orders.eu")
            with pytest.raises(Refused) as refused:
                await bob.join("orders.eu")
            assert refused.value.code == "not_allowed"
            await bob.multicast("orders.eu", b"mine")
            event = await bob.receive()
            assert isinstance(event, Refusal) and event.code == "not_allowed"
            await alice.multicast("orders.eu", b"hers")
            assert (await message(local)).payload == b"hers"
            await bob.join("free")
            with pytest.raises(antiphon.QueryFailed, match="not_allowed"):
                await bob.query("stop")
            assert await local.query("reload") == {"warnings": []}

    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text("# clients\nalice s-alice\nbob s-bob\n")
    extra = (
        '[clients]\ntokens_file = "tokens"\n'
        f'[[access]]\ngroup = "orders.*"\nwho = ["token:alice", "uid:{os.getuid()}"]\n'
        'may = ["join", "send"]\n'
        '[[access]]\ngroup = "orders.*"\nwho = ["*"]\nmay = []\n'
    )
    with LocalCluster(1, tmp_path, extra=extra) as cluster:
        run(main())


def test_tls_clients_are_who_their_certificate_says(tmp_path: Path) -> None:
    def context(name: str) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        if name:
            made.load_cert_chain(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
        return made

    async def refusal(tls: ssl.SSLContext | None) -> str:
        with pytest.raises(Refused) as refused:
            await antiphon.connect(cluster.addresses, tls=tls)
        return refused.value.code

    async def main() -> None:
        assert await refusal(None) == "not_authenticated"
        assert await refusal(context("")) == "not_authenticated"
        async with (
            await antiphon.connect(cluster.addresses, tls=context("alice")) as alice,
            await antiphon.connect(cluster.addresses, tls=context("bob")) as bob,
        ):
            await alice.join("g")
            with pytest.raises(Refused):
                await bob.join("g")
            large = random.Random(1).randbytes(3_000_000)
            await bob.multicast("g", large)
            assert (await message(alice)).payload == large

    authority = Authority(tmp_path)
    for name in ("daemon", "alice", "bob"):
        authority.sign(name)
    extra = (
        '[clients]\ntls_certificate = "daemon.pem"\ntls_key = "daemon.key"\n'
        'tls_client_ca = "ca.pem"\n'
        '[[access]]\ngroup = "g"\nwho = ["tls:alice"]\nmay = ["join", "send"]\n'
        '[[access]]\ngroup = "g"\nwho = ["*"]\nmay = ["send"]\n'
    )
    with LocalCluster(1, tmp_path, extra=extra) as cluster:
        run(main())
