"""What of a spread.conf is kept, and that the rest is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.daemon.config.config import Config, parse
from antiphon.daemon.config.findings import ConfigFindings
from antiphon.daemon.config.spread import import_spread

RICH = """\
# Two segments, one with interfaces.
Spread_Segment 239.192.0.7:4900 {   # multicast
    first 10.0.0.1 {
        D 10.1.0.1
        C 10.0.0.1
        C 127.0.0.1
        M 10.0.0.1
    }
    second 10.0.0.2
}
Spread_Segment 10.0.1.255:4900 { 10.0.1.1 third.example }

DebugFlags = { PRINT EXIT }
EventPriority = WARNING
EventLogFile = /var/log/spread.log
EventTimeStamp "[%c]"
MaxSessionMessages = 5000
DaemonUser = spread
TokenTimeout = 500
Novelty = 1
"""


def imported(text: str) -> Config:
    return parse(import_spread(text, "s").toml, "result")


def test_daemons_interfaces_and_options_are_kept() -> None:
    config = imported(RICH)
    seen = {one.name: (str(one.address), [*map(str, one.clients)]) for one in config.daemons}
    assert seen == {
        "first": ("10.1.0.1:4910", ["10.0.0.1:4900", "127.0.0.1:4900"]),
        "second": ("10.0.0.2:4910", ["0.0.0.0:4900"]),
        "10.0.1.1": ("10.0.1.1:4910", ["0.0.0.0:4900"]),
        "third.example": ("third.example:4910", ["0.0.0.0:4900"]),
    }
    assert str(config.network.multicast) == "239.192.0.7:4911"
    assert (config.log.file, config.log.level) == ("/var/log/spread.log", "warning")
    assert config.limits.backlog == 5000
    assert config.encrypted


def test_what_has_no_counterpart_is_told_by_line() -> None:
    told = {(one.line, one.text.split()[0]) for one in import_spread(RICH, "s").unmatched}
    assert told == {
        *((7, "M"), (11, "Spread_Segment"), (13, "DebugFlags"), (16, "EventTimeStamp")),
        *((18, "DaemonUser"), (19, "TokenTimeout"), (20, "Novelty")),
    }


def test_the_smallest_file_needs_no_key() -> None:
    config = imported("Spread_Segment 127.0.0.255:4803{localhost 127.0.0.1}")
    assert not config.encrypted
    assert str(config.daemons[0].clients[0]) == "127.0.0.1:4803"
    assert str(config.daemons[0].address) == "127.0.0.1:4813"


def test_several_multicast_groups_are_none() -> None:
    text = "Spread_Segment 239.0.0.1:4803 { a 10.0.0.1 } Spread_Segment 239.0.0.2 { b 10.0.0.2 }"
    assert imported(text).network.multicast is None
    assert len(import_spread(text, "s").unmatched) == 2


def test_the_last_ports_have_their_place() -> None:
    config = imported("Spread_Segment 239.0.0.1:65535 { a 10.0.0.1 }")
    assert config.daemons[0].clients[0].port == 65535


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "s:1: no Spread_Segment"),
        ("\nSpread_Segment", "s:2: the file ends where the segment's address"),
        ("Spread_Segment 1.2.3.4:99999 { a }", "s:1: '99999' is not a port"),
        ("Spread_Segment 1.2.3.4:1\na", "s:2: 'a' stands where { should be"),
        ("Spread_Segment 1.2.3.4:1 {\na 1.1.1.1 { D x } }", "s:2: 'x' is not an interface"),
        ("Spread_Segment 1.2.3.4:1 {\n= }", "s:2: '=' is not a daemon"),
        ("}", "s:1: '}' is out of place"),
        ("DebugFlags = { PRINT", "s:1: the file ends where a flag"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ConfigFindings) as caught:
        import_spread(text, "s")
    assert str(caught.value).startswith(told)


WORDS = 'Spread_Segment { } = 10.0.0.1 239.0.0.1:4803 127.0.0.255:1 a D C # Window 5 \n ! " ::1'


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=14).map(" ".join))
def test_any_words_are_read_or_refused(text: str) -> None:
    try:
        import_spread(text, "s")
    except ConfigFindings as error:
        assert error.findings[0].line >= 1
