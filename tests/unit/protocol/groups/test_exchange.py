"""Who speaks for whom after an install."""

import pytest

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Configuration, DaemonId, GroupName
from antiphon.protocol.groups import directory as directory_module
from antiphon.protocol.groups.directory import Directory
from antiphon.protocol.groups.exchange import Exchange, family_of
from antiphon.wire.changes import GroupState, SessionState
from tests.unit.protocol.groups.hall import Hall, member

MEMBERS = tuple(map(member, (1, 3, 4, 9)))
CONFIGURATION = Configuration(ConfigId(5, *member(1), 1), MEMBERS)


def session(daemon: int, number: int = 1) -> SessionState:
    return SessionState(DaemonId(daemon), number, "name", ())


def test_the_last_daemon_that_is_spoken_for_ends_it() -> None:
    exchange = Exchange(CONFIGURATION)
    assert not exchange.take(GroupState(((1, 2), (4, 4)), (session(3), session(9))))
    assert exchange.take(GroupState(((3, 3),), ()))
    assert sorted(exchange.sessions) == [(*member(3), 1), (*member(9), 1)]


@pytest.mark.parametrize(
    "state",
    [
        GroupState((), ()),
        GroupState(((2, 3),), ()),
        GroupState(((3, 5),), ()),
        GroupState(((3, 3),), (session(9),)),
        GroupState(((3, 3),), (session(7),)),
    ],
    ids=["of nobody", "a second time", "beyond the list", "of another", "of a stranger"],
)
def test_what_is_not_told_truly_is_not_taken(state: GroupState) -> None:
    exchange = Exchange(CONFIGURATION)
    exchange.take(GroupState(((1, 2),), ()))
    with pytest.raises(DecodeError):
        exchange.take(state)
    assert not exchange.sessions
    assert exchange.take(GroupState(((3, 4),), ())), "it has spoken for nobody"


def test_a_family_are_all_of_a_settled_configuration_who_come_along() -> None:
    assert family_of(MEMBERS[:1], MEMBERS[:3], settled=True) == MEMBERS[:3]


def test_an_unsettled_one_makes_no_family_larger() -> None:
    assert family_of(MEMBERS[1:3], (*MEMBERS[:2], MEMBERS[3]), settled=False) == MEMBERS[1:2]


def test_one_tells_for_all_that_come_from_one_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SP-16, D5: two states when one comes to three, and all have one directory."""
    hall = Hall(4)
    hall.install(1, 2, 3)
    hall.install(4)
    for number in (21, 31, 41):
        hall.open(number)
        hall.join(number, "alpha")
    told: list[int] = []
    deliver = hall._deliver_state

    def count(number: int) -> None:
        told.extend([number] * len(hall.daemons[number].states))
        deliver(number)

    monkeypatch.setattr(hall, "_deliver_state", count)
    hall.install(1, 2, 3, 4, together=((1, 2, 3),))
    assert told == [1, 4]
    for number in (21, 31, 41):
        assert hall.last_view(number)[0] == [21, 31, 41]
    assert hall.last_view(21)[1] == [21, 31]


def test_many_sessions_are_told_in_several_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_module, "STANDINGS_MAX", 4)
    hall = Hall(3)
    hall.install(1, 2, 3)
    groups: list[GroupName] = ["alpha", "beta"]
    for number in (11, 12, 21, 22, 23, 31):
        hall.open(number)
        for group in groups:
            hall.join(number, group)
    directory: Directory = hall.daemons[2].groups._directory
    ranks = {member(number).daemon: number for number in (1, 2, 3)}
    states = directory.states_of(tuple(map(member, (1, 2, 3))), ranks)
    assert [state.members for state in states] == [((1, 1),), ((2, 2),), ((3, 3),)]
    assert [len(state.sessions) for state in states] == [2, 3, 1]
