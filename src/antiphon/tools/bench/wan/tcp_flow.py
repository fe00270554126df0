"""One kernel TCP connection that sends all it can, for measurements beside it.

    python -m antiphon.tools.bench.wan.tcp_flow PORT            receives
    python -m antiphon.tools.bench.wan.tcp_flow PORT ADDRESS    sends until it is ended

The receiver prints, when the other side has ended, how many bytes came in each second of the clock.
"""

import socket
import sys
import time

import msgspec

CHUNK = 1 << 16
READY = b"ready\n"


def receive(port: int) -> dict[int, int]:
    came: dict[int, int] = {}
    with socket.create_server(("", port)) as door:
        _say(READY)
        line, _ = door.accept()
        with line:
            while data := _data(line):
                second = int(time.monotonic())
                came[second] = came.get(second, 0) + len(data)
    return came


def _data(line: socket.socket) -> bytes:
    try:
        return line.recv(CHUNK)
    except ConnectionError:
        return b""


def send(address: str, port: int) -> None:
    with socket.create_connection((address, port)) as line:
        while True:
            line.send(bytes(CHUNK))


def _say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def main() -> None:
    port, *address = sys.argv[1:]
    if address:
        send(address[0], int(port))
    else:
        _say(msgspec.json.encode(receive(int(port))) + b"\n")


if __name__ == "__main__":
    main()
