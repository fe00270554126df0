"""Why a configuration changes, in a word for counting and in a line for people."""

from collections.abc import Mapping, Sequence

from antiphon.core.effects import Trouble
from antiphon.core.ids import Configuration, Member
from antiphon.core.machine import MILLISECOND, Instant
from antiphon.protocol.membership.peers import Peers

CHARACTERS_MAX = 1024


def evidence(
    now: Instant,
    me: Member,
    own: Trouble,
    installed: Configuration,
    wish: tuple[Member, ...],
    troubles: Mapping[Member, str],
    peers: Peers,
    regrouping: Sequence[tuple[str, str]],
) -> tuple[str, str]:
    """The first cause, and everything that speaks for the change: who has which trouble,
    who appeared, who is gone and when it was heard last, which segments are others."""
    found: list[tuple[str, str]] = []
    if own.reason:
        text = f"{me.daemon} has {own.reason}"
        text += f" by {own.accused}" if own.accused else ""
        text += f" ({own.detail})" if own.detail else ""
        found.append((own.reason, text))
    for member in wish:
        if member != me and troubles.get(member):
            found.append(("reported_trouble", f"{member.daemon} has {troubles[member]}"))
    for member in wish:
        if member not in installed.places:
            again = member.daemon in installed.segment_at
            what = ("restart", "restarted") if again else ("stranger", "appeared")
            found.append((what[0], f"{member.daemon} {what[1]}"))
    wished = set(wish)
    for member in installed.members:
        if member in wished:
            continue
        if peers.has_left(member):
            found.append(("left", f"{member.daemon} has left"))
        else:
            text = f"{member.daemon} is gone"
            if heard_at := peers.last_heard(member):
                text += f", unheard for {(now - heard_at) // MILLISECOND} ms"
            found.append(("departure", text))
    found += regrouping
    if not found:
        found.append(("unfinished", "an attempt did not come to its end"))
    return found[0][0], "; ".join(text for _, text in found)[:CHARACTERS_MAX]
