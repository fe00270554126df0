"""The pages of the documentation, as the tests read them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PROTOCOLS = sorted((ROOT / "docs" / "protocols").glob("*.md"))


class Block(NamedTuple):
    """A fenced block: its language, its text, and where it stands."""

    language: str
    text: str
    line: int


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence":
            assert token.map is not None
            yield Block(token.info.strip(), token.content, token.map[0] + 1)


def headings(page: Path, level: int = 0) -> list[str]:
    """The texts of all headings, or of those of one level."""
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and (not level or token.tag == f"h{level}")
    ]


@cache
def anchors(page: Path) -> set[str]:
    """What a link into the page may name."""
    return {anchor(heading) for heading in headings(page)}


def anchor(heading: str) -> str:
    """As the usual renderers make it: lower case, no signs, dashes for spaces."""
    plain = re.sub(r"[`*]", "", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


@cache
def links(page: Path) -> list[str]:
    """The targets of all links, from rendered text: none in code is one."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    return [
        str(child.attrGet("href"))
        for token in tokens
        for child in token.children or ()
        if child.type == "link_open"
    ]
