"""Keys, and the file that holds them."""

from pathlib import Path

import pytest

from antiphon.core.errors import ConfigError, UsageError
from antiphon.daemon.secure.keyfile import create_keys, read_keys, replace_keys
from antiphon.daemon.secure.keys import KEYS_MAX, Key, KeyRing, format_keys, new_key, parse_keys
from tests.unit.daemon.secure.couple import NEW, OLD

BOTH = KeyRing(OLD, (NEW,))


def test_keys_come_back_from_their_text() -> None:
    assert parse_keys(format_keys(BOTH) + "\n", "keys") == BOTH


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "keys"),
        (f"accept a {'0' * 64}", "keys"),
        (f"current a {'0' * 64}\ncurrent b {'1' * 64}", "keys"),
        (f"current a {'0' * 64}\naccept b {'0' * 64}", "keys"),
        (f"current a {'0' * 64}\naccept a {'1' * 64}", "keys"),
        (f"\ncurrent a {'7' * 63}", "keys:2"),
        (f"current a {'7' * 63}x", "keys:1"),
        (f"current ä {'7' * 64}", "keys:1"),
        (f"former a {'7' * 64}", "keys:1"),
        (f"current a {'7' * 64} {'7' * 64}", "keys:1"),
    ],
)
def test_a_bad_text_is_refused_with_its_line_and_without_its_secret(text: str, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_keys(text, "keys")
    assert caught.value.key == where
    assert "777" not in str(caught.value)


def test_a_secret_is_not_shown() -> None:
    assert OLD.secret.hex()[:8] not in repr(BOTH) and repr(OLD.secret)[2:9] not in repr(BOTH)


def test_too_many_keys_are_refused() -> None:
    accepted = tuple(Key(str(n), bytes([n]) * 32) for n in range(KEYS_MAX))
    KeyRing(OLD, accepted[1:])
    with pytest.raises(ConfigError):
        KeyRing(OLD, accepted)


def test_the_current_key_stays() -> None:
    assert BOTH.promote("new") == KeyRing(NEW, (OLD,))
    assert BOTH.drop("new") == KeyRing(OLD)
    for wrong in ("old", "other"):
        with pytest.raises(UsageError):
            BOTH.drop(wrong)
        with pytest.raises(UsageError):
            BOTH.promote(wrong)


def test_a_name_is_one_word() -> None:
    with pytest.raises(UsageError):
        new_key("two words", bytes)


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    create_keys(file, BOTH)
    assert file.stat().st_mode & 0o777 == 0o600 and read_keys(file) == BOTH
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(ConfigError, match="chmod 600"):
            read_keys(file)


def test_a_missing_file_is_a_mistake_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keys new"):
        read_keys(tmp_path / "keys")


def test_a_file_is_replaced_as_a_whole_and_never_made_twice(tmp_path: Path) -> None:
    file, link = tmp_path / "keys", tmp_path / "link"
    create_keys(file, BOTH)
    with pytest.raises(UsageError):
        create_keys(file, KeyRing(NEW))
    assert read_keys(file) == BOTH
    link.symlink_to(file)
    replace_keys(link, KeyRing(NEW))
    assert link.is_symlink() and read_keys(file) == KeyRing(NEW)
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.iterdir()) == [file, link]
