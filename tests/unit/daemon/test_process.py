"""A daemon put together from its configuration, and what a reload makes of it."""

import errno
import os
from pathlib import Path
from typing import IO, Any

import pytest

from antiphon.core.errors import ConfigError
from antiphon.core.trace import Kind, Record
from antiphon.daemon.config.config import load
from antiphon.daemon.process import Daemon, new_incarnation
from antiphon.daemon.secure.keyfile import create_keys, replace_keys
from antiphon.daemon.secure.keys import Key, KeyRing
from antiphon.records.reader import read_segments
from antiphon.tools.cluster import LocalCluster
from antiphon.wire.client import Query
from tests.real.stage import edit
from tests.unit.daemon.lone import Lone

TOKENS = '[clients]\ntokens_file = "tokens"\n'


def tell(lone: Lone, kind: Kind, **columns: Any) -> None:
    lone.daemon._hear(Record(kind, 0, *lone.daemon.me, **columns))


def test_a_later_life_has_a_higher_number() -> None:
    lives = [new_incarnation() for _ in range(3)]
    assert all(0 < life < 1 << 63 for life in lives) and len(set(lives)) == 3
    assert lives[-1] >> 20 >= lives[0] >> 20


def test_a_seal_takes_its_room_from_the_packet(tmp_path: Path) -> None:
    create_keys(tmp_path / "key", KeyRing(Key("k1", b"1" * 32)))
    plain = LocalCluster(1, tmp_path)
    with_key = tmp_path / "sealed.toml"
    text = plain.config.read_text()
    with_key.write_text(text.replace('name = "local"', 'name = "local"\nkey_file = "key"'))
    sizes = []
    for path in (plain.config, with_key):
        daemon = Daemon(load(path), "one", path)
        sizes.append(
            daemon._node_settings(daemon.config).stream.packet_bytes + daemon.seal.overhead
        )
        assert daemon.seal.overhead == (45 if path == with_key else 0)
        daemon._close()
    assert sizes[0] == sizes[1]


# Reload.


def test_a_reload_takes_daemons_limits_and_rules(tmp_path: Path) -> None:
    with Lone(tmp_path, "[limits]\nbacklog_bytes = 1000000\n", daemons=2) as lone:
        text = lone.config.read_text()
        begin = text.index('[[daemon]]\nname = "two"')
        lone.config.write_text(text[:begin] + text[text.index("[records]") :])
        assert lone.daemon.reload() == []
        assert lone.daemon.queries.names.keys() == {lone.daemon.me.daemon}
        assert lone.driver.datagrams._peers == {}
        before = lone.clients.waiting_bytes_max
        lone.config.write_text(text.replace("1000000", "2000000"))
        assert lone.daemon.reload() == []
        assert len(lone.driver.datagrams._peers) == 1
        assert lone.clients.waiting_bytes_max == before + 1_000_000


def test_a_reload_that_fails_halfway_changes_nothing(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text("alice s3cret\n")
    with Lone(tmp_path, TOKENS, daemons=2) as lone:
        text = lone.config.read_text()
        begin = text.index('[[daemon]]\nname = "two"')
        lone.config.write_text(text[:begin] + text[text.index("[records]") :])
        tokens.write_text("not a token at all\n")
        with pytest.raises(ConfigError, match="tokens_file"):
            lone.daemon.reload()
        assert len(lone.driver.datagrams._peers) == 1
        assert lone.clients.tokens.name_of("s3cret") == "alice"
        assert len(lone.daemon.config.daemons) == 2


def test_what_takes_a_restart_is_named_or_refused(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        edit(lone.cluster, "[records]", "[network]\npacket_bytes = 1200\n[records]")
        assert lone.daemon.reload() == ["network.packet_bytes changes with the next start"]
        edit(lone.cluster, 'name = "local"', 'name = "other"')
        with pytest.raises(ValueError, match="restart_needed: cluster.name"):
            lone.daemon.reload()
        assert lone.daemon.config.cluster.name == "local"


def test_other_keys_are_taken_by_a_reload(tmp_path: Path) -> None:
    key = tmp_path / "key"
    create_keys(key, KeyRing(Key("k1", b"1" * 32)))
    LocalCluster(1, tmp_path)
    with Sealed(tmp_path) as lone:
        before = lone.daemon.seal.seal(bytes([1, 1]) + bytes(40))[:5]
        replace_keys(key, KeyRing(Key("k2", b"2" * 32)))
        lone.daemon.reload()
        assert lone.daemon.seal.seal(bytes([1, 1]) + bytes(40))[:5] != before


class Sealed(Lone):
    """With the key file `key`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.daemon._close()
        edit(self.cluster, 'name = "local"', 'name = "local"\nkey_file = "key"')
        self.daemon = Daemon(load(self.config), "one", self.config)
        self.driver = self.daemon.driver


def test_a_signal_to_reload_a_wrong_file_is_logged_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Lone(tmp_path) as lone:
        lone.config.write_text("nonsense")
        lone.daemon._try_reload()
        assert "error   reload: refused" in capsys.readouterr().err


def test_a_daemon_without_a_file_has_nothing_to_reload(tmp_path: Path) -> None:
    cluster = LocalCluster(1, tmp_path)
    daemon = Daemon(load(cluster.config), "one")
    with pytest.raises(ValueError, match="no_file"):
        daemon.reload()
    daemon._close()


# Records and log.


def test_one_line_for_what_matters_and_none_for_what_is_usual(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Lone(tmp_path, daemons=2) as lone:
        capsys.readouterr()
        tell(lone, Kind.DROP, reason="duplicate", value=1)
        tell(lone, Kind.CLOSE, session=1, reason="client")
        tell(lone, Kind.VIEW, groups=("g",), reason="join")
        assert capsys.readouterr().err == ""
        two = lone.daemon.config.daemons[1].id
        tell(lone, Kind.INSTALL, members=(lone.daemon.me,), detail=f"heard nothing of {two}")
        tell(lone, Kind.DROP, reason="bad_seal", value=1)
        tell(lone, Kind.DROP, reason="bad_seal", value=1)
        tell(lone, Kind.CLOSE, session=1, reason="slow", value=7)
        tell(lone, Kind.TROUBLE, reason="token_lost", peer=two)
        said = capsys.readouterr().err.splitlines()
        assert [line.split("Z ", 1)[1] for line in said] == [
            "info    view: {one}: heard nothing of two",
            "warning drop: bad_seal",
            "warning close: session 1 cut off: slow backlog=7",
            "warning trouble: token_lost, accused: two",
        ]


def test_what_happened_is_in_the_records_when_it_stops(tmp_path: Path) -> None:
    with Lone(tmp_path) as lone:
        client = lone.client()
        client.join("g")
        lone.frame(client)
    kinds = [record.kind for record in read_segments([tmp_path / "records"])]
    assert {Kind.INSTALL, Kind.OPEN, Kind.JOIN, Kind.VIEW} <= set(kinds)
    assert kinds[-1] == Kind.STOP


def test_a_full_disk_drops_records_and_never_stops_service(tmp_path: Path) -> None:
    def full(path: Path) -> IO[bytes]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Lone(tmp_path) as lone:
        recorder = lone.daemon._recorder
        assert recorder is not None
        recorder.close()
        recorder._open = full
        client = lone.client()
        client.join("g")
        lone.frame(client)
        status = lone.daemon.queries.answer("", Query(1, "status", {}))
        assert status["records"]["dropped"]["disk_full"] > 0


def test_no_records_are_kept_where_none_are_wanted(tmp_path: Path) -> None:
    cluster = LocalCluster(1, tmp_path, level="off")
    daemon = Daemon(load(cluster.config), "one", cluster.config)
    daemon.driver.start()
    assert daemon.queries.answer("", Query(1, "status", {}))["records"] == {}
    daemon._close()
    assert not (tmp_path / "records").exists()
