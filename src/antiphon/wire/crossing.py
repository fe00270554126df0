"""What travels between segments, as objects on links: pieces of a stream, and what leaders say
of their streams.

    u8   sort
    u64  birth of the links of its configuration
    ...  a *parcel*: u16 segment, u16 author, its place in the segment, u8 length + mask of
         segments, pieces as they were on the ring of their segment; or a *report*, declared in
         reports.py

Objects of one configuration mean nothing in another.
"""

from struct import Struct, error

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.wire.reports import StreamReport, check_report
from antiphon.wire.ring import pack_mask, read_mask

PARCEL, LOOSE_PARCEL, REPORT = 1, 2, 3
OBJECT_HEAD = Struct(">BQ")
PARCEL_HEAD = Struct(">HHB")
PARCEL_OVERHEAD = OBJECT_HEAD.size + PARCEL_HEAD.size
"""And a bit for each segment."""


class Parcel(msgspec.Struct, gc=False):
    birth: int
    reliable: bool
    segment: int
    author: int
    """Who stamped the pieces: its place in the segment."""

    mask: int
    """Segments that the pieces are for, one bit each; 0: all."""

    body: bytes
    """The pieces."""


class Report(msgspec.Struct, gc=False):
    birth: int
    report: StreamReport


_encode = msgspec.msgpack.Encoder().encode
_report = msgspec.msgpack.Decoder(StreamReport)


def pack_parcel(parcel: Parcel) -> bytes:
    mask = pack_mask(parcel.mask)
    sort = OBJECT_HEAD.pack(PARCEL if parcel.reliable else LOOSE_PARCEL, parcel.birth)
    head = PARCEL_HEAD.pack(parcel.segment, parcel.author, len(mask))
    return b"".join([sort, head, mask, parcel.body])


def pack_report(report: Report) -> bytes:
    return OBJECT_HEAD.pack(REPORT, report.birth) + _encode(report.report)


def read_object(raw: bytes) -> Parcel | Report:
    try:
        sort, birth = OBJECT_HEAD.unpack_from(raw)
        at = OBJECT_HEAD.size
        if sort == REPORT:
            report = Report(birth, check_report(_report.decode(raw[at:])))
            if pack_report(report) != raw:
                raise DecodeError("not_canonical", "report")
            return report
        if sort not in (PARCEL, LOOSE_PARCEL):
            raise DecodeError("unknown_tag", f"object {sort}")
        segment, author, mask_bytes = PARCEL_HEAD.unpack_from(raw, at)
    except (error, msgspec.DecodeError, RecursionError) as fault:
        raise DecodeError("malformed", f"object: {fault}") from None
    at += PARCEL_HEAD.size
    if len(raw) <= at + mask_bytes:
        raise DecodeError("cut_short", "inside a parcel")
    mask = read_mask(raw[at : at + mask_bytes])
    return Parcel(birth, sort == PARCEL, segment, author, mask, raw[at + mask_bytes :])
