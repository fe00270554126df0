"""Fetching missing bundles of the old configuration, and answering who fetches."""

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Send
from antiphon.core.ids import ConfigId, DaemonId
from antiphon.core.machine import Instant
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.protocol.stream.recovery import Plan
from antiphon.wire.control import CHUNK_BYTES_MAX, RecoveryData, RecoveryRequest, pack_control
from antiphon.wire.packet import Envelope
from antiphon.wire.ring import BUNDLE_BYTES_MAX

DATA_OVERHEAD = 200
"""Of a RecoveryData around its fragment; generous."""

RUNS_PER_REQUEST = 64
Place = tuple[int, int]
"""Segment and sequence."""


def fragment_bytes(packet_bytes: int) -> int:
    """Never so much that it would have to travel in chunks: it is a part already."""
    return max(64, min(packet_bytes, CHUNK_BYTES_MAX) - DATA_OVERHEAD)


Source = tuple[DaemonId, int]
"""A holder, and a segment whose stream it is asked for."""


class Pull:
    """One attempt's wants. Of each source one request is outstanding, but for repeats by the
    timer: these must not multiply what is answered."""

    def __init__(
        self, attempt: ConfigId, base: ConfigId, plan: Plan, spread: int, far_us: int
    ) -> None:
        self.attempt = attempt
        self.plan = plan
        self.missing: dict[int, RangeSet] = {}
        """Per stream; a stream of which nothing is missing is not in it."""

        self._base = base
        self._spread = spread
        self._far_us = far_us
        self._parts: dict[Place, dict[int, bytes]] = {}
        self._bytes: dict[Place, int] = {}
        self._new: dict[Source, int] = {}
        """Fragments since the last request that I did not have."""

        self._asked: dict[DaemonId, Instant] = {}

    def requests(self, now: Instant, envelope: Envelope, only: Source | None = None) -> list[Send]:
        """Ask each source, or one of them, for what is still missing."""
        wanted: dict[Source, RangeSet] = {}
        for segment, missing in self.missing.items():
            if only is not None and segment != only[1]:
                continue
            for sequence in missing:
                source = (self.plan.holder(segment, sequence, self._spread), segment)
                if source == only or (only is None and self._may_ask(now, source[0])):
                    wanted.setdefault(source, RangeSet()).add(sequence)
        sends = []
        for (holder, segment), sequences in sorted(wanted.items(), key=_source):
            runs = tuple(sequences.runs())[:RUNS_PER_REQUEST]
            index = self._first_missing_part((segment, runs[0][0]))
            request = RecoveryRequest(self.attempt, self._base, segment, index, runs)
            sends.append(Send(holder, pack_control(envelope, request)))
            self._new[holder, segment] = 0
            self._asked[holder] = now
        return sends

    def _may_ask(self, now: Instant, holder: DaemonId) -> bool:
        """Of one that is far the answer may still be on its way."""
        asked = self._asked.get(holder)
        return asked is None or not self.plan.is_far(holder) or now - asked >= self._far_us

    def _first_missing_part(self, place: Place) -> int:
        parts = self._parts.get(place, {})
        index = 0
        while index in parts:
            index += 1
        return index

    def take(self, holder: DaemonId, data: RecoveryData) -> Bundle | None:
        """The bundle, if this fragment completes one that I miss."""
        sequence = data.order[0]
        missing = self.missing.get(data.segment)
        if missing is None or sequence not in missing:
            return None
        place = (data.segment, sequence)
        parts = self._parts.setdefault(place, {})
        if data.index in parts:
            return None
        source = (holder, data.segment)
        self._new[source] = self._new.get(source, 0) + 1
        parts[data.index] = data.data
        self._bytes[place] = self._bytes.get(place, 0) + len(data.data)
        if len(parts) < data.fragments and self._bytes[place] <= BUNDLE_BYTES_MAX:
            return None
        del self._parts[place], self._bytes[place]
        if len(parts) != data.fragments or max(parts) != data.fragments - 1:
            return None  # no bundle is like that: begin again
        missing.remove_run(sequence, sequence)
        if not missing:
            del self.missing[data.segment]
        return Bundle(
            data.sender,
            data.session,
            data.number,
            data.count,
            Service(data.service),
            b"".join(parts[index] for index in sorted(parts)),
            data.control,
            data.self_discard,
            *data.order,
            data.segment,
            data.early_pasts,
            data.reach,
        )

    def answered(self, source: Source, fragments_max: int) -> bool:
        """It has sent all that one request gives. What came twice does not count."""
        return self._new.get(source, 0) >= fragments_max


def _source(entry: tuple[Source, RangeSet]) -> Source:
    return entry[0]


def answer(
    envelope: Envelope,
    to: DaemonId,
    request: RecoveryRequest,
    held: dict[int, Bundle],
    size: int,
    fragments_max: int,
) -> list[Send]:
    """Fragments of what was asked for and is here, up to a limit."""
    sends: list[Send] = []
    start = request.index
    for first, last in request.wanted:
        for sequence in range(first, min(last, first + fragments_max) + 1):
            bundle = held.get(sequence)
            if bundle is not None:
                for data in fragments(request, bundle, size)[start:]:
                    sends.append(Send(to, pack_control(envelope, data)))
                    if len(sends) >= fragments_max:
                        return sends
            start = 0
    return sends


def fragments(request: RecoveryRequest, bundle: Bundle, size: int) -> list[RecoveryData]:
    cuts = [bundle.body[at : at + size] for at in range(0, max(1, len(bundle.body)), size)]
    order = (
        bundle.sequence,
        bundle.stamp,
        bundle.previous,
        bundle.early_past,
        bundle.order_past,
        bundle.after_change,
    )
    return [
        RecoveryData(
            request.config,
            request.base,
            bundle.sender,
            bundle.session,
            bundle.number,
            bundle.count,
            int(bundle.service),
            bundle.control,
            bundle.self_discard,
            order,
            bundle.segment,
            bundle.early_pasts,
            bundle.reach,
            index,
            len(cuts),
            cut,
        )
        for index, cut in enumerate(cuts)
    ]
