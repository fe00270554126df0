"""Parties: from stable Hellos everybody comes to the same cliques."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import NO_CONFIG, NOBODY, DaemonId, Incarnation, Member
from antiphon.protocol.membership.parties import Picture
from antiphon.wire.control import Hello

Graph = dict[Member, list[Member]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Who hears whom, both ways."""
    numbers = sorted(draw(st.sets(st.integers(1, 30), min_size=1, max_size=8)))
    members = [Member(DaemonId(number), Incarnation(number % 3)) for number in numbers]
    hears: Graph = {member: [] for member in members}
    for one, other in combinations(members, 2):
        if draw(st.booleans()):
            hears[one].append(other)
            hears[other].append(one)
    return {member: sorted(heard) for member, heard in hears.items()}


def hello_of(member: Member, heard: list[Member], picture: Picture) -> Hello:
    clique = tuple(one.daemon for one in picture.clique)
    trouble, accused = "", NOBODY
    return Hello(NO_CONFIG, picture.leader, False, trouble, accused, 0, tuple(heard), clique)


def settle(hears: Graph) -> dict[Member, Picture]:
    """Everybody says Hello until nobody says anything new."""
    pictures = {member: Picture(member, {}) for member in hears}
    for _ in range(2 * len(hears) + 2):
        hellos = {one: hello_of(one, hears[one], pictures[one]) for one in hears}
        drawn = {
            member: Picture(member, {one: hellos[one] for one in heard})
            for member, heard in hears.items()
        }
        before = [(one.leader, one.clique) for one in pictures.values()]
        pictures = drawn
        if before == [(one.leader, one.clique) for one in pictures.values()]:
            return pictures
    raise AssertionError("Hellos do not come to rest")


def parties(pictures: dict[Member, Picture]) -> list[tuple[Member, ...]]:
    return [
        picture.party() for member, picture in pictures.items() if picture.leader == member.daemon
    ]


@given(graphs())
def test_parties_are_cliques_apart_and_cover_everybody(hears: Graph) -> None:
    """P1: where links are not transitive there is agreement on some connected components."""
    found = parties(settle(hears))
    members = [member for party in found for member in party]
    assert sorted(members) == sorted(hears)
    for party in found:
        assert all(other in hears[one] for one, other in combinations(party, 2))


@given(graphs())
def test_everybody_is_in_the_party_of_the_leader_it_follows(hears: Graph) -> None:
    pictures = settle(hears)
    leaders = {member.daemon: member for member in hears}
    for member, picture in pictures.items():
        assert member in pictures[leaders[picture.leader]].party()
        assert picture.leader <= member.daemon


@given(st.integers(1, 8))
def test_if_all_hear_all_there_is_one_party(count: int) -> None:
    members = [Member(DaemonId(number), Incarnation(1)) for number in range(1, count + 1)]
    hears = {one: [other for other in members if other != one] for one in members}
    assert parties(settle(hears)) == [tuple(members)]


@given(graphs(), st.data())
def test_who_is_not_heard_in_return_is_left_out(hears: Graph, data: st.DataObject) -> None:
    """A one-way link joins nobody."""
    deaf = data.draw(st.sampled_from(sorted(hears)))
    one_way = {member: list(heard) for member, heard in hears.items()}
    one_way[deaf] = []
    found = parties(settle(one_way))
    assert (deaf,) in found
    assert sorted(member for party in found for member in party) == sorted(hears)
