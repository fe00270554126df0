"""The last Hello of everybody, and whether it still counts."""

from antiphon.core.ids import Configuration, DaemonId, Member
from antiphon.core.machine import Instant
from antiphon.wire.control import Hello


class Peer:
    __slots__ = ("member", "hello", "at", "backed")

    def __init__(self, member: Member, hello: Hello, at: Instant, backed: bool) -> None:
        self.member = member
        self.hello = hello
        self.at = at
        self.backed = backed
        """A member of the ring that runs: its word counts although it says no Hello."""


class Peers:
    def __init__(self, hear_us: int) -> None:
        self.hear_us = hear_us
        """Who is silent for longer does not count. Shorter while all greet quickly."""

        self._peers: dict[DaemonId, Peer] = {}
        self._gone: dict[Member, Instant] = {}
        self._left: dict[DaemonId, tuple[Member, Instant]] = {}
        """The last life of each that said that it leaves, and when."""

    def hear(self, now: Instant, sender: Member, hello: Hello) -> bool | str:
        """Whether this Hello brings anything new, or why it is refused."""
        if self.has_left(sender):
            if now - self._left[sender.daemon][1] <= self.hear_us:
                return "old_incarnation"  # it was under way for longer than the goodbye
            del self._left[sender.daemon]  # it lives; somebody else spoke in its name
        peer = self._peers.get(sender.daemon)
        if peer is None or peer.member != sender:
            if peer is not None and sender.incarnation < peer.member.incarnation:
                if self._fresh(now, peer):
                    return "old_incarnation"  # until its newer life is silent (clock set back)
            self._peers[sender.daemon] = Peer(sender, hello, now, False)
            self._sort()
            return True
        news = peer.hello != hello or not self._fresh(now, peer)
        peer.hello = hello
        peer.at = now
        return news

    def _fresh(self, now: Instant, peer: Peer) -> bool:
        return peer.backed or now - peer.at <= self.hear_us

    def hellos(self, now: Instant) -> dict[Member, Hello]:
        """Of everybody whose word counts; sorted."""
        silent = now - self.hear_us
        return {
            peer.member: peer.hello
            for peer in self._peers.values()
            if peer.backed or peer.at >= silent
        }

    def _sort(self) -> None:
        """By daemon: pictures are drawn often, and newcomers are seldom."""
        self._peers = dict(sorted(self._peers.items()))

    def trust_ring(self, now: Instant, configuration: Configuration, me: Member) -> None:
        """A new ring runs: all its members hear each other and follow its leader. Who fell
        silent before does not count again because from now on silence may last longer."""
        self._gone.clear()
        peers = self._peers.items()
        self._peers = {daemon: peer for daemon, peer in peers if self._fresh(now, peer)}
        for peer in self._peers.values():
            peer.backed = False
        daemons = configuration.daemons
        hello = Hello(
            configuration.id,
            daemons[0],
            False,
            "",
            DaemonId(0),
            configuration.id.epoch,
            configuration.members,
            daemons,
        )
        for member in configuration.members:
            if member != me and not self.has_left(member):
                self._peers[member.daemon] = Peer(member, hello, now, True)
        self._sort()

    def doubt_ring(self, now: Instant) -> None:
        """The ring stops for a change: from now on its members count by their Hellos."""
        for peer in self._peers.values():
            if peer.backed:
                peer.backed = False
                peer.at = now

    def forget_ring(self) -> None:
        """The ring stands still: only who says Hello from now on is there."""
        self._gone.update({peer.member: peer.at for peer in self._peers.values() if peer.backed})
        self._peers = {daemon: peer for daemon, peer in self._peers.items() if not peer.backed}

    def forget(self, daemon: DaemonId) -> None:
        """It did not answer; let it say Hello again."""
        peer = self._peers.pop(daemon, None)
        if peer is not None:
            self._gone[peer.member] = peer.at

    def leave(self, now: Instant, member: Member) -> None:
        """It has said that it stops, so nobody waits for it to be silent."""
        peer = self._peers.get(member.daemon)
        if peer is None or peer.member.incarnation <= member.incarnation:
            self._left[member.daemon] = (member, now)
            self.forget(member.daemon)

    def has_left(self, member: Member) -> bool:
        return member.daemon in self._left and self._left[member.daemon][0] == member

    def last_heard(self, member: Member) -> Instant:
        """Its last Hello, or the install of the ring it was in."""
        peer = self._peers.get(member.daemon)
        if peer is not None and peer.member == member:
            return peer.at
        return self._gone.get(member, 0)

    def next_silence(self, now: Instant) -> Instant | None:
        """When the first of those who are counted by their Hellos would be silent too long."""
        times = [
            peer.at + self.hear_us + 1
            for peer in self._peers.values()
            if not peer.backed and self._fresh(now, peer)
        ]
        return min(times, default=None)

    def skip(self, gap: Instant) -> None:
        for peer in self._peers.values():
            peer.at += gap
