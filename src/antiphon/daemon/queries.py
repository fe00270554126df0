"""What operators may ask a daemon and have it do, over a client's connection.

Looking is open to every client that was let in; what changes something is for those that
the configuration names as `admin`.
"""

import os
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from antiphon.core.ids import DaemonId, SessionId
from antiphon.daemon.clock import clock
from antiphon.daemon.driver import Driver
from antiphon.daemon.far import leaders_told, links_told
from antiphon.daemon.logs import Logs
from antiphon.wire.client import Query
from antiphon.wire.packet import WIRE_VERSION

GROUPS_MAX = 10_000
"""In one answer; a longer list says that it was cut."""


class Queries:
    def __init__(self, name: str, started: int) -> None:
        self.admins: tuple[str, ...] = ()
        self.names: Mapping[DaemonId, str] = {}
        self.sites: Mapping[DaemonId, str] = {}
        self.driver: Driver | None = None
        self.logs: Logs | None = None
        self.stop: Callable[[], None] = _impossible
        self.reload: Callable[[], list[str]] = _nothing_new
        self.records: Callable[[], dict[str, Any]] = dict
        self._name = name
        self._started = started
        self._kinds: dict[str, tuple[Callable[[dict[str, Any]], Any], bool]] = {
            "status": (self._status, False),
            "groups": (self._groups, False),
            "members": (self._members, False),
            "stop": (self._stop, True),
            "reload": (self._reload, True),
            "partition": (self._partition, True),
        }

    def answer(self, who: str, query: Query) -> Any:
        if self.logs is not None and query.what in self.logs.kinds:
            return self.logs.answer(who, query.what, query.arguments)
        kind = self._kinds.get(query.what)
        if kind is None:
            known = ", ".join(self._kinds)
            raise ValueError(f"unknown_query: {query.what!r} is not a query; use one of {known}")
        act, for_admins = kind
        if for_admins and not any(fnmatchcase(who, admin) for admin in self.admins):
            raise ValueError(
                f"not_allowed: {who or 'this client'} is not in clients.admin; use the Unix socket "
                f"or a token that is"
            )
        return act(query.arguments)

    def named(self, evidence: str) -> str:
        """With daemons by their names."""
        for id, name in self.names.items():
            evidence = re.sub(rf"\b{id}\b", name, evidence)
        return evidence

    @property
    def _running(self) -> Driver:
        assert self.driver is not None
        return self.driver

    def _status(self, arguments: dict[str, Any]) -> dict[str, Any]:
        driver = self._running
        node = driver.node
        configuration = node.membership.installed
        return {
            "daemon": self._name,
            "id": node.me.daemon,
            "incarnation": node.me.incarnation,
            "pid": os.getpid(),
            "uptime_seconds": (clock() - self._started) / 1e6,
            "state": str(node.membership.state),
            "groups_state": str(node.groups.state),
            "configuration": list(configuration.id),
            "members": [self.names.get(one, str(one)) for one in configuration.daemons],
            "segments": [
                [self.names.get(one.daemon, str(one.daemon)) for one in members]
                for members in configuration.segments
            ],
            "known_daemons": sorted(self.names.values()),
            "sites": {self.names[one]: site for one, site in self.sites.items()},
            "evidence": self.named(node.groups.evidence),
            "links": links_told(node, self.names),
            "leaders": leaders_told(node, self.names),
            "sessions": len(driver.clients),
            "groups": len(node.groups.group_names()),
            "network": dict(driver.datagrams.counts),
            "pipes": dict(driver.pipes.counts),
            "offload": {
                "segmentation": driver.datagrams.segmentation,
                "coalescing": driver.datagrams.coalescing,
            },
            "multicast": [self.names.get(one, str(one)) for one in driver.datagrams.reached],
            "drops": dict(driver.drops),
            "clients": dict(driver.clients.counts),
            "stalls": dict(driver.stalls),
            "silenced": [self.names.get(one, str(one)) for one in driver.datagrams.silenced],
            "records": self.records(),
            "wire_version": WIRE_VERSION,
        }

    def _groups(self, arguments: dict[str, Any]) -> dict[str, Any]:
        names = self._running.node.groups.group_names()
        listed = {name: len(self._group(name)) for name in names[:GROUPS_MAX]}
        return {"groups": listed, "all": len(names)}

    def _members(self, arguments: dict[str, Any]) -> dict[str, Any]:
        name = str(arguments.get("group", ""))
        members = self._group(name)
        if not members:
            raise ValueError(f"unknown_group: nobody is in {name!r}; see `antiphon groups`")
        group = self._running.node.groups.group(name)
        assert group is not None
        rows = [
            {"session": list(session), "name": label, "daemon": self.names.get(session.daemon, "")}
            for session, label in sorted(members.items())
        ]
        return {"group": name, "view": list(group.view), "members": rows}

    def _group(self, name: str) -> dict[SessionId, str]:
        group = self._running.node.groups.group(name)
        return {} if group is None else group.members

    def _stop(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self.stop()
        return {"stopping": self._name}

    def _reload(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"warnings": self.reload()}

    def _partition(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`with`: names of the daemons to stay in touch with; none: everybody again."""
        wanted = arguments.get("with")
        if wanted is not None and not isinstance(wanted, list):
            raise ValueError("bad_argument: `with` is not a list; give names of daemons")
        if wanted is None:
            self._running.silence(())
            return {"silenced": []}
        ids = {name: id for id, name in self.names.items()}
        unknown = sorted(set(map(str, wanted)) - set(ids))
        if unknown:
            raise ValueError(f"unknown_daemon: {', '.join(unknown)}; known are {', '.join(ids)}")
        kept = {ids[str(name)] for name in wanted}
        mine = self._running.node.me.daemon
        silenced = {id for id in self.names if id not in kept and id != mine}
        self._running.silence(silenced)
        return {"silenced": sorted(self.names[id] for id in silenced)}


def _impossible() -> None:
    raise ValueError("not_running: the daemon is not running yet; try again")


def _nothing_new() -> list[str]:
    return []
