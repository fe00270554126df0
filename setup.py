"""What pyproject.toml cannot say: with ANTIPHON_COMPILE=1, as `make fast` has it, the machines
become C, and what stands beside them when a bundle passes.

mypyc makes of typed Python a module that does the same in less time. What msgspec reads
stays as it is, structures and tuples of `core` and `wire`: compiled classes have no annotations.
Without the variable nothing is compiled.
"""

import os
from pathlib import Path

from setuptools import setup

PACKAGE = Path("src/antiphon")
COMPILED = ("core", "protocol", "wire")
BUSY = {
    "client": "destinations inbox line numbering outbox session waiting",
    "daemon": "clients clock connection datagrams driver native secure/plain secure/seal",
}
"""What else has a part in every bundle, by room."""

INHERITED = {"errors.py"}
"""Whose classes have heirs elsewhere: what is compiled knows its own only."""

READ_BY_MSGSPEC = ("import msgspec", "(NamedTuple)")
OWN_TUPLES = {"body.py"}
"""Whose tuples msgspec never sees."""


def machines() -> list[str]:
    found = []
    for path in sorted(path for room in COMPILED for path in (PACKAGE / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        own = "protocol" in path.parts or path.name in OWN_TUPLES
        told = READ_BY_MSGSPEC[:1] if own else READ_BY_MSGSPEC
        if path.name not in INHERITED and not any(sign in text for sign in told):
            found.append(str(path))
    for room, names in BUSY.items():
        found += [str(PACKAGE / room / f"{name}.py") for name in names.split()]
    return found


def extensions() -> list:
    if os.environ.get("ANTIPHON_COMPILE", "0") == "0":
        return []
    from mypyc.build import mypycify

    # One C file for each module: one for all of them would take gigabytes.
    options = ["--explicit-package-bases", *machines()]
    return mypycify(options, opt_level="2", debug_level="0", multi_file=True)


setup(ext_modules=extensions())
