"""The first bytes of every packet between daemons, and how a body is found from them.

version  u8   wire version; another one is refused (both are named)
tag      u8   which message follows; append only
cluster  u64  hash of what all daemons of a cluster must share
sender   u64  daemon id
life     u64  its incarnation
body          by tag
"""

from enum import IntEnum
from struct import Struct

from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member

WIRE_VERSION = 1

HEADER = Struct(">BBQQQ")
HEADER_BYTES = HEADER.size
TAG_AT = 1
"""Where a packet's tag is."""


CONFIG = Struct(">QQQI")
"""A configuration id, first in the body of whatever belongs to one configuration."""

CONFIG_BYTES = CONFIG.size
PACKET_BYTES_MAX = 65_507


class Tag(IntEnum):
    """Append only: a number once used keeps its meaning for ever. 64 to 127 are for the
    regional profile, 128 to 191 for the internet profile."""

    DATA = 1
    TOKEN = 2
    HURRY = 3
    LINK = 4
    LOOSE = 5
    HAVE = 6
    HELLO = 16
    PROPOSE = 17
    STATE = 18
    DIGEST = 19
    READY = 20
    COMMIT = 21
    RECOVERY_REQUEST = 22
    RECOVERY_DATA = 23
    LEAVING = 24
    SITE_STATE = 25
    SITE_READY = 26
    GREETING = 27
    SITE_REPORT = 28
    RELAYED = 29
    CHUNK = 30
    SITE_NEWS = 31


class Envelope:
    """Who speaks: packs the header once per life of a daemon."""

    def __init__(self, cluster: int, sender: Member) -> None:
        self.cluster = cluster
        self.sender = sender
        self._heads = {
            tag: HEADER.pack(WIRE_VERSION, tag, cluster, sender.daemon, sender.incarnation)
            for tag in Tag
        }

    def head(self, tag: Tag) -> bytes:
        return self._heads[tag]


def pack_config(config: ConfigId) -> bytes:
    return CONFIG.pack(*config)


def fault_at_sight(packet: bytes, cluster: bytes) -> str:
    """Why `open_header` will refuse a packet, or nothing; in less time, for noise may come in
    masses. `cluster` as it is written in a header."""
    if packet[2:10] == cluster and packet[0] == WIRE_VERSION:
        return ""
    if len(packet) < HEADER_BYTES:
        return "too_short"
    return "other_cluster" if packet[0] == WIRE_VERSION else "wire_version"


def open_header(packet: bytes, cluster: int) -> tuple[int, DaemonId, Incarnation]:
    """Tag and sender of a packet of our own cluster and version, else DecodeError."""
    if len(packet) < HEADER_BYTES:
        raise DecodeError("too_short", f"{len(packet)} bytes")
    version, tag, theirs, sender, incarnation = HEADER.unpack_from(packet)
    if version != WIRE_VERSION:
        raise DecodeError("wire_version", f"they speak {version}, we speak {WIRE_VERSION}")
    if theirs != cluster:
        raise DecodeError("other_cluster", f"their configuration hash is {theirs:016x}")
    return tag, sender, incarnation
