"""Fetching missing bundles of the old configuration, and answering who fetches."""

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Send
from antiphon.core.ids import ConfigId, DaemonId
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service
from antiphon.protocol.stream.recovery import Plan
from antiphon.wire.control import RecoveryData, RecoveryRequest, pack_control
from antiphon.wire.packet import Envelope
from antiphon.wire.ring import BUNDLE_BYTES_MAX

DATA_OVERHEAD = 200
"""Of a RecoveryData around its fragment; generous."""

RUNS_PER_REQUEST = 64


def fragment_bytes(packet_bytes: int) -> int:
    return max(64, packet_bytes - DATA_OVERHEAD)


class Pull:
    """One attempt's wants. One request is outstanding per holder: answers to repeated
    requests would multiply."""

    def __init__(self, attempt: ConfigId, base: ConfigId, plan: Plan, spread: int) -> None:
        self.attempt = attempt
        self.plan = plan
        self.missing = RangeSet()
        self._base = base
        self._spread = spread
        self._parts: dict[int, dict[int, bytes]] = {}
        self._bytes: dict[int, int] = {}
        self._answers: dict[DaemonId, int] = {}

    def requests(self, envelope: Envelope, only: DaemonId | None = None) -> list[Send]:
        """Ask each holder, or one of them, for what is still missing."""
        wanted: dict[DaemonId, RangeSet] = {}
        for sequence in self.missing:
            holder = self.plan.holder(sequence, self._spread)
            if only is None or holder == only:
                wanted.setdefault(holder, RangeSet()).add(sequence)
        sends = []
        for holder, sequences in sorted(wanted.items()):
            runs = tuple(sequences.runs())[:RUNS_PER_REQUEST]
            index = self._first_missing_part(runs[0][0])
            request = RecoveryRequest(self.attempt, self._base, index, runs)
            sends.append(Send(holder, pack_control(envelope, request)))
            self._answers[holder] = 0
        return sends

    def _first_missing_part(self, sequence: int) -> int:
        parts = self._parts.get(sequence, {})
        index = 0
        while index in parts:
            index += 1
        return index

    def take(self, data: RecoveryData) -> Bundle | None:
        """The bundle, if this fragment completes one that I miss."""
        sequence = data.order[0]
        if sequence not in self.missing:
            return None
        parts = self._parts.setdefault(sequence, {})
        if data.index in parts:
            return None
        parts[data.index] = data.data
        self._bytes[sequence] = self._bytes.get(sequence, 0) + len(data.data)
        if len(parts) < data.fragments and self._bytes[sequence] <= BUNDLE_BYTES_MAX:
            return None
        del self._parts[sequence], self._bytes[sequence]
        if len(parts) != data.fragments or max(parts) != data.fragments - 1:
            return None  # no bundle is like that: begin again
        self.missing.remove_run(sequence, sequence)
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
        )

    def answered(self, holder: DaemonId, fragments_max: int) -> bool:
        """Count an answer; True when the holder has sent all that one request gives."""
        self._answers[holder] = self._answers.get(holder, 0) + 1
        return self._answers[holder] % fragments_max == 0


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
            index,
            len(cuts),
            cut,
        )
        for index, cut in enumerate(cuts)
    ]
