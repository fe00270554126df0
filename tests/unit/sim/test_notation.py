"""Times, links and settings are read as written, or refused with their line."""

import pytest

from antiphon.core.errors import ConfigError
from antiphon.sim.network import NetworkSettings
from antiphon.sim.notation import Link, Tokens, read_amounts, read_time, write_amounts, write_time
from antiphon.sim.places import Lead, Site
from antiphon.sim.trial import parse_trial
from antiphon.sim.workload import WorkloadSettings


@pytest.mark.parametrize(
    ("text", "microseconds", "shortest"),
    [
        ("0s", 0, "0s"),
        ("300us", 300, "300us"),
        ("1500us", 1_500, "1500us"),
        ("20ms", 20_000, "20ms"),
        ("1.5s", 1_500_000, "1500ms"),
        ("0.000001s", 1, "1us"),
        ("2.25ms", 2_250, "2250us"),
        ("14s", 14_000_000, "14s"),
    ],
)
def test_a_time(text: str, microseconds: int, shortest: str) -> None:
    assert read_time(Tokens(1, ""), text) == microseconds
    assert write_time(microseconds) == shortest
    assert read_time(Tokens(1, ""), shortest) == microseconds


@pytest.mark.parametrize("text", ["", "5", "s", "-1s", "+1s", "1.5us", "1 s", "1m", "0.0000001s"])
def test_no_time(text: str) -> None:
    with pytest.raises(ConfigError, match="line 9"):
        read_time(Tokens(9, ""), text)


def test_a_signed_time() -> None:
    assert read_time(Tokens(1, ""), "-2s", signed=True) == -2_000_000
    assert write_time(-2_000_000, signed=True) == "-2s"
    assert write_time(2_000_000, signed=True) == "+2s"


def test_places() -> None:
    assert Tokens(1, "site2").place() == Site(2)
    assert Tokens(1, "lead13").place() == Lead(13)
    assert (Tokens(1, "*").place(), Tokens(1, "7").place()) == (0, 7)
    for bad in ("site", "site0", "lead-1", "Site1", "leader1"):
        with pytest.raises(ConfigError):
            Tokens(1, bad).place()
    with pytest.raises(ConfigError):
        Tokens(1, "*").place(any_allowed=False)


def test_links() -> None:
    assert Tokens(1, "1 > 4").link() == Link(1, 4, False)
    assert Tokens(1, "* - 3").link() == Link(0, 3, True)
    assert str(Link(0, 3, True)) == "* - 3"
    between = Link(Site(1), Lead(2), True)
    assert Tokens(1, str(between)).link() == between
    for bad in ("1 4", "1 <", "1 > x", "0 > 1", ">"):
        with pytest.raises(ConfigError):
            Tokens(1, bad).link()


def test_sides() -> None:
    assert Tokens(1, "2 1 | 3").sides() == ((1, 2), (3,))
    assert Tokens(1, "site2 1 | site1").sides() == ((1, Site(2)), (Site(1),))
    for bad in ("", "1 |", "| 1", "1 2 | 2", "1 || 2"):
        with pytest.raises(ConfigError):
            Tokens(1, bad).sides()


def test_comments_and_private_groups() -> None:
    assert Tokens(1, "# all").empty and Tokens(1, "  #all").empty
    words = Tokens(1, "#s1#2")
    assert words.empty, "a line that starts with the sign is a comment"
    words = Tokens(1, "send #s1#2 # rest")
    assert (words.next(""), words.next(""), words.empty) == ("send", "#s1#2", True)


def test_settings_go_both_ways() -> None:
    text = "latency=2ms loss=0.25 bandwidth=100mbit"
    settings = read_amounts(Tokens(1, text), NetworkSettings())
    assert settings == NetworkSettings(latency_us=2_000, loss=0.25, bandwidth_bits=100_000_000)
    assert write_amounts(settings, NetworkSettings()) == text
    workload = read_amounts(Tokens(1, "rate=2.5 until=3s groups=2"), WorkloadSettings())
    assert (workload.rate, workload.until_us, workload.groups) == (2.5, 3_000_000, 2)
    assert write_amounts(workload, WorkloadSettings()) == "rate=2.5 until=3s groups=2"


@pytest.mark.parametrize(
    "text",
    ["latency", "latency=5", "speed=1", "loss=2", "loss=x", "loss=-1", "bandwidth=5mb", "=1"],
)
def test_wrong_network_settings_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="line 3"):
        read_amounts(Tokens(3, text), NetworkSettings())


@pytest.mark.parametrize("text", ["rate=0", "rate=x", "groups=0", "groups=1.5", "replies=1.01"])
def test_wrong_workload_settings_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="line 3"):
        read_amounts(Tokens(3, text), WorkloadSettings())


def test_large_numbers_are_written_as_they_are_read():
    """A bug once: 1,000,000 was written as 1e+06, which is no count."""
    trial = parse_trial("node queue-bytes-max=70000001\nuntil 1s\n")
    assert parse_trial(str(trial)) == trial
    assert trial.variant.queue_bytes_max == 70_000_001
