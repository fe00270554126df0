"""Logs of kept groups: one name, one content; nothing left out; no repeat (K1 to K3)."""

from collections.abc import Iterator

from antiphon.check.findings import Findings
from antiphon.check.history import ConfigStay, Daemon, config_name
from antiphon.check.pieces import Event, Piece
from antiphon.check.reading import Reading
from antiphon.core.ids import GroupName
from antiphon.core.service import Service

RECOVERED = "recovered"


def judge_kept(reading: Reading, findings: Findings) -> None:
    daemons = [daemon for daemon in reading.daemons.values() if daemon.kept]
    if not daemons:
        return
    _one_content(daemons, findings)
    groups = sorted({event[1].groups[0] for daemon in daemons for event in daemon.kept})
    for daemon in reading.daemons.values():
        for group in groups:
            _nothing_left_out(reading, daemon, group, findings)
            _no_repeat(daemon, group, findings)


def _one_content(daemons: list[Daemon], findings: Findings) -> None:
    """K1: whoever has an entry at a place of a branch has the same one."""
    known: dict[tuple[object, ...], dict[int, tuple[int, int, Daemon]]] = {}
    for daemon in daemons:
        for position, record, _ in daemon.kept:
            branch = known.setdefault((record.groups, record.config, record.stamp), {})
            entry = (record.count, record.value)
            other = branch.setdefault(record.sequence, (*entry, daemon))
            if other[:2] != entry:
                told = (
                    f"{daemon} and {other[2]} have different entries of {record.groups[0]!r} "
                    f"at {record.sequence} of {config_name(record.config)}~{record.stamp}"
                )
                findings.add("K1", daemon, position, told)


def _own(daemon: Daemon, group: GroupName) -> Iterator[Event]:
    """What it wrote itself."""
    for event in daemon.kept:
        if event[1].groups[0] == group and event[1].reason != RECOVERED:
            yield event


def _nothing_left_out(
    reading: Reading, daemon: Daemon, group: GroupName, findings: Findings
) -> None:
    """K2: what a life writes of a branch is what it delivered there, in that order and counted
    from 1, up to where its disk ends. Behind a hole another branch goes on where the first
    ended. Where the disk failed something is missing, but nothing is at another place."""
    by_config: dict[object, list[Event]] = {}
    for event in _own(daemon, group):
        by_config.setdefault(event[1].config, []).append(event)
    for stay in daemon.stays:
        expected = _expected(daemon, stay, group)
        written = _written(daemon, by_config.get(stay.config, []), expected, findings)
        owes = stay.next is not None or reading.ended
        if written < len(expected) and owes and daemon.up and not daemon.disk_failed:
            told = f"{daemon} delivers {expected[written]} to {group!r} and does not keep it"
            findings.add("K2", daemon, reading.end, told)


def _written(daemon: Daemon, events: list[Event], expected: list[Piece], findings: Findings) -> int:
    """How many of the expected pieces are there; each must be where it is expected."""
    sequences: dict[int, int] = {}
    places = {piece.index: place for place, piece in enumerate(expected)}
    total = 0
    for piece in expected:
        sequences[piece.index] = total + 1
        total += piece.count
    done, shift, branch = 0, 0, None
    for position, record, run in events:
        first = run.pieces[0]
        place = places.get(first.index)
        if place is None or (place != done and not (daemon.disk_failed and place > done)):
            told = f"{daemon} keeps {first} where something else was delivered"
            findings.add("K2", daemon, position, told)
            return len(expected)
        if record.stamp != branch:
            # Behind a hole, where counting begins anew.
            branch, shift = record.stamp, sequences[first.index] - record.sequence
            if shift < 0 or (shift and not record.stamp):
                shift = 0
        if sequences[first.index] - shift != record.sequence:
            told = f"{daemon} keeps {first} as {record.sequence}"
            findings.add("K2", daemon, position, f"{told}, not {sequences[first.index] - shift}")
            return len(expected)
        done = place + len(run.pieces)
    return done


def _expected(daemon: Daemon, stay: ConfigStay, group: GroupName) -> list[Piece]:
    """Agreed and safe messages to the group that were delivered in a configuration."""
    repeated = 0
    for run in daemon.repeats:
        repeated |= run.mask
    return [
        piece
        for _, record, run in stay.events
        for piece in run.pieces
        if record.service >= Service.AGREED
        and piece.submit is not None
        and group in piece.submit.groups
        and not piece.bit & repeated
    ]


def _no_repeat(daemon: Daemon, group: GroupName, findings: Findings) -> None:
    """K3: of each producer the numbers rise."""
    marks: dict[str, int] = {}
    for position, record, run in _own(daemon, group):
        if not record.detail:
            continue
        producer, key = record.detail.rsplit(" ", 1)
        if int(key) <= marks.get(producer, -1):
            told = f"{daemon} keeps {run.pieces[0]} as {key} of {producer!r} in {group!r}"
            findings.add("K3", daemon, position, f"{told} after {marks[producer]}")
        marks[producer] = int(key) + record.count - 1
