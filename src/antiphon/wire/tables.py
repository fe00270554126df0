"""Bodies that refer to a table, and the same messages in bodies that name their groups.

Whoever cannot know the table of a session is given its messages so: a daemon that the sender has
gone over to, a client of an older version.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from antiphon.wire.body import (
    DESTINATIONS_MAX,
    HEAD_BYTES_MAX,
    HIGHEST,
    Body,
    Destination,
    pack_body,
)

PLACES_MAX = 16_384
"""In the table of one session."""

NAMES_BYTES_MAX = HEAD_BYTES_MAX - 600
"""Of all destinations of a head, with room for what else it has."""


def names_bytes(destination: Destination) -> int:
    """What a destination takes in a head."""
    return 2 + sum([1 + len(name.encode()) for name in destination])


def cuts(
    places: Sequence[int], table: Sequence[Destination]
) -> Iterator[tuple[int, int, dict[int, int]]]:
    """Messages to these places of a table, cut where a head would become too long: (first, end,
    the places of these and their numbers in a table of their own)."""
    used = dict.fromkeys(places)
    if len(used) <= DESTINATIONS_MAX:
        if sum([names_bytes(table[place]) for place in used]) <= NAMES_BYTES_MAX:
            yield 0, len(places), {place: number for number, place in enumerate(used)}
            return
    start, count = 0, len(places)
    while start < count:
        numbers: dict[int, int] = {}
        room = NAMES_BYTES_MAX
        end = start
        for place in islice(places, start, None):
            if place not in numbers:
                room -= names_bytes(table[place])
                if numbers and (room < 0 or len(numbers) == DESTINATIONS_MAX):
                    break
                numbers[place] = len(numbers)
            end += 1
        yield start, end, numbers
        start = end


def named(body: Body) -> Iterator[tuple[int, int, bytes]]:
    """The messages of a body that refers to a table, in bodies that name their groups: (first,
    end, body), most often one."""
    kinds, payloads, places = body.kinds, body.payloads, body.destinations
    for first, end, numbers in cuts(places, body.table):
        packed = pack_body(
            tuple([body.table[place] for place in numbers]),
            [numbers[place] for place in places[first:end]],
            kinds[first:end],
            payloads[first:end],
            body.sender,
        )
        yield first, end, packed


assert PLACES_MAX <= HIGHEST, "a place has no such bit"
