"""My own site: whom I hear there, what follows from it, and when I say Hello."""

from antiphon.core.effects import Broadcast, Trouble, Word
from antiphon.core.ids import NOBODY, Configuration, DaemonId, Member
from antiphon.core.machine import Instant, Timers
from antiphon.protocol.membership.pace import Pace
from antiphon.protocol.membership.parties import Hearing, Picture
from antiphon.protocol.membership.peers import Peers
from antiphon.protocol.membership.penalties import Penalties
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import Hello, pack_control
from antiphon.wire.packet import Envelope

HELLO = "hello"
LOOK = "look"


class Site:
    def __init__(
        self, me: Member, settings: MembershipSettings, envelope: Envelope, timers: Timers
    ) -> None:
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self._timers = timers
        self.peers = Peers(settings.hear_us)
        self.penalties = Penalties(settings)
        self.pace = Pace(settings)
        self._hearing = Hearing()
        self.picture = Picture(me, {}, self._hearing)
        self._looked_at: Instant | None = None

    @property
    def leading(self) -> bool:
        return self.picture.leader == self._me.daemon

    def counted(self, now: Instant) -> dict[Member, Hello]:
        """The last Hello of everybody who is heard and not left out."""
        hellos = self.peers.hellos(now)
        for daemon in self.penalties.excluded(now):
            hellos = {member: hello for member, hello in hellos.items() if member[0] != daemon}
        return hellos

    def join_accusation(self, now: Instant, hello: Hello, installed: Configuration) -> None:
        """All leave out the one that blocks the window; a single word against it would
        only tear accuser and accused apart."""
        accused = hello.accused
        if hello.config == installed.id and accused not in (NOBODY, self._me.daemon):
            if not self.penalties.excludes(now, accused):
                self.penalties.punish(now, accused)

    def may_look(self, now: Instant) -> bool:
        """At once, but never faster than the gap; else soon, with all that came meanwhile."""
        if self._looked_at is None or now >= self._looked_at + self._settings.look_gap_us:
            return True
        if not self._timers.running(LOOK):
            self._timers.set(LOOK, self._looked_at + self._settings.look_gap_us)
        return False

    def draw(self, now: Instant) -> dict[Member, Hello]:
        """The picture anew, and from what it was drawn."""
        self._timers.clear(LOOK)
        self._looked_at = now
        hellos = self.counted(now)
        before = self.picture.shape
        self.picture = Picture(self._me, hellos, self._hearing)
        if before != self.picture.shape:
            self.pace.changed_at = now
            self.hello_by(now)
        return hellos

    def strangers(self, hellos: dict[Member, Hello]) -> list[DaemonId]:
        """Leaders here that do not come together with me: not all of us hear each other."""
        return [
            member.daemon
            for member, hello in sorted(hellos.items())
            if hello.leader == member.daemon
            and (member not in self.picture.clique or member < self._me)
        ]

    def say_hello(
        self,
        now: Instant,
        installed: Configuration,
        operational: bool,
        trouble: Trouble,
        epoch: int,
    ) -> Word:
        hellos = self.counted(now)
        ring = installed.places.get(self._me)
        alert = not operational or any(installed.places.get(who) != ring for who in hellos)
        calm = operational and self.pace.calm(now)
        hello = Hello(
            installed.id,
            self.picture.leader,
            alert and not calm,
            trouble.reason,
            trouble.accused,
            epoch,
            tuple(hellos),
            tuple(member.daemon for member in self.picture.clique),
        )
        self._timers.clear(HELLO)
        again = self.pace.next(now, alert, calm, self.leading)
        if again is not None:
            self._timers.set(HELLO, again)
        return Broadcast(pack_control(self._envelope, hello))

    def hello_by(self, at: Instant) -> None:
        earliest = self.pace.earliest(at)
        if earliest < self._timers.at(HELLO):
            self._timers.set(HELLO, earliest)
