"""Several daemons that have the same to give: one session at a time, with the next one if it ends.

Goes to executors without its session: each task opens its own.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from antiphon.client import blocking
from antiphon.client.errors import QueryFailed, SessionError
from antiphon.client.log import BlockingLog, LogGap
from antiphon.core.ids import GroupName

RETRY_S = 0.2
ANSWER_S = 5.0
"""A daemon that takes longer is passed over."""

T = TypeVar("T")


class Daemons:
    def __init__(self, addresses: tuple[str, ...], token: str, timeout: float) -> None:
        self._addresses = addresses
        self._token = token
        self._timeout = timeout
        self._place = 0
        self._session: blocking.Session | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def ask(self, group: GroupName, what: Callable[[BlockingLog], T]) -> T:
        """`what` of a log at a daemon that can do it. A gap here may be none at the next daemon,
        and one that is gone may come back; so all are asked until the time is over."""
        until = time.monotonic() + self._timeout
        while True:
            gap: LogGap | None = None
            error: SessionError | None = None
            for _ in self._addresses:
                try:
                    return what(self.session().log(group, timeout=ANSWER_S))
                except LogGap as found:
                    gap = found
                except QueryFailed:
                    raise
                except SessionError as found:
                    error = found
                self.next()
            over = time.monotonic() >= until
            if gap is not None and (over or error is None):
                raise gap  # if all have answered, nobody can go on
            if error is not None and over:
                raise error
            time.sleep(RETRY_S)

    def next(self) -> None:
        """From now on another one is asked."""
        self.close()
        self._place = (self._place + 1) % len(self._addresses)

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            try:
                session.close()
            except SessionError:
                pass  # it is gone, which is what was wished

    def session(self) -> blocking.Session:
        """With the daemon whose turn it is."""
        if self._session is None:
            address = self._addresses[self._place]
            wait = min(self._timeout, ANSWER_S)
            self._session = blocking.connect(
                address, token=self._token, membership=False, timeout=wait
            )
        return self._session
