"""What `antiphon shell` prints when it is not on a terminal."""

import json

import pytest

from antiphon.client.events import Event, Left, Message
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.core.service import Service
from antiphon.tools.screen import Screen


def said(who: int, text: str) -> Message:
    origin = SessionId(DaemonId(who), Incarnation(1), 1)
    return Message.alone(
        *(origin, 1, f"#s{who}#{who}", ("chat",), text.encode(), Service.AGREED, 0, None, False)
    )


def test_a_run_of_one_sender_is_cut_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    events: list[Event] = [said(1, str(number)) for number in range(10, 20)]
    Screen(False, False).show([*events, said(2, "hi"), Left("chat"), said(1, "bye")])
    assert capsys.readouterr().out.splitlines() == [
        "chat s1: 10",
        "chat s1: 11",
        "chat s1: 12",
        "chat s1: 7 more messages, 14 bytes",
        "chat s2: hi",
        "chat left",
        "chat s1: bye",
    ]


def test_programs_get_every_event_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(False, True)
    screen.show([said(1, str(number)) for number in range(10)])
    screen.note("about the shell")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["payload"] for row in rows] == [str(number) for number in range(10)]


def test_complaints_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    Screen(False, False).complain("cannot")
    assert capsys.readouterr() == ("", "cannot\n")
