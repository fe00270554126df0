"""Sizes, times and addresses: what is read, what is refused, and that writing is the inverse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.daemon.config.addresses import (
    Address,
    read_address,
    read_listening,
    read_multicast,
)
from antiphon.daemon.config.amounts import (
    read_rate,
    read_size,
    read_time,
    read_timeout,
    write_rate,
    write_size,
    write_time,
)
from antiphon.daemon.config.findings import Fault


@given(st.integers(0, 2**50))
def test_what_is_written_is_read_again(amount: int) -> None:
    assert read_size(write_size(amount)) == amount
    assert read_time(write_time(amount)) == amount
    assert read_rate(write_rate(amount)) == amount


@pytest.mark.parametrize(
    ("text", "size"), [("1GiB", 1 << 30), (512, 512), ("1.5 KiB", 1536), ("2MB", 2_000_000)]
)
def test_sizes(text: object, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(
    ("text", "time_us"),
    [("7d", 604_800_000_000), ("250ms", 250_000), ("1.5s", 1_500_000), ("2min", 120_000_000)],
)
def test_times(text: str, time_us: int) -> None:
    assert read_time(text) == read_timeout(text) == time_us


@pytest.mark.parametrize(
    ("text", "rate"), [("10Mbit", 1_250_000), ("1.5 Mbit", 187_500), ("8bit", 1), ("auto", 0)]
)
def test_rates_are_bits_of_a_second(text: str, rate: int) -> None:
    assert read_rate(text) == rate


@pytest.mark.parametrize("value", [10, "10", "10MB", "12bit", "0Mbit", "10mbit", None])
def test_what_is_no_rate_is_refused(value: object) -> None:
    with pytest.raises(Fault, match="10Mbit"):
        read_rate(value)


def test_a_bare_timeout_is_milliseconds() -> None:
    assert read_timeout(150) == 150_000


@pytest.mark.parametrize("value", ["", "1", "1 parsec", "-1s", "0.0000001us", "1.5us", True, 1.5])
def test_what_is_no_amount_is_refused(value: object) -> None:
    for read in (read_time, read_timeout):
        with pytest.raises(Fault):
            read(value)
    with pytest.raises(Fault):
        read_size(-1 if value == "1" else value)


@pytest.mark.parametrize("value", [0, -3, "0ms"])
def test_a_timeout_of_nothing_is_refused(value: object) -> None:
    with pytest.raises(Fault, match="no time to wait"):
        read_timeout(value)


@pytest.mark.parametrize(
    "text", ["127.0.0.1:4813", "[2001:db8::1]:1", "host.example:65535", "[::1]:4813"]
)
def test_an_address_is_written_as_it_was_read(text: str) -> None:
    assert str(read_address(text)) == text


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("127.0.0.1:70000", "port 70000 is above 65535"),
        ("127.0.0.1:" + "9" * 5000, "above 65535"),
        ("127.0.0.1:0", "port 0"),
        ("127.0.0.1", "not host:port"),
        ("::1:4813", "not host:port"),
        ("[10.0.0.1]:1", "not an IPv6 address"),
        ("1.2.3.4.5:1", "not a host"),
        ("-x:1", "not a host"),
        ("0.0.0.0:1", "cannot send"),
        ("239.1.1.1:1", "multicast"),
        (4813, "not an address"),
    ],
)
def test_a_bad_address_is_refused(value: object, what: str) -> None:
    with pytest.raises(Fault, match=what):
        read_address(value)


def test_clients_may_be_met_on_a_bare_port_and_everywhere() -> None:
    assert read_listening("4803") == Address("127.0.0.1", 4803)
    assert read_listening("0.0.0.0:4803").is_everywhere
    with pytest.raises(Fault, match="multicast"):
        read_listening("239.1.1.1:4803")


def test_a_multicast_group_must_be_one() -> None:
    assert read_multicast("") is None
    assert read_multicast("239.192.0.7:4814") == Address("239.192.0.7", 4814)
    with pytest.raises(Fault, match="not a multicast address"):
        read_multicast("10.0.0.1:4814")


def test_loopback_is_known_by_name_and_by_number() -> None:
    for host in ("localhost", "127.9.9.9", "::1"):
        assert Address(host, 1).is_loopback
    for host in ("localhost.example", "10.0.0.1", "2001:db8::1"):
        assert not Address(host, 1).is_loopback
