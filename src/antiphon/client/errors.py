"""What can go wrong with a session that is not the caller's mistake. Codes: core/codes.py."""

from antiphon.core.codes import CODES
from antiphon.core.errors import AntiphonError


class SessionError(AntiphonError):
    """Base of all these: a stable code, what happened, and the remedy."""

    def __init__(self, code: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.code = code
        self.what = what
        self.remedy = remedy


class Unreachable(SessionError):
    """No daemon answered at any of the addresses."""


class Refused(SessionError):
    """The daemon said no."""


class Disconnected(SessionError):
    """The session has ended; `code` says why."""


class QueryFailed(SessionError):
    """The daemon has no answer to a query."""


class Unsent(SessionError):
    """A session was closed before the daemon had taken all its multicasts."""


def disconnected(reason: str, detail: str = "") -> Disconnected:
    known = CODES.get(reason)
    summary, remedy = (reason, "connect again") if known is None else (known.summary, known.remedy)
    what = f"the session has ended: {summary}"
    return Disconnected(reason, f"{what} ({detail})" if detail else what, remedy)
