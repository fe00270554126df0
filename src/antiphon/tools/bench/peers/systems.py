"""The systems that have their turns with us: one that must be there, and others that may."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from statistics import median

from antiphon.core.errors import AntiphonError
from antiphon.tools.bench.peers.corosync import corosync
from antiphon.tools.bench.peers.nats import nats
from antiphon.tools.bench.peers.peer import Peer
from antiphon.tools.bench.peers.zeromq import zeromq
from antiphon.tools.bench.traffic import Say

Start = Callable[[Say], AbstractContextManager[Peer]]

COROSYNC = "Corosync"
STARTS: Mapping[str, Start] = {COROSYNC: corosync, "NATS": nats, "ZeroMQ": zeromq}


class Systems:
    """`with Systems(say) as systems: systems.flood(1000, 2.0)`."""

    def __init__(self, say: Say, starts: Mapping[str, Start] = STARTS) -> None:
        self._say = say
        self._starts = starts
        self._stack = ExitStack()
        self._running: dict[str, Peer] = {}
        self._rates: dict[str, dict[int, list[float]]] = {}
        self.without: dict[str, str] = {}
        """Why a system is not measured, or no longer."""

    def __enter__(self) -> "Systems":
        with ExitStack() as stack:
            for name, start in self._starts.items():
                with self._excused(name):
                    self._running[name] = stack.enter_context(start(self._say))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def flood(self, size: int, seconds: float) -> None:
        """Each of them once."""
        for name, peer in [*self._running.items()]:
            self._say(f"{name}, {size} bytes")
            with self._excused(name):
                rate = peer.flood(size, seconds)
                self._rates.setdefault(name, {}).setdefault(size, []).append(rate)

    @property
    def medians(self) -> dict[str, dict[int, float]]:
        """Messages a second, by name and size."""
        return {
            name: {size: median(rates) for size, rates in by_size.items()}
            for name, by_size in self._rates.items()
        }

    @contextmanager
    def _excused(self, name: str) -> Iterator[None]:
        """The bars need Corosync. What the others cannot do is told, and no reason to end."""
        try:
            yield
        except AntiphonError as error:
            if name == COROSYNC:
                raise
            self._running.pop(name, None)
            self.without[name] = str(error)
