"""What can be found: for each fault the promise that it breaks, and its words.

Inside the passes a finding is a row of numbers, one fault after another; `story.py` tells it.
"""

from enum import IntEnum, auto


class Fault(IntEnum):
    # Nothing invented, nothing twice, nothing of one's own lost.
    DELIVERED_TWICE = auto()
    HANDED_TWICE = auto()
    UNRELIABLE_TWICE = auto()
    DELIVERED_UNSENT = auto()
    DELIVERED_AS_OTHER = auto()
    HANDED_UNSENT = auto()
    HANDED_UNSUBMITTED = auto()
    HANDED_CUT = auto()
    HANDED_CHANGED = auto()
    UNRELIABLE_CHANGED = auto()
    HANDED_AS_OTHER = auto()
    HANDED_FOR_OTHER_GROUP = auto()
    SUBMITTED_TWICE = auto()
    STAMPED_UNSUBMITTED = auto()
    STAMPED_TWICE = auto()
    UNRELIABLE_LATE = auto()
    OWN_NOT_DELIVERED = auto()
    OWN_NOT_HANDED = auto()
    # The same view, the same set, the same side.
    STAMPED_ELSEWHERE = auto()
    DELIVERED_ELSEWHERE = auto()
    DELIVERED_NOT_AS_SENT = auto()
    HANDED_ASTRAY = auto()
    HANDED_NOT_AS_SENT = auto()
    DAEMON_MISSES = auto()
    DAEMON_MISSES_RELIABLE = auto()
    SESSION_MISSES = auto()
    SESSION_MISSES_RELIABLE = auto()
    OTHER_SIDE = auto()
    OTHER_POSITION = auto()
    # Order.
    BEFORE_EARLIER = auto()
    BEFORE_CAUSE = auto()
    DISPUTE = auto()
    DAEMON_HOLE = auto()
    SESSION_HOLE = auto()
    # Safe, and progress.
    DAEMON_LACKS_SAFE = auto()
    SESSION_LACKS_SAFE = auto()
    NEVER_SENT = auto()
    NEVER_DELIVERED = auto()
    NEVER_HANDED = auto()
    # Whatever of the above befell a message from no member.
    STRANGER = auto()


WORDS: dict[Fault, tuple[str, str]] = {
    Fault.DELIVERED_TWICE: ("D1", "{process} delivers {message} a second time"),
    Fault.HANDED_TWICE: ("D1", "{process} is handed {message} a second time"),
    Fault.UNRELIABLE_TWICE: ("S1", "{process} gets {message} a second time"),
    Fault.DELIVERED_UNSENT: ("D1", "{process} delivers {message}, which nobody sent before"),
    Fault.DELIVERED_AS_OTHER: ("D1", "{process} delivers {message} as another service"),
    Fault.HANDED_UNSENT: ("D1", "{process} is handed {message}, which no daemon stamped before"),
    Fault.HANDED_UNSUBMITTED: (
        "D1",
        "{process} is handed {message}, which nobody submitted before",
    ),
    Fault.HANDED_CUT: ("D1", "{process} is handed {message} cut otherwise than it was submitted"),
    Fault.HANDED_CHANGED: ("D1", "{process} is handed {message} with another content"),
    Fault.UNRELIABLE_CHANGED: ("S1", "{process} is handed {message} with another content"),
    Fault.HANDED_AS_OTHER: ("D1", "{process} is handed {message} as another service"),
    Fault.HANDED_FOR_OTHER_GROUP: (
        "D1",
        "{process} is handed {message} for a group where it was not sent",
    ),
    Fault.SUBMITTED_TWICE: ("D1", "{process} submits two messages as {message}"),
    Fault.STAMPED_UNSUBMITTED: ("D1", "{process} stamps {message}, which nobody submitted before"),
    Fault.STAMPED_TWICE: ("D1", "{process} stamps {message}, which has another place already"),
    Fault.UNRELIABLE_LATE: ("S1", "{process} has {message} whole and does not deliver it then"),
    Fault.OWN_NOT_DELIVERED: ("D3", "{process} stamped {message} and does not deliver it"),
    Fault.OWN_NOT_HANDED: ("D3", "{process} sent {message} in {place} and is not handed it"),
    Fault.STAMPED_ELSEWHERE: ("D2", "{process} stamps {message} in {place}, where it is not"),
    Fault.DELIVERED_ELSEWHERE: ("D2", "{process} in {place} delivers {message} in another"),
    Fault.DELIVERED_NOT_AS_SENT: (
        "D2",
        "{process} delivers {message} in another configuration than {place}, where it was sent",
    ),
    Fault.HANDED_ASTRAY: ("D2", "{process} is handed {message} in {place}, where it is not"),
    Fault.HANDED_NOT_AS_SENT: (
        "D2",
        "{process} is handed {message} in {place}; it was sent in another view",
    ),
    Fault.DAEMON_MISSES: (
        "D4",
        "{process} and {other} go on together from {place}, but only {other} delivers {message}",
    ),
    Fault.DAEMON_MISSES_RELIABLE: (
        "S2",
        "{process} and {other} go on together from {place}, but only {other} delivers {message}",
    ),
    Fault.SESSION_MISSES: (
        "D4",
        "{process} and {other} go on together from {place}, but only {other} is handed {message}",
    ),
    Fault.SESSION_MISSES_RELIABLE: (
        "S2",
        "{process} and {other} go on together from {place}, but only {other} is handed {message}",
    ),
    Fault.OTHER_SIDE: (
        "D6",
        "{process} delivers {message} in the one part of {place}, but stands in the other",
    ),
    Fault.OTHER_POSITION: (
        "D7",
        "{other} is handed {message} before {place}, {process} after it",
    ),
    Fault.BEFORE_EARLIER: ("S3", "{process} gets {message} before {second}, sent before it"),
    Fault.BEFORE_CAUSE: ("S4", "{process} gets {message} before {second}, which is in its past"),
    Fault.DISPUTE: (
        "S5",
        "{process} delivers {message} before {second}; others have them in another order: {other}",
    ),
    Fault.DAEMON_HOLE: (
        "S5",
        "{process} goes on in {place} without {message}, which others deliver before",
    ),
    Fault.SESSION_HOLE: (
        "S5",
        "{process} goes on in {place} without {message}, which others deliver before",
    ),
    Fault.DAEMON_LACKS_SAFE: (
        "S6",
        "{process} does not deliver {message}, which {other} delivers in {place}",
    ),
    Fault.SESSION_LACKS_SAFE: (
        "S6",
        "{process} is not handed {message}, which {other} is handed in {place}",
    ),
    Fault.NEVER_SENT: ("P2", "{process} submitted {message}, which is never sent"),
    Fault.NEVER_DELIVERED: ("P2", "{process} stays in {place} and does not deliver {message}"),
    Fault.NEVER_HANDED: ("P2", "{process} stays in {place} and is not handed {message}"),
    Fault.STRANGER: ("D8", "a promise is broken for {message} from no member, at {process}"),
}
