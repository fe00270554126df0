"""How clients of Spread's protocol are let in, without sockets."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import UsageError
from antiphon.core.ids import DaemonId, Incarnation, SessionId
from antiphon.daemon.dialect import Greeting, Heard, Say
from antiphon.daemon.spread.spread import Spread, SpreadDialect
from tests.real.rawspread import choice, hello

SESSION = SessionId(DaemonId(5), Incarnation(1), 3)
NULL_OFFERED = Say(b"\x05NULL ")
LISTED = ["10.0.0.0/8", "2001:db8::/32"]


def spread(addresses: list[str] | None = None) -> Spread:
    made = Spread(Counter())
    made.load(True, [(DaemonId(5), "d1"), (DaemonId(9), "d2")], addresses or [])
    return made


def opened(methods: tuple[str, ...] = ("NULL",), address: str = "127.0.0.1") -> SpreadDialect:
    return spread(LISTED if "IP" in methods else []).dialect(address, methods)


def heard(dialect: SpreadDialect, *pieces: bytes) -> list[Heard]:
    return [one for piece in pieces for one in dialect.hear(piece)]


def refused(dialect: SpreadDialect, data: bytes) -> tuple[str, bytes]:
    """The code, and what the client is told."""
    with pytest.raises(UsageError) as error:
        heard(dialect, data)
    return error.value.code, dialect.refuse(error.value.code, "", "")


ALICE = bytes.fromhex("05 00 01 01 05 61 6c 69 63 65")
ACCEPT = bytes.fromhex("01 05 00 01 09 23 61 6c 69 63 65 23 64 31")


def test_the_worked_example() -> None:
    dialect = opened()
    assert heard(dialect, ALICE) == [NULL_OFFERED]
    assert heard(dialect, choice("NULL")) == [Greeting("alice", 0, True)]
    assert dialect.welcome(SESSION, "") == ACCEPT


def test_at_every_split_and_byte_by_byte() -> None:
    said = ALICE + choice("NULL")
    expected = [NULL_OFFERED, Greeting("alice", 0, True)]
    for at in range(1, len(said)):
        assert heard(opened(), said[:at], said[at:]) == expected
    assert heard(opened(), *(said[at : at + 1] for at in range(len(said)))) == expected


@pytest.mark.parametrize(
    ("version", "accept"),
    [
        ((3, 1), "01 05 00 09"),
        ((3, 14), "01 05 00 09"),
        ((3, 15, 0), "01 05 00 01 09"),
    ],
)
def test_old_clients_choose_nothing(version: tuple[int, ...], accept: str) -> None:
    dialect = opened()
    assert heard(dialect, hello("alice", True, version)) == [Greeting("alice", 0, True)]
    assert dialect.welcome(SESSION, "") == bytes.fromhex(accept) + b"#alice#d1"


@pytest.mark.parametrize("version", [(3, 16, 0), (3, 17, 3), (4, 4, 0), (5, 0, 1), (5, 9, 9)])
def test_newer_ones_do(version: tuple[int, ...]) -> None:
    said = hello("alice", True, version) + choice("NULL")
    assert heard(opened(), said) == [NULL_OFFERED, Greeting("alice", 0, True)]


def test_flags_are_membership_and_priority() -> None:
    for flags, membership, priority in (
        (0, False, 0),
        (1, True, 0),
        (0x10, False, 1),
        (0x11, True, 1),
    ):
        said = bytes([5, 0, 1, flags, 1]) + b"a" + choice("NULL")
        assert heard(opened(), said)[1] == Greeting("a", priority, membership)


def test_who_gives_no_name_gets_one_of_its_own() -> None:
    made = spread()
    names = []
    for _ in range(2):
        _, greeting = heard(made.dialect("", ("NULL",)), hello("") + choice("NULL"))
        assert isinstance(greeting, Greeting)
        names.append(greeting.name)
    assert len(set(names)) == 2
    assert all(name.startswith("r") and len(name) <= 9 for name in names)


@pytest.mark.parametrize(
    ("said", "code", "told"),
    [
        (b"APHN", "client_version", b"\xf9"),
        (bytes([2, 9, 1, 0]), "client_version", b"\xf9"),
        (bytes([3, 0, 1, 0]), "client_version", b"\xf9"),
        (bytes([5, 0, 1, 1, 11]), "bad_name", b"\xfb"),
        (bytes([5, 0, 1, 1, 255]), "bad_name", b"\xfb"),
        (hello("a b"), "bad_name", b"\xfb"),
        (hello("a#b"), "bad_name", b"\xfb"),
        (hello("a\x7f"), "bad_name", b"\xfb"),
        (hello("a") + choice("PWORD"), "not_authenticated", b"\xf7"),
        (hello("a") + choice("NULL", "IP"), "not_authenticated", b"\xf7"),
        (hello("a") + choice("", "NULL"), "not_authenticated", b"\xf7"),
        (hello("a") + choice(""), "not_authenticated", b"\xf7"),
    ],
)
def test_who_is_not_let_in_is_told_one_byte(said: bytes, code: str, told: bytes) -> None:
    assert refused(opened(), said) == (code, told)


@pytest.mark.parametrize(
    ("code", "told"), [("too_many_sessions", b"\xfd"), ("name_in_use", b"\xfa"), ("malformed", b"")]
)
def test_the_nodes_refusals_have_their_codes(code: str, told: bytes) -> None:
    assert opened().refuse(code, "", "") == told


# Methods.


@pytest.mark.parametrize(
    ("proved", "free", "tokens", "addresses", "methods"),
    [
        (False, True, False, [], ("NULL",)),
        (True, True, True, [], ("NULL", "TOKEN")),
        (True, True, False, LISTED, ("NULL",)),
        (False, True, False, LISTED, ("IP",)),
        (False, False, True, [], ("TOKEN",)),
        (False, False, True, LISTED, ("IP", "TOKEN")),
        (False, False, False, [], ()),
    ],
)
def test_what_is_offered(
    proved: bool, free: bool, tokens: bool, addresses: list[str], methods: tuple[str, ...]
) -> None:
    assert spread(addresses).methods(proved, free, tokens) == methods


def test_where_nothing_is_offered_nobody_comes_in() -> None:
    assert refused(opened(()), ALICE) == ("not_authenticated", b"\xf7")


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7"])
def test_a_listed_address_is_enough(address: str) -> None:
    said = heard(opened(("IP",), address), ALICE, choice("IP"))
    assert said == [Say(b"\x03IP "), Greeting("alice", 0, True, trusted=True)]
    old = heard(opened(("IP",), address), hello("alice", True, (3, 14)))
    assert old == [Greeting("alice", 0, True, trusted=True)]


@pytest.mark.parametrize("address", ["11.1.2.3", "::ffff:11.1.2.3", "2001:db9::7", "fe80::1"])
def test_another_is_not(address: str) -> None:
    assert refused(opened(("IP",), address), ALICE + choice("IP"))[1] == b"\xf7"
    assert refused(opened(("IP",), address), hello("alice", True, (3, 14)))[1] == b"\xf7"


def test_a_token_is_read_whole() -> None:
    said = ALICE + choice("TOKEN") + b"\x06secret"
    expected = [Say(b"\x06TOKEN "), Greeting("alice", 0, True, "secret")]
    for at in range(1, len(said)):
        assert heard(opened(("TOKEN",)), said[:at], said[at:]) == expected


@pytest.mark.parametrize("secret", [b"\0", b"\x02\xff\xff"])
def test_a_token_that_is_none_is_refused(secret: bytes) -> None:
    assert refused(opened(("TOKEN",)), ALICE + choice("TOKEN") + secret)[1] == b"\xf7"


def test_old_clients_cannot_give_a_token() -> None:
    assert refused(opened(("TOKEN",)), hello("alice", True, (3, 14)))[1] == b"\xf7"


@given(st.binary(min_size=1, max_size=300))
def test_no_bytes_of_a_stranger_do_more_than_end_its_connection(data: bytes) -> None:
    dialect = opened(("NULL", "TOKEN"))
    try:
        heard(dialect, data)
    except UsageError as error:
        assert len(dialect.refuse(error.code, "", "")) == 1
