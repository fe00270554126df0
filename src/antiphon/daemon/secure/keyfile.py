"""The file that holds the cluster keys: readable by its owner alone, replaced as a whole."""

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import mkstemp

from antiphon.core.errors import ConfigError, UsageError
from antiphon.daemon.secure.keys import KeyRing, format_keys, parse_keys

OTHERS = 0o077
FILE_BYTES_MAX = 65_536


def read_keys(path: Path) -> KeyRing:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(FILE_BYTES_MAX)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise ConfigError(str(path), what, "make one with `antiphon keys new`") from None
    if mode & OTHERS:
        what = f"may be used by others than its owner (mode {mode & 0o777:04o})"
        raise ConfigError(str(path), what, f"run `chmod 600 {path}`")
    return parse_keys(content.decode("utf-8", "replace"), str(path))


def create_keys(path: Path, keys: KeyRing) -> None:
    """A new file; one that is there is left alone, for its keys may be in use."""
    try:
        _write(path, keys, os.link)
    except FileExistsError:
        remedy = "use another name, or `keys add` to add a key"
        raise UsageError("file_exists", f"{path} is there already", remedy) from None


def replace_keys(path: Path, keys: KeyRing) -> None:
    """Whoever reads sees the old keys or the new ones, also after a crash."""
    _write(path.resolve(), keys, os.replace)


def _write(path: Path, keys: KeyRing, move: Callable[[Path, Path], None]) -> None:
    file, name = mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    draft = Path(name)
    try:
        if path.exists() and os.geteuid() == 0:
            before = path.stat()  # root must not take the file away from the daemon's user
            os.fchown(file, before.st_uid, before.st_gid)
        os.write(file, format_keys(keys).encode())
        os.fsync(file)
        move(draft, path)
    finally:
        os.close(file)
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
