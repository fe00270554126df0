"""The logs on disk: one write at a time, parts that end, old ones that go."""

from antiphon.core.effects import Append, Appended, Discard, Emit, Keep, Word
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member, SessionId
from antiphon.core.keeping import KeepRule, RetainSettings
from antiphon.core.machine import NEVER, SECOND, WAKEUP
from antiphon.core.offsets import Branch
from antiphon.core.trace import Kind, Level
from antiphon.protocol.retain.parts import Stored, group_states
from antiphon.protocol.retain.retain import GroupLog, Retain
from antiphon.wire.retained import KeptState, PartHead, pack_entry, pack_part

ME = Member(DaemonId(1), Incarnation(7))
A = Branch(ConfigId(1, *ME, 1), 0)
B = Branch(ConfigId(2, *ME, 2), 0)
SETTINGS = RetainSettings((KeepRule("g", 8192, 10 * SECOND),))


def entry(sequence: int, size: int = 4, producer: str = "", key: int = 0) -> bytes:
    messages = size.to_bytes(4) + bytes(2) + b"x" * size
    return pack_entry(sequence, 1, 4, SessionId(*ME, 1), sequence, "ann", producer, key, messages)


def head(branch: Branch, first: int, tips: tuple[tuple[Branch, int], ...] = ()) -> bytes:
    return pack_part(PartHead(branch, first, KeptState("g", tips, (), (("q", 3),))))


def keep(sequence: int, opens: bool = False, branch: Branch = A, size: int = 4) -> Keep:
    part = head(branch, sequence) if opens else b""
    return Keep("g", branch, sequence, 1, entry(sequence, size), part)


class Disk:
    """Carries out what the machine wants, when told to."""

    def __init__(self, stored: list[Stored] | None = None) -> None:
        self.machine = Retain(ME, SETTINGS, Level.ALL, stored or [])
        self.files: dict[str, bytes] = {}
        self.asked: list[Append] = []
        self.rows: list[Emit] = []
        self.now = 0
        self.do(self.machine.start(0))

    def do(self, effects: list[Word]) -> None:
        for effect in effects:
            match effect:
                case Append():
                    self.asked.append(effect)
                case Discard(key):
                    self.files.pop(key, None)
                case Emit():
                    self.rows.append(effect)

    def tell(self, event: Keep) -> None:
        self.do(self.machine.handle(self.now, event))

    def sync(self, fault: str = "") -> None:
        """Until nothing is under way."""
        while self.asked:
            asked = self.asked.pop(0)
            if not fault:
                self.files[asked.key] = self.files.get(asked.key, b"") + asked.data
            self.do(self.machine.handle(self.now, Appended(asked.key, fault)))

    @property
    def log(self) -> GroupLog:
        log = self.machine.log("g")
        assert log is not None
        return log

    def spans(self) -> list[tuple[int, int]]:
        return [(part.first, part.last) for part in self.log.whole()]


def test_one_write_is_under_way_and_the_rest_goes_in_the_next() -> None:
    disk = Disk()
    for sequence in range(1, 5):
        disk.tell(keep(sequence, sequence == 1))
    assert len(disk.asked) == 1 and disk.log.busy and disk.spans() == []
    disk.sync()
    assert disk.spans() == [(1, 4)] and not disk.log.busy
    assert disk.files["log-1"] == head(A, 1) + b"".join(map(entry, range(1, 5)))
    assert [row.record.sequence for row in disk.rows] == [1, 2, 3, 4]


def test_a_part_has_a_write_of_its_own() -> None:
    disk = Disk()
    for one in (keep(1, True), keep(2), keep(1, True, B), keep(2, False, B)):
        disk.tell(one)
    disk.sync()
    assert disk.spans() == [(1, 2), (1, 2)]
    assert [part.branch for part in disk.log.whole()] == [A, B]


def test_what_could_not_be_written_is_missing_until_the_next_part() -> None:
    disk = Disk()
    disk.tell(keep(1, True))
    disk.sync()
    disk.tell(keep(2))
    disk.sync(fault="no space")
    disk.tell(keep(3))
    disk.sync()
    assert disk.spans() == [(1, 1)] and not disk.log.busy
    disk.tell(keep(4, True))
    disk.sync()
    assert disk.spans() == [(1, 1), (4, 4)]
    assert [row.record.reason for row in disk.rows if row.record.kind is Kind.DROP] == ["log_write"]


def test_a_part_that_could_not_even_begin_is_discarded() -> None:
    disk = Disk()
    disk.tell(keep(1, True))
    disk.sync(fault="no space")
    assert disk.log.parts == []


def test_the_oldest_parts_go_when_there_are_too_many_bytes() -> None:
    disk = Disk()
    for sequence in range(1, 12):
        disk.tell(keep(sequence, True, size=2000))
        disk.sync()
    assert disk.spans() == [(sequence, sequence) for sequence in range(9, 12)]
    assert sorted(disk.files) == ["log-10", "log-11", "log-9"]


def test_parts_grow_old_but_the_last_may_still_be_written() -> None:
    disk = Disk()
    disk.tell(keep(1, True))
    disk.sync()
    assert disk.machine.deadline() == NEVER
    disk.now = 3 * SECOND
    disk.tell(keep(2, True))
    disk.sync()
    assert disk.machine.deadline() == 10 * SECOND
    disk.now = 10 * SECOND
    disk.do(list(disk.machine.handle(disk.now, WAKEUP)))
    assert disk.spans() == [(2, 2)] and sorted(disk.files) == ["log-2"]


def test_a_new_life_finds_what_is_whole_and_writes_elsewhere() -> None:
    disk = Disk()
    disk.tell(keep(1, True))
    disk.tell(keep(2))
    disk.tell(keep(1, True, B))
    disk.sync()
    torn = disk.files["log-2"][:-1]
    stored = [
        Stored("log-1", disk.files["log-1"], tell=True),
        Stored("log-2", torn),
        Stored("log-5", b"nothing"),
    ]
    again = Disk(stored)
    assert again.spans() == [(1, 2)]
    assert [row.record.reason for row in again.rows] == ["recovered"] * 2
    again.tell(keep(1, True, B))
    assert again.asked[0].key == "log-6"


def test_the_disk_tells_where_a_group_stood() -> None:
    """K3: marks of the head and of the entries, whichever is higher."""
    first = head(A, 1) + entry(1, 4, "q", 2) + entry(2, 4, "r", 9)
    second = head(B, 1, ((A, 2),)) + entry(1, 4, "q", 8)
    states = group_states([Stored("log-1", first), Stored("log-2", second)])
    (state,) = states
    assert state.tips == ((B, 1),) and state.covered == ((A, 2),)
    assert dict(state.marks) == {"q": 8, "r": 9}
