"""A running emulation: its hosts, the relay between them, and what can be done to its links.

    with Emulation(topology_of("six-sites"), seed=7) as emulation:
        server = emulation.popen("ucsb", ["some", "server"])
        emulation.set_link("mae-east", "ucsb", loss=0.05)
        emulation.counters()

Needs root. What is inside is gone at the end of the block, or of this process.
"""

import subprocess
import sys
from typing import Any

import msgspec

from antiphon.core.errors import UsageError
from antiphon.tools.wan.hosts import HostSpaces
from antiphon.tools.wan.orders import Answer, Begin, Change, Count, Counts, LinkCounts, Order
from antiphon.tools.wan.reading import changed
from antiphon.tools.wan.topology import Host, LinkSettings, Topology

STOP_SECONDS = 5.0


class Emulation:
    """One at a time in a process, whose id is in the names of all namespaces."""

    _is_running = False

    def __init__(self, topology: Topology, seed: int = 7) -> None:
        self.topology = topology
        self._seed = seed
        self._links = {(link.start, link.end): link.settings for link in topology.links}
        self._spaces = HostSpaces(topology)
        self._numbers = {
            host.name: number
            for host, number in zip(self._spaces.hosts, self._spaces.numbers, strict=True)
        }
        self._relay: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Emulation":
        if Emulation._is_running:
            what = "an emulation runs in this process already"
            raise UsageError("already_running", what, "leave it first, or use another process")
        self._spaces.__enter__()
        Emulation._is_running = True
        try:
            self._start_relay()
            self._spaces.join()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._stop_relay()
        finally:
            Emulation._is_running = False
            self._spaces.__exit__()

    # Hosts.

    @property
    def hosts(self) -> list[Host]:
        return self._spaces.hosts

    def namespace(self, host: str) -> str:
        return self._spaces.name(self._number(host))

    def address(self, host: str) -> str:
        return self._spaces.hosts[self._number(host) - 1].address

    def inside(self, host: str) -> list[str]:
        """What to write before a command to run it there."""
        return self._spaces.inside(self._number(host))

    def popen(self, host: str, argv: list[str], **options: Any) -> subprocess.Popen[Any]:
        """A process there, with subprocess.Popen's options. It ends with the emulation."""
        return subprocess.Popen([*self.inside(host), *argv], **options)

    def _number(self, host: str) -> int:
        if host not in self._numbers:
            remedy = f"use one of {', '.join(self._numbers)}"
            raise UsageError("unknown_host", f"no host is called {host!r}", remedy)
        return self._numbers[host]

    # Links.

    def link(self, start: str, end: str) -> LinkSettings:
        """What holds now from one place to another; `end` is "up" or "down" for an access link."""
        if (start, end) not in self._links:
            names = ", ".join(link.name for link in self.topology.links)
            what = f"no link leads from {start!r} to {end!r}"
            raise UsageError("unknown_link", what, f"use one of {names}")
        return self._links[start, end]

    def set_link(self, start: str, end: str, **changes: float | bool) -> None:
        """Other properties of one direction, from now on: `set_link("a", "b", loss=0.05)`."""
        settings = changed(self.link(start, end), changes)
        self._order(Change(start, end, settings))
        self._links[start, end] = settings

    def counters(self) -> dict[tuple[str, str], LinkCounts]:
        """Of every link, by its ends."""
        return {(start, end): counts for start, end, counts in self.counts().links}

    def counts(self) -> Counts:
        """Of every link, and how well the relay kept up."""
        answer = self._order(Count())
        assert isinstance(answer, Counts)
        return answer

    # The relay.

    def _start_relay(self) -> None:
        """In a session of its own, to be spared the Ctrl-C that is meant for us."""
        self._relay = subprocess.Popen(
            [sys.executable, "-m", "antiphon.tools.wan.relay"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        names = [self._spaces.name(number) for number in self._spaces.numbers]
        self._order(Begin(self.topology, names, self._seed))

    def _order(self, order: Order) -> Answer:
        relay = self._relay
        if relay is None:
            raise UsageError("not_running", "the emulation does not run", "enter it by `with`")
        assert relay.stdin is not None and relay.stdout is not None and relay.stderr is not None
        try:
            relay.stdin.write(msgspec.json.encode(order) + b"\n")
            relay.stdin.flush()
            line = relay.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            said = (relay.stderr.read().decode().strip().splitlines() or ["it said nothing"])[-1]
            remedy = "see whether this machine has /dev/net/tun"
            raise UsageError("relay_ended", f"the relay has ended: {said}", remedy)
        answer: Answer = msgspec.json.decode(line, type=Answer)
        return answer

    def _stop_relay(self) -> None:
        relay, self._relay = self._relay, None
        if relay is None:
            return
        assert relay.stdin is not None and relay.stdout is not None and relay.stderr is not None
        with relay.stdout, relay.stderr:
            try:
                relay.stdin.close()
            except BrokenPipeError:
                pass  # it has ended
            try:
                relay.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                relay.kill()
                relay.wait()
