"""What a daemon tells of its own work, in numbers."""

from collections import Counter
from random import Random

import pytest

from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import NEVER, SECOND
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.tally import IDLE_US, Tally
from antiphon.sim.swarm import draw
from antiphon.sim.trial import play
from antiphon.wire.packet import Envelope, Tag

ME = Member(DaemonId(1), Incarnation(2))
ENVELOPE = Envelope(7, ME)
PEER = DaemonId(3)


class Daemon:
    """What the tally asks of a node."""

    def __init__(self, level: Level = Level.VIEWS) -> None:
        self.tally = Tally(ME, level)
        self.submitted = (0, 0)
        self.links: dict[DaemonId, Counter[str]] = {}

    def sends(self, tag: Tag, size: int) -> None:
        self.tally.note(ENVELOPE.head(tag) + bytes(size))

    def tell(self, now: int) -> list[Record]:
        figures = {"submitted": self.submitted}
        told = self.tally.tell(now, figures, self.links, {PEER: 5_000} if self.links else {})
        return [word.record for word in told]


def test_rows_tell_what_is_new() -> None:
    one = Daemon()
    assert one.tell(5) == []
    one.sends(Tag.DATA, 100)
    one.sends(Tag.DATA, 50)
    one.submitted = (4, 140)
    [row] = one.tell(SECOND + 5)
    assert (row.kind, row.node, row.peer, row.value) == (Kind.COUNTS, 1, 0, SECOND)
    assert row.detail == "data=2/202 submitted=4/140"
    one.sends(Tag.PROPOSE, 0)
    [row] = one.tell(3 * SECOND)
    assert (row.detail, row.value) == ("propose=1/26", 2 * SECOND - 5)


def test_an_idle_daemon_tells_seldom_and_loses_nothing() -> None:
    one = Daemon()
    one.tell(0)
    for second in range(1, 9):
        one.sends(Tag.TOKEN, 0)
        assert one.tell(second * SECOND) == []
    [row] = one.tell(IDLE_US)
    assert (row.detail, row.value) == ("token=8/208", IDLE_US)


def test_a_link_has_a_row_of_its_own() -> None:
    one = Daemon()
    one.tell(0)
    one.links[PEER] = Counter(objects=8, object_repeats=1)
    one.submitted = (1, 10)
    _, row = one.tell(SECOND)
    assert (row.peer, row.detail) == (PEER, "object_repeats=1 objects=8 round_trip_us=5000")
    one.submitted = (2, 20)
    assert [row.peer for row in one.tell(2 * SECOND)] == [0]  # it did nothing


def test_nobody_asks_where_nothing_is_recorded() -> None:
    assert Daemon(Level.OFF).tally.due == NEVER


@pytest.mark.parametrize("seed", [Random(5).randrange(1_000)])
def test_a_run_counts_its_messages_once(seed: int) -> None:
    """Of daemons that lived to the end; the last second is not told."""
    run, _ = play(draw(seed))
    told: Counter[tuple[int, int]] = Counter()
    made: Counter[tuple[int, int]] = Counter()
    upto: dict[tuple[int, int], int] = {}
    for row in run.records:
        if row.kind is Kind.COUNTS and not row.peer:
            life = (row.node, row.incarnation)
            upto[life] = row.time
            words = dict(word.split("=") for word in row.detail.split())
            told[life] += int(words.get("submitted", "0/0").partition("/")[0])
    for row in run.records:
        if row.kind is Kind.SUBMIT and row.detail != "change":
            life = (row.node, row.incarnation)
            made[life] += row.count * (row.time < upto.get(life, 0))
    assert sum(told.values()) > 50
    assert {life: told[life] for life in told if told[life]} == {
        life: made[life] for life in made if made[life]
    }
