"""Parts of the documentation that are made from the code, so that they cannot grow old.

A page holds such a part between two marks, and everything else on it is written by hand:

    <!-- made by scripts/wire_table: overview -->
    ...
    <!-- end of overview -->

Each script below scripts/ that makes parts calls `main`. With --check it writes nothing and
exits with 1 if a page is not what it would write.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

Parts = Mapping[str, str]
"""Name of a part and its text, without marks."""


def main(script: str, pages: Mapping[str, Parts], arguments: Sequence[str]) -> int:
    """Write the parts of each page, or check them; the exit code."""
    if [*arguments] not in ([], ["--check"]):
        print(f"usage: scripts/{script} [--check]", file=sys.stderr)
        return 2
    stale = []
    for page, parts in pages.items():
        file = ROOT / page
        old = file.read_text(encoding="utf-8")
        new = filled(old, script, parts)
        if new == old:
            continue
        stale.append(page)
        if not arguments:
            file.write_text(new, encoding="utf-8")
    for page in stale:
        print(f"{page} is out of date; run: make docs" if arguments else f"wrote {page}")
    return 1 if arguments and stale else 0


def filled(text: str, script: str, parts: Parts) -> str:
    """The page with each of its parts replaced."""
    for name, part in parts.items():
        begin, end = f"<!-- made by scripts/{script}: {name} -->", f"<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"there must be one {begin} and one {end}")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{part.strip()}\n{end}{rest.split(end)[1]}"
    return text


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [list(map(str, heads)), ["---"] * len(heads), *([*map(cell, row)] for row in rows)]
    return "\n".join(re.sub(r" +", " ", f"| {' | '.join(line)} |") for line in lines)


def cell(value: object) -> str:
    """Text that does not break a table: one line, and no bar that is not code."""
    return re.sub(r"\s*\n\s*", " ", str(value)).replace("|", "\\|").strip()


def code(text: object) -> str:
    return f"`{text}`"


def first_sentence(text: str | None) -> str:
    """Of a docstring: what stands before the first empty line, in one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def notes(kind: type[Any]) -> dict[str, str]:
    """The text under each field of a class. Fields without one share that of the next field,
    as long as nothing but fields stands between."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    found: dict[str, str] = {}
    waiting: list[str] = []
    assert isinstance(tree.body[0], ast.ClassDef)
    for node in tree.body[0].body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            waiting.append(node.target.id)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = " ".join(str(node.value.value).split())
            found.update(dict.fromkeys(waiting[-1:], text))
            waiting.clear()
        else:
            waiting.clear()
    return found
