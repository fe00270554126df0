"""Which clients of Spread's protocol real daemons let in, and which they put out again."""

import socket
import ssl
from pathlib import Path

from antiphon import blocking
from antiphon.tools.cluster import LocalCluster
from tests.real.certificates import Authority
from tests.real.rawspread import (
    AGREED,
    DISCONNECTED,
    KILL,
    REJECT,
    Got,
    RawSpread,
    choice,
    hello,
    packed,
)
from tests.real.stage import PATIENT, edit

TOKENS = "alice sesame\n"


def place(cluster: LocalCluster, number: int = 0) -> tuple[str, int]:
    return "127.0.0.1", cluster.daemons[number].client_port


def stranger(cluster: LocalCluster) -> RawSpread:
    return RawSpread(place(cluster))


def refused(cluster: LocalCluster, said: bytes) -> int:
    """The code after what the daemon offers, if it offers anything."""
    with stranger(cluster) as client:
        client.send(said)
        first = client.exactly(1)[0]
        if first & 0x80:
            assert client.socket.recv(1) == b""
            return first - 256
        client.exactly(first)
        return client.code()


def status(cluster: LocalCluster) -> dict[str, dict[str, int]]:
    """Over the Unix socket, where nobody asks for a secret."""
    with blocking.connect(f"unix:{cluster.daemons[0].socket}") as session:
        told: dict[str, dict[str, int]] = session.query("status")
        return told


def test_each_refusal_has_its_code(tmp_path: Path) -> None:
    limits = "[limits]\nsessions = 2\n"
    with LocalCluster(1, tmp_path, extra=limits) as cluster:
        assert refused(cluster, bytes([3, 0, 0, 1])) == -7
        assert refused(cluster, bytes([2, 9])) == -7
        assert refused(cluster, bytes([5, 0, 1, 1, 11])) == -5
        assert refused(cluster, hello("a b")) == -5
        assert refused(cluster, hello("a") + choice("PWORD")) == -9
        assert refused(cluster, hello("a") + bytes(90)) == -9
        with stranger(cluster) as old:
            old.send(hello("old", True, (3, 14)))
            assert old.exactly(12) == bytes([1, 5, 0, 8]) + b"#old#one"
            old.send(packed(KILL, "#old#one", ["#old#one"]))
            assert old.next() is None
        with stranger(cluster) as first, stranger(cluster) as second:
            assert first.open("alice") == "#alice#one"
            assert refused(cluster, hello("alice") + choice("NULL")) == -6
            assert second.open("") != first.own
            assert second.own[:2] == "#r"
            assert refused(cluster, hello("carol") + choice("NULL")) == -3
        with blocking.connect(cluster.addresses[0]) as session:
            counted = session.query("status")["clients"]
        for code in ("client_version", "bad_name", "not_authenticated"):
            assert counted[code] == 2
        for code in ("too_many_sessions", "name_in_use"):
            assert counted[f"closed: {code}"] == 1


def test_tokens_and_addresses(tmp_path: Path) -> None:
    asks = '[clients]\ntokens_file = "tokens"\n[spread]\naddresses = ["10.0.0.0/8"]\n'
    (tmp_path / "tokens").write_text(TOKENS)
    (tmp_path / "tokens").chmod(0o600)
    with LocalCluster(1, tmp_path, extra=asks) as cluster:
        sesame, wrong = b"\x06sesame", b"\x05wrong"
        with stranger(cluster) as known:
            known.send(hello("known"))
            assert known.methods() == "IP TOKEN "
            known.send(choice("TOKEN") + sesame)
            known.accepted()
        assert refused(cluster, hello("a") + choice("TOKEN") + wrong) == -9
        assert refused(cluster, hello("a") + choice("NULL")) == -9
        assert refused(cluster, hello("a") + choice("IP")) == -9
        assert refused(cluster, hello("a", True, (3, 14))) == -9
        port = cluster.daemons[0].client_port
        with RawSpread(f"/tmp/{port}") as local:
            assert local.open("local") == "#local#one"
        edit(cluster, '"10.0.0.0/8"', '"10.0.0.0/8", "127.0.0.1"')
        with blocking.connect(f"unix:{cluster.daemons[0].socket}") as admin:
            admin.query("reload")
        with stranger(cluster) as listed:
            listed.send(hello("listed"))
            assert listed.methods() == "IP TOKEN "
            listed.send(choice("IP"))
            assert listed.accepted() == "#listed#one"
        edit(cluster, "[spread]", "[spread]\nenabled = false")
        with blocking.connect(f"unix:{cluster.daemons[0].socket}") as admin:
            admin.query("reload")
        with stranger(cluster) as late:
            late.send(hello("late"))
            assert late.exactly(4)  # our own protocol says that it knows no such
        with RawSpread(f"/tmp/{port}") as local:
            local.send(hello("local"))
            assert local.code() == -9
        assert status(cluster)["clients"]["unknown_protocol"] == 1


def test_who_comes_by_tls_speaks_the_same_inside(tmp_path: Path) -> None:
    Authority(tmp_path).sign("daemon")
    tls = '[clients]\ntls_certificate = "daemon.pem"\ntls_key = "daemon.key"\n'
    with LocalCluster(1, tmp_path, extra=tls) as cluster:
        assert refused(cluster, hello("plain")) == -9
        context = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        with stranger(cluster) as client:
            client.socket = context.wrap_socket(client.socket, server_hostname="127.0.0.1")
            assert client.open("secret") == "#secret#one"
            client.join("g")
            client.joined(1)
            client.say(["g"], b"x" * 100_000)
            assert client.next_of(AGREED).data == b"x" * 100_000


def test_who_may_not_is_told_with_what_it_asked(tmp_path: Path) -> None:
    rules = '[[access]]\ngroup = "closed.*"\nwho = ["unix"]\nmay = ["join", "send"]\n'
    rules += '[[access]]\ngroup = "closed.*"\nwho = ["*"]\nmay = []\n'
    with LocalCluster(1, tmp_path, extra=rules) as cluster, stranger(cluster) as client:
        own = client.open("alice")
        client.join("closed.one")
        hint = bytes.fromhex("80000080")
        assert client.next() == Got(REJECT, own, ("closed.one", own), hint, b"", 0x100)
        client.join("open")
        client.joined(1)
        said = [packed(AGREED, own, [group], group.encode()) for group in ("open", "closed.one")]
        client.send(b"".join(said + said))
        got = [client.next() for _ in range(4)]
        told = [(one.kind, one.groups, one.data) for one in got if one is not None]
        assert sorted(told) == sorted(
            2 * [(AGREED, ("open",), b"open")] + 2 * [(REJECT, ("closed.one", own), b"closed.one")]
        )
        client.join("a#b")
        assert client.next_of(REJECT).groups == ("a#b", own)
        port = cluster.daemons[0].client_port
        with RawSpread(f"/tmp/{port}") as local:
            local.open("local")
            local.join("closed.one")
            local.joined(1)


def test_a_reader_that_is_too_slow_is_cut_off_and_nobody_else(tmp_path: Path) -> None:
    limits = '[limits]\nbacklog_bytes = "1MB"\n'
    with LocalCluster(2, tmp_path, extra=PATIENT + limits) as cluster:
        cluster.await_merge()
        stuck = RawSpread(place(cluster, 1), receive_bytes=8192)
        with stuck, stranger(cluster) as sender, stranger(cluster) as watcher:
            stuck.open("stuck")
            sender.open("sender")
            watcher.open("watcher")
            watcher.join("g")
            watcher.joined(1)
            stuck.join("g")
            watcher.joined(2)
            payload = bytes(50_000)
            sent = 0
            while True:
                sender.say(["g"], payload)
                sent += 1
                got = watcher.next()
                assert got is not None
                if got.kind == DISCONNECTED:
                    break
                assert got.data == payload and sent < 1_000
            while stuck.next() is not None:
                pass
            assert watcher.next_of(AGREED).data == payload


def test_two_clusters_cannot_have_one_socket_and_both_serve(tmp_path: Path) -> None:
    path = tmp_path / "spread.sock"
    extra = f'[spread]\nunix_socket = "{path}"\n'
    with LocalCluster(1, tmp_path / "a", extra=extra) as first:
        with LocalCluster(1, tmp_path / "b", extra=extra) as second:
            with RawSpread(place(second)) as client:
                client.open("tcp")
            log = second.daemons[0].log.read_text()
            assert log.count("warning") == 1 and "spread: no clients at" in log
        with RawSpread(str(path)) as client:
            assert client.open("unix") == "#unix#one"
        assert "warning" not in first.daemons[0].log.read_text()
    assert not path.exists()


def test_the_socket_can_be_turned_off_and_other_protocols_are_not_taken_for_this(
    tmp_path: Path,
) -> None:
    with LocalCluster(1, tmp_path, extra='[spread]\nunix_socket = ""\n') as cluster:
        assert not Path(f"/tmp/{cluster.daemons[0].client_port}").exists()
        with stranger(cluster) as client:
            client.open("tcp")
        for first in (0, 16, 0x41, 0xFF):
            with socket.create_connection(place(cluster)) as odd:
                odd.sendall(bytes([first]) * 20)
                said = b""
                while piece := odd.recv(4096):
                    said += piece
            assert b"unknown_protocol" in said
