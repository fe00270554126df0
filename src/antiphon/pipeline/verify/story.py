"""Findings for people: numbers become names again, and faults sentences."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from antiphon.check.history import config_name, view_name
from antiphon.core.trace import DAEMON
from antiphon.pipeline.verify.batches import ONWARD, TAG_BITS, arrays_of
from antiphon.pipeline.verify.control import Facts
from antiphon.pipeline.verify.events import NUMBER_BITS
from antiphon.pipeline.verify.faults import WORDS, Fault
from antiphon.pipeline.verify.histories import History
from antiphon.pipeline.verify.lookup import Lookup
from antiphon.records.arrow import load

FINDINGS = (
    "promise string, run string, level string, processes array<string>, messages array<string>, "
    "views array<string>, times array<long>, text string"
)

Finding = tuple[str, str, str, list[str], list[str], list[str], list[int], str]


def tell(
    look: Callable[[], Lookup], histories: list[History]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Rows of findings to sentences."""

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        pa = load()
        strings = pa.list_(pa.string())
        types = [pa.string()] * 3 + [strings] * 3 + [pa.list_(pa.int64()), pa.string()]
        names = [column.split()[0] for column in FINDINGS.split(", ")]
        for batch in batches:
            rows = arrays_of(batch, ONWARD)
            teller = Teller(look(), histories)
            found = [teller.finding(*one) for one in zip(*rows.values(), strict=True)]
            columns = list(zip(*found, strict=True)) or [() for _ in names]
            arrays = [pa.array(each, kind) for each, kind in zip(columns, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    return work


class Teller:
    def __init__(self, look: Lookup, histories: list[History]) -> None:
        self._look = look
        self._histories = histories

    def finding(
        self, _lane: int, tie: int, tag: int, key: int, k1: int, k2: int, stay: int, config: int
    ) -> Finding:
        look = self._look
        fault = Fault(int(tag) >> TAG_BITS)
        promise, words = WORDS[fault]
        history = self._histories[int(look.history[k1])]
        is_daemon = look.processes[k1][1][2] == DAEMON
        process, other = self.process(k1), self.process(k2)
        message, second = self.message(key), self.message(config)
        place = self._place(is_daemon, int(stay))
        text = words.format(
            process=process, other=other, message=message, second=second, place=place
        )
        return (
            promise,
            history.name,
            "daemon" if is_daemon else "session",
            [process, other] if k2 else [process],
            [message, second] if config else [message],
            [place] if stay >= 0 else [],
            [int(tie) + history.origin_us],
            text,
        )

    def process(self, number: int) -> str:
        _, (daemon, incarnation, session) = self._look.processes[number]
        if session == DAEMON:
            return f"daemon {daemon}/{incarnation}"
        return f"session {daemon}/{incarnation}/{session}"

    def message(self, key: int) -> str:
        _, (daemon, incarnation, session) = self._look.processes[int(key) >> NUMBER_BITS]
        number = int(key) & ((1 << NUMBER_BITS) - 1)
        unreliable = "unreliable " if number & 1 else ""
        return f"{unreliable}message {daemon}/{incarnation}/{session}:{number >> 1}"

    def _place(self, is_daemon: bool, number: int) -> str:
        if number < 0:
            return "a view that nobody installs"
        if is_daemon:
            return config_name(self._look.configs[number][1])
        _, group, view = self._look.views[number]
        return f"{view_name(view)} of {group!r}"


def told_by_judges(facts: Facts, history: History) -> list[Finding]:
    """What the judges found in the control rows."""
    return [
        (
            found.promise,
            history.name,
            found.process.split()[0],
            [found.process],
            [],
            [],
            [found.time],
            found.text,
        )
        for found in facts.violations
    ]
