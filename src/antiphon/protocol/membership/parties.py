"""Who goes with whom: a pure picture of who hears whom, and what follows from it.

A configuration needs members that all hear each other, in both directions. From the same
Hellos everybody computes the same parties; where the network is not transitive they are
cliques, and each keeps its own.
"""

from collections.abc import Mapping
from functools import reduce
from operator import and_

from antiphon.core.ids import DaemonId, Member
from antiphon.wire.control import Hello

BITS_SPARE = 256
"""So many members of former times are remembered before bits are dealt anew."""


class Hearing:
    """Whom each member hears, as a mask: worked out once for a Hello, quickly compared."""

    def __init__(self) -> None:
        self.bits: dict[Member, int] = {}
        """Of everybody who said a Hello, and whom they hear."""

        self._masks: dict[Member, tuple[Hello, int]] = {}

    def bit(self, member: Member) -> int:
        bit = self.bits.get(member)
        if bit is None:
            bit = self.bits[member] = 1 << len(self.bits)
        return bit

    def masks(self, hellos: Mapping[Member, Hello]) -> dict[Member, int]:
        if len(self.bits) > 2 * len(hellos) + BITS_SPARE:
            self.bits.clear()
            self._masks.clear()
        found = {}
        masks = self._masks
        for member, hello in hellos.items():
            known = masks.get(member)
            if known is None or known[0] is not hello:
                self.bit(member)
                known = masks[member] = (hello, self._mask(hello))
            found[member] = known[1]
        return found

    def _mask(self, hello: Hello) -> int:
        """Each member is heard once."""
        try:
            return sum(map(self.bits.__getitem__, hello.heard))
        except KeyError:  # nearly never: somebody whom nobody has heard so far
            return sum(map(self.bit, hello.heard))


class Picture:
    """What I know at one moment: my own list and the last Hello of everybody I hear."""

    def __init__(
        self, me: Member, hellos: Mapping[Member, Hello], hearing: Hearing | None = None
    ) -> None:
        self._me = me
        self._hellos = hellos
        hearing = hearing or Hearing()
        masks = hearing.masks(hellos)
        my_bit = hearing.bit(me)
        self.heard = sorted(hellos)
        self.mutual = [member for member in self.heard if masks[member] & my_bit]
        self.clique = self._clique(hearing, masks)
        self.leader = self._leader()

    @property
    def shape(self) -> tuple[object, ...]:
        """All that others would want to know of: when it changes, say Hello."""
        return (self.leader, self.clique, self.mutual, self.heard)

    def _clique(self, hearing: Hearing, masks: dict[Member, int]) -> tuple[Member, ...]:
        """Greedy by id: everybody who hears all those chosen before, and is heard by them."""
        bits = hearing.bits
        everybody = sum([bits[member] for member in self.mutual])
        hears = [masks[member] | bits[member] for member in self.mutual]
        if reduce(and_, hears, everybody) == everybody:
            return tuple(sorted([*self.mutual, self._me]))
        chosen: list[Member] = []
        chosen_bits, heard_by_all = 0, -1
        for member in self.mutual:
            bit, mask = bits[member], masks[member]
            if heard_by_all & bit and not chosen_bits & ~mask:
                chosen.append(member)
                chosen_bits |= bit
                heard_by_all &= mask | bit
        return tuple(sorted([*chosen, self._me]))

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
