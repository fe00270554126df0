"""The options of `format("antiphon")`, checked once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from antiphon.client.options import parse_address
from antiphon.core.errors import ConfigError, UsageError
from antiphon.core.ids import GroupName, group_name_fault
from antiphon.core.offsets import Offset, parse_offset
from antiphon.core.service import ORDERED, Service

EARLIEST, LATEST = "earliest", "latest"
FAIL, SKIP = "fail", "skip"
KNOWN = (
    *("connect", "group", "token", "timeout"),
    *("startingOffsets", "endingOffsets", "maxRowsPerBatch", "rowsPerPartition", "onGap"),
    *("service", "payload", "path", "checkpointLocation"),
)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    connect: tuple[str, ...]
    """Addresses of daemons; each has the same to give, so the next is asked if one is gone."""

    groups: tuple[GroupName, ...]
    token: str
    timeout: float
    """How long to look for a daemon that can go on."""

    starting: str | Mapping[GroupName, Offset]
    ending: str | Mapping[GroupName, Offset]
    max_rows: int
    """Of a micro-batch; 0: no limit."""

    partition_rows: int
    on_gap: str
    service: Service
    payload: str
    """Column that is sent."""


def read_options(options: Mapping[str, str]) -> StreamOptions:
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(set(given) - {name.lower() for name in KNOWN})
    if unknown:
        raise ConfigError(unknown[0], "there is no such option", f"known: {', '.join(KNOWN)}")
    groups = _list(given.get("group", given.get("path", "")))
    for group in groups:
        fault = group_name_fault(group)
        if fault:
            raise ConfigError("group", fault, "name groups, with commas between them")
    on_gap = given.get("ongap", FAIL)
    if on_gap not in (FAIL, SKIP):
        raise ConfigError("onGap", f"{on_gap!r}", f"use {FAIL} or {SKIP}")
    return StreamOptions(
        _addresses(given.get("connect", "")),
        groups,
        given.get("token", ""),
        _positive(given, "timeout", 30),
        _offsets("startingOffsets", given.get("startingoffsets", EARLIEST)),
        _offsets("endingOffsets", given.get("endingoffsets", LATEST)),
        _positive(given, "maxRowsPerBatch", 0),
        _positive(given, "rowsPerPartition", 250_000) or 1,
        on_gap,
        _service(given.get("service", Service.AGREED.name)),
        given.get("payload", "payload"),
    )


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _addresses(text: str) -> tuple[str, ...]:
    found = _list(text)
    if not found:
        raise ConfigError("connect", "no daemon is named", "say connect=4803@host,4803@other")
    try:
        for address in found:
            parse_address(address)
    except UsageError as error:
        raise ConfigError("connect", error.what, error.remedy) from None
    return found


def _positive(given: Mapping[str, str], name: str, usual: int) -> int:
    text = given.get(name.lower(), str(usual))
    if not text.isdecimal():
        raise ConfigError(name, f"{text!r} is no number", "use a whole number")
    return int(text)


def _offsets(name: str, text: str) -> str | dict[GroupName, Offset]:
    if text in (EARLIEST, LATEST):
        return text
    remedy = f'use {EARLIEST}, {LATEST} or a JSON object such as {{"group": "OFFSET"}}'
    try:
        told = json.loads(text)
        return {str(group): parse_offset(str(offset)) for group, offset in told.items()}
    except (ValueError, AttributeError, UsageError) as error:
        raise ConfigError(name, f"{text!r}: {error}", remedy) from None


def _service(text: str) -> Service:
    for service in ORDERED:
        if service.name == text.upper():
            return service
    raise ConfigError("service", f"{text!r}", "use agreed or safe")
