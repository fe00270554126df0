"""A session of Spread's protocol without I/O, against bytes written by hand."""

import pytest

from antiphon.client.errors import Refused
from antiphon.client.events import Closed, Left, Refusal
from antiphon.client.options import Address
from antiphon.client.spread.events import GroupId, Message, Transition, View
from antiphon.client.spread.options import check_options, find_daemon
from antiphon.client.spread.session import SpreadSession
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from tests.wire.test_spread_golden import (
    ALICE,
    GROUP_ID,
    GRP,
    JAVA_DELIVERED,
    JOIN,
    JOINED,
    KILL,
    LEAVE,
    REJECTED_JOIN,
    SELF_LEAVE,
    SENT,
    SURVIVED,
    TRANSITION,
    merged,
    raw,
)

HELLO = raw("05 00 01 01 05") + b"alice"
METHODS = raw("05 4e 55 4c 4c 20")
CHOICE = b"NULL" + bytes(86)
ACCEPT = raw("01 05 00 01 09") + b"#alice#d1"


def new_session(token: str = "", membership: bool = True, priority: int = 0) -> SpreadSession:
    return SpreadSession(check_options("4803", "alice", membership, priority, token, 1.0))


def open_session(membership: bool = True) -> SpreadSession:
    session = new_session(membership=membership)
    session.data_to_send()
    session.receive_data(METHODS)
    session.data_to_send()
    session.receive_data(ACCEPT)
    assert session.outcomes.pop().error is None
    return session


def joined(membership: bool = True) -> SpreadSession:
    session = open_session(membership)
    session.join("grp")
    assert session.data_to_send() == JOIN
    if membership:
        session.receive_data(JOINED)
        session.events.clear()
    session.outcomes.clear()
    return session


def test_the_worked_example_from_hello_to_message() -> None:
    """SP-79 to SP-84, with the mark of a sender of the other byte order."""
    session = new_session()
    assert session.data_to_send() == HELLO and session.data_to_send() == b""
    session.receive_data(METHODS)
    assert session.wants_to_send and session.data_to_send() == CHOICE
    session.receive_data(ACCEPT)
    assert (session.name, session.daemon, session.private_group) == ("alice", "d1", "#alice#d1")
    assert session.join("grp") == ("join", "grp")
    assert session.data_to_send() == JOIN
    session.receive_data(JOINED)
    view = View("grp", GROUP_ID, ("#alice#d1",), ("#alice#d1",), Cause.JOIN, "#alice#d1", ())
    assert [*session.events] == [view] and session.views == {"grp": view}
    assert session.outcomes[-1].key == ("join", "grp") and session.outcomes[-1].value == view
    session.multicast(["grp", "#bob#d1"], b"xy", Service.AGREED, 7, True)
    assert session.data_to_send() == SENT
    session.receive_data(JAVA_DELIVERED)
    assert session.events[-1] == Message(
        "#alice#d1", ("grp",), b"hello", Service.AGREED, -2, False, False, GROUP_ID, False
    )
    session.leave("grp")
    assert session.data_to_send() == LEAVE
    session.receive_data(SELF_LEAVE)
    assert session.events[-1] == Left("grp") and session.joined == {}
    session.goodbye()
    assert session.data_to_send() == KILL and not session.events
    session.connection_lost("connection_lost")
    assert session.ended == "connection_lost"


def test_a_transcript_is_the_same_split_at_every_byte() -> None:
    told = METHODS + ACCEPT + JOINED + JAVA_DELIVERED + TRANSITION + SENT + SURVIVED + SELF_LEAVE
    for step in (1, 2, 3, 7, 47, 48, 49, len(told)):
        session = new_session()
        for at in range(0, len(told), step):
            session.receive_data(told[at : at + step])
        names = [type(event).__name__ for event in session.events]
        assert names == ["View", "Message", "Transition", "Message", "View", "Left"]
        assert not session.ended


def test_a_transition_makes_messages_transitional_until_the_next_view() -> None:
    session = joined()
    session.receive_data(JAVA_DELIVERED + TRANSITION + JAVA_DELIVERED + SURVIVED + JAVA_DELIVERED)
    before, signal, between, view, after = session.events
    assert signal == Transition("grp", GROUP_ID)
    assert isinstance(before, Message) and isinstance(between, Message)
    assert isinstance(after, Message) and isinstance(view, View)
    assert [before.transitional, between.transitional, after.transitional] == [False, True, False]
    assert view.cause is Cause.NETWORK and view.who == ""
    assert view.together == ("#amy#d1", "#zed#d1") == view.members


def test_a_merge_tells_who_came_along() -> None:
    session = joined()
    session.receive_data(merged("24000000"))
    view = session.events[-1]
    assert isinstance(view, View)
    assert view.sets == (("#cat#d3",), ("#amy#d1", "#zed#d1", "#bob#d2"))
    assert view.together == view.sets[1]
    assert view.members == ("#amy#d1", "#zed#d1", "#bob#d2", "#cat#d3")


def test_who_joins_or_goes_is_named_and_the_others_stay_together() -> None:
    session = joined()
    bob = b"#bob#d1" + bytes(25)
    body = raw("010000000200000003000000 01000000 00000000 01000000") + bob
    top = GRP + raw("02000000 80000080 38000000") + ALICE + bob + body
    session.receive_data(raw("80110080") + top)
    came = session.events[-1]
    assert isinstance(came, View) and came.id == GroupId(1, 2, 3)
    assert (came.who, came.together, came.sets) == ("#bob#d1", ("#alice#d1",), ())
    session.receive_data(raw("80140080") + GRP + raw("01000000 80000080 38000000") + ALICE + body)
    went = session.events[-1]
    assert isinstance(went, View) and went.cause is Cause.DISCONNECT
    assert (went.who, went.members, went.together) == ("#bob#d1", ("#alice#d1",), ("#alice#d1",))


def test_a_message_to_the_private_group_is_in_no_view() -> None:
    session = joined()
    session.receive_data(JAVA_DELIVERED.replace(GRP, ALICE))
    message = session.events[-1]
    assert isinstance(message, Message) and message.view is None
    assert (message.sender_name, message.size) == ("alice", 5)


def test_without_membership_joins_and_leaves_are_done_when_sent() -> None:
    session = open_session(membership=False)
    key = session.join("grp")
    assert session.outcomes.pop().key == key and session.joined == {"grp": None}
    assert session.data_to_send() == JOIN
    session.receive_data(JAVA_DELIVERED)
    assert isinstance(session.events[-1], Message) and session.events[-1].view is None
    assert session.outcomes == []
    assert session.outcomes == [] and session.leave("grp") == ("leave", "grp")
    assert session.data_to_send() == LEAVE and session.joined == {}


def test_a_rejected_join_raises_for_who_waits_and_a_multicast_is_an_event() -> None:
    session = open_session()
    session.join("grp")
    session.receive_data(REJECTED_JOIN)
    outcome = session.outcomes.pop()
    assert outcome.key == ("join", "grp") and isinstance(outcome.error, Refused)
    session.receive_data(REJECTED_JOIN.replace(raw("80010080"), raw("90000080")))
    assert isinstance(session.events[-1], Refusal) and session.events[-1].code == "not_allowed"
    session.join("grp")  # nothing is under way any more


@pytest.mark.parametrize(
    "told, code",
    [
        (b"\xfd", "too_many_sessions"),
        (b"\xfb", "bad_name"),
        (b"\xfa", "name_in_use"),
        (b"\xf9", "client_version"),
        (METHODS + b"\xf7", "not_authenticated"),
        (METHODS + b"\xfa", "name_in_use"),
        (b"\x06PWORD ", "not_authenticated"),
        (b"\x00\xf7", "not_authenticated"),
    ],
)
def test_every_rejection_has_a_code_of_ours(told: bytes, code: str) -> None:
    session = new_session()
    session.receive_data(told)
    error = session.outcomes.pop().error
    assert isinstance(error, Refused) and (error.code, session.ended) == (code, code)
    assert session.data_to_send() == b""


def test_a_token_is_sent_if_the_daemon_knows_tokens() -> None:
    session = new_session(token="geheim")
    session.data_to_send()
    session.receive_data(b"\x0bNULL TOKEN ")
    assert session.data_to_send() == b"TOKEN" + bytes(85) + b"\x06geheim"
    session.receive_data(b"\xf7")
    error = session.outcomes.pop().error
    assert isinstance(error, Refused) and error.code == "bad_token"
    stock = new_session(token="geheim")
    stock.data_to_send()
    stock.receive_data(METHODS)
    error = stock.outcomes.pop().error
    assert isinstance(error, Refused) and error.code == "bad_token"
    assert stock.data_to_send() == b"", "a secret is told only to who asks for it"


def test_method_ip_is_chosen_if_it_must_be() -> None:
    session = new_session()
    session.data_to_send()
    session.receive_data(b"\x03IP ")
    assert session.data_to_send() == b"IP" + bytes(88)


def test_priority_wants_a_daemon_that_knows_it() -> None:
    """SP-79."""
    session = new_session(priority=1)
    assert session.data_to_send() == raw("05 00 01 11 05") + b"alice"
    session.receive_data(METHODS + raw("01 03 07 01 09") + b"#alice#d1")
    error = session.outcomes.pop().error
    assert isinstance(error, Refused) and error.code == "client_version"


def test_a_daemon_that_talks_nonsense_is_left_and_what_it_said_before_is_kept() -> None:
    session = joined()
    session.receive_data(JAVA_DELIVERED + raw("00") * 3 + raw("01") + b"x" * 44)
    assert session.ended == "bad_frame" and len(session.events) == 1
    session = joined()
    session.receive_data(raw("80000880") + JOIN[4:])
    assert session.ended == "bad_frame"
    session.receive_data(JAVA_DELIVERED)
    session.close_events(quietly=False)
    assert [*session.events] == [Closed("bad_frame")]


def test_mistakes_of_the_caller() -> None:
    session = joined()
    for group in ("", "a b", "#x#y", "x" * 32, "ß"):
        with pytest.raises(UsageError) as caught:
            session.join(group)
        assert caught.value.code == "bad_group"
    with pytest.raises(UsageError, match="already"):
        session.join("grp")
    with pytest.raises(UsageError, match="not in"):
        session.leave("other")
    session.join("other")
    with pytest.raises(UsageError) as caught:
        session.join("other")
    assert caught.value.code == "change_under_way"
    bad = [
        ("bad_group", ([], b"")),
        ("bad_group", (["g"] * 101, b"")),
        ("bad_group", ("", b"")),
        ("bad_group", ("x" * 32, b"")),
        ("bad_payload", ("grp", "text")),
        ("bad_kind", ("grp", b"", Service.SAFE, 32768)),
        ("too_long", ("grp", bytes(143_121))),
    ]
    session.data_to_send()
    for code, arguments in bad:
        with pytest.raises(UsageError) as caught:
            session.multicast(*arguments)  # type: ignore[arg-type]  # on purpose
        assert caught.value.code == code
    assert not session.wants_to_send
    session.multicast("grp", bytes(143_120))
    assert len(session.data_to_send()) == 80 + 143_120


@pytest.mark.parametrize(
    "arguments, code",
    [
        (("4803", "elevenchars", True, 0, "", 1.0), "bad_name"),
        (("4803", "a#b", True, 0, "", 1.0), "bad_name"),
        (("4803", None, True, 2, "", 1.0), "bad_choice"),
        (("4803", None, True, 0, "x" * 256, 1.0), "bad_token"),
        (("nonsense", None, True, 0, "", 1.0), "bad_address"),
    ],
)
def test_options_that_cannot_be(
    arguments: tuple[str, str | None, bool, int, str, float], code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        check_options(*arguments)
    assert caught.value.code == code


def test_a_bare_port_is_a_unix_socket_and_the_others_are_not() -> None:
    assert find_daemon("4803") == Address("", 0, "/tmp/4803")
    assert find_daemon("4803@host") == Address("host", 4803)
    assert find_daemon("host:4803") == Address("host", 4803)
    assert find_daemon("/run/x") == Address("", 0, "/run/x")


def test_what_the_transport_has_not_got_rid_of_is_unsent() -> None:
    session = joined()
    for _ in range(3):
        session.multicast("grp", b"x")
    assert session.unsent == 3
    session.data_to_send()
    session.multicast("grp", b"x")
    assert session.unsent == 4
    session.data_to_send()
    assert session.unsent == 1
    assert session.data_to_send() == b"" and session.unsent == 0


def test_payloads_may_be_pieces_and_kinds_anything_of_16_bits() -> None:
    """SP-83, SP-87."""
    session = joined()
    session.multicast(("grp",), [b"x", bytearray(b"y")], Service.FIFO, -32768)
    assert session.data_to_send() == (
        raw("84000080") + ALICE + raw("01000000 80008080 02000000") + GRP + b"xy"
    )
