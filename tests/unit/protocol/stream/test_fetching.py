"""From whom bundles are fetched when a configuration of several segments ends (SP-127)."""

import pytest

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings, Part, Recover, Send, StreamHoldings
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Incarnation, Member
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.protocol.stream.delivery import Delivery
from antiphon.protocol.stream.pull import Pull, answer, fragment_bytes
from antiphon.protocol.stream.recovery import Plan
from antiphon.wire.control import CHUNK_BYTES_MAX, RecoveryData, RecoveryRequest, read_control
from antiphon.wire.packet import TAG_AT, Envelope

FAR_US = 250_000


def member(number: int) -> Member:
    return Member(DaemonId(number), Incarnation(number))


OLD = ConfigId(1, *member(10), 1)
NEXT = ConfigId(2, *member(10), 2)
PARTS = ((member(10), member(11)), (member(20), member(21)), (member(30),))
MEMBERS = tuple(sorted(one for part in PARTS for one in part))
CONFIGURATION = Configuration(OLD, MEMBERS, PARTS)
NOTHING = (0, 0, 0)
Holders = tuple[tuple[DaemonId, tuple[Holdings, ...]], ...]


def holds(*numbers: int) -> Holdings:
    """Of the stream of segment 0; of the others nothing."""
    held = tuple((number, number, 2 * number) for number in numbers)
    streams = (StreamHoldings(held, 0, 0, ()), *(StreamHoldings((), 0, 0, ()),) * 2)
    return Holdings(NEXT, streams, 0, 0)


def recover(deputy: bool = True, least: tuple[int, ...] = NOTHING) -> Recover:
    """At 20 or 21. Of my party 20 holds 1 and 3, and 21 holds 3; 30 holds 5, and 10 all."""
    parts = (
        Part(PARTS[1], 1, least, holds(1, 3)),
        Part(PARTS[2], 2, (9, 9, 9), holds(5)),
        Part(PARTS[0], 0, (9, 9, 9), holds(1, 3, 5, 7)),
    )
    near = ((DaemonId(20), holds(1, 3)), (DaemonId(21), holds(3)))
    far: Holders = ((DaemonId(30), (holds(5),)), (DaemonId(10), (holds(1, 3, 5, 7),)))
    if not deputy:
        far = ((DaemonId(20), (holds(1, 3), holds(5), holds(1, 3, 5, 7))),)
    return Recover(NEXT, parts, near, far, deputy)


def test_what_the_party_holds_is_asked_for_there_by_each_of_another() -> None:
    plan = Plan(recover(), CONFIGURATION)
    assert plan.holder(0, 1, spread=1) == 20
    assert {plan.holder(0, 3, spread) for spread in (0, 1)} == {20, 21}


def test_a_deputy_asks_the_nearest_that_can_give_it() -> None:
    plan = Plan(recover(), CONFIGURATION)
    assert plan.holder(0, 5, 0) == 30
    assert plan.holder(0, 7, 0) == 10
    assert plan.is_far(DaemonId(30)) and not plan.is_far(DaemonId(21))


def test_the_others_ask_their_deputy() -> None:
    plan = Plan(recover(deputy=False), CONFIGURATION)
    assert plan.holder(0, 5, 1) == plan.holder(0, 7, 1) == 20


def test_a_deputy_gets_what_is_not_for_it_others_what_is() -> None:
    """Who only passed on a bundle may be the last that can give it to anybody."""
    delivery = Delivery(3, 1)
    delivery.learn(0, 9, 30, 0)  # the first nine are not for segment 1
    assert set(Plan(recover(), CONFIGURATION).missing(delivery)[0]) == {1, 3, 5, 7}
    assert Plan(recover(deputy=False), CONFIGURATION).missing(delivery) == {}


def test_what_nobody_lacks_is_not_fetched_by_a_deputy() -> None:
    """It may be stable, and its holder in another segment may have forgotten it."""
    delivery = Delivery(3, 1)
    delivery.learn(0, 9, 30, 0)
    plan = Plan(recover(least=(5, 5, 5)), CONFIGURATION)
    assert set(plan.missing(delivery)[0]) == {7}


def test_all_of_a_party_come_to_the_same_decisions_as_others() -> None:
    """D4: parts are put together differently near and far; what is made of them is not."""
    merged = recover()
    one_by_one = Recover(
        NEXT,
        (
            *(Part((one,), 0, (9, 9, 9), holds(1, 3, 5, 7)) for one in PARTS[0]),
            Part(PARTS[1][:1], 1, NOTHING, holds(1, 3)),
            Part(PARTS[1][1:], 1, NOTHING, holds(3)),
            Part(PARTS[2], 2, (9, 9, 9), holds(5)),
        ),
        merged.near,
    )
    plans = [Plan(told, CONFIGURATION) for told in (merged, one_by_one)]
    for name in ("together", "any_holds", "early", "complete_to", "stable_to", "lineage"):
        first, second = (getattr(plan, name) for plan in plans)
        assert first == second, name


def test_who_is_far_is_not_asked_again_before_its_answer_can_be_here() -> None:
    pull = Pull(NEXT, OLD, Plan(recover(), CONFIGURATION), 0, FAR_US)
    delivery = Delivery(3, 1)
    pull.missing = pull.plan.missing(delivery)
    envelope = Envelope(1, member(20))

    def asked(now: int) -> list[int]:
        return [int(send.to) for send in pull.requests(now, envelope) if isinstance(send, Send)]

    assert {10, 30} <= set(asked(0))
    assert set(asked(FAR_US - 1)) <= {20, 21}
    assert {10, 30} <= set(asked(FAR_US))


@pytest.mark.parametrize("copies", [1, 2])
def test_answers_do_not_multiply(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two streams of one holder, more than it gives at once, in a network that may double all
    packets (site seed 1435)."""
    streams, each, at_once = 2, 60, 4
    plan = Plan(recover(), CONFIGURATION)
    monkeypatch.setattr(plan, "holder", lambda index, sequence, spread: DaemonId(21))
    pull = Pull(NEXT, OLD, plan, 0, FAR_US)
    pull.missing = {stream: RangeSet([(1, each)]) for stream in range(streams)}
    held = [{number: bundle(stream, number) for number in range(1, each + 1)} for stream in (0, 1)]
    envelope, given = Envelope(1, member(20)), 0
    while pull.missing:
        waiting = pull.requests(0, envelope)  # by the timer
        for request in waiting:
            asked = read_control(request.packet[TAG_AT], request.packet)
            assert isinstance(asked, RecoveryRequest)
            for send in answer(envelope, DaemonId(20), asked, held[asked.segment], 100, at_once):
                data = read_control(send.packet[TAG_AT], send.packet)
                assert isinstance(data, RecoveryData)
                for _ in range(copies):
                    given += 1
                    assert given <= 3 * copies * streams * each
                    pull.take(DaemonId(21), data)
                    source = (DaemonId(21), data.segment)
                    if pull.answered(source, at_once):
                        waiting += pull.requests(0, envelope, source)


def test_no_fragment_is_cut_again_however_long_packets_are() -> None:
    """Such chunks would be refused."""
    large = bundle(0, 1)
    large.body = bytes(200_000)
    request = RecoveryRequest(NEXT, OLD, 0, 0, ((1, 1),))
    size = fragment_bytes(65_000)
    sends = answer(Envelope(1, member(20)), DaemonId(20), request, {1: large}, size, 64)
    assert len(sends) == 7 and all(len(send.packet) <= CHUNK_BYTES_MAX for send in sends)


def bundle(stream: int, number: int) -> Bundle:
    made = Bundle(member(10), 1, number, 1, Service.FIFO, b"x")
    made.segment, made.sequence, made.stamp = stream, number, number
    return made
