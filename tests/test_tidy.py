"""The rules of STYLE.md that a program can decide.

Each rule is a function (path, source) -> findings, run over the whole tree by
test_the_tree_is_tidy, and over made-up sources by test_a_bad_source_is_found and
test_a_good_source_passes: a rule that cannot fail is no rule.
"""

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = PurePosixPath("src/antiphon")

ROOMS: dict[str, set[str]] = {
    "core": set(),
    "wire": {"core"},
    "protocol": {"core", "wire"},
    "check": {"core"},
    "records": {"core"},
    "client": {"core", "wire", "records"},
    "daemon": {"core", "wire", "protocol", "records"},
    "sim": {"core", "wire", "protocol", "check"},
    "pipeline": {"core", "check", "sim", "client", "records"},
}
ROOMS["tools"] = {*ROOMS}

PURE_ROOMS = {"core", "wire", "protocol", "check"}
IMPURE_MODULES = set(
    "asyncio logging os secrets select socket ssl subprocess threading time uuid".split()
) | {"importlib"}  # which could import all the others
IMPURE_BUILTINS = {"print", "open", "input", "breakpoint", "exec", "eval", "__import__"}

LAYERS_JOINED_BY = {"node.py", "presets.py"}
NAMES_THAT_SAY_NOTHING = {
    *("utils", "helpers", "common", "base", "manager"),
    *("util", "helper", "managers"),
}
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
LINE_CHARACTERS_MAX = 100

Check = Callable[[PurePosixPath, str], list[str]]


def rooms(path: PurePosixPath, source: str) -> list[str]:
    """Who may import whom. The package itself names the client library for its users; it loads
    nothing before a name is used, so importing a room is only that."""
    if not path.is_relative_to(PACKAGE):
        return []
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        room = parts[0]
        allowed = {"__main__.py": {"tools"}, "__init__.py": {"client", "core"}}.get(room, set())
    elif parts[0] in ROOMS:
        room, allowed = parts[0], ROOMS[parts[0]] | {parts[0]}
    else:
        return [f"{path}: there is no room called {parts[0]}"]
    found = []
    for line, name in imports(path, source):
        if name.split(".")[0] != "antiphon" or name == "antiphon.__version__":
            continue
        target = (name.split(".") + [""])[1]
        if target not in ROOMS and "client" in allowed:
            continue  # the client library, as its users see it
        if target not in allowed:
            found.append(f"{path}:{line}: {room} may not import {name}")
    return found


def layers(path: PurePosixPath, source: str) -> list[str]:
    """Inside protocol/ no layer imports another; all share parts/, and only node.py joins them."""
    home = PACKAGE / "protocol"
    if not path.is_relative_to(home):
        return []
    parts = path.relative_to(home).parts
    if len(parts) == 1 and parts[0] in LAYERS_JOINED_BY:
        return []
    allowed = {"parts"} | ({parts[0]} if len(parts) > 1 else set())
    if parts[0] == "__init__.py":
        allowed = set()  # it runs before every layer, so it would join them all
    return [
        f"{path}:{line}: a layer may import its own folder and protocol/parts, not {name}"
        for line, name in imports(path, source)
        if name.startswith("antiphon.protocol") and (name.split(".") + [""])[2] not in allowed
    ]


def purity(path: PurePosixPath, source: str) -> list[str]:
    """Pure rooms touch no clock, socket, file, thread or log."""
    if not in_pure_room(path):
        return []
    found = [
        f"{path}:{line}: a pure room may not import {name}"
        for line, name in imports(path, source)
        if name.split(".")[0] in IMPURE_MODULES
    ]
    for node in ast.walk(ast.parse(source)):
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if is_read and node.id in IMPURE_BUILTINS:
            found.append(f"{path}:{node.lineno}: a pure room may not use {node.id}")
    return found


def randomness(path: PurePosixPath, source: str) -> list[str]:
    """Pure rooms draw only from a random.Random that was handed in, or seeded from one."""
    if not in_pure_room(path):
        return []
    tree = ast.parse(source)
    found = [
        f"{path}:{line}: a pure room may not import {name}"
        for line, name in imports(path, source)
        if name.startswith("random.") and name != "random.Random"
    ]
    modules, classes = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {each.asname or each.name for each in node.names if each.name == "random"}
        if isinstance(node, ast.ImportFrom) and node.module == "random":
            classes |= {each.asname or each.name for each in node.names if each.name == "Random"}

    def is_the_class(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in classes
        return isinstance(node, ast.Attribute) and node.attr == "Random" and is_the_module(node)

    def is_the_module(node: ast.Attribute) -> bool:
        return isinstance(node.value, ast.Name) and node.value.id in modules

    good = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute) and is_the_class(n)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in modules and id(node) not in good:
            found.append(f"{path}:{node.lineno}: of the random module only the type random.Random")
        if isinstance(node, ast.Call) and is_the_class(node.func) and not is_seeded(node):
            found.append(f"{path}:{node.lineno}: Random without a seed draws from the system")
    return found


def sizes(path: PurePosixPath, source: str) -> list[str]:
    """A file fits a sitting, a function a screen, a line a window."""
    lines = source.splitlines()
    found = [
        f"{path}:{number}: {len(line)} characters, at most {LINE_CHARACTERS_MAX}"
        for number, line in enumerate(lines, 1)
        if len(line) > LINE_CHARACTERS_MAX
    ]
    if len(lines) > FILE_LINES_MAX:
        found.append(f"{path}: {len(lines)} lines, at most {FILE_LINES_MAX}")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES_MAX:
                found.append(
                    f"{path}:{node.lineno}: {node.name} has {length} lines, "
                    f"at most {FUNCTION_LINES_MAX}"
                )
    return found


def names(path: PurePosixPath, source: str) -> list[str]:
    """A module is a noun of the domain."""
    words = [*path.parent.parts, path.stem.removeprefix("test_")]
    return [f"{path}: {word} says nothing" for word in words if word in NAMES_THAT_SAY_NOTHING]


def promises(path: PurePosixPath, source: str) -> list[str]:
    """What is left to do is an issue; the comment carries its number: TODO(#12)."""
    return [
        f"{path}:{line}: a {match[1]} without an issue number"
        for line, comment in comments(source)
        if (match := re.search(r"\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d)", comment))
    ]


def silencers(path: PurePosixPath, source: str) -> list[str]:
    """Who silences a tool says why, in the same comment."""
    codes = r"\[[^\]]*\]|:\s*[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*"
    silencer = re.compile(rf"(type:\s*ignore|noqa)({codes})?(.*)")
    return [
        f"{path}:{line}: {match[1]} without a reason"
        for line, comment in comments(source)
        if (match := silencer.search(comment)) and not re.search(r"[A-Za-z]{2}", match[3])
    ]


def places(path: PurePosixPath, source: str) -> list[str]:
    """No file knows whose machine it was written on."""
    machine = re.compile(r"(?<![\w.~)}/-])/(?:work|root|home|Users)(?![\w.-])")
    return [
        f"{path}:{number}: {match[0]} is a place on one machine"
        for number, line in enumerate(source.splitlines(), 1)
        if (match := machine.search(line))
    ]


def pins(path: PurePosixPath, source: str) -> list[str]:
    """Constraints are exact versions, and do not say where packages come from."""
    if path.name != "constraints.txt":
        return []
    return [
        f"{path}:{number}: {line} is not name==version"
        for number, line in enumerate(source.splitlines(), 1)
        if line and not re.fullmatch(r"#.*|[a-z0-9.-]+==[0-9][0-9a-z.]*", line)
    ]


def imports(path: PurePosixPath, source: str) -> Iterator[tuple[int, str]]:
    """Every imported name in full, also those in functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = [node.module] if node.module else []
            if node.level:
                package = path.relative_to("src").parts
                module = [*package[: len(package) - node.level], *module]
            for each in node.names:
                yield node.lineno, ".".join([*module, each.name])


def comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def in_pure_room(path: PurePosixPath) -> bool:
    return path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[0] in PURE_ROOMS


def is_seeded(call: ast.Call) -> bool:
    return bool(call.args) and not (
        isinstance(call.args[0], ast.Constant) and call.args[0].value is None
    )


def text_files() -> Iterator[tuple[PurePosixPath, str]]:
    """What is or would be tracked. Walked rather than asked of git, to work in an archive too."""
    made = {"__pycache__", "out", "build", "dist", "venv"}
    for folder, inner, files in os.walk(ROOT):
        inner[:] = sorted(
            name
            for name in inner
            if name == ".ci"
            or not (name.startswith(".") or name in made or name.endswith(".egg-info"))
        )
        for name in sorted(set(files) - {".git"}):  # a file where the tree is one of several
            file = Path(folder, name)
            content = file.read_bytes() if file.is_file() else b"\0"
            if b"\0" not in content:
                text = content.decode("utf-8", errors="replace")
                yield PurePosixPath(file.relative_to(ROOT).as_posix()), text


def is_python(path: PurePosixPath, source: str) -> bool:
    return path.suffix == ".py" or re.match("#!.*python", source) is not None


PYTHON_CHECKS: list[Check] = [
    *(rooms, layers, purity, randomness),
    *(sizes, names, promises, silencers),
]
TEXT_CHECKS: list[Check] = [places, pins]


@pytest.mark.parametrize("check", PYTHON_CHECKS + TEXT_CHECKS)
def test_the_tree_is_tidy(check: Check) -> None:
    found = [
        finding
        for path, source in text_files()
        if check in TEXT_CHECKS or is_python(path, source)
        for finding in check(path, source)
    ]
    assert not found, "\n" + "\n".join(found)


def test_the_walk_meets_every_kind_of_file() -> None:
    met = {str(path) for path, _ in text_files()}
    here = {"src/antiphon/__init__.py", "tests/test_tidy.py", "scripts/bootstrap", ".ci/run"}
    assert here | {"constraints.txt", "Makefile", ".gitignore", "STYLE.md"} <= met
    assert not [path for path in met if path.startswith((".git/", ".venv/"))]


def test_help_loads_no_command() -> None:
    """`antiphon --help` is fast because it imports its own module and nothing else of ours."""
    program = (
        "import sys; from antiphon.tools.cli import main; main(['--help'], standalone_mode=False);"
        "print(*sorted(name for name in sys.modules if name.startswith('antiphon')))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown.stdout.splitlines()[-1:] == ["antiphon antiphon.tools antiphon.tools.cli"], shown


CORE = "src/antiphon/core/ids.py"
GATHER = "src/antiphon/protocol/membership/gather.py"
NODE = "src/antiphon/protocol/node.py"
PLACE = "/" + "work"  # in two pieces, for this file is searched too
LONG_FUNCTION = "def f():\n" + "    pass\n" * FUNCTION_LINES_MAX

BAD: list[tuple[Check, str, str]] = [
    (rooms, CORE, "import antiphon.wire.codec"),
    (rooms, CORE, "from antiphon import wire"),
    (rooms, CORE, "import antiphon"),
    (rooms, CORE, "from antiphon import *"),
    (rooms, CORE, "from ..wire import codec"),
    (rooms, CORE, "from .. import wire"),
    (rooms, CORE, "if TYPE_CHECKING:\n    from antiphon.sim.world import World"),
    (rooms, CORE, "def f():\n    from antiphon.daemon import driver"),
    (rooms, "src/antiphon/wire/ring.py", "from antiphon.protocol.node import Node"),
    (rooms, "src/antiphon/check/order.py", "from antiphon.wire.ring import Token"),
    (rooms, "src/antiphon/check/deep/order.py", "from ...wire.ring import Token"),
    (rooms, "src/antiphon/client/aio.py", "from antiphon.protocol.node import Node"),
    (rooms, "src/antiphon/daemon/driver.py", "from antiphon.sim.world import World"),
    (rooms, "src/antiphon/sim/world.py", "from antiphon.daemon.driver import Driver"),
    (rooms, "src/antiphon/pipeline/verify.py", "from antiphon.protocol.node import Node"),
    (rooms, "src/antiphon/__init__.py", "from antiphon.daemon.driver import Driver"),
    (rooms, "src/antiphon/cellar/rat.py", ""),
    (layers, GATHER, "from antiphon.protocol.ordering.safe import Safe"),
    (layers, GATHER, "from antiphon.protocol import ordering"),
    (layers, GATHER, "from antiphon.protocol.node import Node"),
    (layers, GATHER, "from ..ordering import safe"),
    (layers, GATHER, "import antiphon.protocol"),
    (layers, "src/antiphon/protocol/parts/window.py", "from antiphon.protocol.link import ring"),
    (layers, "src/antiphon/protocol/other.py", "from antiphon.protocol.link import ring"),
    (layers, "src/antiphon/protocol/__init__.py", "from antiphon.protocol.node import Node"),
    (purity, CORE, "import time"),
    (purity, CORE, "import os.path as path"),
    (purity, GATHER, "def f():\n    from asyncio import sleep"),
    (purity, "src/antiphon/wire/ring.py", "from importlib import import_module"),
    (purity, "src/antiphon/check/order.py", "print('broken')"),
    (purity, GATHER, "say = print"),
    (purity, GATHER, "open('log')"),
    (randomness, CORE, "import random\nx = random.random()"),
    (randomness, CORE, "import random as dice\nx = dice.randint(1, 6)"),
    (randomness, CORE, "import random\nsource = random"),
    (randomness, CORE, "import random\nx = random.Random()"),
    (randomness, CORE, "import random\nx = random.SystemRandom(1)"),
    (randomness, CORE, "from random import Random\nx = Random(None)"),
    (randomness, CORE, "from random import choice"),
    (randomness, CORE, "from random import *"),
    (sizes, CORE, "x = 1\n" * (FILE_LINES_MAX + 1)),
    (sizes, CORE, LONG_FUNCTION),
    (sizes, CORE, "class C:\n    async " + LONG_FUNCTION.replace("\n", "\n    ")),
    (sizes, "tests/unit/test_ids.py", "#" * (LINE_CHARACTERS_MAX + 1)),
    (names, "src/antiphon/core/utils.py", ""),
    (names, "src/antiphon/protocol/common/window.py", ""),
    (names, "tests/test_helpers.py", ""),
    (promises, CORE, "x = 1  # TODO: more"),
    (promises, CORE, "# FIXME(someone) soon"),
    (silencers, CORE, "x = f()  # type: ignore"),
    (silencers, CORE, "x = f()  # type: ignore[arg-type]"),
    (silencers, CORE, "import x  # noqa: F401"),
    (silencers, CORE, "import x  # noqa: F401, E402"),
    (silencers, CORE, "# ruff: noqa"),
    (places, "README.md", f"run {PLACE}/main/antiphon"),
    (places, "Makefile", "OUT = '/" + "home/someone'"),
    (places, ".ci/run", "cd /" + "root"),
    (pins, "constraints.txt", "click>=8"),
    (pins, "constraints.txt", "--index-url https://registry.example/simple"),
    (pins, "constraints.txt", "click @ https://registry.example/click.whl"),
]

GOOD: list[tuple[Check, str, str]] = [
    (rooms, CORE, "import struct\nfrom antiphon.core.ranges import RangeSet"),
    (rooms, CORE, "from . import ranges\nfrom antiphon import __version__"),
    (rooms, "src/antiphon/sim/world.py", "from antiphon.protocol.node import Node"),
    (rooms, "src/antiphon/tools/cli.py", "from antiphon.daemon.driver import Driver"),
    (rooms, "src/antiphon/__main__.py", "from antiphon.tools.cli import main"),
    (rooms, "tests/unit/test_ids.py", "from antiphon.sim.world import World"),
    (layers, GATHER, "from antiphon.protocol.membership.views import left"),
    (layers, GATHER, "from antiphon.protocol.parts.quorum import majority"),
    (layers, NODE, "from antiphon.protocol.link.ring import Ring"),
    (layers, CORE, "from antiphon.protocol.link.ring import Ring"),  # another rule's business
    (purity, CORE, "import struct\nblueprint = 1\nx.time()\nx.print()"),
    (purity, CORE, "class Link:\n    open: bool"),
    (purity, "src/antiphon/daemon/driver.py", "import asyncio\nprint(1)"),
    (randomness, CORE, "import random\ndef f(rng: random.Random): return rng.random()"),
    (
        randomness,
        CORE,
        "from random import Random\ndef f(rng: Random): return Random(rng.random())",
    ),
    (randomness, "src/antiphon/sim/swarm.py", "import random\nrandom.seed(1)"),
    (sizes, CORE, "x = 1\n" * FILE_LINES_MAX),
    (sizes, CORE, LONG_FUNCTION.replace("    pass\n", "", 1)),
    (names, "src/antiphon/protocol/database.py", ""),
    (promises, CORE, "x = 1  # TODO(#12): more\nTODO = 'TODO'"),
    (silencers, CORE, "x = f()  # type: ignore[arg-type]  # the stub is older than the code"),
    (silencers, CORE, "import x  # noqa: F401  imported for its effect"),
    (silencers, CORE, "x = '# noqa'"),
    (places, "README.md", f"https://host.example{PLACE} docs{PLACE} ~{PLACE} {PLACE}ers"),
    (pins, "constraints.txt", "# why\n\npy4j==0.10.9.9\ntool==1.0rc1"),
    (pins, "pyproject.toml", "click>=8"),
]


@pytest.mark.parametrize(("check", "path", "source"), BAD)
def test_a_bad_source_is_found(check: Check, path: str, source: str) -> None:
    assert check(PurePosixPath(path), source)


@pytest.mark.parametrize(("check", "path", "source"), GOOD)
def test_a_good_source_passes(check: Check, path: str, source: str) -> None:
    assert check(PurePosixPath(path), source) == []


def test_every_rule_was_seen_to_fail_and_to_pass() -> None:
    assert {check for check, _, _ in BAD} == {*PYTHON_CHECKS, *TEXT_CHECKS}
    assert {check for check, _, _ in GOOD} == {*PYTHON_CHECKS, *TEXT_CHECKS}
