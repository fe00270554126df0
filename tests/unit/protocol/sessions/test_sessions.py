"""Clients of a daemon: what they may ask, what is refused and why, who is cut off."""

from dataclasses import replace

import pytest

from antiphon.core.effects import (
    Ask,
    Closed,
    Connect,
    Courtesy,
    Disconnect,
    Drained,
    Emit,
    Ended,
    Flow,
    Join,
    Leave,
    Left,
    Message,
    Multicast,
    Notify,
    Opened,
    Refused,
    Taken,
    Tell,
    Word,
)
from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId, Incarnation, Member, SessionId
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Level
from antiphon.protocol.sessions.sessions import Sessions
from antiphon.protocol.sessions.settings import STRONG, SessionSettings
from antiphon.wire.body import pack_body
from antiphon.wire.changes import GROUPS_MAX
from antiphon.wire.ring import MESSAGE_BYTES_MAX

ME = Member(DaemonId(1), Incarnation(5))
SMALL = SessionSettings(
    queue_bundle_bytes=1,
    queue_bytes_low=100,
    queue_bytes_high=200,
    queue_bytes_max=400,
    backlog_max=8,
    sessions_max=3,
)


def body(*payloads: bytes, groups: tuple[str, ...] = ("alpha",)) -> bytes:
    count = len(payloads)
    return pack_body((groups,), (0,) * count, (0,) * count, payloads, "anna")


class Desk:
    """A daemon's sessions, with one client connected."""

    def __init__(
        self, settings: SessionSettings = SMALL, profiles: tuple[str, ...] = (STRONG,)
    ) -> None:
        self.sessions = Sessions(ME, settings, profiles, Level.ALL)
        self.opened = self.tell(Connect(1, "anna", 3, False))

    def tell(self, event: Word) -> list[Word]:
        return self.sessions.handle(7, event)

    def send(self, *payloads: bytes, groups: tuple[str, ...] = ("alpha",)) -> list[Word]:
        packed = body(*payloads, groups=groups)
        return self.tell(Multicast(1, Service.AGREED, len(payloads), packed))


def refusals(effects: list[Word]) -> list[str]:
    return [
        effect.news.code
        for effect in effects
        if isinstance(effect, Notify) and isinstance(effect.news, Refused)
    ]


def told(effects: list[Word], kind: type) -> list[object]:
    return [
        effect.news
        for effect in effects
        if isinstance(effect, Notify) and isinstance(effect.news, kind)
    ]


def asked(effects: list[Word]) -> list[tuple[str, object]]:
    return [(effect.profile, effect.request) for effect in effects if isinstance(effect, Ask)]


def recorded(effects: list[Word]) -> list[tuple[Kind, str]]:
    return [
        (effect.record.kind, effect.record.reason) for effect in effects if isinstance(effect, Emit)
    ]


def test_a_session_opens_in_every_profile() -> None:
    """SP-79: name, priority and whether it wants views."""
    desk = Desk(profiles=("echo", STRONG))
    opened = Opened(1, "anna", 3, False)
    assert asked(desk.opened) == [("echo", opened), (STRONG, opened)]
    assert recorded(desk.opened) == [(Kind.OPEN, "")]


@pytest.mark.parametrize(
    "name",
    ["", "n" * 65, "ä" * 33, "an#na", "an\nna", "\ud800"],
    ids=["empty", "long", "long in bytes", "mark", "control character", "not text"],
)
def test_a_bad_name_is_refused_and_the_session_closed(name: str) -> None:
    effects = Desk().tell(Connect(2, name))
    assert refusals(effects) == ["bad_name"]
    assert told(effects, Closed) == [Closed("bad_name")]
    assert asked(effects) == []


@pytest.mark.parametrize("name", ["n" * 64, "ä" * 32, "ann a"])
def test_a_name_of_the_largest_size_is_accepted(name: str) -> None:
    assert refusals(Desk().tell(Connect(2, name))) == []


def test_a_name_in_use_is_refused_and_free_after_the_session_ended() -> None:
    desk = Desk()
    assert refusals(desk.tell(Connect(2, "anna"))) == ["name_in_use"]
    desk.tell(Disconnect(1))
    assert refusals(desk.tell(Connect(3, "anna"))) == []


def test_a_full_daemon_refuses_one_more() -> None:
    """P4."""
    desk = Desk()
    for number in (2, 3):
        assert refusals(desk.tell(Connect(number, f"n{number}"))) == []
    assert refusals(desk.tell(Connect(4, "late"))) == ["too_many_sessions"]


@pytest.mark.parametrize(
    "group",
    ["", "g" * 256, "ü" * 128, "a\nb", "#anna#1", "a#b"],
    ids=["empty", "long", "long in bytes", "control character", "private", "mark"],
)
def test_a_group_that_cannot_be_joined_is_refused(group: str) -> None:
    """SP-34, SP-234: with a code, what is wrong, and a remedy."""
    effects = Desk().tell(Join(1, group))
    (news,) = told(effects, Refused)
    assert isinstance(news, Refused)
    assert news.code == "bad_group" and news.what and news.remedy
    assert recorded(effects) == [(Kind.REFUSE, "bad_group")]
    assert asked(effects) == []


@pytest.mark.parametrize("group", ["g", "g" * 255, "ü" * 127, "a b/c.d"])
def test_a_group_name_within_the_limits_is_joined(group: str) -> None:
    """SP-34, SP-81."""
    assert asked(Desk().tell(Join(1, group))) == [(STRONG, Join(1, group))]


def test_a_group_is_joined_once_and_left_once() -> None:
    """SP-81, SP-82."""
    desk = Desk(SessionSettings())
    desk.tell(Join(1, "alpha"))
    assert refusals(desk.tell(Join(1, "alpha"))) == ["already_joined"]
    assert asked(desk.tell(Leave(1, "alpha"))) == [(STRONG, Leave(1, "alpha"))]
    assert refusals(desk.tell(Leave(1, "alpha"))) == ["not_joined"]
    assert asked(desk.tell(Join(1, "alpha"))) == [(STRONG, Join(1, "alpha"))]


def test_a_non_member_may_multicast() -> None:
    """SP-92, D8: open groups."""
    effects = Desk().send(b"hello", groups=("never joined",))
    assert [request for _, request in asked(effects)] == [
        Multicast(1, Service.AGREED, 1, body(b"hello", groups=("never joined",)))
    ]


@pytest.mark.parametrize(
    ("groups", "code"),
    [(("a\tb",), "bad_group"), (("fine", "b#c"), "bad_group")],
)
def test_a_message_to_a_bad_group_is_refused(groups: tuple[str, ...], code: str) -> None:
    effects = Desk().send(b"hello", groups=groups)
    assert refusals(effects) == [code]
    assert asked(effects) == []


def test_a_private_group_is_a_destination() -> None:
    assert len(asked(Desk().send(b"hello", groups=("#anna#1",)))) == 1


def test_a_body_that_cannot_be_read_is_refused() -> None:
    desk = Desk()
    for packed, code in (
        (b"", "bad_field"),
        (b"\0" * 6, "malformed"),
        (body(b"one") + b"x", "wrong_size"),
    ):
        effects = desk.tell(Multicast(1, Service.AGREED, 1, packed))
        assert refusals(effects) == [code]
        assert asked(effects) == []


def test_a_body_of_no_messages_is_refused() -> None:
    assert refusals(Desk().send()) == ["bad_field"]


def test_a_message_of_the_largest_size_is_accepted_and_a_larger_one_refused() -> None:
    """SP-99: 16 MB."""
    desk = Desk(SessionSettings())
    assert len(asked(desk.send(bytes(MESSAGE_BYTES_MAX)))) == 1
    effects = desk.send(bytes(MESSAGE_BYTES_MAX + 1))
    assert refusals(effects) == ["too_long"]
    assert asked(effects) == []


def test_a_bundle_larger_than_receivers_assemble_is_refused() -> None:
    """P2: it would never come, and the order would stand still behind it. Each message of
    it may be sent alone."""
    desk = Desk(SessionSettings())
    half = bytes(MESSAGE_BYTES_MAX * 3 // 4)
    assert refusals(desk.send(half, half)) == ["too_long"]
    assert refusals(desk.send(half)) == []


def test_a_bundle_of_more_messages_than_a_packet_can_say_is_refused() -> None:
    desk = Desk(SessionSettings())
    assert refusals(desk.send(*(b"" for _ in range(65_535)))) == []
    assert refusals(desk.send(*(b"" for _ in range(65_536)))) == ["bad_field"]


def test_a_session_with_much_waiting_is_asked_to_pause_and_later_to_go_on() -> None:
    """P4: said once each."""
    desk = Desk()
    size = len(body(bytes(60)))
    flows = [told(desk.send(bytes(60)), Flow) for _ in range(4)]
    assert flows == [[], [], [Flow(False)], []]
    flows = [told(desk.tell(Taken(1, size)), Flow) for _ in range(4)]
    assert flows == [[], [], [Flow(True)], []]


def test_short_bundles_count_as_longer_ones_in_and_out() -> None:
    desk = Desk(replace(SMALL, queue_bundle_bytes=90))
    flows = [told(desk.send(b"x"), Flow) for _ in range(3)]
    assert flows == [[], [], [Flow(False)]]
    desk.sessions.reload(SMALL)
    flows = [told(desk.tell(Taken(1, len(body(b"x")))), Flow) for _ in range(3)]
    assert flows == [[], [Flow(True)], []]


def test_a_session_that_goes_on_regardless_is_refused() -> None:
    """P4: its queue is bounded."""
    desk = Desk()
    desk.send(bytes(400))
    effects = desk.send(b"more")
    assert refusals(effects) == ["queue_full"]
    assert asked(effects) == []


def test_requests_of_a_session_that_is_gone_are_ignored() -> None:
    desk = Desk()
    desk.tell(Disconnect(1))
    for late in (Join(1, "g"), Leave(1, "g"), Disconnect(1), Drained(1, 1), Taken(1, 1)):
        assert desk.tell(late) == []
    assert desk.tell(Tell(1, Left("g"))) == []
    assert desk.send(b"late") == []


def test_a_disconnect_ends_the_session_in_every_profile() -> None:
    """SP-80."""
    desk = Desk(profiles=("echo", STRONG))
    effects = desk.tell(Disconnect(1))
    assert told(effects, Closed) == [Closed("client")]
    assert asked(effects) == [("echo", Ended(1)), (STRONG, Ended(1))]
    assert recorded(effects) == [(Kind.CLOSE, "client")]


def test_a_slow_session_is_cut_off_with_its_cause() -> None:
    """P3: its queue is bounded; it leaves by one ordered message like any other."""
    desk = Desk()
    effects: list[Word] = []
    for _ in range(SMALL.backlog_max):
        assert effects == [] or told(effects, Closed) == []
        effects = desk.tell(Tell(1, Left("g")))
    assert told(effects, Closed) == [Closed("slow")]
    assert asked(effects) == [(STRONG, Ended(1))]
    closing = [
        effect.record
        for effect in effects
        if isinstance(effect, Emit) and effect.record.kind == Kind.CLOSE
    ]
    assert [(row.reason, row.value, row.limit) for row in closing] == [("slow", 8, 8)]


def test_a_session_that_takes_its_news_is_not_cut_off() -> None:
    """P3."""
    desk = Desk()
    for _ in range(10 * SMALL.backlog_max):
        assert told(desk.tell(Tell(1, Left("g"))), Closed) == []
        desk.tell(Drained(1, 1))


def test_a_slow_session_costs_the_others_nothing() -> None:
    """P3."""
    desk = Desk()
    desk.tell(Connect(2, "bert"))
    for _ in range(SMALL.backlog_max + 3):
        desk.tell(Tell(1, Left("g")))
    assert desk.tell(Tell(2, Left("g"))) == [Notify(2, Left("g"))]


def test_a_client_cannot_drain_more_than_it_has() -> None:
    """P3: no credit for later."""
    desk = Desk()
    desk.tell(Drained(1, 1_000))
    closed = [told(desk.tell(Tell(1, Left("g"))), Closed) for _ in range(SMALL.backlog_max)]
    assert closed[-1] == [Closed("slow")]


def news(size: int, session: int = 1) -> Tell:
    origin = SessionId(*ME, 9)
    return Tell(session, Message(origin, 1, 1, Service.AGREED, bytes(size), False))


def waits(effects: list[Word]) -> list[int]:
    return [effect.until for effect in effects if isinstance(effect, Courtesy)]


POLITE = SessionSettings(courtesy_bytes=1_000, courtesy_us=50)


def test_others_wait_for_a_client_until_it_has_taken_half() -> None:
    """P3: not as long as it likes."""
    desk = Desk(POLITE)
    assert waits(desk.tell(news(999))) == []
    assert waits(desk.tell(news(1))) == [7 + 50]
    assert waits(desk.tell(news(5_000))) == []  # once
    assert waits(desk.tell(Drained(1, 1, 5_000))) == []
    assert waits(desk.tell(Drained(1, 1, 501))) == [0]
    assert waits(desk.tell(news(501))) == [57]


def test_who_is_cut_off_or_leaves_is_not_waited_for() -> None:
    """P3."""
    desk = Desk(POLITE)
    desk.tell(Connect(2, "bert"))
    desk.tell(news(1_000))
    assert waits(desk.sessions.handle(20, news(1_000, session=2))) == [70]
    assert waits(desk.tell(Disconnect(2))) == [57]
    assert waits(desk.tell(Disconnect(1))) == [0]


def test_courtesy_can_be_switched_off() -> None:
    desk = Desk(replace(POLITE, courtesy_bytes=0))
    assert waits(desk.tell(news(1_000_000))) == []
    assert waits(desk.tell(Drained(1, 1, 1_000_000))) == []


def test_groups_of_two_profiles_do_not_go_into_one_message() -> None:
    settings = SessionSettings(profiles=(("echo.*", "echo"),))
    desk = Desk(settings, ("echo", STRONG))
    assert [profile for profile, _ in asked(desk.send(b"m", groups=("echo.a", "echo.b")))] == [
        "echo"
    ]
    assert [profile for profile, _ in asked(desk.send(b"m", groups=("alpha",)))] == [STRONG]
    assert refusals(desk.send(b"m", groups=("echo.a", "alpha"))) == ["bad_group"]


def test_the_first_matching_pattern_chooses_the_profile() -> None:
    settings = SessionSettings(profiles=(("a*", "one"), ("ab*", "two")))
    assert [settings.profile_of(name) for name in ("abc", "a", "b")] == ["one", "one", STRONG]


def test_queue_limits_that_do_not_rise_are_a_mistake_of_the_configuration() -> None:
    with pytest.raises(ConfigError):
        SessionSettings(queue_bytes_low=10, queue_bytes_high=10)
    with pytest.raises(ConfigError):
        SessionSettings(queue_bytes_high=20, queue_bytes_low=1, queue_bytes_max=10)


def test_a_session_is_in_no_more_groups_than_a_group_state_can_tell() -> None:
    """P4, P1: one client must not stop all daemons."""
    desk = Desk()
    refused = [refusals(desk.tell(Join(1, f"g{number}"))) for number in range(GROUPS_MAX + 1)]
    assert refused[-1] != []


def test_a_session_that_joins_and_leaves_without_end_is_asked_to_pause() -> None:
    """P4: group changes wait for the token like messages, and take memory meanwhile."""
    desk = Desk()
    effects: list[Word] = []
    for _ in range(1_000):
        effects += desk.tell(Join(1, "alpha")) + desk.tell(Leave(1, "alpha"))
    assert told(effects, Flow) or refusals(effects)
