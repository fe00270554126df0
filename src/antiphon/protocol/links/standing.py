"""How a link is doing, for those who look on."""

from collections import Counter
from typing import NamedTuple

from antiphon.core.ids import DaemonId
from antiphon.protocol.links.hop import Hop
from antiphon.protocol.links.settings import LinkKind
from antiphon.protocol.links.tube import Tube

UP = "up"


class LinkStanding(NamedTuple):
    peer: DaemonId
    kind: LinkKind
    state: str
    """`up`; of a TCP link, what becomes of its pipe."""

    round_trip_us: int | None
    """None until it is measured."""

    loss: float
    """Share of objects that were asked for again."""

    rate_bytes: int | None
    """Per second, at present; None: it is TCP's own."""

    waiting_bytes: int
    """Not sent yet."""

    open_objects: int
    """Sent, and not acknowledged."""


def figures_of(link: Hop | Tube) -> Counter[str]:
    """What it has done so far: objects sent and repeated, and packets by what was in them."""
    sending = link.sending if isinstance(link, Hop) else link.keeping
    done = Counter({"objects": sending.sequence, "object_repeats": sending.repeated})
    return done + Counter({f"link_{name}": count for name, count in link.counts.items()})


def standing_of(link: Hop | Tube) -> LinkStanding:
    trip = link.path.round_trip
    return LinkStanding(
        link.link.peer.daemon,
        LinkKind.HOP if isinstance(link, Hop) else LinkKind.TCP,
        UP if isinstance(link, Hop) else link.state.lower(),
        trip.smooth_us if trip.known else None,
        link.path.loss.share,
        link.rate.rate_bytes if isinstance(link, Hop) else None,
        link.backlog_bytes,
        link.open_objects,
    )
