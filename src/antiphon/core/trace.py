"""Records: what a run tells about itself, and all that the judges may know.

One flat row for everything, so that a row fits a table. Simulator and daemon write the
same rows. A *process* is a daemon (`session` is DAEMON) or one of its sessions.
"""

from enum import StrEnum

import msgspec

from antiphon.core.ids import (
    NO_CONFIG,
    ConfigId,
    DaemonId,
    Incarnation,
    Member,
    SessionId,
    ViewId,
)

SCHEMA = 2
"""Version of the columns; a reader refuses what it does not know."""

DAEMON = -1
"""In column `session`: the row is about the daemon itself."""

NO_ORIGIN = SessionId(DaemonId(0), Incarnation(0), 0)


class Kind(StrEnum):
    """What happened. Columns that matter are named with each kind."""

    # Written by the driver.
    START = "start"  # a node runs: detail = its site
    STOP = "stop"  # it ends at once: reason
    FAULT = "fault"  # something was done to the world: reason (text of the step)
    QUIET = "quiet"  # faults are over; progress is owed from here on
    REACH = "reach"  # at the end: members = who must share a configuration with this node

    # The configuration level.
    ENTER = "enter"  # membership state: reason = state, detail = why
    TROUBLE = "trouble"  # reason, peer = the accused or 0
    ATTEMPT = "attempt"  # the coordinator proposes config with members: reason = why
    ABORT = "abort"  # an attempt ended without install: config, reason
    TRANSITIONAL = "transitional"  # config = the old one, members = who comes with me
    INSTALL = "install"  # config, base = the old one, members, detail = evidence
    SEND = "send"  # stamped: config, sequence, stamp, origin, first, count, service,
    #              groups, views = in force at the sender for these groups, size
    COMPLETE = "complete"  # an unreliable bundle arrived whole: origin, first, count
    DELIVER = "deliver"  # config, sequence, stamp, origin, first, count, service, transitional

    # The group level.
    OPEN = "open"  # a session begins
    CLOSE = "close"  # a session ends: reason, value = backlog, limit
    JOIN = "join"  # a session asks to join: groups
    LEAVE = "leave"  # a session asks to leave: groups
    SUBMIT = "submit"  # a session multicasts: origin, first, count, service, groups,
    #                  value = checksum of the payloads, size = their bytes,
    #                  detail = "discard" for self-discard
    HAND = "hand"  # a session receives: origin, first, count, service, groups = the ones
    #              of its own that the message went to, views = in force there,
    #              value = checksum, size
    VIEW = "view"  # a session installs: groups = (group,), views = (new, old or none),
    #              sessions = members, together, reason = cause
    SIGNAL = "signal"  # a session's view becomes transitional: groups, views
    LEFT = "left"  # a session is out of a group by its own wish: groups, views = (last,)

    KEEP = "keep"  # an entry of a kept group is on disk: groups, config and stamp = its branch,
    #              sequence, origin, first, count, service, value = checksum of its bytes,
    #              detail = producer and key, reason = "recovered" if an earlier life wrote it
    REPEAT = "repeat"  # keyed messages were delivered before, and are not handed to anybody:
    #                  config, origin, first, count, groups

    # Load and refusals.
    DROP = "drop"  # reason, peer, value = how many since the last such row
    REFUSE = "refuse"  # a session's request was refused: session, reason
    BUFFERS = "buffers"  # value = packets held, limit
    BACKLOG = "backlog"  # a session's queue grew: value = entries, limit
    COUNTS = "counts"  # what was done since the last such row: peer = 0, or the neighbour at the
    #                  other end of a link, value = microseconds, detail = name=count and
    #                  name=packets/bytes, sorted
    RECEIVED = "received"  # debugging aid: reason = message name, peer


class Record(msgspec.Struct, gc=False, omit_defaults=True):
    kind: Kind
    time: int
    node: DaemonId
    incarnation: Incarnation = Incarnation(0)
    session: int = DAEMON
    config: ConfigId = NO_CONFIG
    base: ConfigId = NO_CONFIG
    sequence: int = 0
    stamp: int = 0
    origin: SessionId = NO_ORIGIN
    first: int = 0
    count: int = 0
    service: int = 0
    transitional: bool = False
    groups: tuple[str, ...] = ()
    views: tuple[ViewId | None, ...] = ()
    members: tuple[Member, ...] = ()
    sessions: tuple[SessionId, ...] = ()
    together: tuple[SessionId, ...] = ()
    peer: int = 0
    reason: str = ""
    detail: str = ""
    value: int = 0
    limit: int = 0
    profile: str = "strong"
    size: int = 0


class Cause(StrEnum):
    """Why a group view changed (D7)."""

    JOIN = "join"
    LEAVE = "leave"
    DISCONNECT = "disconnect"
    NETWORK = "network"


class Level(StrEnum):
    OFF = "off"
    VIEWS = "views"
    ALL = "all"
