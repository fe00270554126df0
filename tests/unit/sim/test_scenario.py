"""Scenario files: what is shown, and how a record reads."""

import pytest

from antiphon.core.errors import ConfigError
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member, SessionId, ViewId
from antiphon.core.positions import position
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.sim.scenario import line, parse_scenario, play, rewritten
from tests.unit.sim.fakes import FakeNode

TEXT = """\
# Two daemons, one crash.
daemons 2
show enter stop
at 1s crash 2
until 2s
----
0.000 1 enter gather
0.000 2 enter gather
1.000 2 stop crash
"""

CONFIG = ConfigId(5, DaemonId(1), Incarnation(7), 2)
OLD = ConfigId(4, DaemonId(3), Incarnation(7), 1)
MEMBERS = (Member(DaemonId(1), Incarnation(7)), Member(DaemonId(3), Incarnation(9)))
ORIGIN = SessionId(DaemonId(3), Incarnation(9), 2)
TWO = DaemonId(2)


def test_a_scenario_is_played_and_rewritten() -> None:
    scenario = parse_scenario(TEXT)
    played, transcript = play(scenario, FakeNode)
    assert transcript == scenario.expected
    assert played.events > 100
    assert rewritten(scenario, transcript) == TEXT


def test_a_new_scenario_needs_no_transcript() -> None:
    scenario = parse_scenario("daemons 2\nuntil 1s\n")
    assert scenario.expected == ""
    assert rewritten(scenario, "x\n") == "daemons 2\nuntil 1s\n----\nx\n"


def test_errors_name_the_line_of_the_file() -> None:
    with pytest.raises(ConfigError, match="line 2"):
        parse_scenario("daemons 2\nshow dreams\nuntil 1s")
    with pytest.raises(ConfigError, match="line 3"):
        parse_scenario("daemons 2\nshow install\nat 1s fly 2\nuntil 1s")


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (
            Record(Kind.INSTALL, 1_234_567, TWO, config=CONFIG, base=OLD, members=MEMBERS),
            "1.235 2 install 5.1 {1 3} from 4.3",
        ),
        (
            Record(Kind.ATTEMPT, 0, TWO, config=CONFIG, members=MEMBERS, reason="merge"),
            "0.000 2 attempt 5.1 {1 3} merge",
        ),
        (Record(Kind.ABORT, 0, TWO, config=CONFIG, reason="no"), "0.000 2 abort 5.1 no"),
        (
            Record(Kind.TRANSITIONAL, 0, TWO, config=OLD, members=MEMBERS),
            "0.000 2 transitional 4.3 {1 3}",
        ),
        (Record(Kind.TROUBLE, 0, TWO, reason="token_loss", peer=3), "0.000 2 trouble token_loss 3"),
        (Record(Kind.FAULT, 0, DaemonId(0), reason="at 0s heal"), "0.000 - fault at 0s heal"),
        (Record(Kind.REACH, 0, TWO, members=MEMBERS), "0.000 2 reach {1 3}"),
        (Record(Kind.BACKLOG, 0, TWO, session=1, value=5, limit=9), "0.000 2.1 backlog 5/9"),
        (
            Record(
                Kind.DELIVER,
                0,
                TWO,
                config=CONFIG,
                sequence=9,
                origin=ORIGIN,
                first=4,
                count=3,
                service=Service.SAFE,
                transitional=True,
            ),
            "0.000 2 deliver 5.1/9 3.2:4-6 safe transitional",
        ),
        (
            Record(
                Kind.HAND,
                0,
                TWO,
                session=1,
                origin=ORIGIN,
                first=4,
                count=1,
                service=Service.FIFO,
                groups=("a", "b"),
            ),
            "0.000 2.1 hand 3.2:4 fifo a,b",
        ),
        (
            Record(
                Kind.VIEW,
                0,
                TWO,
                session=1,
                groups=("a",),
                views=(ViewId(CONFIG, position(6, 0), 0), None),
                sessions=(ORIGIN,),
                together=(ORIGIN,),
                reason="join",
            ),
            "0.000 2.1 view a 5.1/6 {3.2} together {3.2} join",
        ),
    ],
)
def test_a_record_in_a_line(record: Record, text: str) -> None:
    assert line(record) == text
