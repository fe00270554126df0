"""Bytes that no sender writes, each with the reason it is refused for."""

from collections.abc import Callable
from struct import pack_into
from typing import Any, NamedTuple

import msgspec

from antiphon.wire.body import pack_body
from antiphon.wire.packet import CONFIG_BYTES, HEADER_BYTES
from antiphon.wire.ring import LOW, ORDER_LENGTH, PACKET_OVERHEAD, PIECE_OVERHEAD, TOKEN_BYTES
from tests.wire.messages import EXAMPLES, Example

BY_NAME = {example.name: example for example in EXAMPLES}

TOKEN = HEADER_BYTES + CONFIG_BYTES
PIECE = PACKET_OVERHEAD
ORDER = PACKET_OVERHEAD + PIECE_OVERHEAD


class Refusal(NamedTuple):
    """`raw`, handed to the decoder of the example `name`, is refused for `reason`."""

    reason: str
    why: str
    name: str
    raw: bytes

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def rewritten(name: str, at: int, code: str, value: int) -> bytes:
    """The example with one fixed-size field replaced."""
    raw = bytearray(BY_NAME[name].raw)
    pack_into(f">{code}", raw, at, value)
    return bytes(raw)


def respelled(name: str, spell: Callable[[Any], Any], head: int = HEADER_BYTES) -> bytes:
    """The example's msgpack, opened, changed and spelled again by a plain encoder."""
    raw = BY_NAME[name].raw
    return raw[:head] + msgspec.msgpack.encode(spell(msgspec.msgpack.decode(raw[head:])))


def with_field(index: int, value: Any) -> Callable[[Any], Any]:
    return lambda fields: [*fields[:index], value, *fields[index + 1 :]]


def swapped(name: str, old: bytes, new: bytes) -> bytes:
    raw = BY_NAME[name].raw
    assert raw.count(old) == 1, f"{old!r} is in {name} {raw.count(old)} times"
    return raw.replace(old, new)


def control(reason: str, why: str, name: str, index: int, value: Any) -> Refusal:
    return Refusal(reason, why, name, respelled(name, with_field(index, value)))


def change(reason: str, why: str, name: str, index: int, value: Any) -> Refusal:
    return Refusal(reason, why, name, respelled(name, with_field(index, value), 0))


def field(reason: str, why: str, name: str, at: int, code: str, value: int) -> Refusal:
    return Refusal(reason, why, name, rewritten(name, at, code, value))


def order(reason: str, why: str, name: str, index: int, value: Any) -> Refusal:
    """The order of its first piece, with one field replaced and spelled again."""
    raw = BY_NAME[name].raw
    (length,) = ORDER_LENGTH.unpack_from(raw, ORDER)
    begin = ORDER + ORDER_LENGTH.size
    fields = msgspec.msgpack.decode(raw[begin : begin + length])
    packed = msgspec.msgpack.encode(with_field(index, value)(fields))
    changed = ORDER_LENGTH.pack(len(packed)) + packed
    return Refusal(reason, why, name, raw[:ORDER] + changed + raw[begin + length :])


def _length(name: str) -> int:
    """Of the order of its first piece."""
    length: int = ORDER_LENGTH.unpack_from(BY_NAME[name].raw, ORDER)[0]
    return length


def stream(
    why: str, held: list[list[int]], known: int = 0, stamp: int = 0, early: Any = ()
) -> Refusal:
    """A state with one stream that cannot be."""
    return control("bad_field", why, "state", 3, [[held, known, stamp, early]])


def _half(state: list[Any]) -> list[Any]:
    """A member that holds more than half of what all may hold."""
    return [*state[:3], [[[[1, (1 << 19) + 1, 1 << 20]], 0, 0, []]], *state[4:]]


LONE_BASE = [1, 2, 3, 4]
TOO_MANY_MEMBERS = [[1, number] for number in range(257)]
TOO_MANY_RUNS = [[3 * number, 3 * number] for number in range(1, 4098)]
LONE_MEMBER = [3, 1]
CONTROL_NAMES = tuple(
    example.name for example in EXAMPLES if example.decode is BY_NAME["hello"].decode
)
CHANGE_NAMES = tuple(
    example.name for example in EXAMPLES if example.decode is BY_NAME["join_group"].decode
)


def spellings(example: Example, head: int) -> list[Refusal]:
    """Other spellings of the same message: msgpack knows several, we know one."""
    raw = example.raw
    fields = msgspec.msgpack.decode(raw[head:])
    longer = bytes([raw[head] + 1])
    length = 1 if len(fields) < 16 else 3
    extra = raw[:head] + longer + raw[head + 1 :] + b"\x00"
    no_fields = raw[:head] + b"\x90"
    missing = [Refusal("malformed", "a field missing", example.name, no_fields)] if fields else []
    return [
        Refusal("malformed", "trailing byte", example.name, raw + b"\x00"),
        Refusal("malformed", "one field more", example.name, extra),
        Refusal("malformed", "cut short", example.name, raw[:-1]),
        *missing,
        Refusal("malformed", "nothing", example.name, raw[:head]),
        Refusal(
            "not_canonical",
            "array with a four-byte length",
            example.name,
            raw[:head] + b"\xdd\x00\x00\x00" + bytes([len(fields)]) + raw[head + length :],
        ),
    ]


SPELLINGS = [
    *(one for name in CONTROL_NAMES for one in spellings(BY_NAME[name], HEADER_BYTES)),
    *(one for name in CHANGE_NAMES for one in spellings(BY_NAME[name], 0)),
    Refusal(
        "not_canonical",
        "7 in two bytes",
        "end_session",
        swapped("end_session", b"\xcd\x01\x2c", b"\xce\x00\x00\x01\x2c"),
    ),
    Refusal(
        "not_canonical",
        "text in another length",
        "join_group",
        swapped("join_group", b"\xa4anna", b"\xd9\x04anna"),
    ),
    Refusal(
        "not_canonical",
        "bytes in another length",
        "recovery_data",
        swapped("recovery_data", b"\xc4\x08fragment", b"\xc5\x00\x08fragment"),
    ),
    Refusal(
        "malformed",
        "text that is not UTF-8",
        "join_group",
        swapped("join_group", b"anna", b"ann\xff"),
    ),
    Refusal(
        "malformed",
        "a float for a number",
        "end_session",
        swapped("end_session", b"\xcd\x01\x2c", b"\xca\x43\x96\x00\x00"),
    ),
]

BOUNDS = [
    control("malformed", "epoch below 0", "hello", 5, -1),
    control("malformed", "257 members heard", "hello", 6, TOO_MANY_MEMBERS),
    control("malformed", "reason of 65 characters", "hello", 3, "r" * 65),
    control("malformed", "257 in a clique", "hello", 7, list(range(1, 258))),
    control("malformed", "a member of three numbers", "hello", 6, [[1, 2, 3]]),
    control("malformed", "alert is no truth value", "hello", 2, 1),
    control("malformed", "257 members", "propose", 1, [TOO_MANY_MEMBERS]),
    control("malformed", "257 segments", "propose", 1, [[one] for one in TOO_MANY_MEMBERS]),
    control("malformed", "no segments", "propose", 1, []),
    control("malformed", "evidence of 2049 characters", "propose", 3, "e" * 2049),
    control("malformed", "a weight of 33 bits", "propose_segments", 2, [[0, 1 << 32], [1, 0]]),
    control("malformed", "257 reports held", "greeting", 2, [[[n, 1], 1] for n in range(257)]),
    control("malformed", "a clock of 33 bits", "greeting", 3, [1, 2**32, 3, 4]),
    control("malformed", "a weight below 0", "site_report", 7, [-1]),
    control("malformed", "257 leaders heard", "site_report", 6, [[n, 1] for n in range(257)]),
    control("malformed", "trouble of 65 characters", "site_report", 5, [[3, LONE_BASE, "t" * 65]]),
    control("malformed", "a route to nobody", "relayed", 0, []),
    control("malformed", "a route of 33 hops", "relayed", 0, list(range(33))),
    control("malformed", "a packet that fits no datagram", "relayed", 1, bytes(65_508)),
    control("malformed", "a counter of 33 bits", "ready", 0, [1, 2, 3, 1 << 32]),
    control("malformed", "a configuration of three numbers", "commit", 0, [1, 2, 3]),
    control("malformed", "4097 runs", "recovery_request", 4, TOO_MANY_RUNS),
    control("malformed", "a service above safe", "recovery_data", 6, 6),
    control("malformed", "an unreliable bundle", "recovery_data", 6, 0),
    control("malformed", "a fragment of 65537 bytes", "recovery_data", 15, bytes(65_537)),
    control("malformed", "no message", "recovery_data", 5, 0),
    control("malformed", "65536 messages", "recovery_data", 5, 65_536),
    control("malformed", "no fragments", "recovery_data", 14, 0),
    control("malformed", "2^20 + 1 fragments", "recovery_data", 14, (1 << 20) + 1),
    control("malformed", "five numbers for an order", "recovery_data", 9, [1, 1, 0, 0, 0]),
    change("malformed", "a change that does not exist", "end_session", 0, 9),
    change("malformed", "a session of 33 bits", "end_session", 1, 1 << 32),
    change("malformed", "an empty session name", "join_group", 2, ""),
    change("malformed", "a session name of 65", "join_group", 2, "n" * 65),
    change("malformed", "an empty group name", "join_group", 3, ""),
    change("malformed", "a group name of 256", "join_group", 3, "g" * 256),
    change("malformed", "an empty group name", "leave_group", 2, ""),
    change("malformed", "a group name of 256", "leave_group", 2, "g" * 256),
]

MEANINGS = [
    control("not_canonical", "heard is not sorted", "hello", 6, [[9, 1], [3, 1]]),
    control("not_canonical", "heard names one twice", "hello", 6, [LONE_MEMBER, LONE_MEMBER]),
    control("not_canonical", "clique is not sorted", "hello", 7, [9, 3]),
    control("not_canonical", "members not sorted", "propose", 1, [[[9, 1], [3, 1]]]),
    control("not_canonical", "segments not sorted", "propose_segments", 1, [[[9, 1]], [[3, 1]]]),
    control("bad_field", "an empty segment", "propose_segments", 1, [[[9, 1]], []]),
    control(
        "bad_field", "in two segments", "propose_segments", 1, [[[3, 1], [9, 1]], [[4, 1], [9, 1]]]
    ),
    control("bad_field", "weights of one segment", "propose", 2, [[0]]),
    control("bad_field", "weights of three segments", "propose_segments", 2, [[0, 1], [1, 0], []]),
    control("bad_field", "a row too short", "propose_segments", 2, [[0, 1], [1]]),
    control("bad_field", "an edge of one direction", "propose_segments", 2, [[0, 1], [0, 0]]),
    control("bad_field", "an edge to itself", "propose_segments", 2, [[1, 1], [1, 0]]),
    control("not_canonical", "reports not sorted", "greeting", 2, [[[9, 1], 1], [[3, 1], 1]]),
    control("bad_field", "a party without its leader", "site_report", 4, [LONE_MEMBER]),
    control("not_canonical", "a party not sorted", "site_report", 4, [[3, 5], [2, 1]]),
    control("not_canonical", "leaders not sorted", "site_report", 6, [[9, 1], [3, 1]]),
    control("bad_field", "weights of ways that are not there", "site_report", 7, [1, 2]),
    control("bad_field", "an echo of nothing", "greeting", 3, [1, 2, 3, 2**32 - 1]),
    control("bad_field", "a standing of a stranger", "site_report", 5, [[7, LONE_BASE, ""]]),
    control("bad_field", "a route that returns", "relayed", 0, [3, 4, 3]),
    Refusal(
        "bad_field",
        "one stream too many",
        "site_state",
        respelled("site_state", lambda told: [told[0], [with_field(3, [1])(told[1][0])]]),
    ),
    Refusal(
        "not_canonical",
        "parts not sorted",
        "site_state",
        respelled("site_state", lambda fields: [fields[0], fields[1][::-1]]),
    ),
    Refusal(
        "not_canonical",
        "parts of a site not sorted",
        "digest_leaders",
        respelled("digest_leaders", lambda fields: [fields[0], [fields[1][0][::-1]], []]),
    ),
    Refusal(
        "not_canonical",
        "states not sorted",
        "digest",
        respelled("digest", lambda fields: [*fields[:2], fields[2][::-1]]),
    ),
    stream("runs touch", [[1, 2, 2], [3, 4, 4]]),
    stream("a run backwards", [[4, 2, 4]]),
    stream("an early run from 0", [], early=[[0, 2]]),
    stream("4097 runs of stamps", [[*run, run[1]] for run in TOO_MANY_RUNS]),
    stream("runs over more than 2^20 numbers", [[1, (1 << 20) + 1, 1 << 30]]),
    stream("a run to the end of numbers", [[1, (1 << 64) - 1, (1 << 64) - 1]]),
    stream("a stamp below its sequence", [[1, 3, 2]]),
    stream("stamps that do not rise", [[1, 2, 9], [5, 6, 9]]),
    stream("a line below what is known", [], known=5, stamp=4),
    Refusal(
        "bad_field",
        "two members with too many runs together",
        "digest",
        respelled("digest", lambda fields: [*fields[:2], [_half(one) for one in fields[2]]]),
    ),
    control("bad_field", "a request for nothing", "recovery_request", 4, []),
    control("bad_field", "a request for too much", "recovery_request", 4, [[1, 1 << 40]]),
    control("bad_field", "number 0", "recovery_data", 4, 0),
    control("bad_field", "a fragment behind the last", "recovery_data", 13, 3),
    control("bad_field", "sequence 0", "recovery_data", 9, [0, 11, 0, 0, 0, 0]),
    control("bad_field", "stamp below sequence", "recovery_data", 9, [9, 8, 0, 0, 0, 0]),
    control("bad_field", "past not before", "recovery_data", 9, [9, 11, 9, 0, 0, 0]),
    control("bad_field", "a past of its own stream", "recovery_data", 11, [[1, 3]]),
    control("bad_field", "pasts not sorted", "recovery_data", 11, [[2, 3], [0, 3]]),
    control("bad_field", "segments not sorted", "recovery_data", 12, [[1, 0, 0], [0, 0, 0]]),
    control("bad_field", "a segment twice", "recovery_data", 12, [[1, 0, 0], [1, 0, 0]]),
    control("bad_field", "a chain not before", "recovery_data", 12, [[1, 9, 0]]),
    control("bad_field", "a session's chain not before", "recovery_data", 12, [[1, 0, 9]]),
    Refusal("unknown_tag", "a tag nobody has", "hello", rewritten("hello", 1, "B", 250)),
    Refusal("unknown_tag", "a tag read elsewhere", "hello", rewritten("hello", 1, "B", 2)),
]

RING = [
    Refusal("too_short", "no pieces", "ring_whole", BY_NAME["ring_whole"].raw[:PACKET_OVERHEAD]),
    Refusal("cut_short", "in a piece's head", "ring_cut", BY_NAME["ring_cut"].raw[: PIECE + 5]),
    Refusal(
        "cut_short", "in a piece's order", "ring_whole", BY_NAME["ring_whole"].raw[: ORDER + 5]
    ),
    Refusal("cut_short", "in a piece's data", "ring_cut", BY_NAME["ring_cut"].raw[:-1]),
    Refusal("cut_short", "trailing byte", "ring_whole", BY_NAME["ring_whole"].raw + b"\x00"),
    field("cut_short", "a length of 64 KB", "ring_cut", PIECE + 20, "H", 65_535),
    field("bad_field", "an unknown flag", "ring_whole", PIECE, "B", 17),
    field("bad_field", "a service above safe", "ring_whole", PIECE + 1, "B", 6),
    field("bad_field", "number 0", "ring_whole", PIECE + 6, "Q", 0),
    field("bad_field", "no message", "ring_whole", PIECE + 14, "H", 0),
    field("bad_field", "index 2^20", "ring_whole", PIECE + 16, "I", 1 << 20),
    field("bad_field", "an empty fragment", "ring_cut", PIECE + 20, "H", 0),
    field("bad_field", "unreliable on the ring", "ring_whole", PIECE + 1, "B", 0),
    field("bad_field", "reliable outside of it", "ring_unreliable", PIECE + 1, "B", 4),
    order("bad_field", "sequence 0", "ring_whole", 0, 0),
    order("bad_field", "stamp below sequence", "ring_whole", 1, LOW),
    order("bad_field", "previous not before", "ring_whole", 2, 0),
    order("bad_field", "early past not before", "ring_whole", 3, 0),
    order("bad_field", "order past not before", "ring_whole", 4, 0),
    order("bad_field", "change not before", "ring_whole", 5, 0),
    order("bad_field", "other pasts not sorted", "ring_whole", 6, [[2, 3], [1, 3]]),
    order("bad_field", "segments not sorted", "ring_whole", 7, [[2, 3, 3], [1, 3, 3]]),
    order("malformed", "a past below 0", "ring_whole", 3, -1),
    order("malformed", "a distance of 1.5", "ring_whole", 4, 1.5),
    order("bad_field", "unreliable with a sequence", "ring_unreliable", 0, 1),
    order("bad_field", "unreliable with a previous", "ring_unreliable", 2, LOW),
    field("malformed", "an order cut short", "ring_whole", ORDER, "H", 3),
    field("cut_short", "an order behind the end", "ring_whole", ORDER, "H", 65_535),
    Refusal(
        "not_canonical",
        "9 in two bytes",
        "ring_whole",
        rewritten("ring_whole", ORDER, "H", _length("ring_whole") + 1).replace(
            b"\x98\x09", b"\x98\xcc\x09"
        ),
    ),
]

TOKENS = [
    Refusal("too_short", "cut", "token_first", BY_NAME["token_first"].raw[: TOKEN_BYTES - 1]),
    Refusal("wrong_size", "trailing byte", "token_first", BY_NAME["token_first"].raw + b"\x00"),
    Refusal("wrong_size", "cut", "token_requests", BY_NAME["token_requests"].raw[:-1]),
    field("wrong_size", "a request that is not there", "token_first", TOKEN_BYTES - 4, "H", 1),
    field("bad_field", "65 requests", "token_first", TOKEN_BYTES - 4, "H", 65),
    field("bad_field", "another type", "token_first", TOKEN, "B", 1),
    field("bad_field", "sequence 0", "token_first", TOKEN + 1, "Q", 0),
    field("bad_field", "link ARU above the sequence", "token_requests", TOKEN + 17, "Q", 501),
    field("bad_field", "sequence above the stamp", "token_requests", TOKEN + 37, "Q", 701),
    field("bad_field", "site ARU above the stamp", "token_requests", TOKEN + 53, "Q", 701),
    field("bad_field", "change above the stamp", "token_requests", TOKEN + 69, "Q", 701 << 16),
    field("bad_field", "a request for 0", "token_requests", TOKEN_BYTES, "Q", 0),
    field("bad_field", "a request backwards", "token_requests", TOKEN_BYTES, "Q", 482),
    field("bad_field", "requests touch", "token_requests", TOKEN_BYTES + 8, "Q", 482),
    field("bad_field", "a request for the unsent", "token_requests", TOKEN_BYTES + 24, "Q", 501),
]

ONE = "body_one_destination"
MANY = "body_destinations"
NOTHING_TWICE = ((0, 0), (0, 0), (b"", b""))
MANY_PLACES = tuple((f"g{number}",) for number in range(1025))
BODIES = [
    Refusal("bad_field", "nothing", ONE, b""),
    Refusal("malformed", "no table", ONE, bytes(12)),
    Refusal("malformed", "no room for lengths", ONE, BY_NAME[ONE].raw[:20]),
    Refusal("wrong_size", "trailing byte", ONE, BY_NAME[ONE].raw + b"\x00"),
    Refusal("wrong_size", "cut", ONE, BY_NAME[ONE].raw[:-1]),
    field("bad_field", "a table of 65001 bytes", ONE, 0, "I", 65_001),
    field("malformed", "a table longer than the body", ONE, 0, "I", 65_000),
    field("not_canonical", "a flag of its own", ONE, 8, "B", 8),
    field("malformed", "keyed to two groups", ONE, 8, "B", 2),
    field("malformed", "a table of no destinations", ONE, 9, "H", 0),
    field("malformed", "a table of more destinations", ONE, 9, "H", 2),
    field("malformed", "no groups", ONE, 11, "H", 0),
    field("malformed", "fewer groups", ONE, 11, "H", 1),
    field("malformed", "an empty group name", ONE, 13, "B", 0),
    field("malformed", "a group name that is not UTF-8", ONE, 14, "B", 0xFF),
    Refusal("malformed", "101 groups", ONE, pack_body((("g",) * 101,), *NOTHING_TWICE)),
    Refusal("malformed", "1025 destinations", ONE, pack_body(MANY_PLACES, *NOTHING_TWICE)),
    field("bad_field", "a destination behind the table", MANY, 35, "H", 2),
]  # fmt: skip

ALL = [*SPELLINGS, *BOUNDS, *MEANINGS, *RING, *TOKENS, *BODIES]
