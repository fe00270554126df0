"""Token arithmetic: all-received-up-to values ("ARU"), flow control, adaptive delay."""

from antiphon.core.ids import NOBODY, DaemonId


def merged_aru(
    value: int, modifier: DaemonId, mine: int, top: int, me: DaemonId
) -> tuple[int, DaemonId]:
    """The token's ARU and modifier after my visit (SP-187, X-31).

    Lower it to mine and put my name there; or raise it if nobody's name or my own is
    there. Whoever raises it to the top lacks nothing and takes the name off.
    """
    if mine < value:
        return mine, me
    if modifier in (me, NOBODY):
        return mine, (NOBODY if mine == top else me)
    return value, modifier


def allowance(
    ring_max: int, member_max: int, flow: int, sent_last: int, window_used: int, window_max: int
) -> int:
    """Packets that I may send in this visit (SP-191), within the network's window (TR-49)."""
    on_ring = ring_max - flow + sent_last
    return max(0, min(member_max, on_ring, window_max - window_used))


def adaptive_delay(window_used: int, low: int, high: int, delay_max: int) -> int:
    """How long to wait between two sendings: nothing while the window is small, more and
    more as it fills (TR-48). A full window stops sending by `allowance`."""
    if window_used <= low:
        return 0
    return delay_max * min(window_used - low, high - low) // (high - low)


class UsableAru:
    """The ARU that may be trusted: the lesser of this and the previous visit's (SP-188).

    A single value may still be lowered by a member that the token has not reached; two
    visits enclose a rotation in which everybody had its say.
    """

    __slots__ = ("_last", "value")

    def __init__(self) -> None:
        self._last = 0
        self.value = 0

    def visit(self, token_value: int) -> int:
        self.value = self.after(token_value)
        self._last = token_value
        return self.value

    def after(self, token_value: int) -> int:
        """What may be trusted after a visit that leaves this value."""
        return max(self.value, min(self._last, token_value))

    def leave(self, token_value: int) -> None:
        """I have changed my mind before the token left me: it has not been round."""
        self._last = token_value

    def alone(self, mine: int) -> int:
        """A ring of one: what I have everybody has."""
        self._last = self.value = mine
        return mine
