"""A session without I/O: handshake, events, outcomes, flow, numbers."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.errors import Disconnected, QueryFailed, Refused
from antiphon.client.events import (
    Closed,
    Event,
    Left,
    Message,
    Participant,
    Refusal,
    Transition,
    View,
)
from antiphon.client.inbox import NOTED_BYTES_MAX, NOTED_MAX
from antiphon.client.outbox import BUNDLE_BYTES
from antiphon.client.session import EVENT_BYTES_MAX, PENDING_BYTES_HIGH, SEND_BYTES, ClientSession
from antiphon.core import effects
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.wire.body import letters
from antiphon.wire.client import (
    MAGIC,
    Answer,
    Close,
    FlowFrame,
    Goodbye,
    JoinedFrame,
    JoinFrame,
    LeaveFrame,
    LeftFrame,
    MulticastFrame,
    Query,
    Refuse,
    TransitionFrame,
    Welcome,
    pack_deliver,
    pack_frame,
)
from tests.unit.client.sans_io import (
    ME,
    OTHER,
    asked,
    bundle,
    deliver,
    fresh,
    tell,
    view_frame,
    view_id,
    welcomed,
)

TOLD = b"".join(
    [
        pack_frame(Welcome(3, ME, "three", 1000)),
        pack_frame(view_frame("g", 1, ME, OTHER)),
        b"".join(pack_deliver(bundle((("g",), b"one"), (("x", "g"), b"")))),
        pack_frame(TransitionFrame("g", view_id(1))),
        pack_frame(LeftFrame("g")),
        pack_frame(Close("slow")),
    ]
)


def all_events(*pieces: bytes) -> list[Event]:
    session = fresh()
    session.data_to_send()
    for piece in pieces:
        session.receive_data(piece)
    assert session.ended == "slow"
    return list(session.events)


def test_bytes_become_events_however_they_are_split() -> None:
    whole = all_events(TOLD)
    members = (Participant(ME, "n4"), Participant(OTHER, "n1"))
    one = Message.alone(
        OTHER, 1, "#bob#5", ("g",), b"one", Service.AGREED, 0, view_id(1), transitional=False
    )
    assert whole == [
        View("g", view_id(1), members, (ME,), Cause.JOIN, ""),
        one,
        Message.alone(OTHER, 2, "#bob#5", ("x", "g"), b"", Service.AGREED, 1, view_id(1), False),
        Transition("g", view_id(1)),
        Left("g"),
    ]
    assert members[1].private_group == "#n1#5"
    for at in range(1, len(TOLD)):
        assert all_events(TOLD[:at], TOLD[at:]) == whole
    assert all_events(*[TOLD[at : at + 1] for at in range(len(TOLD))]) == whole


def test_hello_comes_first_and_nothing_else_before_the_welcome() -> None:
    session = fresh()
    assert session.data_to_send().startswith(MAGIC)
    assert session.data_to_send() == b"" and not session.wants_to_send
    session.join("g")
    assert session.data_to_send() == b"" and not session.wants_to_send
    tell(session, Welcome(3, ME, "three", 1000))
    assert session.wants_to_send and asked(session) == [JoinFrame("g")]


def test_a_refused_hello_is_the_outcome() -> None:
    session = fresh()
    tell(session, Refuse("name_in_use", "taken", "use another", ""), Close("name_in_use"))
    (outcome,) = session.outcomes
    assert isinstance(outcome.error, Refused) and outcome.error.code == "name_in_use"
    assert session.ended == "name_in_use"


@pytest.mark.parametrize(
    "garbage", [b"HTTP/1.0 400 Bad", pack_frame(Goodbye()), pack_frame(Welcome(9, ME, "", 1))]
)
def test_a_stranger_at_the_port_ends_the_session(garbage: bytes) -> None:
    session = fresh()
    session.receive_data(garbage)
    assert session.ended == "bad_frame"
    assert isinstance(session.outcomes[0].error, Disconnected)


def test_requests_keep_their_order() -> None:
    session = welcomed()
    session.multicast("a", b"1")
    session.join("g")
    session.multicast("a", b"2")
    session.multicast("a", b"3")
    session.multicast("a", b"4", Service.FIFO)
    session.multicast("a", b"5", Service.FIFO, self_discard=True)
    session.goodbye()
    frames = asked(session)
    assert [getattr(frame, "count", type(frame)) for frame in frames] == [
        1,
        JoinFrame,
        2,
        1,
        1,
        Goodbye,
    ]


def test_joins_and_leaves_are_decided_by_what_the_daemon_says() -> None:
    session = welcomed()
    key = session.join("g")
    with pytest.raises(UsageError, match="under way"):
        session.join("g")
    asked(session)
    tell(session, view_frame("g", 1))
    assert session.outcomes.pop()[:2] == (key, session.views["g"])
    with pytest.raises(UsageError, match="in 'g' already"):
        session.join("g")
    key = session.leave("g")
    tell(session, view_frame("g", 2, cause=Cause.NETWORK))
    assert not session.outcomes  # a view is no answer to a leave
    tell(session, LeftFrame("g"))
    assert session.outcomes.pop().key == key and not session.joined
    with pytest.raises(UsageError, match="not in 'g'"):
        session.leave("g")
    session.join("h")
    tell(session, Refuse("not_allowed", "no", "ask", "h"))
    error = session.outcomes.pop().error
    assert error is not None and error.code == "not_allowed"
    session.join("h")  # may be tried again


def test_without_membership_a_join_is_answered_without_a_view() -> None:
    session = welcomed(membership=False)
    key = session.join("g")
    tell(session, JoinedFrame("g"))
    assert session.outcomes == [(key, None, None)]
    assert session.joined == {"g": None} and session.views == {} and not session.events
    deliver(session, bundle((("g",), b"x")))
    event = session.next_event()
    assert isinstance(event, Message) and event.view is None


def test_a_refused_multicast_is_an_event() -> None:
    session = welcomed()
    tell(session, Refuse("not_allowed", "no", "ask", ""))
    assert session.next_event() == Refusal("not_allowed", "no", "ask")


def test_answers_find_their_queries_even_while_the_flow_is_closed() -> None:
    session = welcomed()
    tell(session, FlowFrame(False))
    session.multicast("g", b"x")
    first, second = session.query("a", {}), session.query("b", {"x": 1})
    assert asked(session) == [Query(1, "a", {}), Query(2, "b", {"x": 1})]
    tell(session, Answer(2, "unknown", None), Answer(1, "", [5]))
    failed, answered = session.outcomes
    assert failed.key == second and isinstance(failed.error, QueryFailed)
    assert answered == (first, [5], None)


def test_nothing_is_handed_over_while_the_flow_is_closed() -> None:
    session = welcomed()
    tell(session, FlowFrame(False))
    session.join("g")
    session.multicast("g", b"x")
    assert session.data_to_send() == b"" and not session.wants_to_send
    tell(session, FlowFrame(True))
    assert session.wants_to_send
    assert [type(frame) for frame in asked(session)] == [JoinFrame, MulticastFrame]


def test_senders_wait_between_the_high_and_the_low_mark() -> None:
    session = welcomed()
    tell(session, FlowFrame(False))
    count = 0
    while session.writable:
        session.multicast("g", bytes(1000))
        count += 1
    assert count == pytest.approx(PENDING_BYTES_HIGH / 1000, rel=0.02)
    tell(session, FlowFrame(True))
    assert len(session.data_to_send()) < SEND_BYTES + 2 * BUNDLE_BYTES
    assert not session.writable  # less waits than before, but not little
    asked(session)
    assert session.writable


def test_a_message_that_is_too_long_is_the_callers_mistake() -> None:
    session = welcomed()
    with pytest.raises(UsageError) as raised:
        session.multicast("g", bytes((1 << 20) + 1))
    assert raised.value.code == "too_long"
    session.multicast("g", bytes(1 << 20))


def test_what_is_not_received_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antiphon.client.session.EVENT_BYTES_MAX", 150)
    session = welcomed()
    deliver(session, bundle((("g",), bytes(60))))
    assert not session.full()
    deliver(session, bundle((("g",), bytes(60))))
    assert session.full() and not session.full(2)
    session.next_event()
    assert not session.full()


def test_a_bundle_counts_whole_if_few_of_its_messages_are_for_the_session() -> None:
    """It is kept until they are taken."""
    session = welcomed()
    told = bundle((("g",), b"for us"), (("h",), bytes(60_000)), chosen=(0,))
    tracemalloc.start()
    while not session.full():
        deliver(session, told)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert EVENT_BYTES_MAX / 2 < held < EVENT_BYTES_MAX * 1.1


def test_after_goodbye_nothing_can_be_asked_and_no_event_comes() -> None:
    session = welcomed()
    deliver(session, bundle((("g",), b"")))
    session.goodbye()
    deliver(session, bundle((("g",), b"")))
    assert not session.events
    for request in (lambda: session.join("g"), lambda: session.multicast("g", b"")):
        with pytest.raises(Disconnected):
            request()
    tell(session, Close("client"))
    assert session.ended == "client"


def test_the_last_event_says_why() -> None:
    session = welcomed()
    session.connection_lost("connection_lost")
    session.connection_lost("something else")
    session.close_events(quietly=False)
    assert list(session.events) == [Closed("connection_lost")]


def test_numbers_follow_the_daemons() -> None:
    session = welcomed()
    numbering = session.numbering
    session.join("g")  # 1
    session.multicast("g", b"")  # 2
    session.multicast("g", b"", Service.UNRELIABLE)  # 1 of its own
    session.join("secret")  # 3, and then none
    session.multicast("g", b"")  # 4, and then 3
    asked(session)
    assert (numbering.sent, numbering.sent_unreliable, numbering.unconfirmed) == (4, 1, 2)
    tell(session, view_frame("g", 1))
    assert (numbering.confirmed, numbering.unconfirmed) == (1, 2)
    tell(session, Refuse("not_allowed", "", "", "secret"))
    assert (numbering.sent, numbering.unconfirmed) == (3, 2)
    deliver(session, bundle((("g",), b""), origin=ME, first=2, service=Service.RELIABLE))
    assert numbering.unconfirmed == 2  # reliable alone says nothing about those before it
    deliver(session, bundle((("g",), b""), origin=ME, first=2))
    assert (numbering.confirmed, numbering.unconfirmed) == (2, 1)
    deliver(session, bundle((("g",), b""), origin=OTHER, first=30))
    assert numbering.unconfirmed == 1


def test_a_leave_under_way_does_not_count_as_a_message() -> None:
    session = welcomed()
    session.join("g")
    asked(session)
    tell(session, view_frame("g", 1))
    session.leave("g")
    assert asked(session) == [LeaveFrame("g")] and session.numbering.unconfirmed == 0


names = st.sampled_from(["a", "b", "c", "#bob#5"])
groups = st.lists(names, min_size=1, max_size=3, unique=True).map(tuple)


@given(
    st.lists(st.tuples(groups, st.binary(max_size=20)), min_size=1, max_size=30),
    st.sets(names.filter(lambda name: name != "#bob#5")),
    st.data(),
)
def test_messages_say_what_their_bundle_says(
    content: list[tuple[tuple[str, ...], bytes]], joined: set[str], data: st.DataObject
) -> None:
    session = welcomed()
    for position, name in enumerate(sorted(joined), 1):
        tell(session, view_frame(name, position))
    session.events.clear()
    picked = data.draw(st.sets(st.integers(0, len(content) - 1)))
    told = bundle(*content, first=7, chosen=tuple(sorted(picked)))
    deliver(session, told)
    got = [event for event in session.events if isinstance(event, Message)]
    assert len(got) == len(session.events)
    assert [(one.number, one.groups, one.kind, one.payload) for one in got] == letters(told)
    for one in got:
        mine = [name for name in one.groups if name in joined]
        assert one.view == (session.views[mine[0]].id if mine else None)
    for name in joined:
        last = [one.id for one in got if name in one.groups]
        assert session.last.of(name) == (last[-1] if last else None)


def test_messages_are_made_when_they_are_taken() -> None:
    """As they were when they came: in the view of then, for what waits long."""
    session = welcomed()
    tell(session, view_frame("g", 1))
    session.events.clear()
    tracemalloc.start()
    for first in range(0, 10_000, 500):
        deliver(session, bundle(*[(("g",), b"")] * 500, first=1 + first))
    waiting = tracemalloc.get_traced_memory()[0]
    before = session.views["g"]
    tell(session, view_frame("g", 2))
    assert len(session.events) == 10_001
    taken = [event for _ in range(20) for event in session.next_events()]
    made = tracemalloc.get_traced_memory()[0] - waiting
    tracemalloc.stop()
    assert [one.number for one in taken if isinstance(one, Message)] == list(range(1, 10_001))
    assert {one.view for one in taken if isinstance(one, Message)} == {before.id}
    assert session.next_events() == [session.views["g"]] and waiting < made / 3


def test_what_is_noted_for_the_last_messages_is_bounded() -> None:
    """By their number and by bytes; wherever it is settled, the last message is the same."""
    session = welcomed()
    tell(session, view_frame("a", 1))
    many = [(("a",), b""), (("b",), b"")] * 10_000
    for first, content in enumerate([[(("a",), b"x")]] * (2 * NOTED_MAX) + [many] * 120):
        deliver(session, bundle(*content, first=1 + 20_000 * first))
        session.events.clear()
        noted = session.last._noted
        assert len(noted) < NOTED_MAX
        assert sum(len(one.places) for one in noted) < NOTED_BYTES_MAX
    last = session.last.of("a")
    assert last is not None and last.number == 1 + 20_000 * first + 19_998


def test_a_session_is_never_told_what_it_cannot_read() -> None:
    session = welcomed()
    broken = effects.Message(OTHER, 1, 3, Service.AGREED, b"nonsense nonsense nonsense", False)
    deliver(session, broken)
    assert session.ended == "bad_frame"
    assert isinstance(session, ClientSession)


def test_bundles_are_as_large_as_the_daemon_says() -> None:
    session = fresh()
    tell(session, Welcome(2, ME, "three", 1 << 20, 5_000))
    session.data_to_send()
    for _ in range(60):
        session.multicast("g", bytes(100))
    counts = []
    while (request := session.outbox.pop()) is not None:
        counts.append(request.count)
        assert len(request.frame) <= 5_100
    assert counts == [46, 14]
