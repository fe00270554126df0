"""What becomes of the bundles of a configuration that ends (docs/protocols/recovery.md).

All who come along from the old configuration (T) read the same holdings, so each rule
below gives the same answer at all of them; that is virtual synchrony (D4).
"""

from hashlib import blake2b
from struct import Struct

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Recover
from antiphon.core.ids import DaemonId, Member
from antiphon.core.ranges import RangeSet
from antiphon.core.service import Service

UNLIMITED = 1 << 62
MEMBER = Struct(">QQ")


class Plan:
    """Made from the holdings of T alone."""

    def __init__(self, recover: Recover) -> None:
        self.together: tuple[Member, ...] = tuple(member for member, _ in recover.holdings)
        packed = b"".join(MEMBER.pack(*member) for member in self.together)
        self.lineage = int.from_bytes(blake2b(packed, digest_size=8).digest(), "big")
        """Names T: behind a hole others may order group changes on another ground."""

        self.any_holds = RangeSet()
        """Bundles that somebody of T holds."""

        self.early = RangeSet()
        """Bundles that somebody of T delivered ahead of the order, or pledged to."""

        self._holders = [
            (member.daemon, RangeSet(holdings.held)) for member, holdings in recover.holdings
        ]
        for _, holdings in recover.holdings:
            self.any_holds.update(RangeSet(holdings.held))
            self.early.update(RangeSet(holdings.early))
        self.complete_to = UNLIMITED
        self.stable_to = UNLIMITED
        if not recover.whole:
            self.complete_to = self._complete_run(
                max(holdings.complete for _, holdings in recover.holdings)
            )
            self.stable_to = max(holdings.stable for _, holdings in recover.holdings)

    def _complete_run(self, start: int) -> int:
        """Up to here nobody of T misses anything: what one had, all will have."""
        end = start
        while end + 1 in self.any_holds:
            end += 1
        return end

    def missing(self, complete: int, held: dict[int, Bundle]) -> RangeSet:
        """What I have to get before I can be ready."""
        missing = RangeSet()
        for sequence in self.any_holds:
            if sequence > complete and sequence not in held:
                missing.add(sequence)
        return missing

    def holder(self, sequence: int, spread: int) -> DaemonId:
        """Whom to ask; members that miss the same ask different holders."""
        holders = [daemon for daemon, held in self._holders if sequence in held]
        return holders[(spread + sequence // 64) % len(holders)]

    def survives(self, bundle: Bundle) -> bool:
        """Is it delivered, or was it sent by a departed member behind a possible hole, and
        seen by nobody?"""
        return (
            bundle.sequence <= self.complete_to
            or bundle.sender in self.together
            or bundle.sequence in self.early
        )

    def regular(self, bundle: Bundle) -> bool:
        """May it be delivered while the old configuration is still told as a whole?"""
        if bundle.sequence > self.complete_to:
            return False
        return bundle.service != Service.SAFE or bundle.sequence <= self.stable_to


def holding_runs(held: dict[int, Bundle]) -> tuple[tuple[int, int], ...]:
    return tuple(RangeSet((sequence, sequence) for sequence in sorted(held)).runs())
