"""The journal: rows on their way to a segment, safe from the death of their process.

A process that is killed takes along what it holds in memory, and judges would miss stampings
that others saw the effects of. What was handed to the system with `write` survives. So rows are
appended here at once, and the file goes when its segment is complete.

    heading as a frame, then frames of rows; a frame is its length (4 bytes) and msgpack
"""

import struct
from pathlib import Path

import msgspec

from antiphon.core.trace import Record
from antiphon.records.segment import Heading

LENGTH = struct.Struct(">I")

_encoder = msgspec.msgpack.Encoder()
_heading = msgspec.msgpack.Decoder(Heading)
_rows = msgspec.msgpack.Decoder(list[Record])


def frame(content: Heading | list[Record]) -> bytes:
    raw = _encoder.encode(content)
    return LENGTH.pack(len(raw)) + raw


def read_heading(path: Path) -> Heading:
    """ValueError if it was torn before the end of its heading."""
    with path.open("rb") as file:
        (length,) = LENGTH.unpack(_exactly(file.read(LENGTH.size), LENGTH.size))
        return _heading.decode(_exactly(file.read(length), length))


def read_rows(path: Path) -> tuple[list[Record], bool]:
    """All whole frames, and whether something was left behind them."""
    raw = path.read_bytes()
    rows: list[Record] = []
    start = end = 0
    while end + LENGTH.size <= len(raw):
        start = end + LENGTH.size
        stop = start + LENGTH.unpack_from(raw, end)[0]
        if stop > len(raw):
            break
        if end:  # the first frame is the heading
            try:
                rows += _rows.decode(raw[start:stop])
            except msgspec.MsgspecError:
                break
        end = stop
    return rows, end < len(raw)


def _exactly(raw: bytes, size: int) -> bytes:
    if len(raw) != size:
        raise ValueError("the journal ends inside its heading")
    return raw
