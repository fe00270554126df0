"""Links over edges of kind TCP: pipes come before them, outlive them, and end with the edge."""

from antiphon.core.effects import (
    Arrived,
    Dial,
    Forward,
    HangUp,
    Neighbours,
    PipeDown,
    PipeRoom,
    PipeUp,
    Pour,
    Send,
    Word,
)
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import WAKEUP
from antiphon.protocol.links.edges import Edges
from antiphon.protocol.links.links import Links
from antiphon.protocol.links.settings import EdgeSettings, HopSettings, LinkKind
from antiphon.wire.heard import HeardLink
from antiphon.wire.link import read_link_packet
from antiphon.wire.packet import TAG_AT, Envelope, Tag

ONE, TWO, THREE = (Member(DaemonId(number), Incarnation(number)) for number in (10, 20, 30))
SITES = tuple((member.daemon,) for member in (ONE, TWO, THREE))
TCP = EdgeSettings(0, 1, link=LinkKind.TCP)
ROOM = 100_000


def links_of(me: Member) -> Links:
    return Links(me, Edges(me.daemon, SITES, (TCP,), HopSettings()), Envelope(1, me))


def kinds(words: list[Word]) -> list[str]:
    return [type(word).__name__ for word in words]


def say(words: list[Word], sender: Member, target: Links, now: int = 0) -> list[Word]:
    """What was poured goes to the other end."""
    answers: list[Word] = []
    for word in words:
        if isinstance(word, Pour):
            packet = read_link_packet(word.packet, *sender)
            answers += target.handle(now, HeardLink(packet))
    return answers


def test_the_lower_end_of_a_tcp_edge_dials_and_other_edges_are_as_ever() -> None:
    low, high = links_of(ONE), links_of(TWO)
    assert low.handle(0, Neighbours(1, (TWO, THREE))) == [Dial(TWO.daemon)]
    assert high.handle(0, Neighbours(1, (ONE,))) == []
    assert kinds(low.handle(0, Forward(THREE.daemon, b"by hop", True))) == ["Send"]
    assert low.handle(0, Forward(TWO.daemon, b"waits", True)) == []


def test_a_pipe_may_come_before_its_link() -> None:
    low, high = links_of(ONE), links_of(TWO)
    low.handle(0, Neighbours(1, (TWO,)))
    hello = low.handle(0, PipeUp(TWO, ROOM))
    low.handle(0, Forward(TWO.daemon, b"object", True))
    assert high.handle(0, PipeUp(ONE, ROOM)) == []
    assert say(hello, ONE, high) == [], "it has no link yet"
    told = high.handle(0, Neighbours(1, (ONE,)))
    assert "Pour" in kinds(told)
    poured = say(told, TWO, low)
    assert Arrived(ONE, b"object") in say(poured, ONE, high)


def test_a_pipe_serves_the_links_of_one_configuration_after_the_other() -> None:
    low, high = joined(1)
    first, second = low.handle(0, Neighbours(2, (TWO,))), high.handle(0, Neighbours(2, (ONE,)))
    assert kinds(first) == kinds(second) == ["Pour"], "a hello, and no call"
    say(say(first, ONE, high), TWO, low)
    poured = low.handle(0, Forward(TWO.daemon, b"object", True))
    assert Arrived(ONE, b"object") in say(poured, ONE, high)


def test_a_pipe_ends_when_no_link_needs_it() -> None:
    low, _ = joined(1)
    assert low.handle(0, Neighbours(2, (THREE,))) == [HangUp(TWO.daemon)]
    assert low.handle(0, Neighbours(3, (THREE,))) == [], "once"
    assert low.handle(0, Neighbours(4, (TWO,))) == [Dial(TWO.daemon)]


def test_a_try_goes_on_under_the_next_link() -> None:
    low = links_of(ONE)
    low.handle(0, Neighbours(1, (TWO,)))
    assert low.handle(0, Neighbours(2, (TWO,))) == []
    assert kinds(low.handle(0, PipeUp(TWO, ROOM))) == ["Pour"]


def test_a_pipe_where_none_should_be_is_hung_up() -> None:
    low = links_of(ONE)
    assert low.handle(0, PipeUp(THREE, ROOM)) == [HangUp(THREE.daemon)]


def test_room_and_breaks_reach_the_link() -> None:
    low, high = joined(1)
    low.handle(0, PipeRoom(TWO.daemon, 0))
    assert low.handle(0, Forward(TWO.daemon, b"object", True)) == []
    assert kinds(low.handle(0, PipeRoom(TWO.daemon, ROOM))) == ["Pour"]
    assert low.handle(0, PipeDown(TWO.daemon)) == []
    assert low.deadline() < TCP.tcp.dead_us
    assert low.handle(low.deadline(), WAKEUP) == [Dial(TWO.daemon)]


def test_a_dead_link_is_told_once_and_its_pipe_hung_up() -> None:
    low = links_of(ONE)
    low.handle(0, Neighbours(1, (TWO,)))
    said: list[Word] = []
    while low.deadline() < 20_000_000:
        said += low.handle(low.deadline(), WAKEUP)
    assert kinds(said).count("LinkDead") == 1 and kinds(said)[-2:] == ["HangUp", "LinkDead"]


def test_unreliable_objects_stay_datagrams() -> None:
    low, _ = joined(1)
    (said,) = low.handle(0, Forward(TWO.daemon, b"loose", False))
    assert isinstance(said, Send) and said.packet[TAG_AT] == Tag.LOOSE


def joined(birth: int) -> tuple[Links, Links]:
    low, high = links_of(ONE), links_of(TWO)
    low.handle(0, Neighbours(birth, (TWO,)))
    high.handle(0, Neighbours(birth, (ONE,)))
    hello = low.handle(0, PipeUp(TWO, ROOM))
    high.handle(0, PipeUp(ONE, ROOM))
    say(say(hello, ONE, high), TWO, low)
    return low, high
