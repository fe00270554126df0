"""One that sends to hundreds of groups, while daemons come and go: every message says truly which
group it was for, and comes once."""

from collections import defaultdict
from pathlib import Path

import antiphon
from antiphon import Message, Session
from antiphon.tools.cluster import LocalCluster
from tests.real.stage import LESS_PATIENT, run, together

GROUPS = [f"group.{number}" for number in range(300)]
ROUNDS = 40
END = b"end"


async def send(session: Session, first: int) -> None:
    for number in range(first, first + ROUNDS):
        for name in GROUPS:
            await session.multicast(name, b"%d %s" % (number, name.encode()))
    await session.multicast(GROUPS[0], END)


async def receive(session: Session) -> dict[str, list[int]]:
    """The numbers that came to each group, up to the end."""
    found: dict[str, list[int]] = defaultdict(list)
    while True:
        event = await session.receive()
        if not isinstance(event, Message):
            continue
        if event.payload == END:
            return found
        number, _, name = event.payload.decode().partition(" ")
        assert event.groups == (name,) and event.view == session.views[name].id
        found[name].append(int(number))


def refers(session: Session) -> bool:
    """Whether its daemon has a table for it."""
    return session._core.outbox.destinations.defined >= len(GROUPS)


def test_every_message_says_for_which_group_it_was(tmp_path: Path) -> None:
    """Before and after a daemon dies and another that never knew the table comes."""

    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses[0])
        await together(sender, 3)
        receiver = await antiphon.connect(cluster.addresses[1])
        mine = GROUPS[::2]
        for name in mine:
            await receiver.join(name)
        await send(sender, 0)
        first = await receive(receiver)
        assert refers(sender)
        cluster.kill("three")
        await together(sender, 2)
        await send(sender, ROUNDS)
        second = await receive(receiver)
        cluster.start(["three"])
        await together(sender, 3)
        newcomer = await antiphon.connect(cluster.addresses[2])
        await newcomer.join(GROUPS[0])
        await newcomer.join(GROUPS[7])
        await send(sender, 2 * ROUNDS)
        third, heard = await receive(receiver), await receive(newcomer)
        for begin, found in ((0, first), (ROUNDS, second), (2 * ROUNDS, third)):
            assert sorted(found) == sorted(mine)
            assert all(one == list(range(begin, begin + ROUNDS)) for one in found.values())
        last = list(range(2 * ROUNDS, 3 * ROUNDS))
        assert heard == {GROUPS[0]: last, GROUPS[7]: last}
        for session in (sender, receiver, newcomer):
            await session.close()

    with LocalCluster(3, tmp_path, extra=LESS_PATIENT) as cluster:
        run(main())


def test_a_sender_with_a_table_moves_to_another_daemon(tmp_path: Path) -> None:
    """What waited for the old daemon refers to a table that the new one does not have."""

    async def main() -> None:
        sender = await antiphon.connect(cluster.addresses, failover=True)
        receiver = await antiphon.connect(cluster.addresses[1])
        await together(sender, 2)
        for name in GROUPS[:20]:
            await receiver.join(name)
        await send(sender, 0)
        await receive(receiver)
        assert refers(sender)
        cluster.kill("one")
        await send(sender, ROUNDS)
        found = await receive(receiver)
        assert sender.daemon == "two"
        for numbers in found.values():
            assert numbers == sorted(set(numbers)) and numbers[-1] == 2 * ROUNDS - 1
        assert sorted(found) == sorted(GROUPS[:20])
        await sender.close()
        await receiver.close()

    with LocalCluster(2, tmp_path, extra=LESS_PATIENT) as cluster:
        run(main())
