"""Stories without a fault: a judge that sees one here is wrong itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from antiphon.check import judge
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind
from tests.unit.check.story import Pair, Story


def partition_and_merge() -> Pair:
    """Two daemons part with messages under way, go on alone, and meet again."""
    story = Pair()
    one, two, ann, bob = story.everybody
    for service in Service:
        story.say(service)
        story.say(service, by=bob)
    lost = story.send(bob, Service.SAFE, "g")
    story.turn(one, along=(one,))
    story.signal("g", ann)
    kept = story.send(ann, Service.SAFE, "g")
    story.receive(kept, one, ann)
    story.install(one)
    story.change("g", ann)
    story.turn(two, along=(two,))
    story.signal("g", bob)
    story.receive(lost, two, bob)
    story.install(two)
    story.change("g", bob)
    alone = story.send(ann, Service.AGREED, "g")
    story.receive(alone, one, ann)
    story.install(one, two)
    story.change("g", ann, bob)
    for service in Service:
        story.say(service)
    return story


def group_life() -> Pair:
    """Join, leave and disconnect, an outsider who sends, and a sender who discards."""
    story = Pair()
    one, two, ann, bob = story.everybody
    cid = story.session(two, 2)
    outside = story.send(cid, Service.SAFE, "g", "empty")
    story.receive(outside, one, two, ann, bob)
    story.join("g", cid)
    discarded = story.send(ann, Service.CAUSAL, "g", detail="discard")
    story.receive(discarded, one, two, bob, cid)
    private = story.send(ann, Service.FIFO, "#cid#2")
    story.deliver(private, one, two)
    story.hand(private, cid, groups=("#cid#2",), views=(None,))
    story.leave("g", bob)
    story.close(cid)
    story.change("g", ann, cause=Cause.DISCONNECT)
    return story


def crash_and_restart() -> Pair:
    """A daemon crashes with messages under way and comes back in another life."""
    story = Pair()
    one, two, ann, bob = story.everybody
    story.send(bob, Service.SAFE, "g")
    story.submit(bob, Service.RELIABLE, "g")
    story.stop(two)
    mine = story.send(ann, Service.AGREED, "g")
    story.turn(one, along=(one,))
    story.signal("g", ann)
    story.receive(mine, one, ann)
    story.install(one)
    story.change("g", ann)
    again = story.daemon(2, life=2)
    story.install(again)
    story.install(one, again)
    return story


def quiet_end() -> Pair:
    """Faults are over, everything settles, and who reaches whom is told."""
    story = Pair()
    story.go_on()
    one, two = story.one, story.two
    story.tell(Kind.QUIET, one)
    story.time += 1000
    story.say(Service.SAFE)
    story.time += 1000
    for member in (one, two):
        story.tell(Kind.BUFFERS, member, value=8, limit=8)
        story.tell(Kind.REACH, member, members=(one, two))
    return story


STORIES = [partition_and_merge, group_life, crash_and_restart, quiet_end]


@pytest.mark.parametrize("tell", STORIES)
@pytest.mark.parametrize("ended", [True, False])
def test_a_story_without_fault_breaks_no_promise(tell: type[Pair], ended: bool) -> None:
    assert tell().violations(ended) == []


@pytest.mark.parametrize("tell", STORIES)
def test_no_beginning_of_a_story_without_fault_breaks_a_promise(tell: type[Pair]) -> None:
    records = tell().records
    for length in range(len(records)):
        assert judge(records[:length], ended=False) == []


def test_no_record_breaks_no_promise() -> None:
    assert judge([]) == []


def test_records_of_another_profile_are_left_to_its_own_judges() -> None:
    story = Pair()
    message = story.say(Service.AGREED)
    story.deliver(message, story.one, profile="regional")
    assert story.broken() == []


def test_a_violation_names_promise_process_time_and_story() -> None:
    story = Pair()
    message = story.say(Service.AGREED)
    story.deliver(message, story.two)
    (violation,) = story.violations()
    assert violation.promise == "D1"
    assert violation.process == "daemon 2/1"
    assert violation.time == story.time
    assert "agreed message 1/1/1:1" in violation.text


def test_violations_are_the_same_under_any_hash_seed() -> None:
    program = (
        "from tests.unit.check.test_judge import partition_and_merge as tell;"
        "from antiphon.check import judge;"
        "records = tell().records;"
        "print([judge(records[:at] + records[at + 1:]) for at in range(len(records))])"
    )
    root = str(Path(__file__).parents[3])
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}:{root}/src"},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert "D1" in outputs.pop()


def test_a_story_helper_that_tells_nothing_is_noticed() -> None:
    assert len(partition_and_merge().records) > 100
    assert Story().violations() == []
