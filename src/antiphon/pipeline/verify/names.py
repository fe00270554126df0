"""Names as numbers: 64-bit hashes, made alike from columns of rows and from facts."""

from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

SEED, FACTOR = np.uint64(0x5851F42D4C957F2D), np.uint64(0x9E3779B97F4A7C15)
FOLD = np.uint64(32)


def mixed(*fields: Any) -> Longs:
    """One number for the fields of a name; fields are arrays of one length, or numbers."""
    parts = [np.atleast_1d(np.asarray(field)).astype(np.int64, copy=False) for field in fields]
    size = next((len(part) for part in parts if len(part) != 1), 1)
    found: Words = np.full(size, SEED, np.uint64)
    for part in parts:
        found ^= part.view(np.uint64)
        found *= FACTOR
        found ^= found >> FOLD
        found *= FACTOR
        found ^= found >> FOLD
    return found.view(np.int64)


@cache
def text_number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), signed=True)


def text_numbers(texts: Iterable[str | None]) -> Longs:
    return np.array([0 if text is None else text_number(text) for text in texts], np.int64)


def group_numbers(history: int | Longs, names: Iterable[str | None]) -> Longs:
    return mixed(history, text_numbers(names))


def signed(numbers: Iterable[int]) -> tuple[int, ...]:
    """64 bits as tables have them."""
    return tuple(number - (1 << 64) if number >= 1 << 63 else number for number in numbers)


def hashed(names: Sequence[tuple[int, ...]]) -> Longs:
    """Of names as tuples of numbers, all of one length."""
    if not names:
        return np.empty(0, np.int64)
    columns = zip(*(signed(name) for name in names), strict=True)
    return mixed(*(np.array(column, np.int64) for column in columns))


def list_numbers(starts: Longs, counts: Longs, items: Longs) -> Longs:
    """One number for each list of items, whose order counts; 0 for an empty one."""
    found = np.zeros(len(starts), np.int64)
    full = np.flatnonzero(counts)
    if len(full):
        places = within(counts[full])
        at = np.repeat(starts[full], counts[full]) + places
        each = mixed(places, items[at]).view(np.uint64)
        first = np.cumsum(counts[full]) - counts[full]
        found[full] = mixed(counts[full], np.add.reduceat(each, first).view(np.int64))
    return found


def within(counts: Longs) -> Longs:
    """0, 1, … for each run of so many."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def distinct(values: Longs) -> Longs:
    """Each value once, sorted: by sorting, where numpy would hash."""
    ordered: Longs = np.sort(values)
    is_new: Flags = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    return ordered[is_new]
