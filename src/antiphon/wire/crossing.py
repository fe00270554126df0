"""What travels between segments, as objects on links: pieces of a stream, and what leaders say
of their streams.

    u8   sort
    ...  configuration id
    ...  a *parcel*: u16 segment, u64 u64 author, u8 length + mask of segments, pieces as they
         were on the ring of their segment; or a *report*, declared in reports.py

Objects of one configuration mean nothing in another.
"""

from struct import Struct, error

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Member
from antiphon.wire.packet import CONFIG, CONFIG_BYTES, pack_config
from antiphon.wire.reports import StreamReport, check_report
from antiphon.wire.ring import ForeignPieces, pack_mask, read_mask

PARCEL, LOOSE_PARCEL, REPORT = 1, 2, 3
SORT = Struct(">B")
PARCEL_HEAD = Struct(">HQQB")
PARCEL_OVERHEAD = SORT.size + CONFIG_BYTES + PARCEL_HEAD.size
"""And a bit for each segment."""


class Parcel(msgspec.Struct, gc=False):
    config: ConfigId
    reliable: bool
    pieces: ForeignPieces


class Report(msgspec.Struct, gc=False):
    config: ConfigId
    report: StreamReport


_encode = msgspec.msgpack.Encoder().encode
_report = msgspec.msgpack.Decoder(StreamReport)


def pack_parcel(config: bytes, reliable: bool, foreign: ForeignPieces) -> bytes:
    mask = pack_mask(foreign.mask)
    sort = SORT.pack(PARCEL if reliable else LOOSE_PARCEL)
    head = PARCEL_HEAD.pack(foreign.segment, *foreign.author, len(mask))
    return b"".join([sort, config, head, mask, foreign.body])


def pack_report(config: bytes, report: StreamReport) -> bytes:
    return SORT.pack(REPORT) + config + _encode(report)


def read_object(raw: bytes) -> Parcel | Report:
    try:
        sort = raw[0]
        config = ConfigId(*CONFIG.unpack_from(raw, SORT.size))
        at = SORT.size + CONFIG_BYTES
        if sort == REPORT:
            report = Report(config, check_report(_report.decode(raw[at:])))
            if pack_report(pack_config(config), report.report) != raw:
                raise DecodeError("not_canonical", "report")
            return report
        if sort not in (PARCEL, LOOSE_PARCEL):
            raise DecodeError("unknown_tag", f"object {sort}")
        segment, daemon, life, mask_bytes = PARCEL_HEAD.unpack_from(raw, at)
    except (error, IndexError, msgspec.DecodeError, RecursionError) as fault:
        raise DecodeError("malformed", f"object: {fault}") from None
    at += PARCEL_HEAD.size
    if len(raw) <= at + mask_bytes:
        raise DecodeError("cut_short", "inside a parcel")
    mask = read_mask(raw[at : at + mask_bytes])
    pieces = ForeignPieces(segment, Member(daemon, life), mask, raw[at + mask_bytes :])
    return Parcel(config, sort == PARCEL, pieces)
