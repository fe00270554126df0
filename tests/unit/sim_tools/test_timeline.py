"""The timeline has fixed columns and shows what was chosen."""

from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member, SessionId
from antiphon.core.trace import Kind, Record
from antiphon.sim.timeline import HEADING, USUAL_KINDS, Choice, line, timeline

ONE, TWO = DaemonId(1), DaemonId(2)
LIFE = Incarnation(77)
CONFIG = ConfigId(4, ONE, LIFE, 9)


def install(time: int, node: DaemonId) -> Record:
    members = (Member(ONE, LIFE), Member(TWO, LIFE))
    return Record(Kind.INSTALL, time, node, LIFE, config=CONFIG, members=members)


def hand(time: int) -> Record:
    origin = SessionId(TWO, LIFE, 3)
    return Record(
        Kind.HAND, time, ONE, LIFE, 1, origin=origin, first=5, count=2, service=4, groups=("g",)
    )


RECORDS = [
    Record(Kind.FAULT, 1_000_000, DaemonId(0), reason="at 1s crash 2"),
    install(1_250_000, ONE),
    hand(1_500_000),
    install(2_000_000, TWO),
]


def shown(choice: Choice) -> list[str]:
    heading, *lines = timeline(RECORDS, choice)
    assert heading == HEADING
    return lines


def test_each_record_is_one_line_with_fixed_columns() -> None:
    assert line(RECORDS[1]) == "  1.250000 1       install      4.1 {1 2} from 0.0"
    assert line(RECORDS[2]) == "  1.500000 1.1     hand         2.3:5-6 agreed g"


def test_the_traffic_is_shown_only_when_asked_for() -> None:
    assert Kind.HAND not in USUAL_KINDS
    assert len(shown(Choice())) == 3
    assert len(shown(Choice(kinds=(Kind.HAND,)))) == 1


def test_a_choice_of_daemons_keeps_the_faults() -> None:
    lines = shown(Choice(daemons=(2,)))
    assert [text.split()[2] for text in lines] == ["fault", "install"]


def test_a_choice_of_times_keeps_its_ends() -> None:
    assert len(shown(Choice(first_us=1_250_000, last_us=2_000_000))) == 2


def test_long_lines_are_cut_to_the_width() -> None:
    lines = shown(Choice(width=30))
    assert max(map(len, lines)) == 30
    assert lines[1].endswith("…")
