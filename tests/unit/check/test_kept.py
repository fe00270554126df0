"""K1 to K3: logs of kept groups, right and wrong."""

from typing import Any

from antiphon.core.ids import Member
from antiphon.core.service import Service
from antiphon.core.trace import Kind
from tests.unit.check.story import Message, Pair


class Log(Pair):
    """Two daemons that keep the group "g"."""

    def keep(self, who: Member, message: Message, sequence: int, **columns: Any) -> None:
        told = {"config": self.config[who], "groups": ("g",), "sequence": sequence}
        told |= {**self.named(message), "value": message.content}
        self.tell(Kind.KEEP, who, **{**told, **columns})

    def keep_both(self, message: Message, sequence: int, **columns: Any) -> None:
        self.keep(self.one, message, sequence, **columns)
        self.keep(self.two, message, sequence, **columns)


def test_what_is_delivered_and_kept_in_order_is_as_promised() -> None:
    story = Log()
    story.say(Service.CAUSAL)
    for sequence, service in enumerate((Service.AGREED, Service.SAFE), 1):
        story.keep_both(story.say(service), sequence)
    story.go_on()
    story.keep_both(story.say(Service.AGREED), 1)
    assert story.broken() == []


def test_two_contents_at_one_place_break_k1() -> None:
    story = Log()
    message = story.say(Service.AGREED)
    story.keep(story.one, message, 1)
    story.keep(story.two, message, 1, value=7)
    assert story.broken() == ["K1"]


def test_another_content_found_after_a_restart_breaks_k1() -> None:
    story = Log()
    message = story.say(Service.AGREED)
    story.keep_both(message, 1)
    config = story.config[story.two]
    story.stop(story.two)
    again = story.daemon(2, life=2)
    story.config[again] = config
    story.keep(again, message, 1, reason="recovered")
    assert story.broken(ended=False) == []
    story.keep(again, message, 1, reason="recovered", count=2)
    assert story.broken(ended=False) == ["K1"]


def test_a_message_that_is_left_out_breaks_k2() -> None:
    story = Log()
    story.keep_both(story.say(Service.AGREED), 1)
    second, third = story.say(Service.AGREED), story.say(Service.AGREED)
    story.keep(story.one, second, 2)
    story.keep(story.one, third, 3)
    story.keep(story.two, third, 2)
    assert "K2" in story.broken()


def test_a_message_that_is_never_kept_breaks_k2_at_the_end() -> None:
    story = Log()
    story.keep_both(story.say(Service.AGREED), 1)
    story.keep(story.one, story.say(Service.AGREED), 2)
    assert story.broken(ended=False) == []
    assert story.broken() == ["K2"]
    story.stop(story.two)
    assert story.broken() == [], "a crash excuses"


def test_a_wrong_number_breaks_k2() -> None:
    story = Log()
    story.keep_both(story.say(Service.AGREED), 2)
    assert story.broken() == ["K2"]


def test_a_message_that_was_not_delivered_breaks_k2() -> None:
    story = Log()
    message = story.say(Service.AGREED)
    story.keep_both(message, 1)
    story.keep_both(message, 2)
    assert story.broken() == ["K2"]


def test_behind_a_hole_counting_begins_anew() -> None:
    story = Log()
    story.keep_both(story.say(Service.AGREED), 1)
    story.keep_both(story.say(Service.AGREED), 1, stamp=77)
    story.keep_both(story.say(Service.AGREED), 2, stamp=77)
    assert story.broken() == []
    story.keep_both(story.say(Service.AGREED), 4, stamp=77)
    assert story.broken() == ["K2"]


def test_a_disk_that_failed_excuses_what_is_missing_but_no_wrong_place() -> None:
    story = Log()
    messages = [story.say(Service.AGREED) for _ in range(4)]
    for sequence, message in enumerate(messages, 1):
        story.keep(story.one, message, sequence)
    story.keep(story.two, messages[0], 1)
    story.tell(Kind.DROP, story.two, reason="log_write")
    story.keep(story.two, messages[2], 3)
    assert story.broken() == []
    story.keep(story.two, messages[1], 2)
    assert story.broken() == ["K2"]


def test_a_number_that_does_not_rise_breaks_k3() -> None:
    story = Log()
    story.keep_both(story.say(Service.AGREED), 1, detail="query 5")
    story.keep_both(story.say(Service.AGREED), 2, detail="query 7")
    assert story.broken() == []
    story.keep_both(story.say(Service.AGREED), 3, detail="query 7")
    assert story.broken() == ["K3"]


def test_a_repeat_that_is_handed_to_nobody_is_as_promised() -> None:
    story = Log()
    story.keep_both(story.say(Service.AGREED), 1, detail="query 5")
    again = story.send(story.ann, Service.AGREED, "g")
    story.deliver(again, story.one, story.two)
    assert "D3" in story.broken()
    for daemon in (story.one, story.two):
        story.tell(Kind.REPEAT, daemon, groups=("g",), **story.named(again))
    assert story.broken() == []
