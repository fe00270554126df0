"""Judges: the records of a run in, broken promises out. They know no protocol."""

from collections.abc import Sequence

from antiphon.check.causes import judge_causes
from antiphon.check.configurations import judge_configurations
from antiphon.check.findings import Findings, Violation
from antiphon.check.integrity import judge_integrity
from antiphon.check.kept import judge_kept
from antiphon.check.load import judge_load
from antiphon.check.ordering import judge_ordering
from antiphon.check.progress import judge_progress
from antiphon.check.reading import Reading
from antiphon.check.safe import judge_safe
from antiphon.check.synchrony import judge_synchrony
from antiphon.check.total_order import judge_total_order
from antiphon.core.trace import Record

__all__ = ["Violation", "judge"]

JUDGES = (
    judge_integrity,
    judge_configurations,
    judge_synchrony,
    judge_causes,
    judge_ordering,
    judge_total_order,
    judge_safe,
    judge_progress,
    judge_load,
    judge_kept,
)


def judge(records: Sequence[Record], ended: bool = True) -> list[Violation]:
    """All broken promises of one run, in the order of time.

    Records stand in the order in which things happened. `ended` says that the run came to
    rest before it ended, so that whatever a process that is still up owes is overdue.
    """
    reading = Reading(records, ended)
    findings = Findings(reading)
    for judge_promises in JUDGES:
        judge_promises(reading, findings)
    return findings.violations()
