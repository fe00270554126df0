"""Names of Spread's clients and ours, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import DaemonId, group_name_fault
from antiphon.daemon.spread.names import Names

LONG = "a-daemon-with-a-very-long-name"
NAMES = Names([(DaemonId(9), "two"), (DaemonId(5), "one"), (DaemonId(77), LONG)])


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("orders", "orders"),
        ("größe", "größe"),
        ("#bob#two", "#bob#9"),
        ("#bob#one", "#bob#5"),
        ("#bob#77", "#bob#77"),
        ("#bob#9", "###bob#9"),
        ("#bob#nowhere", "###bob#nowhere"),
        ("##two", "####two"),
        ("#", "###"),
        ("", "##"),
        ("or#ders", "##or#ders"),
        ("bell\a", "##bell\a"),
        ("\udcff", "##\xff"),
    ],
)
def test_a_name_becomes_ours_and_theirs_again(theirs: str, ours: str) -> None:
    assert NAMES.ours(theirs) == ours
    assert NAMES.theirs(ours) == theirs


@given(st.binary(max_size=31).filter(lambda raw: b"\0" not in raw))
def test_whatever_fits_a_field_comes_back_as_it_was(raw: bytes) -> None:
    name = raw.decode("utf-8", "surrogateescape")
    ours = NAMES.ours(name)
    assert NAMES.theirs(ours) == name
    assert ours.startswith("#") or not group_name_fault(ours)
    assert len(ours.encode()) <= 255


@pytest.mark.parametrize(
    "group", ["g" * 32, "ü" * 16, "##\u0100", "##" + "x" * 32, "#" + "n" * 27 + "#9", "#x#\0"]
)
def test_what_fits_no_field_is_nobodys_name(group: str) -> None:
    assert NAMES.theirs(group) is None


def test_a_private_group_of_an_unknown_daemon_stays_as_it_is() -> None:
    assert NAMES.theirs("#bob#4711") == "#bob#4711"
    assert NAMES.theirs("#bob#" + "9" * 22) == "#bob#" + "9" * 22


@pytest.mark.parametrize(
    ("name", "daemon", "private"),
    [
        ("alice", 5, "#alice#one"),
        ("a" * 26, 5, "#" + "a" * 26 + "#one"),
        ("a" * 27, 5, None),
        ("alice", 77, "#alice#77"),
        ("alice", 6, None),
        ("with space", 5, None),
        ("älice", 5, None),
        ("", 5, None),
    ],
)
def test_sessions_whose_names_fit_have_a_private_group(
    name: str, daemon: int, private: str | None
) -> None:
    assert NAMES.of_session(name, DaemonId(daemon)) == private


def test_a_name_that_is_anothers_id_stays_that_daemons() -> None:
    names = Names([(DaemonId(77), LONG), (DaemonId(5), "77")])
    assert names.ours("#bob#77") == "#bob#5"
    assert names.of_session("bob", DaemonId(77)) == "#bob#-77"
    assert names.ours("#bob#-77") == "#bob#77" and names.theirs("#bob#77") == "#bob#-77"


def test_every_daemon_has_a_name_that_its_own_clients_fit() -> None:
    """Else it could let nobody in."""
    ids = [2**63 - 1, 2**63 - 2]
    names = Names([*((DaemonId(id), LONG + str(id)) for id in ids), (DaemonId(5), str(ids[0]))])
    private = {names.of_session("a" * 10, DaemonId(id)) for id in (*ids, 5)}
    assert len(private) == 3 and None not in private


def test_a_place_is_read_once() -> None:
    names = Names([(DaemonId(9), "two")])
    place = names.place(("g", "#bob#two", "g"))
    assert place.destination == ("g", "#bob#9", "g")
    assert place.head_bytes == 2 + 2 + 7 + 2 and not place.is_strange
    assert names.place(("g", "#bob#two", "g")) is place
    assert names.place(("g", "")).is_strange
