"""The logs of kept groups, as far as this daemon has them on disk.

States   per group: what waits to be written, and at most one write under way
Timers   AGE   a part may have grown too old
After    docs/protocols/retain.md. Groups say what is kept and how it is called; here it becomes
         parts, which end when they are long, when the branch does, and when a write failed.
"""

from collections import deque
from collections.abc import Sequence

from antiphon.core.effects import Append, Appended, Discard, Emit, Keep, Word
from antiphon.core.ids import GroupName, Member
from antiphon.core.keeping import KeepRule, RetainSettings
from antiphon.core.machine import MILLISECOND, Instant, Timers, Wakeup
from antiphon.core.trace import Kind, Level, Record
from antiphon.protocol.retain.parts import Part, Stored
from antiphon.wire.retained import Entry, walk

AGE = "age"
AGE_US_MIN = 100 * MILLISECOND
"""Parts are not looked at more often than this."""

RECOVERED = "recovered"


class GroupLog:
    """What is on disk of one group, and what is on its way there."""

    __slots__ = ("rule", "parts", "waiting", "writing", "broken")

    def __init__(self, rule: KeepRule) -> None:
        self.rule = rule
        self.parts: list[Part] = []
        """Oldest first; those without a sequence are not on disk yet."""

        self.waiting: deque[Keep] = deque()
        self.writing: list[Keep] = []
        self.broken = False
        """The last part cannot be written: until the next one nothing is."""

    @property
    def busy(self) -> bool:
        """Something that happened is not on disk yet."""
        return bool(self.waiting or self.writing)

    def whole(self) -> list[Part]:
        return [part for part in self.parts if part.last]


class Retain:
    def __init__(
        self, me: Member, settings: RetainSettings, level: Level, stored: Sequence[Stored] = ()
    ) -> None:
        self._me = me
        self._settings = settings
        self._level = level
        self._timers = Timers()
        self._logs: dict[GroupName, GroupLog] = {}
        self._by_key: dict[str, GroupLog] = {}
        self._stored = stored
        self._number = 0
        """Of the last part."""

    def deadline(self) -> Instant:
        return self._timers.deadline()

    def start(self, now: Instant) -> list[Word]:
        """Take over what earlier lives have left, oldest first."""
        effects: list[Word] = []
        for one in self._stored:
            part = one.part
            self._number = max(self._number, number_of(one.key))
            log = None if part is None else self._log(part.group)
            if part is None or log is None:
                effects.append(Discard(one.key))
                continue
            part.written = now - one.age_us
            log.parts.append(part)
            if self._level == Level.ALL:
                effects += [self._row(now, part, entry, RECOVERED) for entry in one.told]
        self._stored = ()
        for group in sorted(self._logs):
            effects += self._drop_old(now, self._logs[group])
        return effects

    def handle(self, now: Instant, event: Word | Wakeup) -> list[Word]:
        match event:
            case Keep(group):
                log = self._log(group)
                assert log is not None, "groups keep what the settings name"
                log.waiting.append(event)
                return self._write(log)
            case Appended(key, fault):
                return self._appended(now, key, fault)
            case Wakeup():
                self._timers.due(now)
                return [
                    word
                    for group in sorted(self._logs)
                    for word in self._drop_old(now, self._logs[group])
                ]
        raise AssertionError(f"{event!r}")

    def log(self, group: GroupName) -> GroupLog | None:
        return self._logs.get(group)

    def _log(self, group: GroupName) -> GroupLog | None:
        log = self._logs.get(group)
        if log is None:
            rule = self._settings.rule_of(group)
            if rule is None:
                return None
            log = self._logs[group] = GroupLog(rule)
        return log

    # Writing.

    def _write(self, log: GroupLog) -> list[Word]:
        """What waits and goes to one part, in one piece."""
        if log.writing:
            return []
        data: list[bytes] = []
        while log.waiting:
            keep = log.waiting[0]
            if keep.part:
                if data:
                    break  # the next part has a write of its own
                self._begin(log, keep)
            log.waiting.popleft()
            if log.broken:
                continue
            data += (keep.part, keep.entry)
            log.writing.append(keep)
        if not data:
            return []
        return [Append(log.parts[-1].key, b"".join(data))]

    def _begin(self, log: GroupLog, keep: Keep) -> None:
        self._number += 1
        part = Part(f"log-{self._number}", keep.group, keep.branch, keep.before)
        log.parts.append(part)
        log.broken = False
        self._by_key[part.key] = log

    def _appended(self, now: Instant, key: str, fault: str) -> list[Word]:
        log = self._by_key[key]
        part = log.parts[-1]
        assert part.key == key and log.writing, "one write at a time"
        kept, log.writing = log.writing, []
        effects: list[Word] = []
        if fault:
            effects += self._give_up(now, log, fault)
        else:
            part.written = now
            for keep in kept:
                at = part.size + len(keep.part)
                part.note(keep.sequence, keep.count, at)
                part.size = at + len(keep.entry)
                if self._level == Level.ALL:
                    effects += [self._row(now, part, one, "") for one in walk(keep.entry)]
            effects += self._drop_old(now, log)
        return effects + self._write(log)

    def _give_up(self, now: Instant, log: GroupLog, fault: str) -> list[Word]:
        """How much of the write is in the file nobody knows. What is there is found again by
        the next life; in this one the part ends with what was written before."""
        part = log.parts[-1]
        log.broken = True
        record = Record(Kind.DROP, now, *self._me)
        record.reason, record.detail = "log_write", f"{part.group}: {fault}"
        record.value = 1
        effects: list[Word] = [Emit(record)]
        if not part.last:
            log.parts.pop()
            effects.append(Discard(part.key))
        return effects

    # Discarding.

    def _drop_old(self, now: Instant, log: GroupLog) -> list[Word]:
        """The last part is never too much or too old: it may be written."""
        effects: list[Word] = []
        rule = log.rule
        total = sum(part.size for part in log.parts)
        while len(log.parts) > 1:
            part = log.parts[0]
            if total <= rule.max_bytes and now - part.written < rule.max_age_us:
                due = max(part.written + rule.max_age_us, now + AGE_US_MIN)
                self._timers.set(AGE, min(due, self._timers.at(AGE)))
                break
            total -= part.size
            del log.parts[0]
            self._by_key.pop(part.key, None)
            effects.append(Discard(part.key))
        return effects

    # Records.

    def _row(self, now: Instant, part: Part, entry: Entry, reason: str) -> Emit:
        row = Record(Kind.KEEP, now, *self._me)
        row.config, row.stamp = part.branch
        row.sequence, row.count = entry.sequence, entry.count
        row.origin, row.first, row.service = entry.origin, entry.number, entry.service
        row.groups, row.value = (part.group,), entry.checksum
        row.reason = reason
        row.detail = f"{entry.producer} {entry.key}" if entry.producer else ""
        return Emit(row)


def number_of(key: str) -> int:
    return int(key.rpartition("-")[2])
