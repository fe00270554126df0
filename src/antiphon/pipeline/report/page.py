"""A page of HTML that needs nothing beside it: text, tables, and drawings in SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

STYLE = Path(__file__).with_name("style.css")
WIDE_TEXT = 48
"""Characters from which a cell is text to be read, and its column the wide one."""

Rows = Sequence[Mapping[str, Any]]


@dataclass
class Section:
    title: str
    parts: list[str] = field(default_factory=list)

    def text(self, words: str) -> None:
        self.parts.append(f"<p>{escape(words)}</p>")

    def verdict(self, is_fine: bool, words: str) -> None:
        kind = "fine" if is_fine else "broken"
        self.parts.append(f'<p class="verdict {kind}">{escape(words)}</p>')

    def cards(self, figures: Mapping[str, str]) -> None:
        cards = "".join(
            f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"
            for name, value in figures.items()
        )
        self.parts.append(f'<div class="cards">{cards}</div>')

    def figure(self, drawing: str, caption: str) -> None:
        self.parts.append(f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>")

    def table(self, rows: Rows, caption: str = "", folded: bool = False) -> None:
        """Columns of the first row; a folded one opens at a click, and in print."""
        if not rows:
            return
        names = list(rows[0])
        right = {name for name in names if all(_is_number(row[name]) for row in rows)}
        head = "".join(_head(name, name in right) for name in names)
        body = "".join(
            f"<tr>{''.join(_cell(row[name], name in right) for name in names)}</tr>" for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        if folded:
            self.parts.append(
                f"<details><summary>{escape(caption)}</summary>"
                f'<div class="scroll">{table}</div></details>'
            )
            return
        title = f"<h3>{escape(caption)}</h3>" if caption else ""
        self.parts.append(f'{title}<div class="scroll">{table}</div>')


@dataclass
class Page:
    title: str
    subtitle: str
    sections: list[Section] = field(default_factory=list)

    def section(self, title: str) -> Section:
        made = Section(title)
        self.sections.append(made)
        return made

    def html(self) -> str:
        links = "".join(
            f'<a href="#s{number}">{escape(one.title)}</a>'
            for number, one in enumerate(self.sections)
        )
        body = "".join(
            f'<section id="s{number}"><h2>{escape(one.title)}</h2>{"".join(one.parts)}</section>'
            for number, one in enumerate(self.sections)
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{STYLE.read_text()}</style></head><body>"
            f"<header><h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p>"
            f"<nav>{links}</nav></header><main>{body}</main></body></html>\n"
        )


def _head(name: str, right: bool) -> str:
    shown = escape(name.replace("p99_9", "p99.9").replace("_", " "))
    return f'<th class="n">{shown}</th>' if right else f"<th>{shown}</th>"


def _cell(value: Any, right: bool) -> str:
    text = cell_text(value)
    kind = "n" if right else "long" if len(text) > WIDE_TEXT else ""
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def cell_text(value: Any) -> str:
    """Numbers with as many digits as they deserve."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        digits = 0 if abs(value) >= 1_000 else 1 if abs(value) >= 100 else 2
        digits = 3 if abs(value) < 1 and value else digits
        return f"{value:,.{digits}f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
