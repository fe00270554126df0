"""The body of a client's bundle: destinations, lengths, kinds, payloads.

    u32  length of the table          u16 lengths follow per destination:
    ...  table: u16 destinations,     each u16 groups, each u8 length + UTF-8
    u16  * count: destination of each message, only if there is more than one
    u32  * count: length of each payload
    i16  * count: kind of each message (SP-83)
    ...  payloads

A table is read once and remembered: bundles of one sender repeat it.
"""

from struct import Struct, error

from antiphon.core.errors import DecodeError
from antiphon.core.ids import GROUP_NAME_BYTES_MAX, GroupName

U32 = Struct(">I")
U16 = Struct(">H")

Destination = tuple[GroupName, ...]
Table = tuple[Destination, ...]

DESTINATIONS_MAX = 1024
GROUPS_PER_MESSAGE_MAX = 100
TABLE_BYTES_MAX = 65_000
TABLES_REMEMBERED = 1024
MESSAGES_PER_BUNDLE_MAX = 65_535


class Body:
    """A bundle's body, opened."""

    __slots__ = ("table", "destinations", "kinds", "payloads")

    def __init__(
        self,
        table: Table,
        destinations: tuple[int, ...],
        kinds: tuple[int, ...],
        payloads: tuple[bytes, ...],
    ) -> None:
        self.table = table
        self.destinations = destinations
        self.kinds = kinds
        self.payloads = payloads


def pack_table(table: Table) -> bytes:
    parts = [U16.pack(len(table))]
    for destination in table:
        parts.append(U16.pack(len(destination)))
        for group in destination:
            name = group.encode()
            parts += [bytes([len(name)]), name]
    return b"".join(parts)


def pack_body(
    table: Table, destinations: tuple[int, ...], kinds: tuple[int, ...], payloads: tuple[bytes, ...]
) -> bytes:
    packed = pack_table(table)
    count = len(payloads)
    parts = [U32.pack(len(packed)), packed]
    if len(table) > 1:
        parts.append(Struct(f">{count}H").pack(*destinations))
    parts.append(Struct(f">{count}I{count}h").pack(*map(len, payloads), *kinds))
    return b"".join(parts + list(payloads))


_tables: dict[bytes, Table] = {}


def read_table(packed: bytes) -> Table:
    table = _tables.get(packed)
    if table is None:
        table = _parse_table(packed)
        if pack_table(table) != packed:
            raise DecodeError("not_canonical", "table of groups")
        if len(_tables) >= TABLES_REMEMBERED:
            _tables.clear()
        _tables[packed] = table
    return table


def _parse_table(packed: bytes) -> Table:
    try:
        (count,) = U16.unpack_from(packed)
        at = 2
        table = []
        for _ in range(count):
            (groups,) = U16.unpack_from(packed, at)
            at += 2
            names = []
            for _ in range(groups):
                size = packed[at]
                name = packed[at + 1 : at + 1 + size].decode()
                at += 1 + size
                names.append(name)
            table.append(tuple(names))
    except (error, IndexError, UnicodeDecodeError) as fault:
        raise DecodeError("malformed", f"table of groups: {fault}") from None
    if at != len(packed) or not 0 < count <= DESTINATIONS_MAX:
        raise DecodeError("malformed", "table of groups: size")
    if any(not 0 < len(names) <= GROUPS_PER_MESSAGE_MAX or not all(names) for names in table):
        raise DecodeError("malformed", "table of groups: a destination names 1 to 100 groups")
    return tuple(table)


def read_body(body: bytes, count: int) -> Body:
    # Before anything is allocated: each message has six bytes of its own.
    if not 0 < count <= MESSAGES_PER_BUNDLE_MAX or 6 * count > len(body):
        raise DecodeError("bad_field", "body: number of messages")
    try:
        (table_bytes,) = U32.unpack_from(body)
        if table_bytes > TABLE_BYTES_MAX:
            raise DecodeError("bad_field", "table of groups: too long")
        table = read_table(body[4 : 4 + table_bytes])
        at = 4 + table_bytes
        destinations: tuple[int, ...] = (0,) * count
        if len(table) > 1:
            destinations = Struct(f">{count}H").unpack_from(body, at)
            at += 2 * count
        numbers = Struct(f">{count}I{count}h").unpack_from(body, at)
        at += 6 * count
    except error as fault:
        raise DecodeError("malformed", f"body: {fault}") from None
    if max(destinations) >= len(table):
        raise DecodeError("bad_field", "body: a destination that the table does not have")
    lengths, kinds = numbers[:count], numbers[count:]
    if sum(lengths) != len(body) - at:
        raise DecodeError("wrong_size", "body")
    payloads = tuple(body[at : (at := at + length)] for length in lengths)
    return Body(table, destinations, kinds, payloads)


assert GROUP_NAME_BYTES_MAX < 256, "a group name's length is one byte"
