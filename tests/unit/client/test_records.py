"""What a client writes about itself is what its daemon writes about it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.client.options import open_sink
from antiphon.core.bundle import Bundle
from antiphon.core.effects import Emit
from antiphon.core.ids import Member, ViewId
from antiphon.core.service import Service
from antiphon.core.trace import Cause, Kind, Record
from antiphon.protocol.groups.records import GroupRecords
from antiphon.wire.body import read_body
from antiphon.wire.client import Close, LeftFrame, MulticastFrame, Refuse, TransitionFrame
from tests.unit.client.sans_io import (
    ME,
    OTHER,
    Rows,
    asked,
    bundle,
    deliver,
    tell,
    view_frame,
    view_id,
    welcomed,
)

NOW = 1_000
HERE = Member(ME.daemon, ME.incarnation)


def daemons(view: ViewId | None = None) -> GroupRecords:
    return GroupRecords(HERE, lambda name: view if name == "g" else None, lambda session: ())


def rows_of(effects: list[Emit]) -> list[Record]:
    return [effect.record for effect in effects]


contents = st.lists(
    st.tuples(st.sampled_from([("g",), ("h",), ("h", "g"), ("#alice#3",)]), st.binary(max_size=9)),
    min_size=1,
    max_size=12,
)


@given(contents, st.sampled_from(Service), st.booleans())
def test_submits_are_those_of_the_daemon(
    content: list[tuple[tuple[str, ...], bytes]], service: Service, discard: bool
) -> None:
    sink = Rows()
    session = welcomed(sink)
    for groups, payload in content:
        session.multicast(groups, payload, service, self_discard=discard)
    (frame,) = asked(session)
    assert isinstance(frame, MulticastFrame)
    told = Bundle(HERE, ME.number, 1, frame.count, service, frame.body, self_discard=discard)
    assert sink.rows[1:] == rows_of(daemons().submit(NOW, told))


@given(contents)
def test_what_is_handed_is_that_of_the_daemon(
    content: list[tuple[tuple[str, ...], bytes]],
) -> None:
    sink = Rows()
    session = welcomed(sink)
    tell(session, view_frame("g", 3))
    mine = {"g", "#alice#3"}
    chosen = tuple(at for at, (groups, _) in enumerate(content) if mine & {*groups})
    if not chosen:
        return
    told = bundle(*content, first=6, chosen=chosen)
    deliver(session, told)
    sent = Bundle(Member(OTHER.daemon, OTHER.incarnation), 1, 6, len(content), told.service, b"")
    body = read_body(told.body, told.count)
    reached = [tuple(name for name in names if name in mine) for names in body.table]
    expected = rows_of(daemons(view_id(3)).hand(NOW, ME.number, sent, body, reached))
    assert sink.rows[2:] == expected


def test_views_signals_and_the_end_are_those_of_the_daemon() -> None:
    sink = Rows()
    session = welcomed(sink)
    session.join("g")
    asked(session)
    tell(session, view_frame("g", 1))
    tell(session, TransitionFrame("g", view_id(1)))
    tell(session, view_frame("g", 2, ME, OTHER, cause=Cause.NETWORK))
    session.leave("g")
    asked(session)
    tell(session, LeftFrame("g"))
    session.goodbye()
    asked(session)
    tell(session, Close("client"))
    records = daemons()
    me = ME.number
    asks = [row for row in sink.rows if row.kind in (Kind.JOIN, Kind.LEAVE)]
    assert [(row.kind, row.groups) for row in asks] == [(Kind.JOIN, ("g",)), (Kind.LEAVE, ("g",))]
    changes = [row for row in sink.rows if row.kind is Kind.SUBMIT]
    bundles = [Bundle(HERE, me, at, 1, Service.AGREED, b"", control=True) for at in (1, 2, 3)]
    assert changes == [row for one in bundles for row in rows_of(records.submit(NOW, one))]
    views = [row for row in sink.rows if row.kind in (Kind.VIEW, Kind.SIGNAL, Kind.LEFT)]
    new, newer = (view_id(1), None), (view_id(2), view_id(1))
    assert views == rows_of(
        [
            records.view(NOW, me, "g", new, (ME,), (ME,), Cause.JOIN),
            records.about_view(Kind.SIGNAL, NOW, me, "g", view_id(1)),
            records.view(NOW, me, "g", newer, (ME, OTHER), (ME,), Cause.NETWORK),
            records.about_view(Kind.LEFT, NOW, me, "g", view_id(2)),
        ]
    )
    assert sink.rows[0].kind is Kind.OPEN
    closing = next(row for row in sink.rows if row.kind is Kind.CLOSE)
    assert closing.reason == "client" and len(sink.rows) == 11


def test_a_refused_join_takes_no_number_and_leaves_no_row() -> None:
    sink = Rows()
    session = welcomed(sink)
    session.join("secret")
    session.join("g")
    session.multicast("g", b"x")
    session.multicast("g", b"y", Service.UNRELIABLE)
    asked(session)
    assert [row.kind for row in sink.rows] == [Kind.OPEN]
    tell(session, Refuse("not_allowed", "", "", "secret"))
    tell(session, view_frame("g", 1))
    submitted = [(row.first, row.detail) for row in sink.rows if row.kind is Kind.SUBMIT]
    assert submitted == [(1, "change"), (2, ""), (1, "")]
    assert [row.groups for row in sink.rows if row.kind is Kind.JOIN] == [("g",)]


def test_rows_that_wait_are_written_when_the_session_is_lost() -> None:
    sink = Rows()
    session = welcomed(sink)
    session.join("g")
    session.multicast("g", b"x")
    asked(session)
    session.connection_lost("connection_lost")
    kinds = [row.kind for row in sink.rows]
    assert kinds == [Kind.OPEN, Kind.JOIN, Kind.SUBMIT, Kind.SUBMIT, Kind.CLOSE]


def test_a_directory_gets_segments(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    sink = open_sink(tmp_path, "alice#1 !")
    session = welcomed(sink)
    session.multicast("g", b"x")
    asked(session)
    assert list(tmp_path.glob("*.rows"))  # written before it is sent
    sink.close()
    assert list(tmp_path.glob("alice_1*.arrow"))
