"""What a client may ask about kept groups, answered from the node's index and the files."""

from typing import Any

from antiphon.core.errors import UsageError
from antiphon.core.offsets import Offset, parse_branch, parse_offset
from antiphon.daemon.store import Store
from antiphon.protocol.node import Node
from antiphon.protocol.retain.finding import Gap

READ_BYTES = 256 * 1024
READ_BYTES_MAX = 512 * 1024
ROWS_MAX = 1 << 62


class Logs:
    def __init__(self, node: Node, store: Store | None) -> None:
        self._node = node
        self._store = store
        self.kinds = {"log_ends": self._ends, "log_after": self._after, "log_read": self._read}

    def answer(self, who: str, what: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Whoever may join a group may read its log."""
        group = str(arguments.get("group", ""))
        if not self._node.groups.keeping.is_kept(group):
            raise ValueError(f"not_kept: {group!r} is not kept; add it as [[retain]] to the file")
        if not self._node.sessions.may_join(who, group):
            raise ValueError(f"not_allowed: {who or 'this client'} may not join {group!r}")
        try:
            return self.kinds[what](group, arguments)
        except (KeyError, TypeError) as error:
            raise ValueError(f"bad_argument: {error} of {what}") from None
        except UsageError as error:
            raise ValueError(f"{error.code}: {error}") from None

    def _ends(self, group: str, arguments: dict[str, Any]) -> dict[str, Any]:
        finder = self._node.log(group)
        return {"earliest": str(finder.earliest), "latest": str(finder.latest)}

    def _after(self, group: str, arguments: dict[str, Any]) -> dict[str, Any]:
        offset = parse_offset(str(arguments["offset"]))
        until = arguments.get("until")
        last = None if until is None else parse_offset(str(until))
        found = self._node.log(group).after(offset, int(arguments.get("rows", ROWS_MAX)), last)
        if isinstance(found, Gap):
            return {"gap": _gap(found)}
        return {
            "ranges": [[str(one.branch), one.first, one.last] for one in found.ranges],
            "end": str(found.end),
            "others": [str(Offset(*one)) for one in found.others],
        }

    def _read(self, group: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Whole entries, at least one of them whatever its size."""
        branch = parse_branch(str(arguments["branch"]))
        first, last = int(arguments["first"]), int(arguments["last"])
        finder = self._node.log(group)
        part = finder.part_with(branch, first)
        if part is None:
            found = finder.after(Offset(branch, first - 1), 1)
            if not isinstance(found, Gap):
                found = Gap("missing", branch, first, last, finder.latest)
            return {"gap": _gap(found)}
        assert self._store is not None, "what is kept has a store"
        wanted = min(int(arguments.get("bytes", READ_BYTES)), READ_BYTES_MAX)
        at, end, behind = part.span(first, last, wanted)
        return {"entries": self._store.read(part.key, at, end - at), "next": behind}


def _gap(gap: Gap) -> dict[str, Any]:
    return {
        "code": gap.code,
        "branch": str(gap.branch) if gap.branch.config.epoch else "",
        "first": gap.first,
        "last": gap.last,
        "resume": str(gap.resume),
    }
