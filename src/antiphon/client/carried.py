"""What a transport asks of the session that it carries, whichever protocol that speaks."""

from collections.abc import Sized
from typing import Protocol


class Carried(Protocol):
    @property
    def ended(self) -> str:
        """Why nothing more comes or goes; empty while it may."""
        ...

    @property
    def events(self) -> Sized:
        """For the application."""
        ...

    def full(self, patience: int = 1) -> bool:
        """Enough waits for the application: read no more."""
        ...

    def data_to_send(self) -> bytes: ...

    def stop_sending(self) -> None:
        """The other side takes no more."""
        ...

    def receive_data(self, data: bytes) -> None: ...

    def connection_lost(self, reason: str, detail: str = "") -> None: ...
