"""One daemon as a process: from a configuration to a running driver, and to a clean end.

start    sockets first, so that what is in use is found before anything is written
reload   other daemons, limits, rules, keys and tokens; what takes a restart is named
stop     takes nothing more from clients, sends what it accepted until all others hold it, tells
         clients and daemons, leaves
"""

import gc
import os
import re
import resource
import secrets
import signal
import socket
import time
from pathlib import Path
from random import Random

from antiphon.core.errors import ConfigError
from antiphon.core.ids import DaemonId, Incarnation, Member
from antiphon.core.machine import SECOND, Instant
from antiphon.core.trace import Kind, Level, Record
from antiphon.daemon.clients import ANSWERS_BYTES_MAX
from antiphon.daemon.clock import clock
from antiphon.daemon.config.config import Config, load
from antiphon.daemon.config.declaration import DaemonEntry
from antiphon.daemon.config.reload import restart_needed
from antiphon.daemon.datagrams import Datagrams, SocketAddress, resolve
from antiphon.daemon.driver import Driver
from antiphon.daemon.listeners import (
    SPREAD_MODE,
    listen_beside,
    listen_tcp,
    listen_unix,
    read_tokens,
    spread_path,
    tls_context,
)
from antiphon.daemon.log import Log
from antiphon.daemon.logs import Logs
from antiphon.daemon.memory import keep_freed_memory
from antiphon.daemon.multicast import Reach
from antiphon.daemon.native import bundle_bytes_for
from antiphon.daemon.queries import Queries
from antiphon.daemon.secure.keyfile import read_keys
from antiphon.daemon.secure.plain import Plain
from antiphon.daemon.secure.seal import Seal
from antiphon.daemon.store import Store
from antiphon.protocol.node import Node
from antiphon.protocol.presets import NodeSettings
from antiphon.records.writer import SegmentWriter

DRAIN_US = 2 * SECOND
"""How long a stopping daemon waits at most until all others hold what it accepted."""

USUAL_DROPS = frozenset(
    "own duplicate old_token other_configuration frozen old_incarnation other_attempt "
    "old_proposal not_proposed not_my_leader too_late unproven".split()
)
"""What a healthy network brings now and then; counted, but no news."""

GOODBYE_US = SECOND // 5
"""And how long it then writes to its clients."""


class Daemon:
    def __init__(self, config: Config, name: str, path: Path | None = None) -> None:
        if not __debug__:
            raise ConfigError(
                "python", "assertions are off", "run without -O and without PYTHONOPTIMIZE"
            )
        self.config = config
        self.entry = config.daemon(name)
        self._path = path
        self._stopping = False
        self._reload_wanted = False
        self._awaited: set[str] = set()
        """Keys that have changed and wait for the next start."""

        started = clock()
        self.log = _open_log(config)
        self.me = Member(self.entry.id, new_incarnation())
        self.queries = Queries(name, started)
        self.seal = _seal(config, self.me)
        self._recorder: SegmentWriter | None = None
        self._last_view: tuple[object, object] = ((), ())
        self._spread_path: Path | None = None
        self.driver = self._make_driver()
        self._recorder = self._make_recorder()

    def _make_driver(self) -> Driver:
        entry, config = self.entry, self.config
        datagrams = _open_datagrams(entry, config)
        store = _open_store(config, entry.name)
        settings = self._node_settings(config).within(datagrams.buffer_bytes)
        found = [] if store is None else list(store.found(settings.level == Level.ALL))
        node = Node(self.me, settings, Random(secrets.randbits(64)), stored=found)
        driver = Driver(
            node, entry.name, datagrams, self.seal, self._hear, self.queries.answer, store
        )
        if config.is_reached_by_tcp(entry):
            driver.pipes.listen(_open_pipes(entry))
        for listener in _open_listeners(entry, config.clients.unix_mode):
            driver.listen(listener)
        self._open_spread_door(driver)
        if config.network.multicast is not None:
            driver.reach = Reach(config.cluster_hash(), self.me)
        driver.clients.native.named = self.queries.named
        driver.clients.native.bundle_bytes = bundle_bytes_for(
            settings.stream.packet_bytes, len(settings.daemons)
        )
        self.queries.driver = driver
        self.queries.logs = Logs(node, store)
        self.queries.stop = self.stop
        self.queries.reload = self.reload
        self._apply(driver, config)
        return driver

    def _open_spread_door(self, driver: Driver) -> None:
        """A convenience of Spread's clients: without it they come by TCP."""
        path = spread_path(self.config.spread, self.entry.clients)
        if path is None:
            return
        try:
            door = listen_unix(path, SPREAD_MODE)
        except (OSError, ConfigError) as error:
            self.log.warning("spread", f"no clients at {path}: {error}")
            return
        self._spread_path = path
        driver.clients.spread_door = door
        driver.listen(door)

    def _node_settings(self, config: Config) -> NodeSettings:
        return config.node_settings(self.entry.name).with_room_for(self.seal.overhead)

    def _apply(self, driver: Driver, config: Config) -> None:
        """What a reload can change; nothing of it, if something cannot be had."""
        others = [one for one in config.daemons if one.name != self.entry.name]
        addresses = {one.id: _address(one) for one in others}
        tokens = read_tokens(config.clients.tokens_file)
        tls = tls_context(config.clients)
        if isinstance(self.seal, Seal) and config.encrypted:
            self.seal.load(read_keys(Path(config.cluster.key_file)))
        far = [one.id for one in others if one.site != self.entry.site]
        driver.datagrams.know(addresses, far)
        driver.pipes.know(addresses)
        driver.clients.tokens = tokens
        driver.clients.tls = tls
        named = [(one.id, one.name) for one in config.daemons]
        driver.clients.spread.load(config.spread.enabled, named, config.spread.addresses)
        driver.busy_poll_us = config.network.busy_poll
        driver.clients.waiting_bytes_max = config.limits.backlog_bytes + ANSWERS_BYTES_MAX
        self.queries.admins = config.clients.admin
        self.queries.names = {one.id: one.name for one in config.daemons}
        self.queries.sites = {one.id: one.site for one in config.daemons}

    def _make_recorder(self) -> SegmentWriter | None:
        records = self.config.records
        if Level(records.level) == Level.OFF:
            return None
        run = f"{self.me.incarnation:x}"
        recorder = SegmentWriter(
            Path(records.directory),
            self.entry.name,
            "daemon",
            run,
            clock,
            max_bytes=records.max_bytes,
            max_age_us=records.max_age,
        )
        self.driver.spill = lambda: recorder.spill(clock())
        self.driver.tidy = recorder.maybe_rotate
        self.queries.records = lambda: {
            "written": recorder.written,
            "dropped": dict(recorder.dropped),
        }
        return recorder

    # Running.

    def run(self) -> None:
        """Until it is told to stop."""
        wake, poke = socket.socketpair()
        for end in (wake, poke):
            end.setblocking(False)
        signal.set_wakeup_fd(poke.fileno())
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        signal.signal(signal.SIGINT, lambda *_: self.stop())
        signal.signal(signal.SIGHUP, lambda *_: self._want_reload())
        self.driver.watch(wake.fileno())
        _raise_file_limit()
        keep_freed_memory()
        self.log.info(
            "start",
            f"daemon {self.entry.name} of cluster {self.config.cluster.name}",
            address=str(self.entry.address),
            encrypted=self.config.encrypted,
        )
        self._hear(Record(Kind.START, clock(), *self.me, detail=self.entry.site))
        gc.collect()
        gc.freeze()
        self.driver.start()
        try:
            while not self._stopping:
                self.driver.turn(clock() + SECOND)
                if self._reload_wanted:
                    self._reload_wanted = False
                    _drain(wake)
                    self._try_reload()
            _drain(wake)
            self._drain_and_leave()
        finally:
            signal.set_wakeup_fd(-1)
            self._close()

    def stop(self) -> None:
        self._stopping = True

    def _want_reload(self) -> None:
        self._reload_wanted = True

    def _drain_and_leave(self) -> None:
        """What was accepted is with all others before the sessions end; then everybody is
        told."""
        driver = self.driver
        driver.stop_listening()
        driver.clients.stop_reading()
        self._turn_while_busy(clock() + DRAIN_US)
        driver.clients.say_goodbye("daemon_stopping")
        self._turn_while_busy(clock() + DRAIN_US)
        until = clock() + GOODBYE_US
        while clock() < until:
            driver.turn(until)
        driver.leave()

    def _turn_while_busy(self, until: Instant) -> None:
        while self.driver.node.busy() and clock() < until:
            self.driver.turn(until)

    def _close(self) -> None:
        record = Record(Kind.STOP, clock(), *self.me)
        record.reason = "stopped" if self._stopping else "failed"
        self._hear(record)
        if self._recorder is not None:
            self._recorder.close()
        self.driver.close()
        if self.entry.socket:
            Path(self.entry.socket).unlink(missing_ok=True)
        if self._spread_path is not None:
            self._spread_path.unlink(missing_ok=True)
        self.log.info("stop", f"daemon {self.entry.name}: {record.reason}")

    # Reload.

    def reload(self) -> list[str]:
        """Take the file as it is now; what takes a restart is named and left as it was."""
        if self._path is None:
            raise ValueError("no_file: this daemon was started without a file; restart it")
        new = load(self._path)
        needed = list(restart_needed(self.config, new, self.entry.name))
        if any(key == "daemon" or key.startswith("cluster.name") for key in needed):
            raise ValueError(f"restart_needed: {', '.join(needed)} cannot change while it runs")
        settings = self._node_settings(new)
        log = self.log if new.log == self.config.log else _open_log(new)
        self._apply(self.driver, new)
        self.log = log
        self._awaited.update(needed)
        joints = any(re.match("edge|overlay|hop", key) for key in self._awaited)
        self.driver.node.reload(settings, "daemon.site" not in self._awaited, not joints)
        self.config = new
        warnings = [f"{key} changes with the next start" for key in needed]
        self.log.info("reload", "; ".join(warnings) or "done")
        return warnings

    def _try_reload(self) -> None:
        try:
            self.reload()
        except (ConfigError, ValueError) as error:
            self.log.error("reload", f"refused, everything stays as it was: {error}")

    # Records.

    def _hear(self, record: Record) -> None:
        kind = record.kind
        if self._recorder is not None and not (kind == Kind.VIEW and self._is_repeated(record)):
            self._recorder.add(record)
        if kind == Kind.INSTALL:
            names = self.queries.names
            members = ", ".join(names.get(one.daemon, str(one.daemon)) for one in record.members)
            self.log.info("view", f"{{{members}}}: {self.queries.named(record.detail)}")
        elif kind == Kind.DROP and record.reason not in USUAL_DROPS:
            self.log.repeated("drop", record.reason, f"{record.reason} {record.detail}".rstrip())
        elif kind == Kind.REFUSE:
            self.log.repeated("refuse", record.reason, f"session {record.session}: {record.reason}")
        elif kind == Kind.CLOSE and record.reason != "client":
            text = f"session {record.session} cut off: {record.reason}"
            self.log.warning("close", text, backlog=record.value)
        elif kind == Kind.TROUBLE:
            accused = self.queries.names.get(DaemonId(record.peer), "nobody")
            self.log.warning("trouble", f"{record.reason}, accused: {accused}")
        elif kind == Kind.VIEW:
            members = f"{len(record.sessions)} members"
            self.log.debug("group", f"{record.groups[0]}: {members} by {record.reason}")

    def _is_repeated(self, record: Record) -> bool:
        """At level views, one row tells of a view for all sessions here: a row for each, with
        all members in it, would grow with their square."""
        told = (record.groups, record.views)
        repeated = told == self._last_view and self.config.records.level != Level.ALL
        self._last_view = told
        return repeated


def new_incarnation() -> Incarnation:
    """Of a life that begins now."""
    return Incarnation(time.time_ns() // 1_000_000 << 20 | secrets.randbits(20))


def _seal(config: Config, me: Member) -> Seal | Plain:
    if not config.encrypted:
        return Plain()
    return Seal(read_keys(Path(config.cluster.key_file)), me, os.urandom)


def _open_log(config: Config) -> Log:
    log = config.log
    return Log(log.file, log.format, log.level, log.max_bytes, log.max_age)


def _open_store(config: Config, name: str) -> Store | None:
    """Only where something is kept: nobody else needs a folder."""
    if not config.retain:
        return None
    store = Store(Path(config.store.directory) / name)
    store.prepare()
    return store


def _address(entry: DaemonEntry) -> SocketAddress:
    return resolve(entry.address.host, entry.address.port)


def _open_datagrams(entry: DaemonEntry, config: Config) -> Datagrams:
    multicast = config.network.multicast
    try:
        return Datagrams(_address(entry), config.network.offload == "auto", multicast)
    except OSError as error:
        raise _unusable("daemon.address", str(entry.address), error) from None


def _open_pipes(entry: DaemonEntry) -> socket.socket:
    """Where other daemons call: the same place, by TCP."""
    try:
        return listen_tcp(*_address(entry))
    except OSError as error:
        raise _unusable("daemon.address", f"{entry.address} by TCP", error) from None


def _open_listeners(entry: DaemonEntry, unix_mode: int) -> list[socket.socket]:
    listeners = []
    for address in entry.clients:
        try:
            listeners.append(listen_tcp(address.host, address.port))
            beside = listen_beside(address.host, address.port)
            listeners += [] if beside is None else [beside]
        except OSError as error:
            raise _unusable("daemon.clients", str(address), error) from None
    if entry.socket:
        try:
            listeners.append(listen_unix(Path(entry.socket), unix_mode))
        except OSError as error:
            raise _unusable("daemon.socket", entry.socket, error) from None
    return listeners


def _unusable(key: str, where: str, error: OSError) -> ConfigError:
    what = f"{where}: {(error.strerror or str(error)).lower()}"
    return ConfigError(key, what, "stop whoever uses it, or choose another")


def _raise_file_limit() -> None:
    """Each client takes a file, and shells allow fewer than the limit of sessions."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError):
        pass  # then it stays as it was


def _drain(end: socket.socket) -> None:
    try:
        while end.recv(4096):
            pass
    except BlockingIOError:
        pass
