"""Who a link is, and what it tells the layer above. Packets leave as `Send`."""

from typing import NamedTuple

from antiphon.core.effects import Word
from antiphon.core.ids import Member


class LinkId(NamedTuple):
    """Two daemons in one of their lives each, and which of their links it is (SP-11).

    Both ends take the birth from the configuration that made the link. A pair of daemons
    never uses a birth twice, so a packet of an old link cannot be taken for one of a new.
    """

    me: Member
    peer: Member
    birth: int


class LinkRoom(Word):
    """The backlog is small again; said once after it had been too large."""

    link: LinkId
