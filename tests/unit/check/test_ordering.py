"""S3, S4: the order of a session and of causes."""

import pytest

from antiphon.core.ids import SessionId
from antiphon.core.service import Service
from tests.unit.check.story import Message, Pair

FIFO_AND_STRONGER = list(Service)[2:]
CAUSAL_AND_STRONGER = list(Service)[3:]


def two_of_ann(earlier: Service, later: Service) -> tuple[Pair, Message, Message]:
    story = Pair()
    first = story.send(story.ann, earlier, "g")
    return story, first, story.send(story.ann, later, "g")


@pytest.mark.parametrize("earlier", [Service.RELIABLE, Service.FIFO])
@pytest.mark.parametrize("later", FIFO_AND_STRONGER)
def test_a_daemon_that_delivers_a_sessions_messages_out_of_order_breaks_s3(
    earlier: Service, later: Service
) -> None:
    story, first, second = two_of_ann(earlier, later)
    story.receive(first, story.one, story.ann, story.bob)
    story.receive(second, *story.everybody)
    story.receive(first, story.two)
    assert story.broken() == ["S3"]


@pytest.mark.parametrize("later", FIFO_AND_STRONGER)
def test_a_session_handed_a_sessions_messages_out_of_order_breaks_s3(later: Service) -> None:
    story, first, second = two_of_ann(Service.RELIABLE, later)
    story.receive(first, story.one, story.two, story.ann)
    story.receive(second, *story.everybody)
    story.receive(first, story.bob)
    assert story.broken() == ["S3"]


def test_s3_holds_across_groups() -> None:
    story = Pair()
    story.join("h", story.bob)
    first = story.send(story.ann, Service.AGREED, "h")
    second = story.send(story.ann, Service.FIFO, "g")
    story.receive(first, story.one, story.two)
    story.receive(second, *story.everybody)
    story.receive(first, story.bob)
    assert story.broken() == ["S3"]


@pytest.mark.parametrize("earlier", [Service.RELIABLE, Service.FIFO, Service.AGREED])
def test_a_reliable_message_may_overtake(earlier: Service) -> None:
    story, first, second = two_of_ann(earlier, Service.RELIABLE)
    story.receive(first, story.one, story.ann)
    story.receive(second, *story.everybody)
    story.receive(first, story.two, story.bob)
    assert story.broken() == []


@pytest.mark.parametrize("later", FIFO_AND_STRONGER)
def test_an_unreliable_message_may_come_late(later: Service) -> None:
    story, first, second = two_of_ann(Service.UNRELIABLE, later)
    story.receive(second, *story.everybody)
    story.receive(first, *story.everybody)
    assert story.broken() == []


def test_fifo_messages_of_two_sessions_have_no_order() -> None:
    story = Pair()
    first = story.send(story.ann, Service.FIFO, "g")
    second = story.send(story.bob, Service.FIFO, "g")
    story.receive(first, story.one, story.ann)
    story.receive(second, *story.everybody)
    story.receive(first, story.two, story.bob)
    assert story.broken() == []


def answer(
    story: Pair, carrier: Service, earlier: Service = Service.CAUSAL, by: Service = Service.CAUSAL
) -> tuple[Message, Message, SessionId]:
    """Ann speaks, bob hears it in a message of the service `carrier` or directly, and answers;
    cid at bob's daemon has heard neither."""
    cid = story.session(story.one, 2)
    story.join("g", cid)
    question = story.send(story.ann, earlier, "g")
    story.receive(question, story.two, story.ann)
    if carrier == earlier:
        story.hand(question, story.bob)
    else:
        hint = story.send(story.ann, carrier, "g")
        story.receive(hint, story.one, story.two, story.ann, story.bob, cid)
    return question, story.send(story.bob, by, "g"), cid


@pytest.mark.parametrize("later", CAUSAL_AND_STRONGER)
def test_a_daemon_that_delivers_an_answer_first_breaks_s4(later: Service) -> None:
    story = Pair()
    question, reply, cid = answer(story, Service.CAUSAL, by=later)
    story.receive(reply, story.two, story.one)
    story.receive(question, story.one, cid)
    for session in (story.ann, story.bob, cid):
        story.hand(reply, session)
    assert story.broken() == ["S4"]


@pytest.mark.parametrize("later", CAUSAL_AND_STRONGER)
def test_a_session_handed_an_answer_first_breaks_s4(later: Service) -> None:
    story = Pair()
    question, reply, cid = answer(story, Service.CAUSAL, by=later)
    story.receive(question, story.one)
    story.receive(reply, story.two, story.one, story.ann, story.bob, cid)
    story.receive(question, cid)
    assert story.broken() == ["S4"]


@pytest.mark.parametrize("carrier", [Service.UNRELIABLE, Service.RELIABLE])
def test_knowledge_travels_with_messages_of_any_service(carrier: Service) -> None:
    story = Pair()
    question, reply, cid = answer(story, carrier)
    story.receive(reply, story.two, story.one, story.ann, story.bob, cid)
    story.receive(question, story.one, story.bob, cid)
    broken = story.violations()
    assert {violation.promise for violation in broken} == {"S4"}
    assert {violation.process for violation in broken} == {
        "daemon 1/1",
        "session 1/1/2",
        "session 2/1/1",
    }


@pytest.mark.parametrize(
    ("earlier", "later"),
    [(Service.FIFO, Service.CAUSAL), (Service.CAUSAL, Service.FIFO)],
)
def test_s4_speaks_of_causal_and_stronger_on_both_sides(earlier: Service, later: Service) -> None:
    story = Pair()
    question, reply, cid = answer(story, earlier, earlier=earlier, by=later)
    story.receive(reply, story.two, story.one, story.ann, story.bob, cid)
    story.receive(question, story.one, cid)
    assert story.broken() == []


def test_what_comes_while_a_message_waits_to_be_stamped_is_not_in_its_past() -> None:
    story = Pair()
    waiting = story.submit(story.bob, Service.CAUSAL, "g")
    question = story.send(story.ann, Service.CAUSAL, "g")
    story.receive(question, story.two, story.bob, story.ann)
    story.stamp(waiting)
    story.receive(waiting, *story.everybody)
    story.receive(question, story.one)
    assert story.broken() == []


def test_a_cause_that_never_comes_is_not_out_of_order() -> None:
    story = Pair()
    question = story.send(story.ann, Service.CAUSAL, "g")
    story.receive(question, *story.everybody)
    reply = story.send(story.bob, Service.CAUSAL, "g")
    story.receive(reply, story.two, story.bob, story.ann)
    story.stop(story.one)
    assert story.broken() == []


def test_a_daemons_own_message_comes_after_all_that_the_daemon_delivered() -> None:
    story = Pair()
    question = story.send(story.ann, Service.CAUSAL, "g")
    story.receive(question, story.two, story.ann, story.bob)
    change = story.own(story.two)
    story.deliver(change, story.one, story.two)
    story.receive(question, story.one)
    assert story.broken() == ["S4"]
