"""Who goes with whom: a pure picture of who hears whom, and what follows from it.

A configuration needs members that all hear each other, in both directions. From the same
Hellos everybody computes the same parties; where the network is not transitive they are
cliques, and each keeps its own.
"""

from collections.abc import Mapping

from antiphon.core.ids import DaemonId, Member
from antiphon.wire.control import Hello


class Picture:
    """What I know at one moment: my own list and the last Hello of everybody I hear."""

    def __init__(self, me: Member, hellos: Mapping[Member, Hello]) -> None:
        self._me = me
        self._hellos = hellos
        self._heard = {member: frozenset(hello.heard) for member, hello in hellos.items()}
        self.mutual = sorted(member for member in hellos if me in self._heard[member])
        self.clique = self._clique()
        self.leader = self._leader()

    @property
    def shape(self) -> tuple[object, ...]:
        """All that others would want to know of: when it changes, say Hello."""
        return (self.leader, self.clique, self.mutual, sorted(self._hellos))

    def _clique(self) -> tuple[Member, ...]:
        """Greedy by id: everybody who hears all those chosen before, and is heard by them."""
        chosen: list[Member] = []
        for member in self.mutual:
            if all(self._both_ways(member, other) for other in chosen):
                chosen.append(member)
        return tuple(sorted([*chosen, self._me]))

    def _both_ways(self, one: Member, other: Member) -> bool:
        return other in self._heard[one] and one in self._heard[other]

    def _leader(self) -> DaemonId:
        """The lowest daemon that follows itself and would have me; else I lead."""
        for member in self.mutual:
            hello = self._hellos[member]
            if member.daemon >= self._me.daemon:
                break
            if hello.leader == member.daemon and self._me.daemon in hello.clique:
                return member.daemon
        return self._me.daemon

    def party(self) -> tuple[Member, ...]:
        """Of my clique, those who follow me, and I."""
        return tuple(
            member
            for member in self.clique
            if member == self._me or self._hellos[member].leader == self._me.daemon
        )
