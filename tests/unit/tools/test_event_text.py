"""Events as lines and as objects."""

import json

import msgspec
import pytest

from antiphon.client.events import (
    Closed,
    Event,
    Gap,
    GroupGap,
    Left,
    Message,
    Participant,
    Refusal,
    Transition,
    View,
)
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, SessionId, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.tools.event_text import (
    SHOWN_CHARACTERS,
    EventText,
    event_object,
    name_of,
    payload_text,
)

ANN = SessionId(DaemonId(7), Incarnation(1), 1)
TOM = SessionId(DaemonId(8), Incarnation(1), 1)
VIEW = ViewId(ConfigId(1, DaemonId(7), Incarnation(1), 1), 1, 0)


def message(payload: bytes, transitional: bool = False) -> Message:
    return Message.alone(
        *(ANN, 1, "#ann#7", ("chat", "news"), payload, Service.AGREED, 3, VIEW, transitional)
    )


def view(cause: Cause, evidence: str = "", **members: SessionId) -> View:
    people = tuple(Participant(id, name) for name, id in members.items())
    return View("chat", VIEW, people, (ANN,), cause, evidence)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"hello", "hello"),
        ("grüße".encode(), "grüße"),
        (b"", ""),
        (b"\xff\x00", "\\xff\\x00"),
        (b"\x1b[2J", "\\x1b[2J"),
        (b"two\nlines", "two\\nlines"),
    ],
)
def test_a_payload_is_shown_on_one_line_without_control_signs(payload: bytes, text: str) -> None:
    assert payload_text(payload) == text


def test_a_long_payload_is_cut_and_its_size_told() -> None:
    shown = payload_text(b"x" * 5000)
    assert shown == "x" * SHOWN_CHARACTERS + "... (5,000 bytes)"


def test_a_session_is_called_by_its_name() -> None:
    assert name_of("#ann#7") == "ann"
    assert name_of("odd") == "odd"


def test_a_message_is_told_with_groups_and_sender() -> None:
    text = EventText()
    assert text.lines(message(b"hi")) == ["chat+news ann: hi"]
    assert text.lines(message(b"hi", True)) == ["chat+news ann (transitional): hi"]


def test_a_view_is_told_with_its_cause_and_who_came_and_went() -> None:
    text = EventText()
    assert text.lines(view(Cause.JOIN, ann=ANN)) == ["chat view {ann} join: +ann"]
    assert text.lines(view(Cause.JOIN, ann=ANN, tom=TOM)) == ["chat view {ann, tom} join: +tom"]
    assert text.lines(view(Cause.NETWORK, "tom is gone", ann=ANN)) == [
        "chat view {ann} network: -tom",
        "chat   because tom is gone",
    ]
    assert text.lines(view(Cause.NETWORK, ann=ANN)) == ["chat view {ann} network: the same"]


def test_a_group_that_was_left_is_forgotten() -> None:
    text = EventText()
    text.lines(view(Cause.JOIN, ann=ANN))
    assert text.lines(Left("chat")) == ["chat left"]
    assert text.lines(view(Cause.JOIN, ann=ANN)) == ["chat view {ann} join: +ann"]


def test_what_ends_or_breaks_is_explained() -> None:
    text = EventText()
    assert text.lines(Closed("slow")) == ["closed (slow): the client did not take its messages"]
    assert text.lines(Closed("odd")) == ["closed (odd)"]
    assert text.lines(Refusal("not_allowed", "no", "ask")) == ["refused (not_allowed): no; ask"]
    assert text.lines(Transition("chat", VIEW))[0].startswith("chat transition")
    gap = Gap("connection_lost", ANN, TOM, (GroupGap("chat", VIEW, None, VIEW, True),), 2)
    assert text.lines(gap) == [
        "gap (connection_lost): the connection to the daemon broke; this is another session",
        "chat   messages may have been missed",
        "  2 of my messages may not have been delivered",
    ]


EVENTS: list[Event] = [
    message(b"hi"),
    view(Cause.JOIN, ann=ANN),
    Transition("chat", VIEW),
    Left("chat"),
    Refusal("not_allowed", "no", "ask"),
    Gap("slow", ANN, TOM, (GroupGap("chat", None, None, None, False),), 0),
    Closed("slow"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_is_an_object_with_its_fields(event: Event) -> None:
    told = json.loads(msgspec.json.encode(event_object(event)))
    assert told["event"] == type(event).__name__.lower()
    assert set(event.__struct_fields__) <= set(told)


def test_objects_name_what_people_would_ask_for() -> None:
    told = event_object(message(b"hi"))
    assert (told["payload"], told["service"], told["name"]) == ("hi", "agreed", "ann")
    members = event_object(view(Cause.JOIN, tom=TOM))["members"]
    assert members == [{"session": TOM, "name": "tom", "private_group": "#tom#8"}]
    gap = event_object(EVENTS[5])
    assert gap["groups"][0]["group"] == "chat"


def test_a_payload_that_is_no_text_is_base64() -> None:
    told = json.loads(msgspec.json.encode(event_object(message(b"\xff\x00"))))
    assert (told["payload_base64"], "payload" in told) == ("/wA=", False)
