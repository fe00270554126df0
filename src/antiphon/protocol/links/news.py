"""Who a link is."""

from typing import NamedTuple

from antiphon.core.ids import Member


class LinkId(NamedTuple):
    """Two daemons in one of their lives each, and which of their links it is (SP-11).

    Both ends take the birth from the configuration that made the link. A pair of daemons
    never uses a birth twice, so a packet of an old link cannot be taken for one of a new.
    """

    me: Member
    peer: Member
    birth: int
