"""Cluster keys: one seals, all open.

As text, one key on a line: `current|accept NAME SECRET`, the secret as 64 hex digits. No
message says a secret, nor does a key's repr.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from antiphon.core.errors import ConfigError, UsageError

SECRET_BYTES = 32
KEYS_MAX = 16
CURRENT = "current"
ACCEPT = "accept"
NAME = re.compile(r"[A-Za-z0-9._-]{1,32}")
SECRET = re.compile(r"[0-9a-fA-F]{64}")
REMEDY = "write `current NAME SECRET` or `accept NAME SECRET`, the secret as 64 hex digits"


@dataclass(frozen=True, slots=True)
class Key:
    name: str
    secret: bytes = field(repr=False)

    @property
    def id(self) -> int:
        """Says in every datagram which key it is, and nothing about the key."""
        return int.from_bytes(sha256(b"antiphon key id" + self.secret).digest()[:4])


@dataclass(frozen=True, slots=True)
class KeyRing:
    current: Key
    """Seals, and opens."""

    accepted: tuple[Key, ...] = ()
    """Former and next keys: they only open."""

    def __post_init__(self) -> None:
        names = {key.name for key in self.all}
        ids = {key.id for key in self.all}
        if not len(names) == len(ids) == len(self.all):
            raise ConfigError("keys", "two keys have the same name or secret", "drop one of them")
        if len(self.all) > KEYS_MAX:
            raise ConfigError("keys", f"there are more than {KEYS_MAX}", "drop the old ones")

    @property
    def all(self) -> tuple[Key, ...]:
        return (self.current, *self.accepted)

    def add(self, key: Key) -> "KeyRing":
        return replace(self, accepted=(*self.accepted, key))

    def promote(self, name: str) -> "KeyRing":
        """The key of this name seals from now on; the one that did still opens."""
        key = self._accepted(name)
        others = tuple(other for other in self.accepted if other is not key)
        return KeyRing(key, (*others, self.current))

    def drop(self, name: str) -> "KeyRing":
        key = self._accepted(name)
        return replace(self, accepted=tuple(other for other in self.accepted if other is not key))

    def _accepted(self, name: str) -> Key:
        if name == self.current.name:
            raise UsageError("key_in_use", f"{name!r} is the current key", "promote another first")
        for key in self.accepted:
            if key.name == name:
                return key
        raise UsageError("no_such_key", f"there is no key {name!r}", "`keys show` names them")


def new_key(name: str, random: Callable[[int], bytes]) -> Key:
    if not NAME.fullmatch(name):
        raise UsageError(
            "bad_key_name",
            f"{name!r} cannot be a key's name",
            "use 1 to 32 letters, digits, dots, dashes and underscores",
        )
    return Key(name, random(SECRET_BYTES))


def format_keys(keys: KeyRing) -> str:
    roles = [(CURRENT, keys.current), *((ACCEPT, key) for key in keys.accepted)]
    return "".join(f"{role} {key.name} {key.secret.hex()}\n" for role, key in roles)


def parse_keys(text: str, source: str) -> KeyRing:
    """`source` names the text in errors."""
    current: list[Key] = []
    accepted: list[Key] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        where = f"{source}:{number}"
        if len(words) != 3 or words[0] not in (CURRENT, ACCEPT):
            raise ConfigError(where, "this is not a key", REMEDY)
        role, name, secret = words
        if not NAME.fullmatch(name) or not SECRET.fullmatch(secret):
            raise ConfigError(where, "the name or the secret is not valid", REMEDY)
        (current if role == CURRENT else accepted).append(Key(name, bytes.fromhex(secret)))
    if len(current) != 1:
        what = f"{len(current)} keys are current"
        raise ConfigError(source, what, "mark exactly one key as current")
    try:
        return KeyRing(current[0], tuple(accepted))
    except ConfigError as error:
        raise ConfigError(source, error.what, error.remedy) from None
