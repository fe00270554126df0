"""What travels between segments, as objects on links: pieces of a stream, and what leaders say
of their streams.

    u8   sort
    ...  configuration id
    ...  a *parcel*: u16 segment, u64 u64 author, u8 length + mask of segments, pieces as they
         were on the ring of their segment; or a *report*, declared below

Objects of one configuration mean nothing in another.
"""

from struct import Struct, error
from typing import Annotated

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Counter, Member, Natural
from antiphon.wire.packet import CONFIG, CONFIG_BYTES, pack_config
from antiphon.wire.ring import SEGMENTS_MAX, ForeignPieces, pack_mask, read_mask

PARCEL, LOOSE_PARCEL, REPORT = 1, 2, 3
SORT = Struct(">B")
PARCEL_HEAD = Struct(">HQQB")
PARCEL_OVERHEAD = SORT.size + CONFIG_BYTES + PARCEL_HEAD.size
"""And a bit for each segment."""


class StreamReport(msgspec.Struct, gc=False, array_like=True, forbid_unknown_fields=True):
    """A leader of the stream of its segment. All numbers rise; the newest says everything."""

    segment: Annotated[int, msgspec.Meta(ge=0, lt=SEGMENTS_MAX)]
    number: Counter
    """Of the report."""

    count: Natural
    """So many bundles are in the stream."""

    floor: Natural
    """Whatever is stamped from now on has a higher stamp."""

    held: Natural
    """Every daemon of the segment holds what is for it up to this stamp."""

    unstable: Natural
    """Bytes of the stream that are not stable."""

    floor_wanted: Natural
    """Somebody waits until nothing can be stamped up to here any more."""

    held_wanted: Natural
    """Or until all hold what is for them up to here."""

    heads: Annotated[tuple[Natural, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    """For each segment the last bundle that is for it."""


class Parcel(msgspec.Struct, gc=False):
    config: ConfigId
    reliable: bool
    pieces: ForeignPieces


class Report(msgspec.Struct, gc=False):
    config: ConfigId
    report: StreamReport


_encode = msgspec.msgpack.Encoder().encode
_report = msgspec.msgpack.Decoder(StreamReport)
_reports = msgspec.msgpack.Decoder(tuple[StreamReport, ...])


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
            report = Report(config, _check(_report.decode(raw[at:])))
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


def pack_reports(reports: tuple[StreamReport, ...]) -> bytes:
    """For the own ring."""
    return _encode(reports)


def read_reports(raw: bytes) -> tuple[StreamReport, ...]:
    try:
        reports = tuple(map(_check, _reports.decode(raw)))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise DecodeError("malformed", f"reports: {fault}") from None
    if pack_reports(reports) != raw:
        raise DecodeError("not_canonical", "reports")
    return reports


def _check(report: StreamReport) -> StreamReport:
    if report.floor < report.count or report.held > report.floor:
        raise DecodeError("bad_field", "report: a floor below what it covers")
    if any(head > report.count for head in report.heads):
        raise DecodeError("bad_field", "report: a head beyond the stream")
    return report
