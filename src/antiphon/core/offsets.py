"""Places in the log of a kept group: a branch, and how much of it has been read.

See docs/protocols/retain.md. As text an offset is `BRANCH:SEQUENCE`, for instance
`2.1f.18f3c0de.4.0:1200`; `:0` is before everything.
"""

from typing import NamedTuple

from antiphon.core.errors import UsageError
from antiphon.core.ids import NO_CONFIG, ConfigId, DaemonId, Incarnation, Natural


class Branch(NamedTuple):
    """Messages of a group that nobody can disagree about: those of one configuration before
    its first hole, or behind it those of the members that `lineage` names."""

    config: ConfigId
    lineage: Natural

    def __str__(self) -> str:
        return ".".join(f"{number:x}" for number in (*self.config, self.lineage))


class Offset(NamedTuple):
    """Everything of the branch up to this sequence, and what leads to it, has been read."""

    branch: Branch
    sequence: Natural

    def __str__(self) -> str:
        branch = "" if self.branch == NO_BRANCH else str(self.branch)
        return f"{branch}:{self.sequence}"


NO_BRANCH = Branch(NO_CONFIG, 0)
ORIGIN = Offset(NO_BRANCH, 0)
"""Before everything."""


def parse_branch(text: str) -> Branch:
    if not text:
        return NO_BRANCH
    try:
        epoch, coordinator, life, counter, lineage = (int(part, 16) for part in text.split("."))
    except ValueError:
        raise _bad(text) from None
    return Branch(ConfigId(epoch, DaemonId(coordinator), Incarnation(life), counter), lineage)


def parse_offset(text: str) -> Offset:
    branch, colon, sequence = text.rpartition(":")
    if not colon or not sequence.isdecimal() or ":" in branch:
        raise _bad(text)
    return Offset(parse_branch(branch), int(sequence))


def _bad(text: str) -> UsageError:
    return UsageError(
        "bad_offset", f"{text!r} is no offset", "use one that a log has given: BRANCH:SEQUENCE"
    )
