"""What a daemon knows of its pipe to another: outlives the links over it."""

from antiphon.core.effects import Dial, HangUp, Pour
from antiphon.core.ids import DaemonId, Member


class Pipe:
    __slots__ = ("peer", "life", "dialling", "room")

    def __init__(self, peer: DaemonId) -> None:
        self.peer = peer
        self.life: Member | None = None
        """Who is at the other end, while it is up."""

        self.dialling = False
        self.room = 0

    def is_up_to(self, member: Member) -> bool:
        return self.life == member

    @property
    def in_use(self) -> bool:
        return self.dialling or self.life is not None

    def came_up(self, life: Member, room: int) -> None:
        self.life = life
        self.room = room
        self.dialling = False

    def went_down(self) -> None:
        self.life = None
        self.dialling = False
        self.room = 0

    def dial(self) -> Dial:
        self.dialling = True
        return Dial(self.peer)

    def hang_up(self) -> HangUp:
        self.went_down()
        return HangUp(self.peer)

    def pour(self, packet: bytes) -> Pour:
        self.room -= len(packet)
        return Pour(self.peer, packet)
