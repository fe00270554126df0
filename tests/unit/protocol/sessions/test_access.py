"""Who may join and send where: the first rule that is about both decides."""

from antiphon.core.effects import Connect, Join, Message, Multicast, Notify, Refused, Tell, Word
from antiphon.core.ids import DaemonId, Incarnation, Member, SessionId
from antiphon.core.service import Service
from antiphon.core.trace import Level
from antiphon.protocol.sessions.access import DECISIONS_REMEMBERED, Access, AccessRule
from antiphon.protocol.sessions.sessions import Sessions
from antiphon.protocol.sessions.settings import STRONG, SessionSettings
from antiphon.wire.body import pack_body

ME = Member(DaemonId(1), Incarnation(5))
RULES = (
    AccessRule("orders.*", ("token:clerk", "uid:0"), join=True, send=True),
    AccessRule("orders.*", ("token:*",), join=True, send=False),
    AccessRule("orders.*", ("*",), join=False, send=False),
)


def test_the_first_rule_that_matches_decides_and_silence_allows() -> None:
    access = Access(RULES)
    assert access.may_join("token:clerk", "orders.eu") and access.may_send("uid:0", "orders.eu")
    assert access.may_join("token:guest", "orders.eu")
    assert not access.may_send("token:guest", "orders.eu")
    assert not access.may_join("", "orders.eu")
    assert access.may_join("", "chat") and access.may_send("", "chat")


def test_decisions_are_remembered_and_not_too_many_of_them() -> None:
    """P4."""
    access = Access(RULES)
    for number in range(2 * DECISIONS_REMEMBERED):
        assert not access.may_send("token:guest", f"orders.{number}")
        assert len(access._decided) <= DECISIONS_REMEMBERED


def told(effects: list[Word]) -> list[object]:
    return [effect.news for effect in effects if isinstance(effect, Notify)]


def desk(who: str) -> Sessions:
    sessions = Sessions(ME, SessionSettings(rules=RULES), (STRONG,), Level.OFF)
    sessions.handle(1, Connect(1, "anna", who=who))
    return sessions


def test_a_session_is_refused_what_its_rule_forbids_and_told_which_group() -> None:
    sessions = desk("token:guest")
    assert told(sessions.handle(2, Join(1, "orders.eu"))) == []
    body = pack_body((("chat", "orders.eu"),), (0,), (0,), (b"",), "anna")
    (refused,) = told(sessions.handle(3, Multicast(1, Service.AGREED, 1, body)))
    assert isinstance(refused, Refused) and refused.code == "not_allowed"
    assert "'orders.eu'" in refused.what
    (refused,) = told(desk("").handle(2, Join(1, "orders.eu")))
    assert isinstance(refused, Refused) and (refused.code, refused.group) == (
        "not_allowed",
        "orders.eu",
    )


def test_rules_can_be_changed_while_sessions_are_open() -> None:
    sessions = desk("token:guest")
    sessions.reload(SessionSettings())
    body = pack_body((("orders.eu",),), (0,), (0,), (b"",), "anna")
    assert told(sessions.handle(3, Multicast(1, Service.AGREED, 1, body))) == []


def test_nobody_sends_under_anothers_name() -> None:
    body = pack_body((("chat",),), (0,), (0,), (b"",), "ben")
    (refused,) = told(desk("").handle(3, Multicast(1, Service.AGREED, 1, body)))
    assert isinstance(refused, Refused) and refused.code == "bad_sender"


def test_bytes_that_a_client_does_not_take_cut_it_off() -> None:
    """P3, P4: few messages can be large ones."""
    settings = SessionSettings(backlog_bytes_max=1_000)
    sessions = Sessions(ME, settings, (STRONG,), Level.OFF)
    sessions.handle(1, Connect(1, "anna"))
    message = Message(SessionId(*ME, 1), 1, 1, Service.AGREED, bytes(600), False)
    assert len(told(sessions.handle(2, Tell(1, message)))) == 1
    assert [type(one).__name__ for one in told(sessions.handle(3, Tell(1, message)))] == [
        "Message",
        "Closed",
    ]
