"""The words that machines exchange, and the few that leave a node.

Commands go down, news goes up; each word has exactly one consumer, written once in
protocol/node.py.
"""

from typing import NamedTuple

import msgspec

from antiphon.core.bundle import Bundle
from antiphon.core.ids import (
    ConfigId,
    Configuration,
    DaemonId,
    GroupName,
    Labelled,
    Member,
    Natural,
    SessionId,
    ViewId,
)
from antiphon.core.machine import Instant
from antiphon.core.offsets import Branch
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Record


class Word(msgspec.Struct, gc=False):
    """Base of every event and effect: cheap, never changed, never part of a cycle."""


# What leaves a node.


class Send(Word):
    to: DaemonId
    packet: bytes


class Broadcast(Word):
    """To every other daemon of the site."""

    packet: bytes


class Emit(Word):
    record: Record


class Persist(Word):
    """A barrier: later effects of this step wait until the disk has it."""

    key: str
    data: bytes


class Append(Word):
    """To the end of this file, made if it is not there; nothing waits for it. `Appended` is the
    answer, in the order of the asking."""

    key: str
    data: bytes


class Discard(Word):
    """This file is not needed any more."""

    key: str


class ReadFirst(Word):
    """Which channel the driver drains first when both hold packets."""

    token: bool


class Dial(Word):
    """Try to get a pipe to this daemon, once: PipeUp or PipeDown is the answer."""

    to: DaemonId


class Pour(Word):
    """A packet into the pipe to this daemon; lost if there is none."""

    to: DaemonId
    packet: bytes


class HangUp(Word):
    """No pipe to this daemon any more, and no try for one."""

    to: DaemonId


class Notify(Word):
    """To the client behind a session."""

    session: int
    news: "Message | View | Joined | Defined | Transition | Left | Refused | Flow | Closed"


# What comes into a node, besides what clients ask.


class Received(Word):
    """A packet from the network. The driver says nothing about where it came from: the
    packet itself must."""

    packet: bytes


class PipeUp(Word):
    """There is a pipe to this life of a daemon, in place of any earlier one: what comes through
    it is Received in order and whole until it breaks. Nothing of an earlier one is heard from
    now on."""

    peer: Member
    room: int
    """Bytes that may be poured."""


class PipeDown(Word):
    """The pipe is broken, or there was none to be had."""

    peer: DaemonId


class PipeRoom(Word):
    """So many bytes may be poured now."""

    peer: DaemonId
    room: int


class Persisted(Word):
    """The disk has what `Persist` asked for."""

    key: str


class Appended(Word):
    """What `Append` asked for is in the file, or why it is not."""

    key: str
    fault: str = ""


# What a client is told.


class Message(Word):
    """Messages of one bundle that are for this session. The body stays as its sender packed
    it (wire/body.py): taking it apart is the client's work, not the daemon's. There it is still
    a part of what was read from the socket."""

    origin: SessionId
    first: int
    count: int
    service: Service
    body: bytes | memoryview
    transitional: bool
    chosen: tuple[int, ...] = ()
    """Which of them are for this session; empty: all."""

    self_discard: bool = False
    table: tuple[tuple[GroupName, ...], ...] = ()
    """What the sender has defined, if the body refers to it."""


class View(Word):
    """Who is in the group from here on, and who came with me from my last view."""

    group: GroupName
    id: ViewId
    members: tuple[Labelled, ...]
    together: tuple[SessionId, ...]
    cause: Cause
    evidence: str = ""
    """Of a change of the network: who accused whom, and how long each phase took."""

    moved: tuple[tuple[Labelled, ...], ...] = ()
    """Who joined or left; of a change of the network all sets that came together."""

    era: int = 0
    """Names the last view of the group that the network made, or its first one."""

    index: int = 1
    """Counts the views of an era."""


class Defined(Word):
    """The session's table has so many places: its messages may refer to them."""

    places: int


class Joined(Word):
    """To a session that wants no views: it is in the group now."""

    group: GroupName


class Transition(Word):
    group: GroupName
    id: ViewId


class Left(Word):
    group: GroupName


class Refused(Word):
    code: str
    what: str
    remedy: str
    group: GroupName = ""
    """Of a join or leave that was refused."""


class Flow(Word):
    """Whether the session may go on submitting."""

    open: bool


class Closed(Word):
    reason: str


# What a client asks.


class Connect(Word):
    session: int
    name: str
    priority: int = 0
    membership: bool = True
    who: str = ""
    """Who the client proved to be, for the access rules: `uid:1000`, `token:alice`."""


class Disconnect(Word):
    session: int


class Join(Word):
    session: int
    group: GroupName


class Leave(Word):
    session: int
    group: GroupName


class Define(Word):
    """Put these destinations behind those in the session's table; the answer is Defined, with no
    more places than before if it cannot be."""

    session: int
    destinations: tuple[tuple[GroupName, ...], ...]


class Multicast(Word):
    """Messages of one service; `body` is laid out by wire/body.py."""

    session: int
    service: Service
    count: int
    body: bytes
    self_discard: bool = False


class Drained(Word):
    """The client took `count` of what it was told, with `size` bytes of messages."""

    session: int
    count: int
    size: int = 0


# Between sessions and a profile. A profile is a machine that takes
# `Ask` and answers with `Tell`; which one serves a group is decided by its name.


class Opened(Word):
    session: int
    name: str
    priority: int
    membership: bool


class Ended(Word):
    session: int


class Ask(Word):
    profile: str
    request: Opened | Ended | Join | Leave | Define | Multicast


class Tell(Word):
    session: int
    news: Message | View | Joined | Defined | Transition | Left | Refused


# Inside the strong profile.


class Submit(Word):
    """groups -> stream: to be stamped when the token comes."""

    bundle: Bundle
    priority: int = 0


class GroupDaemons(Word):
    """groups -> stream: these daemons have members of a group now."""

    group: GroupName
    daemons: tuple[DaemonId, ...]


class ChangeMade(Word):
    """groups -> stream: this group change is delivered, and its views are known here."""

    bundle: Bundle


class Forward(Word):
    """stream -> links: an object for the leader of a neighbouring segment."""

    to: DaemonId
    data: bytes
    reliable: bool
    segment: int = 0
    """Whose stream it is of."""

    is_report: bool = False
    """About that stream, and not part of it."""


class Arrived(Word):
    """links -> stream: an object came from a neighbour, in any order."""

    sender: Member
    data: bytes


class Neighbours(Word):
    """stream -> links: whom I lead my segment to; `birth` names the links for ever."""

    birth: int
    peers: tuple[Member, ...]


class LinkDead(Word):
    """links -> membership: nothing more goes to this neighbour (SP-152 to SP-154).

    requests    this end asked for an object again and again
    nacks       the other end did
    silence     the other end answers no probe, or acknowledges nothing more
    no_pipe     there is no connection to be had
    """

    peer: Member
    reason: str


class SubmitState(Word):
    """groups -> stream: my part of the group state for the new configuration, before all else."""

    bodies: tuple[bytes, ...]


class Forget(Word):
    """groups -> stream: a session of mine has ended for all; keep nothing of it."""

    session: int


class Taken(Word):
    """stream -> sessions: so many bytes of a session's queue were stamped."""

    session: int
    size: int


class Courtesy(Word):
    """sessions -> stream: clients are behind, and others wait for them until then."""

    until: Instant


class Stamped(Word):
    """stream -> groups: what was stamped just now, after everything delivered before it."""

    config: Configuration
    bundle: Bundle


class Delivered(Word):
    """stream -> groups."""

    bundle: Bundle
    transitional: bool
    lineage: int = 0
    """Not 0: behind a hole, where only those who come along see the same (names them)."""


class Transitional(Word):
    """stream -> groups: the old configuration goes on with these members only."""

    members: tuple[Member, ...]


class Installed(Word):
    """stream -> groups: everything of the old configuration has been delivered."""

    configuration: Configuration
    base: ConfigId
    together: tuple[Member, ...]
    evidence: str


class Freeze(Word):
    """membership -> stream: take nothing more of this configuration, say what you hold."""

    attempt: ConfigId


class StreamHoldings(NamedTuple):
    """What a member holds of one stream."""

    held: tuple[tuple[Natural, Natural, Natural], ...]
    """Runs of sequences that are held and not known stable: first, last, stamp of the last."""

    known: Natural
    """Everything for its segment up to here was held at some time."""

    stamp: Natural
    """And nothing more for it will come with a stamp up to this."""

    early: tuple[tuple[Natural, Natural], ...]
    """Delivered ahead of the order, or pledged."""


class Holdings(Word):
    """stream -> membership: what I hold of the configuration that ends."""

    attempt: ConfigId
    streams: tuple[StreamHoldings, ...]
    """Of each segment's stream; none if there was no configuration."""

    stable: int
    """Everything up to this stamp was held by every member."""

    cursor: int
    """Position up to which I have delivered in turn."""


class Part(NamedTuple):
    """Members that come from one segment of the old configuration, and what they hold together."""

    members: tuple[Member, ...]
    segment: int
    """In the old configuration."""

    least: tuple[int, ...]
    """Of each stream: up to this sequence none of them lacks anything."""

    holdings: Holdings


class Recover(Word):
    """membership -> stream: what all who come with me from the old configuration hold."""

    attempt: ConfigId
    parts: tuple[Part, ...]
    """All of them, each once: what becomes of a bundle is decided from these alone."""

    near: tuple[tuple[DaemonId, Holdings], ...]
    """Those of my party, one by one, me among them: from whom to fetch."""

    far: tuple[tuple[DaemonId, tuple[Holdings, ...]], ...] = ()
    """Whom to ask for what none of these holds, and what they can get: all that is held by one
    of the parts they stand for. Nearest first (SP-127)."""

    deputy: bool = True
    """I fetch for my party from far, and answer for it: also what is not for me."""


class Recovered(Word):
    """stream -> membership: I hold all of the plan and pledge to deliver it."""

    attempt: ConfigId


class Install(Word):
    """membership -> stream: deliver what was recovered, then begin anew."""

    configuration: Configuration
    evidence: str


class Progress(Word):
    """stream -> membership: recovery goes on."""

    attempt: ConfigId


class Evidence(Word):
    """stream -> membership: others have installed this configuration already."""

    config: ConfigId


class Settled(Word):
    """groups -> stream: the group state is common; clients' bundles may be stamped."""

    config: ConfigId


class Trouble(Word):
    """stream -> membership: the ring cannot go on like this."""

    reason: str
    accused: DaemonId
    detail: str = ""
    """What speaks for it."""


class Keep(Word):
    """groups -> retain: messages of a kept group, in their order."""

    group: GroupName
    branch: Branch
    sequence: int
    count: int
    entry: bytes
    part: bytes = b""
    """Not empty: a new part begins with this head."""

    before: tuple[tuple[Branch, int], ...] = ()
    """And these are the tips of its branch."""


class Late(Word):
    """stream -> membership: the segments of these leaders are half as late as nobody may be;
    whoever is accused of being slow is one of them, or it is only slow to somebody else."""

    leaders: tuple[DaemonId, ...]
