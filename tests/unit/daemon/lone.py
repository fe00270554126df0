"""A daemon alone in this process, turned by hand: for tests of its parts together."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from antiphon.core.machine import SECOND
from antiphon.daemon.clock import clock
from antiphon.daemon.config.config import load
from antiphon.daemon.process import Daemon
from antiphon.tools.cluster import LocalCluster
from antiphon.wire.client import Hello
from tests.real.rawclient import RawClient, Read

PATIENCE_US = 10 * SECOND
TURN_US = 5_000


class Lone:
    def __init__(self, directory: Path, extra: str = "", daemons: int = 1) -> None:
        self.cluster = LocalCluster(daemons, directory, extra=extra)
        self.config = self.cluster.config
        self.daemon = Daemon(load(self.config), "one", self.config)
        self.driver = self.daemon.driver
        self.clients = self.driver.clients
        self.driver.start()
        self._made: list[RawClient] = []

    def __enter__(self) -> "Lone":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._made:
            client.socket.close()
        self.daemon._close()

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.driver.turn(clock() + TURN_US)

    def turn_until(self, condition: Callable[[], object]) -> None:
        until = clock() + PATIENCE_US
        while not condition():
            assert clock() < until, "it never comes"
            self.turn()

    def stranger(self, unix: bool = False) -> RawClient:
        """Connected, and silent."""
        entry = self.cluster.daemons[0]
        client = RawClient(str(entry.socket) if unix else ("127.0.0.1", entry.client_port))
        self._made.append(client)
        return client

    def client(self, name: str = "alice", unix: bool = False) -> RawClient:
        """Let in."""
        made = self.stranger(unix)
        made.begin(Hello(2, 3, name, 0, True, ""))
        self.frame(made)
        return made

    def frame(self, client: RawClient) -> Read:
        """The next one for this client; later ones wait."""
        found = self.frames(client, 1)
        client._frames = found[1:] + client._frames
        return found[0]

    def frames(self, client: RawClient, count: int) -> list[Read]:
        found: list[Read] = client.take()

        def enough() -> bool:
            found.extend(client.take())
            return len(found) >= count or client.ended

        self.turn_until(enough)
        return found

    def last_words(self, client: RawClient) -> list[Read]:
        """Everything up to the end of the connection."""
        found: list[Read] = []

        def is_over() -> bool:
            found.extend(client.take())
            return client.ended

        self.turn_until(is_over)
        return found
