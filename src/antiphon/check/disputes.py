"""Whether many sequences agree on one order, and if not, the shortest proof."""

from collections import deque
from typing import TypeVar

Party = TypeVar("Party")
Sequence = list[int]
Dispute = list[tuple[Party, int, int]]
"""Who puts what before what, in a circle: with two entries, two parties disagree."""


def ranks(sequences: list[Sequence]) -> dict[int, int] | None:
    """One order that contains all of them, as the place of each element; none if there is
    none."""
    after, waits = _graph(sequences)
    ready = deque(number for number, count in waits.items() if not count)
    rank: dict[int, int] = {}
    while ready:
        number = ready.popleft()
        rank[number] = len(rank)
        for other in after[number]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)
    return rank if len(rank) == len(waits) else None


def _graph(sequences: list[Sequence]) -> tuple[dict[int, list[int]], dict[int, int]]:
    pairs: dict[tuple[int, int], None] = {}
    waits: dict[int, int] = {}
    for sequence in sequences:
        pairs.update(dict.fromkeys(zip(sequence, sequence[1:], strict=False)))
        waits.update(dict.fromkeys(sequence, 0))
    after: dict[int, list[int]] = {number: [] for number in waits}
    for one, other in pairs:
        after[one].append(other)
        waits[other] += 1
    return after, waits


def find_dispute(parties: list[tuple[Party, Sequence]]) -> Dispute[Party] | None:
    """Two processes with two elements if there are such, else a short circle; none if all
    agree."""
    if ranks([sequence for _, sequence in parties]) is not None:
        return None
    for process, sequence in parties:
        places = {number: place for place, number in enumerate(sequence)}
        for other, another in parties:
            pair = _inversion(another, places)
            if pair is not None:
                return [(other, *pair), (process, pair[1], pair[0])]
    return _circle(parties)


def _inversion(sequence: Sequence, places: dict[int, int]) -> tuple[int, int] | None:
    """Two neighbours among the common elements that stand the other way round there."""
    common = [number for number in sequence if number in places]
    for one, other in zip(common, common[1:], strict=False):
        if places[one] > places[other]:
            return one, other
    return None


def _circle(parties: list[tuple[Party, Sequence]]) -> Dispute[Party] | None:
    witness: dict[tuple[int, int], Party] = {}
    for process, sequence in parties:
        for pair in zip(sequence, sequence[1:], strict=False):
            witness.setdefault(pair, process)
    after, _ = _graph([sequence for _, sequence in parties])
    shortest: list[int] = []
    for start in after:
        path = _way_back(start, after)
        if path and (not shortest or len(path) < len(shortest)):
            shortest = path
    around = zip(shortest, shortest[1:] + shortest[:1], strict=True)
    return [(witness[one, other], one, other) for one, other in around]


def _way_back(start: int, after: dict[int, list[int]]) -> list[int]:
    """The shortest path from an element to itself."""
    came: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        number = waiting.popleft()
        for other in after[number]:
            if other == start:
                path = [number]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if other not in came:
                came[other] = number
                waiting.append(other)
    return []
