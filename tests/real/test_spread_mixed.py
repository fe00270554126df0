"""Clients of Spread's protocol and our own in the same groups: one order, one membership."""

import struct
from pathlib import Path

from antiphon import Message, Service, View, blocking
from antiphon.check import judge
from antiphon.core.trace import Kind
from antiphon.records.gather import gather
from antiphon.records.reader import Notes
from antiphon.tools.cluster import LocalCluster
from tests.real.rawspread import (
    AGREED,
    JOINED,
    NETWORK,
    SELF_DISCARD,
    TRANSITION,
    Got,
    RawSpread,
    packed,
    read_view,
)
from tests.real.stage import LESS_PATIENT, PATIENCE_S, PATIENT

SERVICES = 6
QUICK = '[timeouts]\ntoken_loss = "500ms"\nhear = "1s"\n'
"""For a story in which nothing depends on how often the network changes."""


def spread_client(cluster: LocalCluster, number: int, name: str) -> RawSpread:
    client = RawSpread(("127.0.0.1", cluster.daemons[number].client_port))
    client.socket.settimeout(PATIENCE_S)
    client.open(name)
    return client


def divide(cluster: LocalCluster, *sides: list[str]) -> None:
    """Which daemons hear each other from now on; none: all."""
    for daemon in cluster.daemons:
        side = next((one for one in sides if daemon.name in one), None)
        with blocking.connect(daemon.address) as session:
            session.query("partition", **({} if side is None else {"with": side}))


def wait_for_members(session: blocking.Session, group: str, count: int) -> list[Message]:
    """Up to the view in which the group has so many; the messages before it."""
    found = []
    while True:
        event = session.receive(PATIENCE_S)
        assert event is not None, f"{count} in {group}"
        if isinstance(event, Message):
            found.append(event)
        elif isinstance(event, View) and event.group == group and len(event.members) == count:
            return found


def test_all_see_one_order(tmp_path: Path) -> None:
    """SP-235."""
    count = 150
    with LocalCluster(2, tmp_path, extra=PATIENT) as cluster:
        cluster.await_merge()
        ours = [
            blocking.connect(address, name=f"n{at}") for at, address in enumerate(cluster.addresses)
        ]
        theirs = [spread_client(cluster, at, f"s{at}") for at in range(2)]
        for session in ours:
            session.join("g")
        for client in theirs:
            client.join("g")
        for session in ours:
            wait_for_members(session, "g", 4)
        for client in theirs:
            client.joined(4)
        for number in range(count):
            for session in ours:
                session.multicast("g", f"{session.name}:{number}".encode(), kind=number)
            for client in theirs:
                data = f"{client.own[1:3]}:{number}".encode()
                client.send(packed(AGREED, client.own, ["g"], data, number))
        seen = []
        for session in ours:
            got = [session.receive(PATIENCE_S) for _ in range(4 * count)]
            messages = [one for one in got if isinstance(one, Message)]
            seen.append([(one.sender_name, one.kind, one.payload) for one in messages])
        for client in theirs:
            told = [client.next_of(AGREED) for _ in range(4 * count)]
            kinds = [struct.unpack("<I", one.hint)[0] >> 8 & 0xFFFF for one in told]
            names = [one.name.split("#")[1] for one in told]
            data = [one.data for one in told]
            seen.append(list(zip(names, kinds, data, strict=True)))
        assert len(seen[0]) == 4 * count
        assert seen == 4 * [seen[0]]
        for session in ours:
            session.close()
        for client in theirs:
            client.socket.close()


def test_each_side_is_named_so_that_the_other_can_answer(tmp_path: Path) -> None:
    with LocalCluster(2, tmp_path, extra=PATIENT) as cluster:
        cluster.await_merge()
        with (
            blocking.connect(cluster.addresses[0], name="native") as native,
            spread_client(cluster, 1, "spread") as spread,
        ):
            spread.say(["#native#one"], b"hello")
            heard = native.receive(PATIENCE_S)
            assert isinstance(heard, Message)
            native.multicast(heard.sender, b"and back", service=Service.SAFE)
            got = spread.next()
            assert got is not None
            assert (got.name, got.groups, got.data) == ("#native#one", (spread.own,), b"and back")
            spread.say([got.name], b"once more", AGREED | SELF_DISCARD)
            again = native.receive(PATIENCE_S)
            assert isinstance(again, Message) and again.payload == b"once more"


def test_what_their_protocol_has_no_room_for_is_left_out_and_counted(tmp_path: Path) -> None:
    with LocalCluster(1, tmp_path) as cluster:
        address = cluster.addresses[0]
        with (
            spread_client(cluster, 0, "spread") as spread,
            blocking.connect(address, name="short") as short,
            blocking.connect(address, name="a name with spaces") as odd,
        ):
            spread.join("g")
            spread.joined(1)
            odd.join("g")
            short.join("g")
            view = spread.joined(2)
            assert (view.kind, view.groups) == (JOINED, ("#short#one", "#spread#one"))
            odd.multicast("g", b"unheard")
            wait_for(odd, b"unheard")
            short.multicast("g", bytes(150_000))
            short.multicast(["g", "a group with a very, very long name"], b"unheard")
            short.multicast("g", b"heard")
            assert spread.next_of(AGREED).data == b"heard"
            counted = short.query("status")["clients"]
            assert counted["omitted: name"] == 2
            assert counted["omitted: size"] == 1
            assert counted["omitted: view"] == 1
            assert counted["omitted: member"] >= 1


def wait_for(session: blocking.Session, payload: bytes) -> None:
    while True:
        event = session.receive(PATIENCE_S)
        assert event is not None
        if isinstance(event, Message) and event.payload == payload:
            return


def test_partition_and_merge_with_sets_and_offsets(tmp_path: Path) -> None:
    places = {"amy": 0, "zed": 0, "bob": 1, "cat": 2}
    with LocalCluster(3, tmp_path, extra=LESS_PATIENT) as cluster:
        cluster.await_merge()
        clients = {name: spread_client(cluster, at, name) for name, at in places.items()}
        for number, client in enumerate(clients.values(), 1):
            client.join("g")
            client.joined(number)
        for name in list(clients)[:-1]:
            clients[name].joined(4)
        with spread_client(cluster, 2, "alone") as alone:
            alone.join("not cut")
            before = alone.joined(1)
            divide(cluster, ["one", "two"], ["three"])
            for name, client in clients.items():
                signal = client.next_of(TRANSITION)
                assert (signal.name, signal.groups, len(signal.data)) == ("g", (), 12)
                cut = client.next()
                assert cut is not None and cut.kind == NETWORK
                own = ("#cat#three",) if name == "cat" else ("#amy#one", "#zed#one", "#bob#two")
                seen = read_view(cut.data)
                assert cut.groups == own and seen.sets == (own,) and seen.offset == 0
                assert seen.id != signal.data
            divide(cluster)
            merged = {name: client.joined(4) for name, client in clients.items()}
            seen = {name: read_view(got.data) for name, got in merged.items()}
            own_sets = {("#cat#three",), ("#amy#one", "#zed#one", "#bob#two")}
            for name, got in merged.items():
                assert got.kind == NETWORK
                assert got.groups == ("#amy#one", "#zed#one", "#bob#two", "#cat#three")
                first, second = seen[name].sets
                assert {first, second} == own_sets
                mine = next(
                    one for one in (first, second) if any(f"#{name}#" in who for who in one)
                )
                assert seen[name].offset == (0 if mine == first else 4 + 32 * len(first))
                assert seen[name][:2] == seen["amy"][:2]
            alone.join("later")
            after = alone.next()
            assert after is not None and after.name == "later"  # nothing was told of "not cut"
            assert before.groups == ("#alone#three",)
        for client in clients.values():
            client.socket.close()


def test_a_mixed_run_under_partitions_is_judged_without_violations(tmp_path: Path) -> None:
    with LocalCluster(3, tmp_path, level="all", extra=QUICK) as cluster:
        cluster.await_merge()
        names = [daemon.name for daemon in cluster.daemons]
        ours = {
            name: blocking.connect(daemon.address, name=f"n{name}", records=tmp_path / "clients")
            for name, daemon in zip(names, cluster.daemons, strict=True)
        }
        theirs = {name: spread_client(cluster, at, f"s{name}") for at, name in enumerate(names)}
        for name in names:
            ours[name].join("g")
            theirs[name].join("g")
        got: dict[str, list[Got]] = {name: [] for name in names}

        def talk() -> None:
            for number in range(60):
                for name in names:
                    own = f"{name}{number}".encode()
                    service = Service(number % SERVICES)
                    ours[name].multicast(["g", f"#s{name}#x"], own, service=service, kind=number)
                    theirs[name].say(["g", f"#n{name}#{name}"], own, 1 << number % SERVICES)

        def meet(sides: list[list[str]]) -> None:
            for side in sides:
                for name in side:
                    wait_for_members(ours[name], "g", 2 * len(side))
                    while True:
                        one = theirs[name].next()
                        assert one is not None
                        got[name].append(one)
                        if one.kind & 0x1000 and len(one.groups) == 2 * len(side):
                            break

        meet([names])
        for sides in ([["one", "two"], ["three"]], [["one"], ["two", "three"]]):
            talk()
            divide(cluster, *sides)
            talk()
            meet(sides)
            talk()
            divide(cluster)
            meet([names])
        talk()
        last = f"{names[-1]}59".encode()
        for name in names:
            while theirs[name].next_of(1 << 59 % SERVICES).data != last:
                pass
        for name in names:
            ours[name].close()
            theirs[name].send(packed(0x40000, theirs[name].own, [theirs[name].own]))
            while theirs[name].next() is not None:
                pass
            theirs[name].socket.close()
        cluster.stop()
    notes = Notes()
    rows = gather([tmp_path / "records", tmp_path / "clients"], notes)
    assert not notes.torn
    handed = [row for row in rows if row.kind is Kind.HAND]
    assert sum(row.count for row in handed) > 1_000
    assert len({(row.node, row.session) for row in handed}) == 2 * len(names)
    assert any(one.kind == TRANSITION for one in got["one"])
    assert judge(rows) == []
