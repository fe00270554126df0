"""A ping, as a program that runs inside a host: ADDRESS COUNT INTERVAL_MS SIZE.

It prints one line of JSON. It is our own so that nothing has to be installed and every reply
is there to be counted.
"""

import os
import select
import socket
import statistics
import struct
import sys
import time

import msgspec

REQUEST, REPLY = 8, 0
HEADER = struct.Struct(">BBHHH")
"""Type, code, checksum, whose, number."""

PATIENCE_S = 2.0
"""For a reply, after the last request."""


class Echoes(msgspec.Struct, frozen=True):
    sent: int
    received: int
    min_ms: float = 0.0
    mean_ms: float = 0.0
    max_ms: float = 0.0
    deviation_ms: float = 0.0


def checksum(data: bytes) -> int:
    """As RFC 1071 has it."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def request(whose: int, number: int, size: int) -> bytes:
    """With so many bytes after its header."""
    body = bytes(size)
    total = checksum(HEADER.pack(REQUEST, 0, 0, whose, number) + body)
    return HEADER.pack(REQUEST, 0, total, whose, number) + body


def summary(sent: int, times_ms: list[float]) -> Echoes:
    if not times_ms:
        return Echoes(sent, 0)
    mean, deviation = statistics.fmean(times_ms), statistics.pstdev(times_ms)
    return Echoes(sent, len(times_ms), min(times_ms), mean, max(times_ms), deviation)


def ping(address: str, count: int, interval_s: float, size: int) -> Echoes:
    whose = os.getpid() & 0xFFFF
    sent_at: dict[int, int] = {}
    times: dict[int, float] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as line:
        line.connect((address, 0))
        begin = time.monotonic()
        end = begin + (count - 1) * interval_s + PATIENCE_S
        while len(times) < count and time.monotonic() < end:
            number = len(sent_at)
            due = begin + number * interval_s if number < count else end
            wait = due - time.monotonic()
            if number < count and wait <= 0:
                sent_at[number] = time.monotonic_ns()
                line.send(request(whose, number, size))
            elif select.select([line], [], [], max(0.0, wait))[0]:
                packet, now = line.recv(65535), time.monotonic_ns()
                kind, _, _, to, answered = HEADER.unpack_from(packet, (packet[0] & 15) * 4)
                if kind == REPLY and to == whose and answered in sent_at:
                    times.setdefault(answered, (now - sent_at[answered]) / 1e6)
    return summary(len(sent_at), list(times.values()))


def echo_command(address: str, count: int, interval_ms: float, size: int) -> list[str]:
    """What to run inside a host."""
    numbers = (str(count), str(interval_ms), str(size))
    return [sys.executable, "-m", "antiphon.tools.wan.echo", address, *numbers]


def main() -> None:
    address, count, interval_ms, size = sys.argv[1:]
    echoes = ping(address, int(count), float(interval_ms) / 1000, int(size))
    sys.stdout.buffer.write(msgspec.json.encode(echoes) + b"\n")


if __name__ == "__main__":
    main()
