"""Two ends of a TCP link, and pipes between them that come up, break, fill and fall silent."""

from antiphon.core.effects import Arrived, Dial, HangUp, LinkDead, Pour, Word
from antiphon.core.machine import MILLISECOND, NEVER, Instant
from antiphon.protocol.links.memory import Memory
from antiphon.protocol.links.news import LinkId
from antiphon.protocol.links.pipe import Pipe
from antiphon.protocol.links.settings import HopSettings
from antiphon.protocol.links.tcp_settings import TcpSettings
from antiphon.protocol.links.tube import Tube
from antiphon.wire.link import LinkPacket, read_link_packet
from tests.unit.protocol.links.channel import BIRTH, ONE, TWO, Clockwork, head_of

DELAY_US = 10 * MILLISECOND
ROOM = 1 << 20


class TubeEnd:
    """A tube and the driver under it."""

    def __init__(self, conduit: "Conduit", link: LinkId, settings: TcpSettings) -> None:
        self.conduit = conduit
        self.pipe = Pipe(link.peer.daemon)
        self.tube = Tube(link, head_of(link.me), settings, Memory(HopSettings()), self.pipe)
        self.other: TubeEnd
        self.born = False
        """A pipe may be there before its link."""

        self.connection = 0
        """Which one this end has now; 0: none."""

        self.arrived: list[bytes] = []
        self.dead: list[str] = []
        self.poured: list[LinkPacket] = []
        self.dialled_at: list[Instant] = []
        self._alarm: Instant = NEVER

    @property
    def now(self) -> Instant:
        return self.conduit.clock.now

    def begin(self) -> None:
        self.born = True
        self.perform(self.tube.begin(self.now))

    def send(self, *objects: bytes) -> None:
        self.perform(self.tube.send(self.now, *objects))

    def pipe_up(self, connection: int, room: int) -> None:
        self.connection = connection
        self.pipe.came_up(self.tube.link.peer, room)
        if self.born:
            self.perform(self.tube.pipe_up(self.now))

    def pipe_down(self, connection: int) -> None:
        if self.connection == connection:
            self.connection = 0
            self.pipe.went_down()
            self.perform(self.tube.pipe_down(self.now))

    def give_room(self, room: int) -> None:
        self.pipe.room = room
        self.perform(self.tube.pipe_room(self.now))

    def hear(self, connection: int, packet: LinkPacket) -> None:
        if self.connection == connection and self.born:
            outcome = self.tube.receive(self.now, packet)
            assert isinstance(outcome, list), outcome
            self.perform(outcome)

    def perform(self, effects: list[Word]) -> None:
        for effect in effects:
            if isinstance(effect, Pour):
                packet = read_link_packet(effect.packet, *self.tube.link.me)
                self.poured.append(packet)
                self.conduit.carry(self, packet)
            elif isinstance(effect, Arrived):
                self.arrived.append(effect.data)
            elif isinstance(effect, Dial):
                self.dialled_at.append(self.now)
                self.conduit.dial(self)
            elif isinstance(effect, HangUp):
                self.conduit.hang_up(self)
            else:
                assert isinstance(effect, LinkDead)
                self.dead.append(effect.reason)
        self._set_alarm()

    def _set_alarm(self) -> None:
        at = max(self.tube.deadline(), self.now)
        if at < NEVER and at != self._alarm:
            self._alarm = at
            self.conduit.clock.at(at, lambda: self._ring(at))

    def _ring(self, at: Instant) -> None:
        if at == self._alarm:
            self._alarm = NEVER
            self.perform(self.tube.wake(self.now))


class Conduit:
    """What lies between two ends."""

    def __init__(self, settings: TcpSettings, room: int = ROOM, seed: int = 1) -> None:
        self.clock = Clockwork(seed)
        self.room = room
        self.answers = True
        """False: nobody takes a call, and nobody says so."""

        self.silent = False
        """What is poured never arrives, and nobody is told."""

        self._connections = 0
        self.one = TubeEnd(self, LinkId(ONE, TWO, BIRTH), settings)
        self.two = TubeEnd(self, LinkId(TWO, ONE, BIRTH), settings)
        self.one.other, self.two.other = self.two, self.one

    def begin(self) -> None:
        self.one.begin()
        self.two.begin()

    def run(self, us: int) -> None:
        self.clock.run(self.clock.now + us)

    def dial(self, caller: TubeEnd) -> None:
        if not self.answers:
            return
        self._connections += 1
        made, now, called = self._connections, self.clock.now, caller.other
        self.clock.at(now + 3 * DELAY_US, lambda: called.pipe_up(made, self.room))
        self.clock.at(now + 2 * DELAY_US, lambda: caller.pipe_up(made, self.room))

    def carry(self, sender: TubeEnd, packet: LinkPacket) -> None:
        made, target = sender.connection, sender.other
        assert made, "poured without a pipe"
        if not self.silent:
            self.clock.at(self.clock.now + DELAY_US, lambda: target.hear(made, packet))

    def hang_up(self, end: TubeEnd) -> None:
        made, other, end.connection = end.connection, end.other, 0
        if made and not self.silent:
            self.clock.at(self.clock.now + DELAY_US, lambda: other.pipe_down(made))

    def snap(self, late_us: int = 0) -> None:
        """What is on its way is lost; the second end notices so much later than the first."""
        one, two = self.one.connection, self.two.connection
        self.one.pipe_down(one)
        self.clock.at(self.clock.now + late_us, lambda: self.two.pipe_down(two))
