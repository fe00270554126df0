"""What of this host matters to a daemon: kernel, buffers, clock, limits, multicast."""

import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from antiphon.daemon.config.config import Config
from antiphon.daemon.datagrams import BUFFER_BYTES, Datagrams
from antiphon.tools.checkup import Found, fine, note, wrong

RESOLUTION_MAX_S = 0.001
ANSWER_SECONDS = 1.0
OTHER_FILES = 64
"""That a daemon opens besides its clients: listeners, records, the log."""

TRIAL_GROUP = "239.192.0.7"
LIMITS = {
    "receive": (socket.SO_RCVBUF, "net.core.rmem_max"),
    "send": (socket.SO_SNDBUF, "net.core.wmem_max"),
}


def check_host(config: Config) -> Iterator[Found]:
    yield _python()
    yield _clock()
    yield _files(config.limits.sessions)
    with_offload = Datagrams(("127.0.0.1", 0), offload=True)
    try:
        yield from _offload(with_offload, config.network.offload)
        with socket.socket(fileno=os.dup(with_offload.files()[0])) as same:
            yield from _buffers(same)
    finally:
        with_offload.close()
    yield _multicast(config)


def _python() -> Found:
    version = ".".join(map(str, sys.version_info[:3]))
    if not __debug__:
        remedy = "run without -O and without PYTHONOPTIMIZE: a daemon refuses to start"
        return wrong("python", version, "assertions are off", remedy)
    return fine("python", version, "assertions are on")


def _clock() -> Found:
    resolution = time.get_clock_info("monotonic").resolution
    what = f"resolution {resolution * 1e6:g} us"
    if resolution > RESOLUTION_MAX_S:
        return note("clock", "monotonic", what, "use another clock source of the kernel")
    return fine("clock", "monotonic", what)


def _files(sessions: int) -> Found:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = sessions + OTHER_FILES
    what = f"{soft:,} may be open, {needed:,} are needed for limits.sessions"
    if soft != resource.RLIM_INFINITY and soft < needed:
        remedy = f"raise it (ulimit -n {needed}, LimitNOFILE of systemd), or lower limits.sessions"
        return note("files", "limit", what, remedy)
    return fine("files", "limit", what)


def _offload(datagrams: Datagrams, setting: str) -> Iterator[Found]:
    has = {"segmentation": datagrams.segmentation, "coalescing": datagrams.coalescing}
    for name, is_there in has.items():
        if setting == "off":
            yield note("offload", name, "turned off", "set network.offload to auto, for speed")
        elif is_there:
            yield fine("offload", name, "the kernel has it")
        else:
            remedy = "none is needed; Linux 5.0 or later is faster"
            yield note("offload", name, "the kernel does not have it", remedy)


def _buffers(made: socket.socket) -> Iterator[Found]:
    for name, (option, limit) in LIMITS.items():
        # The kernel counts its own work too and tells the double.
        got = made.getsockopt(socket.SOL_SOCKET, option) // 2
        what = f"{got >> 10:,} KiB of {BUFFER_BYTES >> 10:,} KiB; {limit} is {_limit(limit)}"
        if got < BUFFER_BYTES:
            remedy = f"sysctl -w {limit}={BUFFER_BYTES}: bursts are lost in small buffers"
            yield note("buffers", name, what, remedy)
        else:
            yield fine("buffers", name, what)


def _limit(name: str) -> str:
    try:
        return Path("/proc/sys", *name.split(".")).read_text().strip()
    except OSError:
        return "unknown"


def _multicast(config: Config) -> Found:
    """Whether a packet to a group comes back: to the group of the configuration if it has one."""
    configured = config.network.multicast
    group = configured.host if configured is not None else TRIAL_GROUP
    failure = _loop(group)
    if not failure:
        return fine("multicast", group, "loops back on this host")
    if configured is None:
        return note("multicast", group, failure, "none is needed: network.multicast is not set")
    remedy = "remove network.multicast, or give the host a route for multicast"
    return wrong("multicast", group, failure, remedy)


def _loop(group: str) -> str:
    """Why a packet to the group did not come back; empty if it did."""
    if ":" in group:
        return "IPv6 multicast cannot be tried from here"
    word = b"antiphon doctor"
    try:
        with _udp() as listener, _udp() as speaker:
            listener.bind(("", 0))
            listener.settimeout(ANSWER_SECONDS)
            membership = socket.inet_aton(group) + socket.inet_aton("0.0.0.0")
            listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
            speaker.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            speaker.sendto(word, (group, listener.getsockname()[1]))
            return "" if listener.recv(64) == word else "something else came"
    except OSError as error:
        return f"does not loop back: {(error.strerror or str(error)).lower()}"


def _udp() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
