"""Who is late, and what never comes: seen by one leader, from what others report."""

from dataclasses import replace

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Late, Trouble, Word
from antiphon.core.ids import NOBODY, ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.core.service import Service
from antiphon.protocol.stream.lookout import Lookout
from antiphon.protocol.stream.settings import StreamSettings
from antiphon.protocol.stream.source import Source
from antiphon.wire.reports import StreamReport

MEMBERS = tuple(Member(DaemonId(number), Incarnation(1)) for number in (10, 20, 30))
CONFIGURATION = Configuration(
    ConfigId(1, *MEMBERS[0], 1), MEMBERS, tuple((member,) for member in MEMBERS)
)
SETTINGS = replace(StreamSettings(), slow_site_us=4 * SECOND)


def lookout(settings: StreamSettings = SETTINGS, leading: bool = True) -> Lookout:
    return Lookout(settings, CONFIGURATION, 0, leading)


def told(segment: int, floor: int, held: int) -> dict[int, StreamReport]:
    return {segment: StreamReport(segment, 1, 0, floor, held, 0, 0, 0, (0, 0, 0))}


def watch(
    lookout: Lookout, seconds: int, second: tuple[int, int], third: tuple[int, int]
) -> list[Word]:
    """Our stamps rise by one in each step of 100 ms, the others' as they are told."""
    said: list[Word] = []
    for step in range(seconds * 10):
        now = step * 100 * MILLISECOND
        fronts = [(max(0, step - floor), max(0, step - held)) for floor, held in (second, third)]
        reports = told(1, *fronts[0]) | told(2, *fronts[1])
        said += lookout.look(now, [], reports, step)
    return said


def test_a_segment_that_is_far_is_not_late() -> None:
    assert watch(lookout(), 20, (5, 10), (8, 16)) == []


def test_a_segment_that_stays_behind_is_late() -> None:
    """SP-129 by policy: it holds, or has heard of, nothing that is younger than the limit."""
    said = watch(lookout(), 20, (1, 3), (60, 60))
    assert said[0] == Late((DaemonId(30),))
    assert isinstance(said[1], Trouble)
    assert said[1].reason == "slow_site" and said[1].accused == 30 and "ms ago" in said[1].detail
    assert len(said) == 2, "told once"


def test_who_waits_for_another_is_not_late() -> None:
    """What the third has not heard of the second cannot hold."""
    said = watch(lookout(), 20, (1, 62), (60, 62))
    assert [word for word in said if isinstance(word, Late)] == [Late((DaemonId(30),))]


def test_who_has_heard_of_all_and_holds_little_is_late() -> None:
    said = watch(lookout(), 20, (1, 3), (1, 60))
    assert [word.accused for word in said if isinstance(word, Trouble)] == [30]


def test_a_segment_that_never_said_anything_is_late() -> None:
    look, said = lookout(), list[Word]()
    for step in range(100):
        said += look.look(step * 100 * MILLISECOND, [], told(1, step, step), step)
    assert [word.accused for word in said if isinstance(word, Trouble)] == [30]


def test_quiet_is_not_late() -> None:
    look = lookout()
    reports = told(1, 7, 7) | told(2, 7, 7)
    assert all(look.look(second * SECOND, [], reports, 7) == [] for second in range(60))


def test_only_leaders_judge_and_only_if_it_is_policy() -> None:
    assert watch(lookout(StreamSettings()), 20, (1, 1), (90, 90)) == []
    assert watch(lookout(leading=False), 20, (1, 1), (90, 90)) == []


def test_nobody_is_late_because_i_stood_still() -> None:
    look = lookout()
    look.look(0, [], told(1, 1, 1) | told(2, 1, 1), 5)
    look.skip(30 * SECOND)
    assert look.look(30 * SECOND + MILLISECOND, [], told(1, 1, 1) | told(2, 1, 1), 5) == []


def bundle(sequence: int) -> Bundle:
    made = Bundle(MEMBERS[1], 1, sequence, 1, Service.AGREED, b"")
    made.sequence, made.stamp, made.previous, made.segment = sequence, sequence, 0, 1
    return made


def test_what_was_told_of_and_never_comes_is_trouble() -> None:
    """SP-154 for the stream of another segment."""
    look, source = lookout(StreamSettings()), Source(1, 0)
    source.learn(3, 3, 3)
    said: list[Word] = []
    for step in range(100):
        if step == 40:
            assert source.add(bundle(1), 0), "something came: it is asked again from here"
        before = len(said)
        said += look.look(step * 100 * MILLISECOND, [source], {}, 0)
        assert step > 100 or len(said) == before
    assert source.lacks
    for step in range(100, 110):
        said += look.look(step * 100 * MILLISECOND, [source], {}, 0)
    assert [(word.reason, word.accused) for word in said if isinstance(word, Trouble)] == [
        ("receive_failure", NOBODY)
    ]


def test_what_comes_late_is_no_trouble() -> None:
    look, source = lookout(StreamSettings()), Source(1, 0)
    source.learn(1, 1, 1)
    assert look.look(0, [source], {}, 0) == []
    assert source.add(bundle(1), 0)
    assert all(look.look(at * SECOND, [source], {}, 0) == [] for at in range(1, 20))
