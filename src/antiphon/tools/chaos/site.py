"""The processes of a chaos run: daemons and clients in their namespaces, and what befell them.

What happens to a daemon from outside, it cannot tell itself. So the rows about faults, about
killed daemons and about the end are written here, as the simulator writes them for its world
(source `sim`).
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from antiphon.core.ids import NOBODY, DaemonId, Incarnation, Member
from antiphon.core.trace import Kind, Record
from antiphon.daemon.clock import clock
from antiphon.daemon.config.config import Config, load
from antiphon.daemon.secure.keyfile import create_keys
from antiphon.daemon.secure.keys import KeyRing, new_key
from antiphon.records.segment import parse_name
from antiphon.records.writer import SegmentWriter
from antiphon.tools.chaos.faults import Places
from antiphon.tools.chaos.namespaces import Namespaces, address_of
from antiphon.tools.chaos.planted import VARIABLE
from antiphon.tools.cluster import daemon_name

UDP_PORT = 4813
TCP_PORT = 4803
WORLD = Member(NOBODY, Incarnation(0))
FREEZE_SECONDS = 5.0
STOP_SECONDS_MAX = 10.0
"""A daemon that was asked to stop has ended by then."""

BACKLOG = 50
"""News that a client may leave unread: few, so that some clients are cut off."""

SLOW_SITE = "5s"
"""Some sites are slow for longer, and are cut off."""

Process = subprocess.Popen[bytes]


def config_text(daemons: int, sites: int = 1) -> str:
    """One file for all of them, with everything recorded. Daemons are given to the sites in
    turn."""
    parts = ['[cluster]\nname = "chaos"\nkey_file = "cluster.key"\n']
    for number in range(1, daemons + 1):
        name = daemon_name(number - 1)
        parts.append(
            f"[[daemon]]\n"
            f'name = "{name}"\n'
            f'site = "site{(number - 1) % sites + 1}"\n'
            f'address = "{address_of(number)}:{UDP_PORT}"\n'
            f'clients = ["127.0.0.1:{TCP_PORT}", "{address_of(number)}:{TCP_PORT}"]\n'
            f'socket = "{name}.sock"\n'
        )
    parts.append(f"[limits]\nbacklog = {BACKLOG}\n")
    if sites > 1:
        parts.append(f'[timeouts]\nslow_site = "{SLOW_SITE}"\n')
    parts.append('[records]\nlevel = "all"\ndirectory = "records/daemons"\n')
    return "\n".join(parts)


class Site:
    def __init__(
        self,
        spaces: Namespaces,
        directory: Path,
        workers: int,
        seed: int,
        mutant: str = "",
        sites: int = 1,
    ) -> None:
        self.records = directory / "records"
        self.unexpected: list[str] = []
        """Processes that ended though nobody killed them, or did not end as asked."""

        self._spaces = spaces
        self.directory = directory
        self._seed = seed
        self._mutant = mutant
        self._config = directory / "cluster.toml"
        create_keys(directory / "cluster.key", KeyRing(new_key("k1", secrets.token_bytes)))
        self._config.write_text(config_text(len(spaces.numbers), sites))
        config = load(self._config)
        self._ids = {one.name: one.id for one in config.daemons}
        self.places = _places(config)
        self._daemons: dict[int, Process] = {}
        self._stopping: dict[int, Process] = {}
        self._workers: dict[tuple[int, int], Process] = {}
        self._slots = [(number, slot) for number in spaces.numbers for slot in range(workers)]
        self._names: dict[tuple[int, int], str] = {}
        """Of the clients that run; each life has its own."""

        self._lives = 0
        self._ended: set[Member] = set()
        """Lives of daemons that are over."""

        self._strangers: list[Process] = []
        self._writer = SegmentWriter(self.records / "world", "world", "sim", "chaos", clock)

    # Rows.

    def write(
        self,
        kind: Kind,
        member: Member = WORLD,
        reason: str = "",
        members: tuple[Member, ...] = (),
    ) -> None:
        self._writer.add(Record(kind, clock(), *member, reason=reason, members=members))
        self._writer.spill(clock())

    def close(self) -> None:
        self._writer.close()

    def member(self, number: int) -> Member | None:
        """A daemon in the life that it lives now, as its record files name it; None if it has
        not begun."""
        name = daemon_name(number - 1)
        found = map(parse_name, (self.records / "daemons").glob(f"{name}-*"))
        lives = [int(one.run, 16) for one in found if one is not None]
        if not lives:
            return None
        latest = Member(DaemonId(self._ids[name]), Incarnation(max(lives)))
        return None if latest in self._ended else latest

    def down(self) -> list[str]:
        """Who has not begun to write records."""
        numbers = [number for number in self._spaces.numbers if self.member(number) is None]
        daemons = [daemon_name(number - 1) for number in numbers]
        clients = self.records / "clients"
        return daemons + [name for name in self._names.values() if not _has_spoken(name, clients)]

    # Daemons.

    def start_daemon(self, number: int) -> None:
        name = daemon_name(number - 1)
        if number in self._stopping:
            self._await_end(name, self._stopping.pop(number))
        environment = dict(os.environ)
        command = [sys.executable, "-m"]
        if self._mutant and number == 1:
            command += ["antiphon.tools.chaos.planted", str(self._config), name]
            environment[VARIABLE] = self._mutant
        else:
            command += ["antiphon", "daemon", "--config", str(self._config), "--name", name]
        self._daemons[number] = self._start(number, command, name, environment)

    def kill_daemon(self, number: int, reason: str = "killed") -> None:
        """The victim cannot say that it ended, so it is said here."""
        _kill(self._daemons.pop(number))
        member = self.member(number)
        if member is not None:
            self._ended.add(member)
            self.write(Kind.STOP, member, reason)

    def stop_daemon(self, number: int) -> None:
        """As an operator would; it says itself that it ended. One that has not begun to run
        knows no good end."""
        member = self.member(number)
        if member is None:
            self.kill_daemon(number)
            return
        self._ended.add(member)
        self._stopping[number] = self._daemons.pop(number)
        self._stopping[number].terminate()

    def _await_end(self, name: str, process: Process) -> None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS_MAX)
        if process.returncode != 0:
            self._note(name, process)
        _kill(process)

    def signal_daemon(self, number: int, sign: signal.Signals) -> None:
        os.kill(self._daemons[number].pid, sign)

    # Clients.

    def start_workers(self) -> None:
        for number, slot in self._slots:
            self.start_worker(number, slot)

    def start_worker(self, number: int, slot: int) -> None:
        """Every second one speaks by the Unix socket."""
        self._lives += 1
        name = f"w{number}_{slot}_{self._lives}"
        unix = self.directory / f"{daemon_name(number - 1)}.sock"
        address = f"unix:{unix}" if slot % 2 else f"{TCP_PORT}@127.0.0.1"
        records = self.records / "clients"
        command = [sys.executable, "-m", "antiphon.tools.chaos.workers"]
        command += [address, str(records), name, f"{self._seed} {name}"]
        self._workers[number, slot] = self._start(number, command, name, dict(os.environ))
        self._names[number, slot] = name

    def kill_worker(self, number: int, slot: int) -> None:
        _kill(self._workers.pop((number, slot)))
        del self._names[number, slot]

    def signal_worker(self, number: int, slot: int, sign: signal.Signals) -> None:
        os.kill(self._workers[number, slot].pid, sign)

    def rouse_workers(self) -> None:
        """The network is about to fail."""
        for worker in self._workers.values():
            assert worker.stdin is not None
            with suppress(BrokenPipeError):  # it ended by itself, which `mind` will find
                worker.stdin.write(b"\n")
                worker.stdin.flush()

    def silence_workers(self) -> None:
        """They send no more."""
        for worker in self._workers.values():
            assert worker.stdin is not None
            worker.stdin.close()

    def send_stranger(self, number: int, rng: Random) -> None:
        command = [sys.executable, "-m", "antiphon.tools.chaos.stranger", address_of(number)]
        command += [str(UDP_PORT), str(TCP_PORT), str(rng.random())]
        self._strangers.append(self._start(number, command, "strangers", dict(os.environ)))

    # All of them.

    def mind(self) -> None:
        """Note who ended by itself, and start it again, so that the rest can be judged."""
        for number, daemon in list(self._daemons.items()):
            if daemon.poll() is not None:
                self._note(daemon_name(number - 1), daemon)
                self.kill_daemon(number, "failed")
                self.start_daemon(number)
        for (number, slot), worker in list(self._workers.items()):
            if worker.poll() is not None:
                self._note(self._names[number, slot], worker)
                self.kill_worker(number, slot)
                self.start_worker(number, slot)
        self._strangers = [one for one in self._strangers if one.poll() is None]

    def waited_seconds(self) -> list[float]:
        """How long each daemon that runs now has been ready and had no processor."""
        return list(map(_waited_seconds, self._daemons.values()))

    def _note(self, who: str, process: Process) -> None:
        said = (self.directory / f"{who}.log").read_text(errors="replace").splitlines()
        last = said[-1] if said else "it said nothing"
        code = process.returncode
        how = "did not end" if code is None else f"ended by itself with code {code}"
        self.unexpected.append(f"{who} {how}: {last}")

    def freeze(self) -> None:
        """End the run with all sessions alive: nobody may see the end of anybody else, for
        what is owed is owed to the living."""
        everybody = [*self._daemons.values(), *self._workers.values()]
        for process in everybody:
            os.kill(process.pid, signal.SIGSTOP)
        until = time.monotonic() + FREEZE_SECONDS
        while not all(map(_is_stopped, everybody)) and time.monotonic() < until:
            time.sleep(0.01)

    def kill_all(self) -> None:
        daemons = (*self._daemons.values(), *self._stopping.values())
        for process in (*daemons, *self._workers.values(), *self._strangers):
            _kill(process)

    def _start(
        self, number: int, command: list[str], name: str, environment: dict[str, str]
    ) -> Process:
        with (self.directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*self._spaces.inside(number), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                process_group=0,
            )


def _places(config: Config) -> Places:
    """Numbers of daemons by site, the lowest id first."""
    sites: dict[str, list[tuple[DaemonId, int]]] = {}
    for number, daemon in enumerate(config.daemons, 1):
        sites.setdefault(daemon.site, []).append((daemon.id, number))
    return tuple(tuple(number for _, number in sorted(daemons)) for daemons in sites.values())


def _kill(process: Process) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _has_spoken(client: str, folder: Path) -> bool:
    """One of its sessions has written something; they are called after it."""
    return any(folder.glob(f"{client}s*"))


def _is_stopped(process: Process) -> bool:
    try:
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True  # it is gone
    return state in "TtZ"


def _waited_seconds(process: Process) -> float:
    """The kernel counts it by thread; what daemons do in time, they do in their first."""
    try:
        return int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0  # it is gone
