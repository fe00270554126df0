"""What a session may define, and what its messages may then refer to."""

from dataclasses import replace

import pytest

from antiphon.core.effects import Ask, Define, Defined, Disconnect, Multicast, Notify, Tell, Word
from antiphon.core.service import Service
from antiphon.protocol.sessions.access import AccessRule
from antiphon.protocol.sessions.settings import STRONG
from antiphon.wire.body import Destination, referring_parts
from antiphon.wire.tables import PLACES_MAX
from tests.unit.protocol.sessions.test_sessions import SMALL, Desk, refusals, told

ALPHA, BETA = ("alpha",), ("beta",)
WIDE = replace(SMALL, queue_bytes_high=1 << 20, queue_bytes_max=1 << 21)


def asks(effects: list[Word]) -> list[Word]:
    return [effect for effect in effects if isinstance(effect, Ask)]


def define(desk: Desk, *destinations: Destination) -> bool:
    """Whether the profile is asked; if so, it answers at once."""
    effects = desk.tell(Define(1, destinations))
    if not asks(effects):
        assert told(effects, Defined) == [Defined(known(desk))]
        return False
    assert asks(effects) == [Ask(STRONG, Define(1, destinations))]
    places = known(desk) + len(destinations)
    assert desk.tell(Tell(1, Defined(places))) == [Notify(1, Defined(places))]
    return True


def known(desk: Desk) -> int:
    return len(desk.sessions._sessions[1].table)


def refer(desk: Desk, *places: int, service: Service = Service.AGREED) -> list[Word]:
    body = b"".join(referring_parts(places, [0] * len(places), [b""] * len(places), "anna"))
    return desk.tell(Multicast(1, service, len(places), body))


def test_messages_refer_to_what_was_defined_and_no_further() -> None:
    desk = Desk(WIDE)
    assert refusals(refer(desk, 0)) == ["bad_field"]
    assert define(desk, ALPHA, BETA) and define(desk, ("alpha", "beta"))
    assert refusals(refer(desk, 0, 2)) == [] and len(asks(refer(desk, 1))) == 1
    assert refusals(refer(desk, 3)) == ["bad_field"]


def test_nothing_is_referred_to_before_it_is_known_to_be_defined() -> None:
    desk = Desk(WIDE)
    desk.tell(Define(1, (ALPHA,)))
    assert refusals(refer(desk, 0)) == ["bad_field"]
    assert not define(desk, BETA), "one at a time"
    desk.tell(Tell(1, Defined(1)))
    assert refusals(refer(desk, 0)) == []


@pytest.mark.parametrize("service", [Service.UNRELIABLE, Service.RELIABLE, Service.CAUSAL])
def test_what_is_delivered_out_of_turn_must_name_its_groups(service: Service) -> None:
    desk = Desk(WIDE)
    define(desk, ALPHA)
    assert refusals(refer(desk, 0, service=service)) == ["bad_table"]


@pytest.mark.parametrize(
    "destinations",
    [
        (),
        ((),),
        (ALPHA, ("",)),
        (("a#b",),),
        (ALPHA * 101,),
        (ALPHA, ("other.group",)),
        tuple((f"g{number}",) for number in range(PLACES_MAX + 1)),
    ],
)
def test_what_cannot_be_defined_leaves_the_table_as_it_is(
    destinations: tuple[Destination, ...],
) -> None:
    desk = Desk(replace(WIDE, profiles=(("other.*", "other"),)))
    assert not define(desk, *destinations)
    assert define(desk, ALPHA)


def test_all_tables_of_a_daemon_have_a_limit_and_end_with_their_sessions() -> None:
    desk = Desk(replace(WIDE, table_bytes_max=20))
    assert define(desk, ALPHA) and define(desk, BETA)
    assert not define(desk, ALPHA), "8 bytes each"
    desk.tell(Disconnect(1))
    assert desk.sessions._table_bytes == 0


def test_rules_hold_for_what_is_defined_also_when_they_change() -> None:
    desk = Desk(WIDE)
    assert define(desk, ALPHA, BETA)
    forbid = AccessRule("beta", ("*",), join=True, send=False)
    desk.sessions.reload(replace(WIDE, rules=(forbid,)))
    assert refusals(refer(desk, 0)) == []
    assert refusals(refer(desk, 0, 1)) == ["not_allowed"]
    assert not define(desk, BETA)


def test_a_session_whose_queue_is_full_defines_nothing() -> None:
    desk = Desk()
    desk.send(b"x" * 450)
    assert not define(desk, ALPHA)
