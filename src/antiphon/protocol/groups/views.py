"""Group view arithmetic: ids, cuts, who stayed together."""

from collections.abc import Set
from hashlib import blake2b

import msgspec

from antiphon.core.ids import ConfigId, DaemonId, Labelled, Member, SessionId, ViewId

_encoder = msgspec.msgpack.Encoder()


def cut_view_id(config: ConfigId, base: ConfigId, cut: ViewId) -> ViewId:
    """The id of `cut`, a view of configuration `base`, cut down at the install of `config`.

    The base is part of it: of two holders of a view one may have missed an install in
    between; they cut it by different sets, and must not call the results by one name.
    """
    digest = blake2b(_encoder.encode((base, cut)), digest_size=8).digest()
    return ViewId(config, 0, int.from_bytes(digest, "big"))


def era_of(view: ViewId) -> int:
    """A number for the era that a view begins; the upper half tells who coordinated it."""
    digest = blake2b(_encoder.encode(view), digest_size=4).digest()
    return (view.config.coordinator % 2**32) << 32 | int.from_bytes(digest, "big")


class Group:
    """A group as this daemon knows it: its view and its members, which never change."""

    __slots__ = ("view", "members", "changed_at", "era", "index", "_sessions", "_labelled")

    def __init__(
        self,
        view: ViewId,
        members: dict[SessionId, str],
        changed_at: int,
        era: int | None = None,
        index: int = 1,
    ) -> None:
        self.view = view
        self.era = era_of(view) if era is None else era
        self.index = index
        self.members = members
        """Session and its name; sorted when told, once for all who are told."""

        self._sessions: tuple[SessionId, ...] | None = None
        self._labelled: tuple[Labelled, ...] | None = None

        self.changed_at = changed_at
        """Position of the change that made the view; 0 if made before this configuration."""

    def changed(self, view: ViewId, members: dict[SessionId, str]) -> "Group":
        """After a join or leave in the order; the era goes on."""
        return Group(view, members, view.position, self.era, self.index + 1)

    def sessions(self) -> tuple[SessionId, ...]:
        if self._sessions is None:
            self._sessions = tuple(sorted(self.members))
        return self._sessions

    def labelled(self) -> tuple[Labelled, ...]:
        """Each session with its name."""
        if self._labelled is None:
            self._labelled = tuple((one, self.members[one]) for one in self.sessions())
        return self._labelled

    def daemons(self) -> tuple[DaemonId, ...]:
        """Where its members are."""
        return tuple(dict.fromkeys([session.daemon for session in self.members]))

    def loses(self, coming: Set[Member]) -> bool:
        """Has it sessions of daemons that do not come along?"""
        return any(session[:2] not in coming for session in self.members)
