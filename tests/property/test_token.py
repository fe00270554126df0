"""Token arithmetic: what a member may trust is never more than what everybody has."""

from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.ids import NOBODY, DaemonId
from antiphon.protocol.stream.token import UsableAru, adaptive_delay, allowance, merged_aru

VISITS = st.lists(
    st.tuples(
        st.integers(0, 4),  # sent in this visit
        st.integers(0, 5),  # received before it, if so much is missing
        st.booleans(),  # received up to the top instead
        st.integers(0, 2),  # sent while the token stays afterwards
    ),
    min_size=1,
    max_size=60,
)


class Rotation:
    """Members that take turns; each has everything up to `have` of what was sent."""

    def __init__(self, members: int) -> None:
        self.members = members
        self.have = [0] * members
        self.usable = [UsableAru() for _ in range(members)]
        self.top = 0
        self.value = 0
        self.modifier = NOBODY
        self.turn = 0

    def visit(self, sent: int, received: int, everything: bool, later: int) -> None:
        me = self.turn
        self.turn = (me + 1) % self.members
        self.have[me] = self.top if everything else min(self.top, self.have[me] + received)
        self._send(me, sent)
        self.usable[me].visit(self.value)
        for _ in range(later):
            self._send(me, 1)
            self.usable[me].leave(self.value)

    def _send(self, me: int, sent: int) -> None:
        if self.have[me] == self.top:  # my own packets close no gap before them
            self.have[me] += sent
        self.top += sent
        self.value, self.modifier = merged_aru(
            self.value, self.modifier, self.have[me], self.top, DaemonId(me + 1)
        )


@given(st.integers(2, 6), VISITS)
def test_a_usable_value_is_never_above_what_all_members_have(
    members: int, visits: list[tuple[int, int, bool, int]]
) -> None:
    """SP-187, SP-188, X-31: also while members lose packets and send at the same time."""
    rotation = Rotation(members)
    for visit in visits:
        rotation.visit(*visit)
        assert max(usable.value for usable in rotation.usable) <= min(rotation.have)


@given(st.integers(2, 6), VISITS)
def test_when_all_members_have_everything_the_values_reach_the_top(
    members: int, visits: list[tuple[int, int, bool, int]]
) -> None:
    """SP-187: a value that was lowered is raised again, by whoever lowered it; X-31: and
    its name is taken off."""
    rotation = Rotation(members)
    for visit in visits:
        rotation.visit(*visit)
    for _ in range(4 * members):
        rotation.visit(0, 0, True, 0)
    assert [usable.value for usable in rotation.usable] == [rotation.top] * members
    assert rotation.modifier == NOBODY


@given(st.integers(2, 6), VISITS)
def test_a_usable_value_never_falls(members: int, visits: list[tuple[int, int, bool, int]]) -> None:
    """What was released cannot be asked for again."""
    rotation = Rotation(members)
    before = [0] * members
    for visit in visits:
        rotation.visit(*visit)
        after = [usable.value for usable in rotation.usable]
        assert all(one <= other for one, other in zip(before, after, strict=True))
        before = after


SMALL = st.integers(0, 60)


@given(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL)
def test_an_allowance_is_the_least_of_three_limits(
    ring: int, member: int, flow: int, last: int, used: int, window: int
) -> None:
    """SP-191: min(personal limit, ring limit - flow + what I sent last); TR-49: and the window."""
    allowed = allowance(ring, member, flow, last, used, window)
    assert allowed >= 0
    if allowed:
        assert allowed <= member and allowed <= ring - flow + last and allowed <= window - used
        assert allowed in (member, ring - flow + last, window - used)
    else:
        assert member <= 0 or ring - flow + last <= 0 or window - used <= 0


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 120), st.integers(1, 1000))
def test_the_delay_grows_with_the_window(low: int, size: int, used: int, longest: int) -> None:
    """TR-48: no delay while the window is small, more and more as it fills."""
    high = low + size
    delay = adaptive_delay(used, low, high, longest)
    assert 0 <= delay <= longest
    assert delay <= adaptive_delay(used + 1, low, high, longest)
    assert adaptive_delay(low, low, high, longest) == 0
    assert adaptive_delay(high, low, high, longest) == longest
