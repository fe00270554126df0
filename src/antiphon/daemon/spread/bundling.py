"""From Spread's messages to our bundles: what came together and is of one service travels as one.

The daemon pays per bundle, so consecutive messages of one read become one, whatever groups they
are for, within the bounds of wire/body.py.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from antiphon.core.effects import Multicast
from antiphon.daemon.spread.names import Names
from antiphon.wire.body import (
    DESTINATIONS_MAX,
    HEAD_BYTES_MAX,
    MESSAGES_PER_BUNDLE_MAX,
    Destination,
    pack_body,
)
from antiphon.wire.spread.messages import Head, SpreadMessage
from antiphon.wire.spread.words import REGULAR, SELF_DISCARD, is_little, read_kind

BUNDLE_BYTES = 65_536
"""A bundle is cut when its payloads have so many bytes."""

DESTINATIONS_BYTES_MAX = HEAD_BYTES_MAX - 100
"""A head has little else."""

KIND = REGULAR | SELF_DISCARD

Run = list[SpreadMessage]


def runs(messages: Sequence[SpreadMessage]) -> Iterator[Run]:
    """Consecutive messages that can be one bundle; anything but a message stands alone."""
    run: Run = []
    last: Head | None = None
    last_is_little = False
    for message in messages:
        head, little = message.head, is_little(message.hint)
        if head is not last or little is not last_is_little:
            kind = head.type & KIND
            belongs = last is not None and kind == last.type & KIND and little is last_is_little
            if run and not (belongs and kind):
                yield run
                run = []
            last, last_is_little = head, little
        elif not head.type & KIND:
            yield run
            run = []
        run.append(message)
    if run:
        yield run


class Bundle(NamedTuple):
    """A multicast and the messages that it was made of."""

    multicast: Multicast
    messages: Run


def bundles(
    session: int, name: str, run: Run, names: Names, counts: Counter[str]
) -> Iterator[Bundle]:
    """Of the messages of a run, all but those to no group at all."""
    part: Run = []
    table: dict[Destination, int] = {}
    where: list[int] = []
    payload_bytes = head_bytes = number = 0
    last: Head | None = None
    for message in run:
        head = message.head
        if head is not last:
            if not head.groups:
                counts["unreachable: no group"] += 1
                continue
            place = names.place(head.groups)
            is_new = place.destination not in table
            if is_new and part:
                is_full = head_bytes + place.head_bytes > DESTINATIONS_BYTES_MAX
                if is_full or len(table) == DESTINATIONS_MAX:
                    yield _bundle(session, name, part, table, where)
                    part, table, where, payload_bytes, head_bytes = [], {}, [], 0, 0
            if is_new:
                table[place.destination] = len(table)
                head_bytes += place.head_bytes
            number = table[place.destination]
            last = head
        if place.is_strange:
            counts["unreachable: strange group"] += 1
        part.append(message)
        where.append(number)
        payload_bytes += len(message.data)
        if payload_bytes >= BUNDLE_BYTES or len(part) == MESSAGES_PER_BUNDLE_MAX:
            yield _bundle(session, name, part, table, where)
            part, table, where, payload_bytes, head_bytes = [], {}, [], 0, 0
            last = None
    if part:
        yield _bundle(session, name, part, table, where)


def _bundle(
    session: int, name: str, part: Run, table: dict[Destination, int], where: list[int]
) -> Bundle:
    first = part[0]
    kinds = {hint: read_kind(hint) for hint in {message.hint for message in part}}
    body = pack_body(
        tuple(table),
        tuple(where),
        tuple([kinds[message.hint] for message in part]),
        tuple([message.data for message in part]),
        sender=name,
        big_endian=not is_little(first.hint),
    )
    service = first.head.service
    assert service is not None, "only messages are bundled"
    return Bundle(Multicast(session, service, len(part), body, first.head.self_discard), part)
