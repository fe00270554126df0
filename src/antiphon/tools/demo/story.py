"""What happens in a demo, step by step, and what is seen of it."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from antiphon.tools.demo.stage import Stage

PATIENCE_SECONDS = 180.0
"""For daemons to find each other, also where others use the machine."""

QUIET_SECONDS = 3.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of each scene under load."""

    calm: float = 6.0
    killed: float = 2.0
    cut: float = 3.0


@dataclass
class Seen:
    """What a demo can be held to."""

    clients: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each change took until all knew of it."""

    @property
    def sent(self) -> int:
        return sum(count for name, count in self.clients.items() if name.startswith("sent_"))


def play(stage: Stage, pace: Pace, say: Say) -> Seen:
    """Everything up to the moment at which all stand still."""
    story = _Story(stage, say)
    story.begin()
    time.sleep(pace.calm)
    story.kill(pace.killed)
    time.sleep(pace.killed)
    story.cut(pace.cut)
    time.sleep(pace.killed)
    story.end()
    return story.seen


class _Story:
    def __init__(self, stage: Stage, say: Say) -> None:
        self.seen = Seen()
        self._stage = stage
        self._cluster = stage.cluster
        self._say = say
        self._sites: dict[str, list[str]] = {}
        for daemon in self._cluster.daemons:
            self._sites.setdefault(daemon.site, []).append(daemon.name)

    def begin(self) -> None:
        cluster = self._cluster
        with self._timed("start"):
            cluster.start()
            cluster.await_merge(PATIENCE_SECONDS)
        count = len(cluster.daemons)
        sites = ", ".join(f"{site}: {' '.join(names)}" for site, names in self._sites.items())
        self._say(f"{count} daemons at {len(self._sites)} sites ({sites}) met{self._took('start')}")
        self._stage.start_clients()
        self._say(f"{count} clients, one at each, send to 3 groups with all six services")

    def kill(self, seconds: float) -> None:
        """One that leads its site: others take over, its client goes elsewhere."""
        site = list(self._sites)[1]
        victim = self._leader(site)
        others = [daemon.name for daemon in self._cluster.daemons if daemon.name != victim]
        self._stage.note(f"kill -9 of daemon {victim}, which leads {site}")
        with self._timed("kill"):
            self._cluster.kill(victim)
            self._cluster.await_sides([others], PATIENCE_SECONDS)
        took = self._took("kill")
        self._say(
            f"killed daemon {victim}, which led {site}: the other {len(others)} went on{took}"
        )
        time.sleep(seconds)
        self._stage.note(f"start of daemon {victim}")
        with self._timed("restart"):
            self._cluster.start([victim])
            self._cluster.await_merge(PATIENCE_SECONDS)
        self._say(f"started {victim} again: it is back{self._took('restart')}")

    def cut(self, seconds: float) -> None:
        one, *rest = self._sites
        sides = f"{one} | {','.join(rest)}"
        self._stage.note(f"antiphon partition set '{sides}'")
        with self._timed("cut"):
            self._partition("set", sides, "--yes")
            near = self._sites[one]
            far = [name for site in rest for name in self._sites[site]]
            self._cluster.await_sides([near, far], PATIENCE_SECONDS)
        took = self._took("cut")
        self._say(
            f"antiphon partition set '{sides}': two sides of {len(near)} and {len(far)}{took}"
        )
        time.sleep(seconds)
        self._stage.note("antiphon partition clear")
        with self._timed("heal"):
            self._partition("clear")
            self._cluster.await_merge(PATIENCE_SECONDS)
        self._say(
            f"antiphon partition clear: all {len(near) + len(far)} in one again{self._took('heal')}"
        )

    def end(self) -> None:
        """Nothing is sent any more, and what was under way arrives. Who asks a daemon has a
        session there for a moment, whose end is a message, too: it also has to arrive."""
        self.seen.clients = seen = self._stage.silence_clients()
        self._stage.quiet()
        self._cluster.await_merge(PATIENCE_SECONDS)
        members = self._stage.members()
        time.sleep(QUIET_SECONDS)
        self._stage.freeze(members)
        self._say(
            f"clients sent {self.seen.sent:,} messages and received {seen.get('received', 0):,}; "
            f"{seen.get('views_by_network', 0)} views told of the network, "
            f"{seen.get('failovers', 0)} clients went to another daemon"
        )

    def _leader(self, site: str) -> str:
        """The daemon with the lowest id speaks for its site."""
        return min(self._sites[site], key=lambda name: int(self._stage.status(name)["id"]))

    def _partition(self, *words: str) -> None:
        command = [sys.executable, "-m", "antiphon", "partition", *words]
        command += ["--config", str(self._cluster.config)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"antiphon partition: {done.stderr.strip()}")

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seen.seconds[what] = round(time.monotonic() - began, 2)

    def _took(self, what: str) -> str:
        return f" after {self.seen.seconds[what]:.1f} s"
