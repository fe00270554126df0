"""Sizes such as "1GiB", times such as "250ms" and rates such as "10Mbit": read and written here and
nowhere else."""

import re

from antiphon.core.machine import MILLISECOND, SECOND
from antiphon.daemon.config.findings import Fault

KIB = 1024
SIZES = {"TiB": KIB**4, "GiB": KIB**3, "MiB": KIB**2, "KiB": KIB, "B": 1}
DECIMAL_SIZES = {"KB": 10**3, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
"""Read, since people write them, but never written."""

MINUTE = 60 * SECOND
TIMES = {
    "d": 24 * 60 * MINUTE,
    "h": 60 * MINUTE,
    "min": MINUTE,
    "s": SECOND,
    "ms": MILLISECOND,
    "us": 1,
}

RATES = {"Gbit": 10**9, "Mbit": 10**6, "kbit": 10**3, "bit": 1}
"""Per second, as networks are sold."""

AUTO = "auto"
AMOUNT = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,6}))?\s*([A-Za-z]+)")
SIZE_REMEDY = 'write bytes, or a size such as "64KiB", "10MiB" or "1GiB"'
TIME_REMEDY = 'write a time such as "250ms", "2s", "10min", "12h" or "7d"'
RATE_REMEDY = 'write a rate such as "10Mbit", which is per second, or "auto"'
TIMEOUT_REMEDY = 'write milliseconds, or a time such as "250ms" or "2s"'


def read_size(value: object) -> int:
    """Bytes: a bare number, or a text with a unit."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise Fault(f"{value} is negative", SIZE_REMEDY)
        return value
    return _read(value, SIZES | DECIMAL_SIZES, "a size", SIZE_REMEDY)


def read_time(value: object) -> int:
    """Microseconds, from a text with a unit."""
    return _read(value, TIMES, "a time with a unit", TIME_REMEDY)


def read_timeout(value: object) -> int:
    """Microseconds: a bare number is milliseconds, as timeouts usually are."""
    if isinstance(value, int) and not isinstance(value, bool):
        if value <= 0:
            raise Fault(f"{value} is no time to wait", TIMEOUT_REMEDY)
        return value * MILLISECOND
    time_us = read_time(value)
    if time_us == 0:
        raise Fault("0 is no time to wait", TIMEOUT_REMEDY)
    return time_us


def read_rate(value: object) -> int:
    """Bytes per second, from a text with a unit; 0 stands for "auto"."""
    if value == AUTO:
        return 0
    rate, rest = divmod(_read(value, RATES, "a rate", RATE_REMEDY), 8)
    if rest or not rate:
        raise Fault(f"{value!r} is not a number of whole bytes", RATE_REMEDY)
    return rate


def write_size(size: int) -> str:
    return _write(size, SIZES)


def write_time(time_us: int) -> str:
    return _write(time_us, TIMES)


def write_rate(rate: int) -> str:
    return _write(8 * rate, RATES) if rate else AUTO


def _read(value: object, units: dict[str, int], kind: str, remedy: str) -> int:
    found = AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[3] not in units:
        raise Fault(f"{value!r} is not {kind}", remedy)
    unit = units[found[3]]
    decimals = found[2] or ""
    whole, rest = divmod(int(found[1] + decimals) * unit, int("1" + "0" * len(decimals)))
    if rest:
        raise Fault(f"{value!r} is not a whole number of the smallest unit", remedy)
    return whole


def _write(amount: int, units: dict[str, int]) -> str:
    """In the largest unit that needs no fraction."""
    *larger, smallest = units.items()
    for name, unit in larger:
        if amount and amount % unit == 0:
            return f"{amount // unit}{name}"
    return f"{amount}{smallest[0]}"
