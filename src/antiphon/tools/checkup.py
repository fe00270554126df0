"""What `antiphon doctor` finds: one line each, with a remedy where something is not right."""

from enum import StrEnum
from typing import NamedTuple


class Grade(StrEnum):
    FINE = "fine"
    NOTE = "note"
    """Works, but could be better, or cannot be known from here."""

    WRONG = "wrong"


class Found(NamedTuple):
    check: str
    subject: str
    grade: Grade
    what: str
    remedy: str = ""


def fine(check: str, subject: str, what: str) -> Found:
    return Found(check, subject, Grade.FINE, what)


def note(check: str, subject: str, what: str, remedy: str) -> Found:
    return Found(check, subject, Grade.NOTE, what, remedy)


def wrong(check: str, subject: str, what: str, remedy: str) -> Found:
    return Found(check, subject, Grade.WRONG, what, remedy)
