"""The timeline: one line per record, fixed columns, for eyes.

       time  process  kind          details
    2.133521 2        trouble       token_loss
    2.133521 2        enter         gather token_loss

A configuration is written epoch.coordinator, a view configuration/position, a message
daemon.session:number. The columns of each kind are those of scenario transcripts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind, Record
from antiphon.sim.scenario import COLUMNS, process

USUAL_KINDS = tuple(
    kind
    for kind in Kind
    if kind
    not in (
        Kind.SEND,
        Kind.COMPLETE,
        Kind.DELIVER,
        Kind.SUBMIT,
        Kind.HAND,
        Kind.BUFFERS,
        Kind.BACKLOG,
        Kind.COUNTS,
        Kind.DROP,
        Kind.RECEIVED,
        Kind.OPEN,
        Kind.JOIN,
        Kind.LEAVE,
        Kind.LEFT,
        Kind.SIGNAL,
        Kind.VIEW,
    )
)
"""What tells the story of the configurations; the traffic drowns it."""

TIME_WIDTH = 10
PROCESS_WIDTH = 7
KIND_WIDTH = 12
HEADING = f"{'time':>{TIME_WIDTH}} {'process':<{PROCESS_WIDTH}} {'kind':<{KIND_WIDTH}} details"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which records to show. The world's own rows (faults) pass any choice of daemons."""

    kinds: tuple[Kind, ...] = USUAL_KINDS
    daemons: tuple[int, ...] = ()
    first_us: int = 0
    last_us: int = 1 << 62
    width: int = 0
    """Longer lines are cut; 0: never."""

    def shows(self, record: Record) -> bool:
        if record.kind not in self.kinds or not self.first_us <= record.time <= self.last_us:
            return False
        return not self.daemons or record.node in (0, *self.daemons)


def timeline(records: Iterable[Record], choice: Choice) -> Iterator[str]:
    """Lines without their ends."""
    width = choice.width
    yield HEADING
    for record in records:
        if choice.shows(record):
            text = line(record)
            if width and len(text) > width:
                text = text[: width - 1] + "…"
            yield text


def line(record: Record) -> str:
    columns = COLUMNS.get(record.kind)
    words = columns(record) if columns else _plain(record)
    details = " ".join(word for word in words if word)
    return (
        f"{record.time / SECOND:>{TIME_WIDTH}.6f} {process(record):<{PROCESS_WIDTH}} "
        f"{record.kind.value:<{KIND_WIDTH}} {details}"
    ).rstrip()


def _plain(record: Record) -> list[str]:
    peer = f"peer {record.peer}" if record.peer else ""
    value = f"{record.value}/{record.limit}" if record.limit else str(record.value or "")
    return [",".join(record.groups), record.reason, peer, record.detail, value]
