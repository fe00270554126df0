"""Merge regions until there are few enough and no merge would save anything: pure, on the driver.

Only the largest exact regions are here: what is left over was put to the most similar one. A
merge is judged by what it costs, pairs are taken by what they save.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from antiphon.pipeline.regions.cost import Prices


@dataclass(slots=True)
class Draft:
    """A region on its way."""

    size: int
    members: dict[int, int]
    """By group: how many of its nodes want it."""

    parts: list[int]
    """The regions that it was made of."""


def merge_regions(
    drafts: list[Draft],
    similar: Iterable[tuple[int, int]],
    rates: dict[int, float],
    prices: Prices,
    most: int | None,
) -> list[Draft]:
    """`similar` are pairs worth a look, by their places. Without `most` it ends when no merge of
    such a pair saves anything."""
    alive: dict[int, Draft] = dict(enumerate(drafts))
    friends: dict[int, set[int]] = {place: set() for place in alive}
    for one, other in similar:
        friends[one].add(other)
        friends[other].add(one)
    heap = [
        (_added(alive[one], alive[other], rates, prices), one, other)
        for one, near in friends.items()
        for other in near
        if one < other
    ]
    heapify(heap)
    next_place = len(drafts)
    while heap:
        added, one, other = heappop(heap)
        if one not in alive or other not in alive:
            continue  # one of them is part of another by now
        if added >= 0 and (most is None or len(alive) <= most):
            break
        made = _joined(alive.pop(one), alive.pop(other))
        near = (friends.pop(one) | friends.pop(other)) & alive.keys()
        for each in near:
            friends[each] -= {one, other}
            friends[each].add(next_place)
            heappush(heap, (_added(made, alive[each], rates, prices), each, next_place))
        alive[next_place], friends[next_place] = made, near
        next_place += 1
    return _crowded(alive, len(alive) if most is None else most)


def _crowded(alive: dict[int, Draft], most: int) -> list[Draft]:
    """Whoever is like nobody costs least where it is joined with what is small."""
    heap = [(draft.size, place) for place, draft in alive.items()]
    heapify(heap)
    while len(heap) > most:
        one, other = heappop(heap)[1], heappop(heap)[1]
        alive[one] = _joined(alive[one], alive.pop(other))
        heappush(heap, (alive[one].size, one))
    return [alive[place] for _, place in sorted(heap)]


def _joined(one: Draft, other: Draft) -> Draft:
    large, small = sorted((one, other), key=lambda draft: -len(draft.members))
    members = dict(large.members)
    for group, count in small.members.items():
        members[group] = members.get(group, 0) + count
    return Draft(one.size + other.size, members, one.parts + other.parts)


def _added(one: Draft, other: Draft, rates: dict[int, float], prices: Prices) -> float:
    """What a second costs more if these are one region. Negative: it saves."""
    both = one.size + other.size
    whole = prices.to_region(both)
    added = prices.control(both) - prices.control(one.size) - prices.control(other.size)
    for group in one.members.keys() | other.members.keys():
        here, there = one.members.get(group, 0), other.members.get(group, 0)
        apart = _paid(one.size, here, prices) + _paid(other.size, there, prices)
        together = min(whole, prices.to_members(here + there))
        added += rates.get(group, 1.0) * (together - apart)
    return added


def _paid(size: int, members: int, prices: Prices) -> float:
    return min(prices.to_region(size), prices.to_members(members)) if members else 0.0
