"""After what: the order of a session and of causes (S3, S4)."""

from antiphon.check.findings import Findings
from antiphon.check.history import Daemon, Process
from antiphon.check.pieces import Piece
from antiphon.check.reading import Reading
from antiphon.core.service import Service
from antiphon.core.trace import Kind


def judge_ordering(reading: Reading, findings: Findings) -> None:
    """S3, S4: whatever a process delivers at all of what a message must follow, it delivers
    before that message.

    Neither promise says that it delivers all of it: what is missing altogether is D4's, S5's
    and P2's matter. Both are decided in one walk, for it is the dearest part of judging.
    """
    reliable = reading.at_least(Service.RELIABLE)
    session_order = _session_order(reading)
    causal_order = _causal_order(reading)
    needs = [one | other for one, other in zip(session_order, causal_order, strict=True)]
    for process in reading.processes():
        missing = process.delivered & reliable
        for position, _, run in process.events:
            for piece in run.pieces:
                missing &= ~piece.bit
                late = needs[piece.index] & missing
                if late:
                    early = late & session_order[piece.index]
                    _report("S3", process, position, piece, early, reading, findings)
                    early = late & causal_order[piece.index]
                    _report("S4", process, position, piece, early, reading, findings)


def _report(
    promise: str,
    process: Process,
    position: int,
    piece: Piece,
    late: int,
    reading: Reading,
    findings: Findings,
) -> None:
    if not late:
        return
    other = reading.chosen(late)[0]
    when = next(place for place, _, run in process.events if run.mask & other.bit)
    does = "delivers" if isinstance(process, Daemon) else "is handed"
    told = (
        f"{process} {does} {piece} at {reading.time(position)} before {other} at "
        f"{reading.time(when)}, which was submitted at {reading.time(other.submitted)}"
    )
    if promise == "S4":
        told += f" and happened before the other at {reading.time(piece.submitted)}"
    findings.add(promise, process, position, told)


def _session_order(reading: Reading) -> list[int]:
    """S3: a fifo or stronger message comes after every reliable or stronger one that its
    session sent before it, to whatever groups."""
    needs = [0] * len(reading.pieces)
    earlier: dict[tuple[int, int, int], int] = {}
    for piece in sorted(reading.pieces, key=lambda piece: piece.first):
        if piece.service >= Service.RELIABLE:
            sent = earlier.get(piece.origin, 0)
            if piece.service >= Service.FIFO:
                needs[piece.index] = sent
            earlier[piece.origin] = sent | piece.bit
    return needs


def _causal_order(reading: Reading) -> list[int]:
    """S4: a causal or stronger message comes after every causal or stronger one whose sending
    happened before its own.

    A session's submit happens after all that it submitted and was handed before, messages of
    any service, and after all that happened before those. It is the submit that counts, not
    the stamping: what was handed while a message waited to be stamped is not in its past. A
    daemon's own messages (session 0) have no submit; their stamping happens after all that
    the daemon delivered and stamped itself.
    """
    pasts = [0] * len(reading.pieces)
    knows: dict[Process, int] = {}
    for process, (_, record, run) in reading.flow:
        known = knows.get(process, 0)
        for piece in run.pieces:
            if record.kind is Kind.SUBMIT or record.kind is Kind.SEND:
                pasts[piece.index] = known
                known |= piece.bit
            else:
                known |= pasts[piece.index] | piece.bit
        knows[process] = known
    causal = reading.at_least(Service.CAUSAL)
    return [
        past & causal if piece.service >= Service.CAUSAL else 0
        for piece, past in zip(reading.pieces, pasts, strict=True)
    ]
