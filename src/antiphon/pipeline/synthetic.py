"""Tables of a made-up history, as large as one likes, with or without planted faults.

Ten daemons, if not said otherwise, with five sessions each, all in the same sixteen groups, go
through twenty views: the daemons part twice and meet again, three of them crash, and else views
follow each other without a reason. It keeps every promise but for what is planted. Rows lie in
any order in the files.
"""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from antiphon.core.ids import NO_CONFIG, ConfigId, DaemonId, Incarnation, Member, SessionId, ViewId
from antiphon.core.trace import Cause, Kind, Record
from antiphon.pipeline.synthetic_rows import Columns, TableWriter

Longs = npt.NDArray[np.int64]

SESSIONS_EACH, ERAS = 5, 20
LIFE = Incarnation(1)
STEP_US = 10
"""From one message to the next."""

WAY_US = 50
"""From a submit to the earliest delivery."""

LAG_US = 2
"""By so much each daemon delivers later than the one before."""

PAUSE_US = 2_000
LAST = 8
"""Messages of an era that are delivered in its transitional part."""

SUBMIT, SEND, DELIVER, HAND = range(4)


class Plant(StrEnum):
    SWAP = "swap"  # two agreed messages change places at a session
    LOSS = "loss"  # a session is not handed an agreed message
    DUPLICATE = "duplicate"  # a session is handed a message twice
    INVERSION = "inversion"  # a session gets a message after one that it caused
    EARLY_SAFE = "early-safe"  # a safe message comes in the regular part, and not all have it
    COMRADES = "comrades"  # a daemon is told too small a transitional set


BREAKS = {
    Plant.SWAP: {"S5"},
    Plant.LOSS: {"D4", "S5"},
    Plant.DUPLICATE: {"D1"},
    Plant.INVERSION: {"S4", "S5"},
    Plant.EARLY_SAFE: {"S6"},
    Plant.COMRADES: {"D6"},
}
"""The promises that each breaks."""

PLANTED_IN = {
    Plant.SWAP: 1,
    Plant.LOSS: 2,
    Plant.DUPLICATE: 3,
    Plant.INVERSION: 4,
    Plant.EARLY_SAFE: 5,
    Plant.COMRADES: 10,
}
"""In which era: the last two need one after which the daemons part."""

Part = tuple[int, ...]
"""Daemons that are together, counted from 0."""


class Era(NamedTuple):
    number: int
    parts: tuple[Part, ...]

    def part_of(self, daemon: int) -> Part:
        return next((part for part in self.parts if daemon in part), ())

    def config(self, part: Part) -> ConfigId:
        return ConfigId(self.number + 1, DaemonId(part[0] + 1), LIFE, self.number + 1)

    def view(self, part: Part) -> ViewId:
        return ViewId(self.config(part), 0, self.number + 1)


def make_eras(daemons: int) -> list[Era]:
    alive = tuple(range(daemons))
    found = []
    for number in range(ERAS):
        if number in (4, 9, 14):
            alive = alive[:-1]
        cut = len(alive) // 2
        parts = (alive[:cut], alive[cut:]) if number in (6, 7, 11, 12) else (alive,)
        found.append(Era(number, parts))
    return found


def write_tables(
    tables: Path,
    rows: int,
    services: tuple[int, ...] = (4, 5),
    plants: tuple[Plant, ...] = (),
    run: str = "synthetic",
    groups: int = 16,
    daemons: int = 10,
) -> int:
    """A run with about as many rows of deliveries and hands as were asked for; how many there
    are. Of six daemons, the fewest, some are left to part when three have crashed."""
    names = tuple(f"g{number:02}" for number in range(groups))
    out = TableWriter(tables, run)
    return _History(out, rows, services, plants, names, make_eras(daemons)).write()


@cache
def _sessions(daemons: Part) -> tuple[SessionId, ...]:
    return tuple(
        SessionId(DaemonId(daemon + 1), LIFE, number + 1)
        for daemon in daemons
        for number in range(SESSIONS_EACH)
    )


def _members(daemons: Part) -> tuple[Member, ...]:
    return tuple(Member(DaemonId(daemon + 1), LIFE) for daemon in daemons)


class _History:
    def __init__(
        self,
        out: TableWriter,
        rows: int,
        services: tuple[int, ...],
        plants: tuple[Plant, ...],
        names: tuple[str, ...],
        eras: list[Era],
    ) -> None:
        self._out, self._names, self._eras = out, names, eras
        (self._daemons,) = eras[0].parts
        self._services, self._plants = np.array(services, np.int64), plants
        self._rng = np.random.default_rng(1)
        self._rows_each = rows // ERAS
        self._numbers = np.zeros((2, len(self._daemons) * SESSIONS_EACH), np.int64)
        self._time = 1_000_000

    def write(self) -> int:
        self._begin()
        for era in self._eras:
            following = self._eras[era.number + 1] if era.number + 1 < ERAS else None
            self._install(era)
            self._run(era, following)
        self._end()
        return self._out.close()

    def _plants_in(self, plant: Plant, era: Era) -> bool:
        return plant in self._plants and PLANTED_IN[plant] == era.number

    # Rows that are not about messages.

    def _begin(self) -> None:
        for daemon in self._daemons:
            rows = [self._record(Kind.START, daemon)]
            for session in _sessions((daemon,)):
                rows.append(self._record(Kind.OPEN, daemon, session=session.number))
                join = self._record(Kind.JOIN, daemon, session=session.number)
                join.groups = self._names
                rows.append(join)
            self._out.control(daemon, rows)
        self._time += PAUSE_US

    def _record(self, kind: Kind, daemon: int, session: int = -1) -> Record:
        return Record(kind, self._time, DaemonId(daemon + 1), LIFE, session)

    def _install(self, era: Era) -> None:
        before = self._eras[era.number - 1] if era.number else None
        for part in era.parts:
            for daemon in part:
                old = before.part_of(daemon) if before else ()
                row = self._record(Kind.INSTALL, daemon)
                row.config, row.members = era.config(part), _members(part)
                row.base = before.config(old) if before else NO_CONFIG
                stayed = tuple(one for one in part if one in old)
                rows = [row, *self._views(era, part, daemon, before, old, stayed)]
                self._out.control(daemon, rows)
        if era.number == ERAS - 1:
            quiet = Record(Kind.QUIET, self._time, DaemonId(0))
            self._out.world([quiet])
        self._time += PAUSE_US

    def _views(
        self, era: Era, part: Part, daemon: int, before: Era | None, old: Part, stayed: Part
    ) -> list[Record]:
        rows = []
        for session in _sessions((daemon,)):
            for name in self._names:
                row = self._record(Kind.VIEW, daemon, session.number)
                row.groups = (name,)
                row.views = (era.view(part), before.view(old) if before else None)
                row.sessions = _sessions(part)
                row.together = _sessions(stayed) if before else (session,)
                row.reason = Cause.NETWORK
                rows.append(row)
        return rows

    def _turn(self, era: Era, following: Era) -> None:
        """Daemons are told who comes along, and those that crash do it here."""
        for part in era.parts:
            for daemon in part:
                along = tuple(one for one in following.part_of(daemon) if one in part)
                if not along:
                    stop = Record(Kind.STOP, self._time, DaemonId(daemon + 1))
                    stop.reason = "crash"
                    self._out.world([stop])
                    continue
                row = self._record(Kind.TRANSITIONAL, daemon)
                wrong = self._plants_in(Plant.COMRADES, era) and daemon == part[0]
                row.config, row.members = era.config(part), _members(along[:-1] if wrong else along)
                rows = [row]
                for session in _sessions((daemon,)):
                    signal = self._record(Kind.SIGNAL, daemon, session.number)
                    signal.groups = self._names
                    signal.views = (era.view(part),) * len(self._names)
                    rows.append(signal)
                self._out.control(daemon, rows)

    def _end(self) -> None:
        last = self._eras[-1]
        rows = []
        for part in last.parts:
            for daemon in part:
                row = Record(Kind.REACH, self._time, DaemonId(daemon + 1))
                row.members = _members(part)
                rows.append(row)
        self._out.world(rows)

    # Messages.

    def _run(self, era: Era, following: Era | None) -> None:
        begins = self._time
        tables = []
        regular = 0
        for part in era.parts:
            letters = self._letters(era, part)
            regular = max(regular, len(letters["sender"]) - LAST)
            tables.append((part, letters))
        turn = begins + WAY_US + regular * STEP_US + PAUSE_US
        early = [self._regular(era, part, letters, begins) for part, letters in tables]
        self._out.messages(early)
        self._time = turn
        if following is not None:
            self._turn(era, following)
        late = [
            self._late(era, following, part, letters, turn + PAUSE_US) for part, letters in tables
        ]
        self._out.messages(late)
        self._time = turn + 2 * PAUSE_US + LAST * STEP_US

    def _letters(self, era: Era, part: Part) -> dict[str, Longs]:
        """Messages of a configuration, in their order."""
        each = (1 + SESSIONS_EACH) * len(part) * len(era.parts)
        count = max(5 * LAST, self._rows_each // each)
        senders = np.array([d * SESSIONS_EACH + n for d in part for n in range(SESSIONS_EACH)])
        sender = self._rng.choice(senders, count)
        service = self._rng.choice(self._services, count)
        service[-LAST:] = self._services[-1]
        number = np.empty(count, np.int64)
        for unreliable in (0, 1):
            chosen = np.flatnonzero((service == 0) == bool(unreliable))
            order = chosen[np.argsort(sender[chosen], kind="stable")]
            who, starts, counts = np.unique(sender[order], return_index=True, return_counts=True)
            place = np.arange(len(order)) - np.repeat(starts, counts)
            number[order] = place + 1 + self._numbers[unreliable][sender[order]]
            self._numbers[unreliable][who] += counts
        return {
            "sender": sender,
            "group": self._rng.integers(0, len(self._names), count),
            "service": service,
            "number": number,
            "stamp": np.where(service == 0, 0, np.arange(1, count + 1)),
        }

    def _regular(self, era: Era, part: Part, letters: dict[str, Longs], begins: int) -> Columns:
        count = len(letters["sender"]) - LAST
        base = begins + WAY_US + np.arange(count) * STEP_US
        found = _Builder(era, part, letters, self._names)
        found.sent(np.arange(count), base - WAY_US)
        late = np.arange(count, count + LAST)
        found.sent(late, np.full(LAST, base[-1] - WAY_US + 1))
        for daemon in part:
            at = np.arange(count)
            for session in range(-1, SESSIONS_EACH):
                time = base + LAG_US * daemon
                # What waits for no order comes when it comes.
                free = letters["service"][:count] <= 1
                hurry = self._rng.integers(0, WAY_US // 2, count)
                found.got(at, daemon, session, np.where(free, time - hurry, time), late=False)
        self._plant(era, part, found, base)
        return found.columns()

    def _late(
        self, era: Era, following: Era | None, part: Part, letters: dict[str, Longs], begins: int
    ) -> Columns:
        found = _Builder(era, part, letters, self._names)
        count = len(letters["sender"])
        last = np.arange(count - LAST, count)
        for daemon in part:
            along = part
            if following is not None:
                along = tuple(one for one in following.part_of(daemon) if one in part)
            at = last[np.isin(letters["sender"][last] // SESSIONS_EACH, along)]
            time = begins + np.arange(len(at)) * STEP_US + LAG_US * daemon
            is_late = following is not None
            for session in range(-1, SESSIONS_EACH):
                skip = 0
                if session < 0 and self._plants_in(Plant.EARLY_SAFE, era) and daemon == 0:
                    skip = 1
                found.got(at[skip:], daemon, session, time[skip:], late=is_late)
        return found.columns()

    def _plant(self, era: Era, part: Part, found: "_Builder", base: Longs) -> None:
        who, session = part[1], 2
        service, sender = found.letters["service"], found.letters["sender"]
        ordered = np.flatnonzero(service[: len(base)] >= 4)
        middle = ordered[len(ordered) // 2 :]
        home = who * SESSIONS_EACH + session
        if self._plants_in(Plant.SWAP, era):
            pairs = zip(middle, middle[1:], strict=False)
            one, other = next((a, b) for a, b in pairs if sender[a] != sender[b])
            found.move(one, who, session, int(base[other]) + LAG_US * who)
            found.move(other, who, session, int(base[one]) + LAG_US * who)
        if self._plants_in(Plant.LOSS, era):
            group = found.letters["group"]
            one = next(
                a
                for a in ordered
                if sender[a] != home and service[a] == 4 and group[a] in group[middle[middle > a]]
            )
            found.drop(int(one), who, session)
        if self._plants_in(Plant.DUPLICATE, era):
            one = middle[0]
            found.again(one, who, session, int(base[-1]) + LAG_US * who)
        if self._plants_in(Plant.INVERSION, era):
            one, other = self._cause_and_effect(middle, sender, base)
            found.move(one, who, session, int(base[other]) + LAG_US * who + 1)
        if self._plants_in(Plant.EARLY_SAFE, era) and 0 in part:
            along = self._eras[era.number + 1].part_of(0)
            last = np.arange(len(base), len(base) + LAST)
            one = last[np.isin(sender[last] // SESSIONS_EACH, along)][0]
            found.got(np.array([one]), 0, -1, np.array([int(base[-1]) + 1_000]), late=False)

    def _cause_and_effect(self, at: Longs, sender: Longs, base: Longs) -> tuple[int, int]:
        """A message, and one whose sender had got it, before the first one's sends another."""
        slack = WAY_US + LAG_US * len(self._daemons) + STEP_US
        for place, one in enumerate(at.tolist()):
            for other in at[place + 1 : place + 60].tolist():
                if sender[other] == sender[one]:
                    break
                if base[other] - base[one] > slack:
                    return one, other
        raise AssertionError("there is always one")


class _Builder:
    """Rows about messages of one configuration, kind by kind."""

    def __init__(
        self, era: Era, part: Part, letters: dict[str, Longs], names: tuple[str, ...]
    ) -> None:
        self.era, self.part, self.letters, self._names = era, part, letters, names
        self._parts: list[dict[str, Any]] = []

    def _add(
        self, kind: int, at: Longs, time: Longs, daemon: Any, session: Any, late: bool
    ) -> None:
        self._parts.append(
            {
                "kind": np.full(len(at), kind),
                "at": at,
                "time": time,
                "daemon": np.broadcast_to(daemon, len(at)),
                "session": np.broadcast_to(session, len(at)),
                "late": np.full(len(at), late),
            }
        )

    def sent(self, at: Longs, time: Longs) -> None:
        sender = self.letters["sender"][at]
        daemon, session = sender // SESSIONS_EACH, sender % SESSIONS_EACH
        self._add(SUBMIT, at, time, daemon, session, False)
        self._add(SEND, at, time, daemon, -1, False)

    def got(self, at: Longs, daemon: int, session: int, time: Longs, late: bool) -> None:
        self._add(DELIVER if session < 0 else HAND, at, time, daemon, session, late)

    def _hand(self, at: int, daemon: int, session: int) -> tuple[dict[str, Any], int]:
        for part in self._parts:
            mine = part["kind"][0] == HAND and part["daemon"][0] == daemon
            if mine and part["session"][0] == session:
                return part, int(np.flatnonzero(part["at"] == at)[0])
        raise AssertionError("every session gets every message")

    def move(self, at: int, daemon: int, session: int, time: int) -> None:
        part, place = self._hand(at, daemon, session)
        part["time"][place] = time

    def drop(self, at: int, daemon: int, session: int) -> None:
        part, place = self._hand(at, daemon, session)
        for name, column in part.items():
            part[name] = np.delete(column, place)

    def again(self, at: int, daemon: int, session: int, time: int) -> None:
        self.got(np.array([at]), daemon, session, np.array([time]), late=False)

    def columns(self) -> Columns:
        joined = {
            name: np.concatenate([part[name] for part in self._parts])
            for name in ("kind", "at", "time", "daemon", "session", "late")
        }
        at = joined.pop("at")
        letters = {name: column[at] for name, column in self.letters.items()}
        return Columns(
            self.era.config(self.part),
            self.era.view(self.part),
            self._names,
            {**joined, **letters, "at": at},
        )
