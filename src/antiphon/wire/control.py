"""Control messages: declared once, bounds in the declaration, one spelling each.

A message that does not encode back to the very bytes it came in is refused: msgpack has
several spellings for a number, and array-like structs would let extra fields pass.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from antiphon.core.effects import StreamHoldings
from antiphon.core.errors import DecodeError
from antiphon.core.ids import ConfigId, Counter, Member, Natural, SomeDaemon
from antiphon.core.reach import Reach
from antiphon.wire.link import NOTHING_HEARD
from antiphon.wire.packet import HEADER_BYTES, PACKET_BYTES_MAX, Envelope, Tag
from antiphon.wire.ring import check_order, check_reach

MEMBERS_MAX = 256
SEGMENTS_MAX = 256
HOPS_MAX = 32
RUNS_MAX = 4096
RUNS_TOTAL_MAX = 1 << 20
EVIDENCE_BYTES_MAX = 2048
CHUNKS_MAX = 128
CHUNK_BYTES_MAX = 32_768

U64 = Natural
U32 = Counter
Members = Annotated[tuple[Member, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
Daemons = Annotated[tuple[SomeDaemon, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
Runs = Annotated[tuple[tuple[U64, U64], ...], msgspec.Meta(max_length=RUNS_MAX)]
Streams = Annotated[tuple[StreamHoldings, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
Parts = Annotated[tuple[Members, ...], msgspec.Meta(min_length=1, max_length=SEGMENTS_MAX)]
Weights = Annotated[
    tuple[Annotated[tuple[U32, ...], msgspec.Meta(max_length=SEGMENTS_MAX)], ...],
    msgspec.Meta(max_length=SEGMENTS_MAX),
]
Text = Annotated[str, msgspec.Meta(max_length=EVIDENCE_BYTES_MAX)]
Reason = Annotated[str, msgspec.Meta(max_length=64)]
Fragment = Annotated[bytes, msgspec.Meta(max_length=65_536)]


class Control(msgspec.Struct, gc=False, array_like=True, forbid_unknown_fields=True):
    """Base of all control messages."""


class Hurry(Control):
    """I have work: let the resting token go on."""

    config: ConfigId


class Have(Control):
    """Of a calm ring, to all: how far I lack nothing."""

    config: ConfigId
    stamp: U64
    """I hold every bundle with a stamp up to this."""


class Hello(Control):
    """I am here, I hear these, I follow this one. Levels, not edges: the next one repeats it."""

    config: ConfigId
    """Installed at me."""

    leader: SomeDaemon
    """Whom I follow."""

    alert: bool
    """I am in trouble or I hear a stranger: answer with your own Hello."""

    trouble: Reason
    """Why my configuration cannot go on; empty if it can."""

    accused: SomeDaemon
    epoch: U64
    """The highest epoch I installed or accepted."""

    heard: Members
    """Whom I hear; sorted."""

    clique: Daemons
    """Whom of these I would be in one configuration with; sorted."""


class Propose(Control):
    """Coordinator to leaders, and they to their parties: let this be the next configuration."""

    config: ConfigId
    parts: Parts
    """Its segments by their leaders, each sorted, each member once."""

    weights: Weights
    """From each segment to each: of the edge between them, 0 where there is none. Empty if
    there is only one segment."""

    reason: Text


class State(Control):
    """Member to leader: I take no more of `base`, and this is what I hold of it."""

    config: ConfigId
    base: ConfigId
    segment: U32
    """Mine in `base`."""

    streams: Streams
    stable: U64
    cursor: U64


class MemberState(Control):
    """What one member said in its State, inside a Digest."""

    member: Member
    base: ConfigId
    segment: U32
    streams: Streams
    stable: U64
    cursor: U64


class PartState(Control):
    """What members from one segment of `base` hold together."""

    members: Members
    base: ConfigId
    segment: U32
    least: Annotated[tuple[U64, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    """Of each stream: up to here none of them lacks anything."""

    streams: Streams
    stable: U64
    cursor: U64


PartStates = Annotated[tuple[PartState, ...], msgspec.Meta(max_length=MEMBERS_MAX)]


class SiteState(Control):
    """Leader to coordinator: what my party holds, put together."""

    config: ConfigId
    parts: PartStates


class Digest(Control):
    """Coordinator to leaders: what all segments hold. Leader to party: the same, and of our
    segment also member by member."""

    config: ConfigId
    sites: Annotated[tuple[PartStates, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    """For each segment of the proposal."""

    party: Annotated[tuple[MemberState, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
    """Empty between leaders."""


class RecoveryRequest(Control):
    """Member to holder: send me these bundles of `base`, the first from fragment `index` on."""

    config: ConfigId
    base: ConfigId
    segment: U32
    """Whose stream they are in."""

    index: U32
    wanted: Runs


class RecoveryData(Control):
    """Holder to member: one fragment of a bundle of `base`."""

    config: ConfigId
    base: ConfigId
    sender: Member
    session: U32
    number: U64
    count: Annotated[int, msgspec.Meta(ge=1, le=65_535)]
    service: Annotated[int, msgspec.Meta(ge=1, le=5)]
    control: bool
    self_discard: bool
    order: tuple[U64, U64, U64, U64, U64, U64]
    segment: U32
    early_pasts: Annotated[tuple[tuple[U32, U64], ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    reach: Annotated[tuple[Reach, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    index: U32
    fragments: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
    data: Fragment


class Ready(Control):
    """Member to leader: I hold all of the plan and pledge it."""

    config: ConfigId


class SiteReady(Control):
    """Leader to coordinator: all of my party are ready."""

    config: ConfigId


class Commit(Control):
    """Coordinator to leaders, and they to their parties: everybody is ready; install."""

    config: ConfigId


class Leaving(Control):
    """I stop, and this life of mine is over: go on without me."""


class Times(NamedTuple):
    """By which a leader measures the way to another."""

    number: U32
    """So many Greetings were sent to you in this life, this one among them; 0: I do not lead."""

    clock: U32
    """Mine, in microseconds, modulo 2**32."""

    echo: U32
    """The newest of yours that I have heard."""

    held_us: U32
    """And how long ago that was; NOTHING_HEARD."""


NO_TIMES = Times(0, 0, 0, NOTHING_HEARD)


class Greeting(Control):
    """Leader to leaders, and to daemons elsewhere that might be: do you hear me? One that does
    not lead answers with whom it follows."""

    leader: SomeDaemon
    """Whom I follow; myself if I lead."""

    summary: U64
    """Of the reports of my component: if yours is another, we do not know the same."""

    held: Annotated[tuple[tuple[Member, U64], ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    """Whose reports I have, up to which number; sorted. Empty while we know the same."""

    times: Times = NO_TIMES
    """Of this Greeting, and of yours."""


class Standing(Control):
    """Of one member of a party that has trouble."""

    daemon: SomeDaemon
    config: ConfigId
    trouble: Reason


class SiteReport(Control):
    """A leader about its party and whom it hears; flooded over edges. The highest number of its
    life says everything."""

    leader: Member
    number: U64
    config: ConfigId
    """Installed at the leader."""

    epoch: U64
    """The highest that anybody of the party knows."""

    party: Members
    """Sorted; the leader is the first."""

    standings: Annotated[tuple[Standing, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
    hears: Annotated[tuple[Member, ...], msgspec.Meta(max_length=SEGMENTS_MAX)]
    """Leaders; sorted. Two that hear each other are an edge."""

    weights: Annotated[tuple[U32, ...], msgspec.Meta(max_length=SEGMENTS_MAX)] = ()
    """Of the ways from these to me, 0 where it is not known; empty if weights are not measured."""


class SiteNews(Control):
    """A leader, of what is new: its report but for what is as it was."""

    leader: Member
    number: U64
    like: U64
    """The number of a report of this life: since then only this has changed."""

    config: ConfigId
    epoch: U64
    standings: Annotated[tuple[Standing, ...], msgspec.Meta(max_length=MEMBERS_MAX)]
    come: Annotated[tuple[Member, ...], msgspec.Meta(max_length=SEGMENTS_MAX)] = ()
    gone: Annotated[tuple[Member, ...], msgspec.Meta(max_length=SEGMENTS_MAX)] = ()


class Relayed(Control):
    """A packet on its way between leaders that do not hear each other."""

    route: Annotated[tuple[SomeDaemon, ...], msgspec.Meta(min_length=1, max_length=HOPS_MAX)]
    """Who gets it next, up to whom it is for; each once."""

    packet: Annotated[bytes, msgspec.Meta(max_length=PACKET_BYTES_MAX)]


class Chunk(Control):
    """A part of a packet that is too large for one datagram."""

    name: U64
    """Of the packet, from its bytes: one that is said again has the same."""

    index: U32
    count: Annotated[int, msgspec.Meta(ge=2, le=CHUNKS_MAX)]
    data: Annotated[bytes, msgspec.Meta(min_length=1, max_length=CHUNK_BYTES_MAX)]


PacketMessage = (
    Hurry
    | Have
    | Hello
    | Propose
    | State
    | Digest
    | RecoveryRequest
    | RecoveryData
    | Ready
    | Commit
    | Leaving
    | SiteState
    | SiteReady
    | Greeting
    | SiteReport
    | SiteNews
    | Relayed
    | Chunk
)

TAGS: dict[type[Control], Tag] = {
    Hurry: Tag.HURRY,
    Have: Tag.HAVE,
    Hello: Tag.HELLO,
    Propose: Tag.PROPOSE,
    State: Tag.STATE,
    Digest: Tag.DIGEST,
    RecoveryRequest: Tag.RECOVERY_REQUEST,
    RecoveryData: Tag.RECOVERY_DATA,
    Ready: Tag.READY,
    Commit: Tag.COMMIT,
    Leaving: Tag.LEAVING,
    SiteState: Tag.SITE_STATE,
    SiteReady: Tag.SITE_READY,
    Greeting: Tag.GREETING,
    SiteReport: Tag.SITE_REPORT,
    SiteNews: Tag.SITE_NEWS,
    Relayed: Tag.RELAYED,
    Chunk: Tag.CHUNK,
}


_encoder = msgspec.msgpack.Encoder()
_decoders: dict[int, msgspec.msgpack.Decoder[Any]] = {
    tag: msgspec.msgpack.Decoder(kind) for kind, tag in TAGS.items()
}

T = TypeVar("T")


def pack_control(envelope: Envelope, message: PacketMessage) -> bytes:
    return envelope.head(TAGS[type(message)]) + _encoder.encode(message)


def read_control(tag: int, packet: bytes) -> PacketMessage:
    decoder = _decoders.get(tag)
    if decoder is None:
        raise DecodeError("unknown_tag", str(tag))
    message: PacketMessage = canonical(decoder, packet[HEADER_BYTES:])
    _check(message)
    return message


def _check(message: PacketMessage) -> None:
    """What types cannot say: sorted, apart, within bounds, possible."""
    match message:
        case State(streams=streams):
            _check_streams(streams)
        case SiteState(parts=parts):
            _check_part_states(parts)
        case Digest(sites=sites, party=party):
            _check_streams([stream for state in party for stream in state.streams])
            _check_sorted(tuple(state.member.daemon for state in party))
            for parts in sites:
                _check_part_states(parts)
        case RecoveryRequest(wanted=wanted):
            check_runs(wanted)
            if not wanted:
                raise DecodeError("bad_field", "a request for nothing")
        case RecoveryData():
            check_order(message.service, message.order)
            check_reach(message.service, message.order[0], message.early_pasts, message.reach)
            if any(segment == message.segment for segment, _ in message.early_pasts):
                raise DecodeError("bad_field", "a stream is not another than itself")
            if not message.number or message.index >= message.fragments:
                raise DecodeError("bad_field", "a fragment outside of its bundle")
        case Propose(parts=parts, weights=weights):
            _check_parts(parts)
            _check_weights(len(parts), weights)
        case Hello(heard=heard, clique=clique):
            _check_sorted(tuple(member.daemon for member in heard))
            _check_sorted(clique)
        case Greeting(held=held, times=times):
            if times.held_us == NOTHING_HEARD and times.echo:
                raise DecodeError("bad_field", "an echo of nothing")
            _check_sorted(tuple(member.daemon for member, _ in held))
        case SiteReport():
            _check_report(message)
        case SiteNews(number=number, like=like, standings=standings):
            _check_sorted(tuple(standing.daemon for standing in standings))
            _check_sorted(tuple(member.daemon for member in message.come))
            _check_sorted(tuple(member.daemon for member in message.gone))
            if like >= number:
                raise DecodeError("bad_field", "news are like an earlier report")
        case Relayed(route=route):
            if len(set(route)) < len(route):
                raise DecodeError("bad_field", "a route goes nowhere twice")
        case Chunk(index=index, count=count):
            if index >= count:
                raise DecodeError("bad_field", "a chunk outside of its packet")
        case _:
            pass


def _check_sorted(daemons: tuple[int, ...]) -> None:
    if any(one >= other for one, other in pairwise(daemons)):
        raise DecodeError("not_canonical", "a list of members is sorted, each daemon once")


def _check_parts(parts: tuple[tuple[Member, ...], ...]) -> None:
    """Segments are apart, and sorted by their leaders."""
    for members in parts:
        _check_sorted(tuple(member.daemon for member in members))
        if not members:
            raise DecodeError("bad_field", "a segment without members")
    _check_sorted(tuple(members[0].daemon for members in parts))
    if len({member.daemon for members in parts for member in members}) < sum(map(len, parts)):
        raise DecodeError("bad_field", "a daemon in two segments")


def _check_weights(segments: int, weights: tuple[tuple[int, ...], ...]) -> None:
    """An edge has a weight in each direction; one segment has no edges."""
    if len(weights) != (segments if segments > 1 else 0):
        raise DecodeError("bad_field", "weights are told for all segments")
    if any(len(row) != segments for row in weights):
        raise DecodeError("bad_field", "weights are told from each segment to each")
    for one in range(len(weights)):
        if any(bool(weights[one][two]) != bool(weights[two][one]) for two in range(one + 1)):
            raise DecodeError("bad_field", "an edge has two directions")
        if weights[one][one]:
            raise DecodeError("bad_field", "an edge of a segment to itself")


def _check_part_states(parts: tuple[PartState, ...]) -> None:
    _check_streams([stream for part in parts for stream in part.streams])
    places = [(part.base, part.segment) for part in parts]
    if any(one >= other for one, other in pairwise(places)):
        raise DecodeError("not_canonical", "parts are sorted by where they come from")
    for part in parts:
        _check_sorted(tuple(member.daemon for member in part.members))
        if len(part.least) != len(part.streams):
            raise DecodeError("bad_field", "what nobody lacks is told of each stream")


def _check_report(report: SiteReport) -> None:
    party = tuple(member.daemon for member in report.party)
    _check_sorted(party)
    _check_sorted(tuple(standing.daemon for standing in report.standings))
    _check_sorted(tuple(member.daemon for member in report.hears))
    if report.party[:1] != (report.leader,):
        raise DecodeError("bad_field", "a leader is the first of its party")
    if report.weights and len(report.weights) != len(report.hears):
        raise DecodeError("bad_field", "weights are told for all that are heard")
    if not {standing.daemon for standing in report.standings} <= set(party):
        raise DecodeError("bad_field", "a standing of a stranger")


def _check_streams(streams: Iterable[StreamHoldings]) -> None:
    """Stamps rise from run to run, and are no less than sequences."""
    for stream in streams:
        stamps = [stamp for _, _, stamp in stream.held]
        if any(one >= other for one, other in pairwise(stamps)):
            raise DecodeError("bad_field", "stamps rise from run to run")
        if any(stamp < last for _, last, stamp in stream.held) or stream.stamp < stream.known:
            raise DecodeError("bad_field", "a stamp is at least its sequence")
    held = [tuple((first, last) for first, last, _ in stream.held) for stream in streams]
    check_runs(*held, *(stream.early for stream in streams))


def check_runs(*lists: tuple[tuple[int, int], ...]) -> None:
    """A few bytes can name billions of numbers; nobody will walk through them."""
    total = 0
    for runs in lists:
        if len(runs) > RUNS_MAX:
            raise DecodeError("bad_field", f"more than {RUNS_MAX} runs")
        floor = 0
        for first, last in runs:
            if first <= floor or last < first:
                raise DecodeError("bad_field", "runs are sorted and apart")
            floor = last + 1
            total += last - first + 1
    if total > RUNS_TOTAL_MAX:
        raise DecodeError("bad_field", f"runs name more than {RUNS_TOTAL_MAX} numbers")


def canonical(decoder: "msgspec.msgpack.Decoder[T]", body: bytes) -> T:
    try:
        message = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError("malformed", str(error)) from None
    if _encoder.encode(message) != body:
        raise DecodeError("not_canonical", type(message).__name__)
    return message
