"""Where clients of the same machine find a daemon of which they know the port.

A name in Linux' abstract namespace, which like a port belongs to one process of a network
namespace and is gone with it. Nobody's rights depend on it: whoever comes so is treated as if
it had come by TCP.
"""

PREFIX = b"\0antiphon/"
LOOPBACK = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "localhost", "")


def local_door(host: str, port: int) -> bytes:
    """For a daemon that listens there, or a client that connects there; empty if it is not
    an address of this machine alone."""
    if host in EVERYWHERE:
        host = LOOPBACK
    return PREFIX + f"{host}:{port}".encode() if host.startswith("127.") else b""


def is_local_door(name: bytes | str) -> bool:
    return isinstance(name, bytes) and name.startswith(PREFIX)
