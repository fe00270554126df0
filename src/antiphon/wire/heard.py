"""What a packet becomes once it is opened: an event for the machine it is meant for."""

from antiphon.core.effects import Word
from antiphon.core.ids import ConfigId, Member
from antiphon.wire.control import PacketMessage
from antiphon.wire.link import LinkPacket
from antiphon.wire.pieces import RingPacket, Token


class Heard(Word):
    sender: Member
    message: PacketMessage


class HeardPacket(Word):
    packet: RingPacket
    raw: bytes
    """As it came: a member repeats others' packets unchanged."""


class HeardLink(Word):
    packet: LinkPacket


class HeardToken(Word):
    sender: Member
    config: ConfigId
    token: Token
