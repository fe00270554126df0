"""A TUN device in a network namespace: what a host sends into it can be read from a file, and
what is written to the file arrives at the host."""

import ctypes
import fcntl
import os
import struct
from typing import NamedTuple

DEVICE = "wan"
CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
"""Whole IP packets, and nothing before them."""

SENT_DROPPED = 11
"""Its place among the numbers of a device in /proc/net/dev."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class Tun(NamedTuple):
    file: int
    """The device goes when this is closed."""

    statistics: int
    """A file, too, that tells of the namespace it was opened in wherever it is read."""

    def overruns(self) -> int:
        """Packets that the host lost because nobody read them in time."""
        for line in os.pread(self.statistics, 1 << 16, 0).decode().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == DEVICE:
                return int(numbers.split()[SENT_DROPPED])
        return 0


def open_tun(namespace: str) -> Tun:
    """A new device there. For processes with one thread, for it enters the namespace and comes
    back."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(f"/run/netns/{namespace}")
        try:
            file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            request = struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI)
            fcntl.ioctl(file, TUNSETIFF, request)
            return Tun(file, os.open("/proc/self/net/dev", os.O_RDONLY | os.O_CLOEXEC))
        finally:
            _set_namespace(home)
    finally:
        os.close(home)


def _enter(path: str) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _set_namespace(file)
    finally:
        os.close(file)


def _set_namespace(file: int) -> None:
    if _LIBC.setns(file, CLONE_NEWNET):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
