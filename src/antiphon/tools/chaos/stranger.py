"""Knocks at a daemon's ports with garbage. Whatever it says, nobody else may notice."""

import socket
import sys
from random import Random

DATAGRAMS = 200
CONNECTIONS = 5
BYTES_MAX = 1_400


def main() -> None:
    host, udp_port, tcp_port, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    rng = Random(seed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(DATAGRAMS):
            sender.sendto(rng.randbytes(rng.randint(0, BYTES_MAX)), (host, udp_port))
    for _ in range(CONNECTIONS):
        try:
            with socket.create_connection((host, tcp_port), 1) as caller:
                caller.sendall(rng.randbytes(rng.randint(1, BYTES_MAX)))
        except OSError:
            pass  # the daemon may be down, and may hang up on us at any time


if __name__ == "__main__":
    main()
