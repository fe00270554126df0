"""Where each key of a TOML text stands, for tomllib does not tell.

Made for texts that tomllib has accepted, and gives every key and every list item of them its
line. Any other text is walked through without an error, and what is found means little.
"""

import tomllib
from bisect import bisect_right

from antiphon.daemon.config.findings import Path

BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
QUOTES = ('"', "'")


class Lines:
    def __init__(self, text: str) -> None:
        self._lines = dict[Path, int]()
        _Walk(text, self._lines).document()

    def of(self, path: Path) -> int:
        """The line of a value, or of the nearest thing around it that is in the file."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def paths(self) -> dict[Path, int]:
        return dict(self._lines)


class _Walk:
    def __init__(self, text: str, lines: dict[Path, int]) -> None:
        self._text = text
        self._at = 0
        self._lines = lines
        self._ends = [at for at, sign in enumerate(text) if sign == "\n"]
        self._tables = dict[Path, int]()
        """Lists of tables, and how many there are so far."""

    def document(self) -> None:
        table: Path = ()
        while self._skip(" \t\r\n"):
            before = self._at
            if self._text.startswith("[", self._at):
                table = self._header()
            else:
                self._pair(table)
            self._at = max(self._at, before + 1)

    def _header(self) -> Path:
        many = self._text.startswith("[[", self._at)
        line = self._line()
        self._at += 2 if many else 1
        path: Path = ()
        keys = self._keys()
        for place, key in enumerate(keys):
            path += (key,)
            if many and place == len(keys) - 1:
                self._tables[path] = self._tables.get(path, 0) + 1
            self._lines.setdefault(path, line)
            if path in self._tables:
                path += (self._tables[path] - 1,)
                self._lines.setdefault(path, line)
        self._skip(" \t")
        while self._text.startswith("]", self._at):
            self._at += 1
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        for key in self._keys():
            table += (key,)
            self._lines.setdefault(table, line)
        if self._text.startswith("=", self._at):
            self._at += 1
            self._skip(" \t")
            self._value(table)

    def _keys(self) -> list[str]:
        """A key, which may have dots; stands behind it and its spaces."""
        keys = []
        while True:
            self._skip(" \t")
            start = self._at
            if self._text.startswith(QUOTES, self._at):
                self._string()
                keys.append(_unquoted(self._text[start : self._at]))
            else:
                while self._at < len(self._text) and self._text[self._at] in BARE:
                    self._at += 1
                keys.append(self._text[start : self._at])
            self._skip(" \t")
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _value(self, path: Path) -> None:
        if self._text.startswith(QUOTES, self._at):
            self._string()
        elif self._text.startswith("[", self._at):
            self._items(path, "]")
        elif self._text.startswith("{", self._at):
            self._items(path, "}")
        else:
            while self._at < len(self._text) and self._text[self._at] not in ",]}#\n":
                self._at += 1

    def _items(self, path: Path, end: str) -> None:
        """A list or an inline table."""
        self._at += 1
        number = 0
        while self._skip(" \t\r\n,") and not self._text.startswith(end, self._at):
            before = self._at
            if end == "]":
                self._lines.setdefault((*path, number), self._line())
                self._value((*path, number))
                number += 1
            else:
                self._pair(path)
            self._at = max(self._at, before + 1)
        self._at += 1

    def _string(self) -> None:
        quote = self._text[self._at]
        if self._text.startswith(quote * 3, self._at):
            self._skip_to(quote * 3)
            extra = self._at + 2  # a long string may end with two quotes of its own
            while self._at < extra and self._text.startswith(quote, self._at):
                self._at += 1
        else:
            self._skip_to(quote)

    def _skip_to(self, end: str) -> None:
        self._at += len(end)
        while self._at < len(self._text) and not self._text.startswith(end, self._at):
            self._at += 2 if self._text[self._at] == "\\" and end[0] == '"' else 1
        self._at += len(end)

    def _skip(self, signs: str) -> bool:
        """Past these signs, and past comments if an end of line is among them; whether
        anything is left."""
        while self._at < len(self._text):
            if self._text[self._at] in signs:
                self._at += 1
            elif self._text[self._at] == "#" and "\n" in signs:
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return True
        return False

    def _line(self) -> int:
        return bisect_right(self._ends, self._at - 1) + 1


def _unquoted(key: str) -> str:
    try:
        return str(tomllib.loads(f"key = {key}")["key"])
    except tomllib.TOMLDecodeError:
        return key
