"""Names and numbers."""

import pytest

from antiphon.core.ids import (
    GROUP_NAME_BYTES_MAX,
    NO_CONFIG,
    NOBODY,
    ConfigId,
    Configuration,
    DaemonId,
    Incarnation,
    Member,
    group_name_fault,
    private_group,
)

ONE = Member(DaemonId(1), Incarnation(9))
TWO = Member(DaemonId(2), Incarnation(3))


@pytest.mark.parametrize("name", ["g", "g" * GROUP_NAME_BYTES_MAX, "ü" * 127, "a b/c-d.e", "日本"])
def test_a_printable_name_of_1_to_255_bytes_is_a_group(name: str) -> None:
    """SP-34, SP-234."""
    assert group_name_fault(name) == ""


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("", "empty"),
        ("g" * 256, "longer"),
        ("ü" * 128, "longer"),
        ("a\x00b", "control character"),
        ("a\nb", "control character"),
        ("\ud800", "control character"),
        ("a#b", "private"),
        ("#anna#1", "private"),
    ],
)
def test_any_other_name_has_a_fault_that_says_what_it_is(name: str, word: str) -> None:
    assert word in group_name_fault(name)


def test_a_private_group_is_no_group_to_join() -> None:
    assert group_name_fault(private_group("anna", DaemonId(3)))


def test_private_groups_of_two_sessions_differ() -> None:
    names = [private_group("a", DaemonId(1)), private_group("a", DaemonId(11))]
    names += [private_group("a1", DaemonId(1)), private_group("b", DaemonId(1))]
    assert len(set(names)) == 4


def test_configurations_are_ordered_by_epoch_then_by_who_made_them() -> None:
    rising = [
        NO_CONFIG,
        ConfigId(1, *ONE, 1),
        ConfigId(1, *ONE, 2),
        ConfigId(1, *TWO, 1),
        ConfigId(2, *ONE, 1),
    ]
    assert rising == sorted(reversed(rising))


def test_after_a_restart_a_daemon_is_another_member_with_the_same_id() -> None:
    """SP-45."""
    again = Member(ONE.daemon, Incarnation(10))
    assert again != ONE and again.daemon == ONE.daemon


def test_a_configuration_names_its_daemons_in_the_order_of_the_ring() -> None:
    configuration = Configuration(NO_CONFIG, (ONE, TWO))
    assert configuration.daemons == (1, 2)
    assert NOBODY not in configuration.daemons
