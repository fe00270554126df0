"""One trace of many writers, in an order that the judges can read.

Judges need one order for all rows: a cause before its effects, whichever processes they are
at. Rows of a writer keep their order; between writers the clock decides, monotonic where all
share a boot, else the wall's.

A client tells its own session better than its daemon: what it asked for and what it took are
its rows, and the daemon's rows of the same are left out. But it takes news later than the
daemon hands them out, and judges compare a session's views with the configurations of its
daemon. So a client's row stands where the daemon's row of the same news stood, never before
the client's row ahead of it; what the daemon has no row for stands at the client's own time.

A client that is killed leaves a story without a `close` row. Then the daemon's `close` stays,
and of its requests those that the client's story does not reach. A client that is cut off goes
on for a moment with requests that the daemon never took; they are left out.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from antiphon.core.trace import Kind, Record
from antiphon.records.reader import Notes, find_segments, rows_of

NEWS = frozenset((Kind.HAND, Kind.VIEW, Kind.SIGNAL, Kind.LEFT))
REQUESTS = frozenset((Kind.OPEN, Kind.JOIN, Kind.LEAVE, Kind.SUBMIT))
CHANGES = frozenset((Kind.JOIN, Kind.LEAVE))
TOLD_BY_CLIENTS = NEWS | REQUESTS | {Kind.CLOSE}

CHANGE = "change"
"""In `detail` of a submit: a join or leave as a message, which only the daemon tells."""

SessionKey = tuple[int, int, int]


class Place(NamedTuple):
    """Where a row stands."""

    time: int
    writer: int
    position: int
    before: int = 0
    """-1: directly before the row at this place."""


Placed = tuple[Place, Record]


def gather(directories: Iterable[Path], notes: Notes | None = None) -> list[Record]:
    """All rows of a run, to be judged."""
    notes = Notes() if notes is None else notes
    segments = find_segments(directories, notes)
    by_wall = len({one.heading.boot for one in segments if one.heading.source != "sim"}) > 1
    writers: dict[tuple[bool, str, str], list[Record]] = {}
    times: dict[tuple[bool, str, str], list[int]] = {}
    for segment in segments:
        # Clients sort first: at the same microsecond a request comes before its effect.
        heading = segment.heading
        key = (heading.source != "client", heading.name, heading.run)
        rows = rows_of(segment, notes)
        writers.setdefault(key, []).extend(rows)
        offset = heading.wall_offset_us if by_wall else 0
        times.setdefault(key, []).extend(row.time + offset for row in rows)
    own: list[Placed] = []
    told: list[Placed] = []
    for number, key in enumerate(sorted(writers)):
        if key[0]:
            own += _in_order(number, times[key], writers[key])
        else:
            told += _by_time(number, times[key], writers[key])
    return [row for _, row in sorted(_joined(own, told), key=lambda one: one[0])]


def _in_order(writer: int, times: list[int], rows: list[Record]) -> list[Placed]:
    """A clock that was set back does not turn a writer's rows round."""
    placed = []
    latest = 0
    for position, (time, row) in enumerate(zip(times, rows, strict=True)):
        latest = max(latest, time)
        placed.append((Place(latest, writer, position), row))
    return placed


def _by_time(writer: int, times: list[int], rows: list[Record]) -> list[Placed]:
    """A client writes a request when it knows its number, later than it made it."""
    places = [Place(time, writer, position) for position, time in enumerate(times)]
    return sorted(zip(places, rows, strict=True), key=lambda one: one[0])


def _joined(own: list[Placed], told: list[Placed]) -> list[Placed]:
    stories: dict[SessionKey, list[Placed]] = {}
    joined: list[Placed] = []
    for place, row in told:
        if row.kind in TOLD_BY_CLIENTS:
            stories.setdefault(_session(row), []).append((place, row))
        else:
            joined.append((place, row))
    replaced: dict[SessionKey, list[Placed]] = {session: [] for session in stories}
    for place, row in own:
        if row.kind in TOLD_BY_CLIENTS and _session(row) in stories:
            replaced[_session(row)].append((place, row))
        else:
            joined.append((place, row))
    for session, story in stories.items():
        joined += session_rows(story, replaced[session])
    return joined


def _session(row: Record) -> SessionKey:
    return row.node, row.incarnation, row.session


def session_rows(story: list[Placed], daemons: list[Placed]) -> list[Placed]:
    """A client's story with its daemon's places, and what only the daemon can tell."""
    end = _end_number(daemons)
    story = [one for one in story if not _is_late(one[1], end)]
    kept = [*_news(story, daemons)]
    changes = {row.first for _, row in daemons if row.kind is Kind.SUBMIT and row.detail == CHANGE}
    kept += [
        (place, row)
        for place, row in story
        if row.kind in REQUESTS and not (row.detail == CHANGE and row.first in changes)
    ]
    kept += _requests_beyond(story, daemons)
    closes = [one for one in (*story, *daemons) if one[1].kind is Kind.CLOSE]
    # The end is told by whoever saw it first: others may have heard of it before the client.
    return kept + sorted(closes, key=lambda one: one[0])[:1]


def _end_number(daemons: list[Placed]) -> int:
    """The number that the daemon gave to the end of the session; 0 if it did not end it."""
    closed = [place for place, row in daemons if row.kind is Kind.CLOSE]
    changes = [(place, row.first) for place, row in daemons if row.detail == CHANGE]
    return next((number for place, number in changes if closed and place > closed[0]), 0)


def _is_late(row: Record, end: int) -> bool:
    """A client that was cut off goes on for a while; the daemon took nothing of that."""
    return row.kind is Kind.SUBMIT and row.service > 0 and 0 < end <= row.first


def _news(story: list[Placed], daemons: list[Placed]) -> list[Placed]:
    places: dict[object, Place] = {}
    for place, row in daemons:
        if row.kind in NEWS:
            places.setdefault(_news_key(row), place)
    found = []
    latest = Place(0, 0, 0)
    for place, row in story:
        if row.kind in NEWS:
            latest = max(latest, places.get(_news_key(row), place))
            found.append((latest, row))
    return found


def _news_key(row: Record) -> object:
    if row.kind is Kind.HAND:
        return row.kind, row.origin, row.service == 0, row.first
    return row.kind, row.groups, row.views


def _requests_beyond(story: list[Placed], daemons: list[Placed]) -> list[Placed]:
    """Requests that the daemon alone tells of.

    A session's messages are in its past in the order of their numbers, so a change stands
    before the client's next submit, which it may have made before the daemon saw the change.
    """
    submits = [one for one in story if one[1].kind is Kind.SUBMIT]
    broken_off = not any(row.kind is Kind.CLOSE for _, row in story)
    end = max(place for place, _ in story)
    reached = {unreliable: 0 for unreliable in (False, True)}
    for _, row in submits:
        unreliable = row.service == 0
        reached[unreliable] = max(reached[unreliable], row.first + row.count)
    asked = Counter((row.kind, row.groups) for _, row in story if row.kind in CHANGES)
    numbered = [(row.first, place) for place, row in submits if row.service]
    found = []
    for place, row in daemons:
        if row.kind is Kind.SUBMIT and row.detail == CHANGE:
            following = bisect_right(numbered, row.first, key=lambda one: one[0])
            later = numbered[following][1] if following < len(numbered) else place
            found.append((min(place, later._replace(before=-1)), row))
        elif not broken_off:
            continue
        elif row.kind is Kind.SUBMIT:
            if row.first >= reached[row.service == 0]:
                found.append((place, row))
        elif row.kind in CHANGES:
            if asked[row.kind, row.groups]:
                asked[row.kind, row.groups] -= 1
            else:
                found.append((place, row))
        elif row.kind is Kind.OPEN and place > end:
            found.append((place, row))
    return found
