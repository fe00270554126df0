"""What is wrong with a configuration file: line, key, what, remedy. All of it, not the first."""

from collections.abc import Iterable
from typing import NamedTuple

from antiphon.core.errors import ConfigError

Path = tuple[str | int, ...]
"""Keys, and positions in lists counted from 0, from the top of the file to a value."""


class Finding(NamedTuple):
    source: str
    line: int
    """0 if it belongs to no line: the file cannot be read."""

    key: str
    what: str
    remedy: str
    warning: bool = False
    """The file can be used, but its writer should know."""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        key = f"{self.key}: " if self.key else ""
        mark = "warning: " if self.warning else ""
        return f"{place}: {mark}{key}{self.what}; {self.remedy}"


class ConfigFindings(ConfigError):
    """A file that cannot be used, with everything that is wrong with it."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        first = self.findings[0]
        super().__init__(first.key, first.what, first.remedy)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


class Fault(Exception):
    """A value that cannot be used; its reader does not know where it stands in the file."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what
        self.remedy = remedy


def spelled(path: Path) -> str:
    """As people count: daemon[2].address is the address of the second daemon."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text
