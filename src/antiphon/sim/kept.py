"""What a simulated disk holds of kept groups, as a starting node finds it."""

from antiphon.protocol.retain.parts import Stored
from antiphon.protocol.retain.retain import number_of

Contents = dict[str, bytes]


def found_on(disk: Contents) -> list[Stored]:
    """Oldest first."""
    return [Stored(key, disk[key], tell=True) for key in sorted(disk, key=number_of)]
