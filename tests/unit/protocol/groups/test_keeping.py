"""Names of what is kept: branches, sequences, tips; and repeats that are filtered."""

from typing import Any

import pytest

from antiphon.core.effects import Ask, Keep, Message, Multicast, Submit, Word
from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.keeping import KeepRule, RetainSettings
from antiphon.core.machine import Wakeup
from antiphon.core.offsets import Branch
from antiphon.core.service import Service
from antiphon.core.trace import Level
from antiphon.protocol.groups import keeping as keeping_module
from antiphon.protocol.groups.groups import Groups
from antiphon.protocol.groups.keeping import Keeping, Standing
from antiphon.protocol.sessions.settings import STRONG
from antiphon.wire.body import Body, letters, pack_body, read_body
from antiphon.wire.retained import COVERED_MAX, PRODUCERS_MAX, KeptState, walk
from tests.unit.protocol.groups.hall import Daemon, Hall

KEPT = RetainSettings((KeepRule("g*"),))


def branch(epoch: int) -> Branch:
    return Branch(ConfigId(epoch, DaemonId(1), Incarnation(1), epoch), 0)


class ListeningGroups(Groups):
    """Remembers what it has the daemon keep."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kept: list[Keep] = []

    def handle(self, now: int, event: Word | Wakeup) -> list[Word]:
        effects = super().handle(now, event)
        self.kept += [effect for effect in effects if isinstance(effect, Keep)]
        return effects


class KeepingDaemon(Daemon):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.groups = ListeningGroups(self.member, Level.ALL, KEPT)


@pytest.fixture
def hall(monkeypatch: pytest.MonkeyPatch) -> Hall:
    monkeypatch.setattr("tests.unit.protocol.groups.hall.Daemon", KeepingDaemon)
    made = Hall(3)
    made.open(11)
    made.open(31)
    return made


def kept(hall: Hall, number: int) -> list[Keep]:
    daemon = hall.daemons[number]
    assert isinstance(daemon.groups, ListeningGroups)
    return daemon.groups.kept


def keyed(hall: Hall, session: int, producer: str, key: int, *payloads: bytes) -> None:
    zeros = (0,) * len(payloads)
    body = pack_body((("g",),), zeros, zeros, payloads, "", False, producer, key)
    hall.ask(session, Multicast(session, Service.AGREED, len(payloads), body))
    hall.order()


def payloads(hall: Hall, session: int) -> list[bytes]:
    told = hall.of(session).told(session, Message)
    found = [letters(news) for news in told if isinstance(news, Message)]
    return [letter.payload for some in found for letter in some]


def test_all_daemons_keep_the_same_bytes_also_without_members(hall: Hall) -> None:
    """K1."""
    hall.send(11, "g")
    hall.send_bundle(31, [(("g",), b"a"), (("other",), b"b"), (("g", "other"), b"c")])
    entries = [keep.entry for keep in kept(hall, 1)]
    assert (
        [keep.entry for keep in kept(hall, 2)] == [keep.entry for keep in kept(hall, 3)] == entries
    )
    read = [entry for raw in entries for entry in walk(raw)]
    assert [(entry.sequence, entry.count, entry.number) for entry in read] == [
        (1, 1, 1),
        (2, 1, 1),
        (3, 1, 3),
    ]


@pytest.mark.parametrize("service", [one for one in Service if one < Service.AGREED])
def test_weaker_services_are_not_kept(hall: Hall, service: Service) -> None:
    hall.send(11, "g", service=service)
    assert kept(hall, 1) == []


def test_a_branch_begins_with_each_configuration_and_names_what_led_to_it(hall: Hall) -> None:
    hall.send(11, "g")
    hall.install(1, 2)
    hall.install(3)
    hall.send(11, "g")
    hall.send(31, "g")
    hall.install(1, 2, 3)
    hall.send(11, "g")
    first, second, last = kept(hall, 1)
    other = kept(hall, 3)[1]
    assert first.before == () and second.before == other.before == ((first.branch, 1),)
    assert len({first.branch, second.branch, other.branch, last.branch}) == 4
    assert last.before == tuple(sorted(((second.branch, 1), (other.branch, 1))))
    assert [keep.entry for keep in kept(hall, 3)[2:]] == [last.entry]
    assert last.part and last.sequence == 1


def test_a_side_that_wrote_nothing_is_no_branch(hall: Hall) -> None:
    hall.send(11, "g")
    hall.install(1, 2)
    hall.install(3)
    hall.send(11, "g")
    hall.install(1, 2, 3)
    hall.send(31, "g")
    assert kept(hall, 3)[1].before == ((kept(hall, 1)[1].branch, 1),)
    standing = hall.daemons[3].groups.keeping.standing("g")
    assert standing.covered[kept(hall, 3)[0].branch] == 1


def test_a_repeat_reaches_nobody(hall: Hall) -> None:
    """K3."""
    hall.join(31, "g")
    keyed(hall, 11, "q", 5, b"five", b"six")
    keyed(hall, 11, "q", 4, b"four", b"five", b"six", b"seven")
    keyed(hall, 31, "q", 7, b"seven")
    keyed(hall, 31, "r", 5, b"another's five")
    assert payloads(hall, 31) == [b"five", b"six", b"seven", b"another's five"]
    keys = [
        (one.producer, one.key, one.count) for keep in kept(hall, 2) for one in walk(keep.entry)
    ]
    assert keys == [("q", 5, 2), ("q", 7, 1), ("r", 5, 1)]


def test_marks_are_exchanged(hall: Hall) -> None:
    """K3: after a merge the higher mark holds, also for a daemon that is new."""
    hall.install(1, 2)
    hall.install(3)
    keyed(hall, 11, "q", 0, b"zero", b"one")
    keyed(hall, 31, "q", 0, b"zero")
    hall.install(1, 2, 3)
    hall.join(31, "g")
    keyed(hall, 31, "q", 1, b"one", b"two")
    assert payloads(hall, 31) == [b"two"]


def test_the_producer_that_was_silent_longest_is_forgotten_first() -> None:
    standing = Standing()
    for number in range(PRODUCERS_MAX + 1):
        standing.skip(f"p{number}", 1, 1)
        standing.skip("p0", number, 1)
    assert standing.skip("p0", 3, 1) == 1
    assert standing.skip("p1", 1, 1) == 0, "it was forgotten"


def test_only_the_last_branches_stay_covered() -> None:
    standing = Standing()
    for epoch in range(1, COVERED_MAX + 5):
        standing.tips = {branch(epoch): 1}
        standing.enter(branch(epoch + 1))
    assert list(standing.covered) == [branch(epoch) for epoch in range(5, COVERED_MAX + 5)]


def test_of_several_pasts_the_highest_hold_and_what_is_covered_is_no_tip() -> None:
    a, b, c = map(branch, (1, 2, 3))
    standing = Standing()
    standing.load(
        [
            KeptState("g", ((a, 5),), (), (("q", 3),)),
            KeptState("g", ((b, 7),), ((a, 9),), (("q", 2), ("r", 1))),
            KeptState("g", ((b, 6), (c, 1)), ((a, 4),), ()),
        ]
    )
    assert standing.tips == {b: 7, c: 1}
    assert standing.covered == {a: 9}
    assert standing.marks == {"q": 3, "r": 1}


def test_only_what_all_must_see_goes_everywhere(hall: Hall) -> None:
    groups = hall.daemons[1].groups
    for table, service, producer, expected in (
        ((("g",),), Service.AGREED, "", True),
        ((("other", "g"),), Service.SAFE, "", True),
        ((("other",),), Service.AGREED, "", False),
        ((("other",),), Service.AGREED, "q", True),
        ((("g",),), Service.CAUSAL, "", False),
        ((("#g#1",),), Service.AGREED, "", False),
    ):
        body = pack_body(table, (0,), (0,), (b"x",), "", False, producer, 1)
        ask = Ask(STRONG, Multicast(11, service, 1, body))
        submit = groups.handle(0, ask)[-1]
        assert isinstance(submit, Submit)
        assert submit.bundle.everywhere is expected, table


def keyed_body(group: str, producer: str) -> Body:
    body = pack_body(((group,),), (0,), (0,), (b"x",), "", False, producer, 1)
    return read_body(body, 1)


def test_groups_that_are_only_keyed_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping_module, "STANDINGS_MAX", 3)
    keeping = Keeping(KEPT)
    for group in ("g1", "a", "g2", "b"):
        keeping.repeats(keyed_body(group, "q"), 1)
    assert [state.group for state in keeping.states()] == ["b", "g1", "g2"], "a was first to go"
    assert keeping.repeats(keyed_body("a", "q"), 1) == 0, "it was forgotten"
    keeping.repeats(keyed_body("g3", "q"), 1)
    keeping.repeats(keyed_body("g4", "q"), 1)
    assert [state.group for state in keeping.states()] == ["g1", "g2", "g3"]


def test_marks_of_all_groups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping_module, "MARK_BYTES_MAX", 3 * (keeping_module.MARK_BYTES + 1))
    keeping = Keeping(KEPT)
    for group, producer in (("a", "p"), ("a", "q"), ("b", "p"), ("c", "p")):
        keeping.repeats(keyed_body(group, producer), 1)
    marks = {state.group: dict(state.marks) for state in keeping.states()}
    assert marks == {"a": {"q": 1}, "b": {"p": 1}, "c": {"p": 1}}
    keeping.join(keeping.states() * 2)
    assert {state.group: dict(state.marks) for state in keeping.states()} == marks
