"""Where a daemon's files go if nobody says: the directories of systemd, else those of XDG."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

OWN = "antiphon"


class Places(NamedTuple):
    runtime: Path
    """Sockets; gone after a restart of the machine."""

    state: Path
    """Records; kept."""


def usual_places(environ: Mapping[str, str] | None = None, uid: int | None = None) -> Places:
    environ = os.environ if environ is None else environ
    uid = os.getuid() if uid is None else uid
    return Places(_runtime(environ, uid), _state(environ, uid))


def _runtime(environ: Mapping[str, str], uid: int) -> Path:
    if given := environ.get("RUNTIME_DIRECTORY"):
        return Path(given.split(":")[0])
    if uid == 0:
        return Path("/run") / OWN
    if own := environ.get("XDG_RUNTIME_DIR"):
        return Path(own) / OWN
    return Path("/tmp") / f"{OWN}-{uid}"


def _state(environ: Mapping[str, str], uid: int) -> Path:
    if given := environ.get("STATE_DIRECTORY"):
        return Path(given.split(":")[0])
    if uid == 0:
        return Path("/var/lib") / OWN
    own = environ.get("XDG_STATE_HOME")
    return (Path(own) if own else Path(environ.get("HOME", "/")) / ".local" / "state") / OWN
