"""Every key of the configuration file, declared once: kind, default, and what a change takes.

A field's text is what docs/configuration.md says about it. A change of a key that is marked
`restart` is refused by a reload; all others are taken by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, NamedTuple

from antiphon.core.ids import DaemonId
from antiphon.core.keeping import KEEP_BYTES
from antiphon.core.machine import SECOND
from antiphon.core.trace import Level
from antiphon.daemon.config.addresses import LOOPBACK, Address
from antiphon.daemon.config.amounts import AUTO, KIB
from antiphon.daemon.config.values import (
    ADDRESS,
    IDENTITY,
    LISTENING,
    MODE,
    MULTICAST,
    NAMED,
    NAMES,
    NETWORKS,
    PACKET_BYTES,
    PAIR,
    PAIRS,
    PATTERN,
    PLACE,
    SIZE,
    SOMEBODIES,
    SWITCH,
    TEXT,
    TIME,
    WEIGHT,
    Kind,
    choice,
    count,
    several,
)
from antiphon.protocol.links.settings import LinkKind
from antiphon.protocol.sessions.settings import SessionSettings

CLIENT_PORT = 4803
FROM_NAME = 0
"""No id was given: it is made from the name."""

BY_DEFAULT = "\0"
"""No path was given: it is made from the names. No path that is given holds this sign."""

REQUIRED = object()
SESSIONS = SessionSettings()
WEEK_US = 7 * 24 * 60 * 60 * SECOND
COUNT_MAX = 1_000_000


class Shape(StrEnum):
    FREE = "free"
    FAN_OUT = "fan-out"
    TREE = "tree"
    CHAIN = "chain"
    RING = "ring"


class Key(NamedTuple):
    kind: Kind
    default: Any = REQUIRED
    restart: bool = False
    is_path: bool = False
    """Relative to the folder of the file."""


def key(
    kind: Kind, default: Any = REQUIRED, *, restart: bool = False, is_path: bool = False
) -> Any:
    declared = {"key": Key(kind, default, restart, is_path)}
    if default is REQUIRED:
        return field(metadata=declared)
    return field(default=default, metadata=declared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    name: str = key(NAMED, restart=True)
    """Daemons of another name are refused."""

    key_file: str = key(TEXT, "", is_path=True)
    """Keys for the encryption between daemons, made by `antiphon keys new`."""

    encryption: str = key(choice("auto", "off"), "auto")
    """`auto`: daemons that are not all on loopback must have a key file. `off`: they need none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonEntry:
    name: str = key(NAMED, restart=True)
    """Its own, in the whole cluster."""

    id: DaemonId = key(IDENTITY, FROM_NAME, restart=True)
    """What packets and records call it; made from the name if not said."""

    address: Address = key(ADDRESS, restart=True)
    """Where other daemons reach it by UDP: `host:port` or `[IPv6]:port`."""

    clients: tuple[Address, ...] = key(LISTENING, (Address(LOOPBACK, CLIENT_PORT),), restart=True)
    """Where it listens for clients by TCP. A bare port is on loopback; `0.0.0.0:4803` is on all
    interfaces; `[]` turns it off."""

    socket: str = key(TEXT, BY_DEFAULT, restart=True, is_path=True)
    """Unix socket for clients; `""` turns it off. If not said, it is
    `CLUSTER.DAEMON.sock` in the runtime directory."""

    site: str = key(NAMED, "main", restart=True)
    """Daemons that are near to each other, as on one LAN, have the same: they share a ring, and
    sites are joined by links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    packet_bytes: int = key(PACKET_BYTES, 0, restart=True)
    """Of a packet between daemons. `auto`: 1400; if all daemons are on loopback 65000, and 8900
    with several sites."""

    multicast: Address | None = key(MULTICAST, None, restart=True)
    """IP multicast group and port; used where it is found to work."""

    offload: str = key(choice("auto", "off"), "auto", restart=True)
    """Segmentation and receive offload: `auto` uses what the kernel has."""

    busy_poll: int = key(TIME, 0)
    """How long a daemon that was busy a moment ago looks again and again for more before it
    sleeps, such as `"100us"`: shorter latency for a processor of its own. `0us`: not at all."""

    preset: str = key(choice("lan", "wan"), "lan", restart=True)
    """Which timeouts and tuning hold where the file says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    weights: str = key(choice("static", "measured"), "static", restart=True)
    """`static`: an edge costs 1, or what its `weight` says. `measured`: half its round trip in
    tenths of a millisecond, more if it loses packets; taken anew when sites come or go."""

    shape: str = key(choice(*Shape), Shape.FREE.value, restart=True)
    """`free`: shortest ways by the weights of the edges. `fan-out`: every site sends to all others
    itself. `tree`: one tree for all, of `edges`. `chain`, `ring`: in the order of `sites`. Where an
    edge of a shape is broken, others stand in."""

    sites: tuple[str, ...] = key(NAMES, (), restart=True)
    """Of a chain or ring, each once; if not said, in the order of the daemons."""

    edges: tuple[tuple[str, str], ...] = key(PAIRS, (), restart=True)
    """Of a tree, such as `[["east", "west"], ["east", "north"]]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEntry:
    between: tuple[str, str] = key(PAIR, restart=True)
    """Two sites."""

    link: str = key(choice(*LinkKind), LinkKind.HOP.value, restart=True)
    """`hop` is UDP with its own repairs. `tcp` is one connection, for networks that let nothing
    else through: daemons of these sites are reached by TCP as well, at the same address."""

    weight: int | None = key(WEIGHT, None, restart=True)
    """From the first to the second, and back if `weight_back` says nothing else. `auto`: 1,
    or measured."""

    weight_back: int | None = key(WEIGHT, None, restart=True)
    """From the second to the first. `auto`: the same."""

    hop: Mapping[str, int | None] = field(default_factory=dict)
    """What keys of [hop] say about this edge; None where [hop] holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    sessions: int = key(count(1, 65_536), SESSIONS.sessions_max)
    """Clients of one daemon at one time."""

    groups: int = key(count(1, 65_536), SESSIONS.memberships_max)
    """Groups joined by all clients of one daemon together."""

    table_bytes: int = key(SIZE, SESSIONS.table_bytes_max)
    """Names that clients of one daemon have defined because they send to many groups."""

    backlog: int = key(count(1, COUNT_MAX), SESSIONS.backlog_max)
    """News that a client has not taken; from here it is cut off."""

    backlog_bytes: int = key(SIZE, SESSIONS.backlog_bytes_max)
    """And bytes of messages among them."""

    courtesy_bytes: int = key(SIZE, SESSIONS.courtesy_bytes)
    """Others wait half a second at most for a client that is behind by so much; 0: for nobody."""

    queue_bytes_low: int = key(SIZE, SESSIONS.queue_bytes_low)
    """Below this a paused client may go on."""

    queue_bytes_high: int = key(SIZE, SESSIONS.queue_bytes_high)
    """A client with so much waiting to be sent is asked to pause."""

    queue_bundle_bytes: int = key(SIZE, SESSIONS.queue_bundle_bytes, restart=True)
    """What a bundle that waits counts at least: daemons pay by the bundle, and a client that is
    asked to pause soon fills longer ones."""

    queue_bytes: int = key(SIZE, SESSIONS.queue_bytes_max)
    """One that submits on regardless is refused from here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    level: str = key(choice(*Level), Level.VIEWS.value, restart=True)
    """How much is recorded."""

    directory: str = key(TEXT, BY_DEFAULT, is_path=True, restart=True)
    """If not said, `CLUSTER/records` in the state directory."""

    max_bytes: int = key(SIZE, KIB**3, restart=True)
    """Of one daemon's records; the oldest are deleted."""

    max_age: int = key(TIME, WEEK_US, restart=True)
    """Older records are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    directory: str = key(TEXT, BY_DEFAULT, is_path=True, restart=True)
    """What must outlive a daemon is here, each daemon's in a folder of its name: the logs of kept
    groups. If not said, `CLUSTER/store` in the state directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainEntry:
    group: str = key(PATTERN, restart=True)
    """A group, or a pattern such as `orders.*`. The same at all daemons: those that keep other
    groups are another cluster."""

    max_bytes: int = key(SIZE, KEEP_BYTES, restart=True)
    """Of one group at one daemon; the oldest messages are deleted."""

    max_age: int = key(TIME, WEEK_US, restart=True)
    """Older messages are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    format: str = key(choice("text", "json"), "text")
    """For people, or one JSON object a line."""

    level: str = key(choice("debug", "info", "warning", "error"), "info")
    """Less important lines are not written."""

    file: str = key(TEXT, "", is_path=True)
    """`""` is standard error."""

    max_bytes: int = key(SIZE, KIB**3)
    """Of the log and its predecessors; the oldest are deleted."""

    max_age: int = key(TIME, WEEK_US)
    """Older ones are deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    tokens_file: str = key(TEXT, "", is_path=True)
    """A line for each client, its name and its secret. If said, TCP clients need one of them
    or a certificate."""

    tls_certificate: str = key(TEXT, "", is_path=True)
    """If said, TCP clients speak TLS."""

    tls_key: str = key(TEXT, "", is_path=True)
    """Of the certificate."""

    tls_client_ca: str = key(TEXT, "", is_path=True)
    """Clients may prove who they are by a certificate that this authority has signed."""

    unix_mode: int = key(MODE, 0o660, restart=True)
    """Mode of the Unix socket: who may connect there."""

    admin: tuple[str, ...] = key(SOMEBODIES, ("uid:*",))
    """Who may stop, reload and partition: `unix`, `uid:N`, `token:NAME`, `tls:NAME`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    enabled: bool = key(SWITCH, True)
    """Clients of Spread's protocol are let in, at the same ports."""

    unix_socket: str = key(PLACE, AUTO, restart=True)
    """Where Spread's clients look for a daemon on their own machine. `auto`: `/tmp/PORT`, with
    the first port of `daemon.clients`; `""` turns it off. Everybody may connect there, and
    nothing but Spread's protocol is spoken."""

    addresses: tuple[str, ...] = key(NETWORKS, ())
    """If said, Spread's clients that come by TCP must come from one of these addresses or
    networks (method `IP`), or give a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEntry:
    group: str = key(PATTERN)
    """A group, or a pattern such as `orders.*`."""

    who: tuple[str, ...] = key(SOMEBODIES)
    """`*`, `unix`, `uid:N`, `token:NAME`, `tls:NAME`; names may be patterns."""

    may: tuple[str, ...] = key(several(choice("join", "send")))
    """`join`, `send`, both, or `[]` for neither."""


TABLES: dict[str, type[Any]] = {
    "cluster": Cluster,
    "network": Network,
    "overlay": Overlay,
    "limits": Limits,
    "records": Records,
    "store": Store,
    "log": Log,
    "clients": Clients,
    "spread": Spread,
}
LISTS: dict[str, type[Any]] = {
    "daemon": DaemonEntry,
    "edge": EdgeEntry,
    "access": AccessEntry,
    "retain": RetainEntry,
}
"""Tables that may be there several times."""


def keys_of(table: type[Any]) -> dict[str, Key]:
    return {each.name: each.metadata["key"] for each in fields(table) if each.metadata}
