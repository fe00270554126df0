"""What leaders say of their streams: one of them over links, many of them on a ring."""

from typing import Annotated

import msgspec

from antiphon.core.errors import DecodeError
from antiphon.core.ids import Counter, Natural

SEGMENTS_MAX = 256


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


_encode = msgspec.msgpack.Encoder().encode
_reports = msgspec.msgpack.Decoder(tuple[StreamReport, ...])


def pack_reports(reports: tuple[StreamReport, ...]) -> bytes:
    """For the own ring."""
    return _encode(reports)


def read_reports(raw: bytes) -> tuple[StreamReport, ...]:
    try:
        reports = tuple(map(check_report, _reports.decode(raw)))
    except (msgspec.DecodeError, RecursionError) as fault:
        raise DecodeError("malformed", f"reports: {fault}") from None
    if pack_reports(reports) != raw:
        raise DecodeError("not_canonical", "reports")
    return reports


def check_report(report: StreamReport) -> StreamReport:
    if report.floor < report.count or report.held > report.floor:
        raise DecodeError("bad_field", "report: a floor below what it covers")
    if report.heads and max(report.heads) > report.count:
        raise DecodeError("bad_field", "report: a head beyond the stream")
    return report
