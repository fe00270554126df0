"""Whose fault it was: yours, theirs, or the configuration's.

    AntiphonError
        UsageError      the caller asked for something that cannot be done
        ConfigError     a setting is wrong
        PeerError       something from outside is wrong
            DecodeError a packet does not say what it should

A broken invariant of our own is none of these: it is an AssertionError and stops the
daemon, for others survive a crashed member better than a confused one.
"""


class AntiphonError(Exception):
    """Everything this project raises on purpose."""


class UsageError(AntiphonError):
    """What the caller did wrong, where, and the remedy."""

    def __init__(self, code: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.code = code
        self.what = what
        self.remedy = remedy


class ConfigError(AntiphonError):
    """Which setting is wrong, and the remedy."""

    def __init__(self, key: str, what: str, remedy: str) -> None:
        super().__init__(f"{key}: {what}; {remedy}")
        self.key = key
        self.what = what
        self.remedy = remedy


class PeerError(AntiphonError):
    """Something that came from another process is not acceptable."""


class DecodeError(PeerError):
    """A packet was refused; `reason` is one of the drop reasons of core/trace.py."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
