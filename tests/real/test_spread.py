"""Clients of Spread's protocol at real daemons, byte by byte: what they say, get, and break."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon import blocking
from antiphon.tools.cluster import LocalCluster
from tests.real.rawspread import (
    AGREED,
    DISCONNECTED,
    JOIN,
    JOINED,
    KILL,
    LEFT,
    RELIABLE,
    SAFE,
    SELF_DISCARD,
    SELF_LEAVE,
    Got,
    RawSpread,
    choice,
    field,
    hello,
    packed,
    packed_big,
    read_view,
)
from tests.real.stage import PATIENT


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(2, tmp_path_factory.mktemp("spread"), extra=PATIENT) as made:
        made.await_merge()
        yield made


def place(cluster: LocalCluster, number: int = 0, unix: bool = False) -> tuple[str, int] | str:
    port = cluster.daemons[number].client_port
    return f"/tmp/{port}" if unix else ("127.0.0.1", port)


def opened(cluster: LocalCluster, name: str, number: int = 0, membership: bool = True) -> RawSpread:
    client = RawSpread(place(cluster, number))
    client.open(name, membership)
    return client


def counts(cluster: LocalCluster) -> dict[str, int]:
    with blocking.connect(cluster.addresses[0]) as session:
        counted: dict[str, int] = session.query("status")["clients"]
        return counted


def raw(text: str) -> bytes:
    return bytes.fromhex(text)


def data(got: Got | None) -> bytes:
    assert got is not None, "the end"
    return got.data


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_the_worked_example(cluster: LocalCluster, unix: bool) -> None:
    """SP-03, SP-04, SP-79."""
    own = field("#alice#one")
    with RawSpread(place(cluster, unix=unix)) as alice:
        alice.send(raw("05 00 01 01 05 61 6c 69 63 65"))
        assert alice.exactly(6) == raw("05 4e 55 4c 4c 20")
        alice.send(b"NULL" + bytes(86))
        assert alice.exactly(15) == raw("01 05 00 01 0a") + b"#alice#one"
        alice.send(raw("80000180") + own + raw("01000000 80000080 00000000") + field("grp"))
        view = alice.exactly(48 + 32 + 56)
        assert view[:80] == raw("80110080") + field("grp") + raw("01000000 80000080 38000000") + own
        assert view[88:] == raw("01000000 01000000 00000000 01000000") + own
        head = raw("02000000 80070080 02000000") + field("grp") + field("#bob#d1") + b"xy"
        alice.send(raw("90000080") + own + head)
        assert alice.exactly(48 + 64 + 2) == raw("90000080") + own + head
        alice.send(raw("80000280") + own + raw("01000000 80000080 00000000") + field("grp"))
        assert alice.exactly(48) == raw("80020080") + field("grp") + raw(
            "00000000 80000080 00000000"
        )
        alice.send(raw("80000480") + own + raw("01000000 80000080 00000000") + own)
        assert alice.socket.recv(1) == b""


def test_a_big_endian_client_talks_to_a_little_endian_one(cluster: LocalCluster) -> None:
    """SP-84, SP-235."""
    with opened(cluster, "lit") as little, opened(cluster, "big", 1) as big:
        little.join("ends")
        little.joined(1)
        big.send(packed_big(JOIN, big.own, ["ends"]))
        little.joined(2)
        big.send(raw("00000010") + field(big.own) + raw("00000001 00fffe00 00000005"))
        big.send(field("ends") + b"hello")
        sent = little.next_of(AGREED)
        assert sent == Got(AGREED, "#big#two", ("ends",), raw("00fffe00"), b"hello")
        little.send(packed(SAFE, little.own, ["ends"], b"back", 7))
        assert big.next_of(SAFE).hint == raw("80070080")


def test_join_leave_and_disconnect_are_told_with_who_moved(cluster: LocalCluster) -> None:
    with opened(cluster, "ann") as ann, opened(cluster, "bob", 1) as bob:
        ann.join("g")
        first = ann.joined(1)
        bob.join("g")
        second = ann.joined(2)
        assert second == bob.joined(2)
        assert second.groups == ("#ann#one", "#bob#two") and second.kind == JOINED
        seen = read_view(second.data)
        assert seen.sets == (("#bob#two",),)
        ids = [struct.unpack("<3I", read_view(one.data).id) for one in (first, second)]
        assert ids[0][:2] == ids[1][:2] and [one[2] for one in ids] == [1, 2]
        bob.leave("g")
        left = ann.joined(1)
        assert left.kind == LEFT and read_view(left.data).sets == (("#bob#two",),)
        assert bob.next() == Got(SELF_LEAVE, "g", (), raw("80000080"), b"")
        for end in (KILL, 0):
            bob.join("g")
            assert ann.joined(2).kind == bob.joined(2).kind == JOINED
            if end:
                bob.send(packed(KILL, bob.own, [bob.own]))
                assert bob.next() is None
            bob.socket.close()
            gone = ann.joined(1)
            assert gone.kind == DISCONNECTED and read_view(gone.data).sets == (("#bob#two",),)
            if end:
                bob = opened(cluster, "bob", 1)


def test_joining_twice_and_leaving_what_one_is_not_in_is_ignored(cluster: LocalCluster) -> None:
    with opened(cluster, "twice") as client:
        client.join("g2")
        client.joined(1)
        client.join("g2")
        client.leave("never")
        client.say(["g2"], b"after")
        assert data(client.next()) == b"after"


def test_without_the_flag_there_are_messages_and_nothing_else(cluster: LocalCluster) -> None:
    with opened(cluster, "quiet", membership=False) as quiet, opened(cluster, "loud", 1) as loud:
        quiet.join("g3")
        loud.join("g3")
        while len(loud.joined(2).groups) != 2:
            pass
        loud.say(["g3"], b"one")
        assert data(quiet.next()) == b"one"
        quiet.leave("g3")
        quiet.say([quiet.own], b"two")
        assert data(quiet.next()) == b"two"


def test_private_groups_reach_across_daemons(cluster: LocalCluster) -> None:
    """SP-92: nobody has joined anything."""
    with opened(cluster, "here") as here, opened(cluster, "there", 1) as there:
        here.say(["#there#two", "#nobody#two", "#there#nowhere"], b"psst")
        got = there.next()
        assert got is not None
        assert (got.name, got.data) == ("#here#one", b"psst")
        assert got.groups == ("#there#two", "#nobody#two", "#there#nowhere")
        there.say([got.name], b"answer")
        assert data(here.next()) == b"answer"


def test_self_discard_skips_the_sender_only(cluster: LocalCluster) -> None:
    with opened(cluster, "selfish") as one, opened(cluster, "other") as other:
        one.join("sd")
        other.join("sd")
        one.joined(2)
        other.joined(2)
        one.say(["sd"], b"1", AGREED | SELF_DISCARD)
        one.say(["sd"], b"2")
        assert data(one.next()) == b"2"
        first = other.next()
        assert first is not None and (first.kind, first.data) == (AGREED | SELF_DISCARD, b"1")
        assert data(other.next()) == b"2"


def test_one_copy_however_many_groups_lead_there(cluster: LocalCluster) -> None:
    """SP-84, to a hundred groups."""
    groups: list[str | bytes] = [f"many{number}" for number in range(97)]
    with opened(cluster, "hundred") as client:
        for group in groups[:3]:
            client.join(group)
        for _ in range(3):
            client.joined(1)
        client.say([*groups, "many0", "a#b", client.own], b"x", RELIABLE)
        client.say([], b"to nobody", RELIABLE)
        client.say(["many0"], b"after", RELIABLE)
        got = client.next()
        assert got is not None and got.data == b"x"
        assert got.groups == (*groups, "many0", "a#b", client.own)
        assert data(client.next()) == b"after"


def test_every_service_is_delivered(cluster: LocalCluster) -> None:
    with opened(cluster, "all", 1) as client:
        client.join("services")
        client.joined(1)
        for bit in range(6):
            client.say(["services"], bytes([bit]), 1 << bit)
            got = client.next()
            assert got is not None and (got.kind, got.data) == (1 << bit, bytes([bit]))


def test_a_writer_that_sends_byte_by_byte_is_served(cluster: LocalCluster) -> None:
    with RawSpread(place(cluster)) as slow:
        for byte in hello("slow"):
            slow.send(bytes([byte]))
        assert slow.methods() == "NULL "
        for byte in choice("NULL"):
            slow.send(bytes([byte]))
        slow.accepted()
        for byte in packed(JOIN, slow.own, ["g4"]) + packed(AGREED, slow.own, ["g4"], b"done"):
            slow.send(bytes([byte]))
        assert slow.next_of(AGREED).data == b"done"


def test_who_says_everything_at_once_is_served(cluster: LocalCluster) -> None:
    with RawSpread(place(cluster)) as hasty:
        own = "#hasty#one"
        asked = packed(JOIN, own, ["g5"]) + packed(AGREED, own, ["g5"], b"done")
        hasty.send(hello("hasty") + choice("NULL") + asked)
        assert hasty.methods() == "NULL "
        assert hasty.accepted() == own
        assert hasty.next_of(AGREED).data == b"done"


def test_connections_that_end_half_open_leave_nothing(cluster: LocalCluster) -> None:
    said = hello("half") + choice("NULL") + packed(AGREED, "#half#one", ["g"], b"x")
    for size in (1, 4, 9, 50, len(said) - 1):
        with RawSpread(place(cluster)) as half:
            half.send(said[:size])
            half.socket.shutdown(1)
            while half.socket.recv(4096):
                pass
    with opened(cluster, "half") as again:
        again.say([again.own], b"free")
        assert data(again.next()) == b"free"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (packed(AGREED | SAFE, "#bad#one", ["g"]), "two_services"),
        (packed(AGREED, "#good#one", ["g"]), "foreign_sender"),
        (packed(AGREED, "#bad#one", ["g"] * 101), "groups_count"),
        (packed(AGREED, "#bad#one", ["g"], bytes(143_921))[:200], "too_long"),
        (packed(AGREED, "#bad#one", ["g"])[:44] + raw("ffffffff"), "too_long"),
        (raw("90000080") + field("#bad#one") + raw("ffffffff 80000080 00000000"), "groups_count"),
    ],
)
def test_who_breaks_the_protocol_is_out_and_nobody_else(
    cluster: LocalCluster, bad: bytes, reason: str
) -> None:
    before = counts(cluster).get(reason, 0)
    with opened(cluster, "good", 1) as good, opened(cluster, "bad") as client:
        good.join("g6")
        good.joined(1)
        client.join("g6")
        good.joined(2)
        client.say(["g6"], b"last words")
        client.send(bad)
        while client.next() is not None:
            pass
        assert good.next_of(AGREED).data == b"last words"
        assert good.joined(1).kind == DISCONNECTED
    assert counts(cluster)[reason] == before + 1


@pytest.mark.parametrize("size", [143_120, 143_121, 143_920])
def test_the_longest_messages_pass(cluster: LocalCluster, size: int) -> None:
    with opened(cluster, "long", 1) as client:
        client.say([client.own], bytes([7]) * size)
        assert data(client.next()) == bytes([7]) * size


def test_a_socket_for_everybody_speaks_no_other_protocol(cluster: LocalCluster) -> None:
    """There everybody may connect, and our own protocol would make an admin of anybody."""
    port = cluster.daemons[0].client_port
    assert Path(f"/tmp/{port}").stat().st_mode & 0o777 == 0o666
    with RawSpread(f"/tmp/{port}") as native:
        native.send(b"APHN")
        assert native.code() == -7
