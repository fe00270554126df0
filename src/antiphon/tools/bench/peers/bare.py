"""A message of a system that is not ours, as a receiver checks it."""

from typing import NamedTuple


class Bare(NamedTuple):
    payload: bytes
    kind: int
