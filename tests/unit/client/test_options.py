"""What `connect` takes."""

from itertools import islice
from typing import Any

import pytest

from antiphon.client.options import (
    RETRY_MAX_S,
    Address,
    Options,
    check_options,
    parse_address,
    pauses,
)
from antiphon.core.errors import UsageError
from tests.unit.client.sans_io import Rows


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("4803@host.example", Address("host.example", 4803)),
        ("host.example:4803", Address("host.example", 4803)),
        ("[::1]:4803", Address("::1", 4803)),
        ("4804", Address("localhost", 4804)),
        ("/run/a.sock", Address("", 0, "/run/a.sock")),
        ("unix:a.sock", Address("", 0, "a.sock")),
    ],
)
def test_addresses_are_understood(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "@host", "0", "65536@host", "unix:"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_address(text)
    assert raised.value.code == "bad_address"


def options(**changed: Any) -> Options:
    given: dict[str, Any] = {
        "addresses": "4803",
        "name": None,
        "membership": True,
        "priority": 0,
        "token": "",
        "choose": "order",
        "tls": None,
        "records": None,
        "timeout": 1.0,
        "failover": False,
    }
    return check_options(**(given | changed))


def test_a_name_is_made_for_who_has_none() -> None:
    first, second = options().hello.name, options().hello.name
    assert first and first != second


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"addresses": []}, "bad_address"),
        ({"name": ""}, "bad_name"),
        ({"name": "a#b"}, "bad_name"),
        ({"name": "a" * 65}, "bad_name"),
        ({"priority": 256}, "bad_choice"),
        ({"choose": "farthest"}, "bad_choice"),
        ({"records": Rows(), "membership": False}, "bad_choice"),
        ({"tls": object(), "addresses": ["4803", "/a.sock"]}, "bad_choice"),
    ],
)
def test_options_that_cannot_be_are_refused(changed: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as raised:
        options(**changed)
    assert raised.value.code == code


def test_pauses_grow_and_are_bounded() -> None:
    told = list(islice(pauses(), 20))
    assert told[0] < 0.06 and max(told) <= RETRY_MAX_S and min(told[10:]) >= RETRY_MAX_S / 2
