"""What crosses between sites, in bytes, by what it is for.

find      greetings and reports of leaders
agree     the words of an attempt
recover   bundles that somebody lacks after a change
links     acks and probes, and heads of packets on links
order     what leaders say of their streams
groups    intents, changes of groups, group states
payload   messages of clients: everything else is control
"""

from collections import Counter

from antiphon.core.errors import DecodeError
from antiphon.core.ids import DaemonId, Incarnation
from antiphon.wire.crossing import Parcel, read_object
from antiphon.wire.link import read_link_packet
from antiphon.wire.packet import HEADER_BYTES, TAG_AT, Tag
from antiphon.wire.ring import CONTROL, read_pieces

PAYLOAD = "payload"
PURPOSES = {
    Tag.GREETING: "find",
    Tag.SITE_REPORT: "find",
    Tag.SITE_NEWS: "find",
    Tag.LEAVING: "find",
    Tag.RECOVERY_REQUEST: "recover",
    Tag.RECOVERY_DATA: "recover",
}
"""Of other control messages: an attempt."""


class Meter:
    """Told of each packet between two sites; `read` gives what came since it was read last."""

    def __init__(self) -> None:
        self._bytes: Counter[str] = Counter()

    def count(self, packet: bytes) -> None:
        tag = packet[TAG_AT]
        if tag == Tag.LINK:
            self._count_link(packet)
        elif tag == Tag.LOOSE:
            self._bytes[_purpose(packet[HEADER_BYTES:])] += len(packet)
        else:
            self._bytes[PURPOSES.get(Tag(tag), "agree")] += len(packet)

    def _count_link(self, packet: bytes) -> None:
        rest = len(packet)
        for each in read_link_packet(packet, DaemonId(0), Incarnation(0)).objects:
            self._bytes[_purpose(each.data)] += len(each.data)
            rest -= len(each.data)
        self._bytes["links"] += rest

    def read(self) -> Counter[str]:
        read, self._bytes = self._bytes, Counter()
        return read


def _purpose(data: bytes) -> str:
    """Of an object between two leaders."""
    try:
        brought = read_object(data)
        if not isinstance(brought, Parcel):
            return "order"
        pieces = read_pieces(brought.body, 0, brought.reliable)
    except DecodeError:
        raise AssertionError("a leader sends what can be read") from None
    return "groups" if all(piece.flags & CONTROL for piece in pieces) else PAYLOAD
