"""The end of a configuration: all who come along make the same of it."""

from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings, Part, Recover
from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.service import ORDERED, Service
from antiphon.protocol.stream.recovery import UNLIMITED, Plan, stream_holdings
from tests.property.site import (
    SHAPES,
    STEPS,
    Daemon,
    Place,
    Shape,
    Site,
    Step,
    is_change,
    must_precede,
    play,
)

ATTEMPT = ConfigId(2, DaemonId(1), Incarnation(1), 2)
SOME = st.sets(st.integers(0, 4))
"""Of the daemons."""


CHANGE_AT_DAEMON_0: list[Step] = [("change", 0, 1, 0), ("settle",), ("change", 0, 1, 0)]
ONE_IS_AHEAD: list[Step] = [
    ("change", 0, 2, 2),
    ("exchange",),
    ("exchange",),
    ("arrive", 2, 0),
    ("arrive", 1, 0),
    ("change", 2, 1, 1),
    ("exchange",),
    ("change", 0, 2, 0),
    ("arrive", 2, 0),
    ("exchange",),
]
"""Daemon 2 delivers a change in its turn; daemon 0 does not know yet how far the streams are."""

SENT_IN_A_NEW_VIEW: list[Step] = [
    *CHANGE_AT_DAEMON_0,
    ("arrive", 1, 0),
    ("visit", 1),
    ("report", 1),
    ("arrive", 2, 0),
    ("visit", 2),
    ("report", 2),
    ("hear", 0, 6),
    ("hear", 0, 7),
    ("visit", 0),
    ("send", 0, 2, Service.RELIABLE, 0, 2),
    ("arrive", 1, 0),
]
"""Daemon 0 has delivered the change and sends; daemon 1 holds both and may not deliver them."""


def stood_still(shape: Shape, steps: list[Step], releasing: set[int]) -> Site:
    site = Site(shape)
    for step in steps:
        play(site, step)
    for number, daemon in enumerate(site.daemons):
        daemon.take()
        if number in releasing:
            daemon.delivery.release()
    return site


class Ended:
    """A site that stood still, and what those who come along recover of it."""

    def __init__(self, site: Site, coming: set[int]) -> None:
        self.site = site
        self.coming = [one for number, one in enumerate(site.daemons) if number in coming]
        self.coming = self.coming or site.daemons[:1]
        old = site.configuration()
        told = [(daemon.member, holdings_of(daemon)) for daemon in self.coming]
        parts = tuple(
            Part((member,), old.segments.index(old.segment_of(member)), least_of(held), held)
            for member, held in told
        )
        near = tuple((member.daemon, held) for member, held in told)
        self.plan = Plan(Recover(ATTEMPT, parts, near), old)
        self.survivors = {daemon.member: self._recovered(daemon) for daemon in self.coming}

    def _recovered(self, daemon: Daemon) -> list[Bundle]:
        delivery = daemon.delivery
        for segment, missing in self.plan.missing(delivery).items():
            for sequence in missing:
                holder = self.plan.holder(segment, sequence, 0)
                source = self.site.daemons[holder - 1].delivery.sources[segment]
                assert delivery.add(source.held[sequence])
        return [bundle for bundle in delivery.undelivered() if self.plan.survives(bundle)]

    def pledge(self) -> None:
        """As the stream does when it is ready."""
        for daemon in self.coming:
            for bundle in self.survivors[daemon.member]:
                daemon.delivery.sources[bundle.segment].pledged.add(bundle.sequence)
            daemon.delivery.pledged_to = max(daemon.delivery.pledged_to, self.plan.ground)

    def whole_story(self, daemon: Daemon) -> list[Bundle]:
        return daemon.delivered + self.survivors[daemon.member]

    def told(self, daemon: Daemon) -> set[Place]:
        return {bundle.position for bundle in self.whole_story(daemon)}


def least_of(told: Holdings) -> tuple[int, ...]:
    return tuple(stream.known for stream in told.streams)


def holdings_of(daemon: Daemon) -> Holdings:
    """As the stream tells them when it freezes."""
    delivery = daemon.delivery
    streams = tuple(map(stream_holdings, delivery.sources))
    cursor = max(delivery.cursor, delivery.pledged_to)
    return Holdings(ATTEMPT, streams, delivery.stable, cursor)


@given(SHAPES, STEPS, SOME, SOME)
def test_all_who_come_along_deliver_the_same_set(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """D4, SP-72: from what any of them holds, whoever sent it; of what is for both."""
    ended = Ended(stood_still(shape, steps, releasing), coming)
    for one in ended.coming:
        assert len(ended.whole_story(one)) == len(ended.told(one)), "at most once (D1)"
        for other in ended.coming:
            for place in ended.told(one):
                if other.is_for(ended.site.bundles[place]):
                    assert place in ended.told(other)


@given(SHAPES, STEPS, SOME, SOME)
def test_order_holds_to_the_very_end(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """S3 to S5: what is delivered last comes behind its causes; no cause whose sender comes
    along is left out. With one segment no cause is: whoever delivered a message had all of
    them. With several it had those that were for it."""
    ended = Ended(stood_still(shape, steps, releasing), coming)
    together = [daemon.member for daemon in ended.coming]
    for daemon in ended.coming:
        story = ended.whole_story(daemon)
        place = {bundle.position: at for at, bundle in enumerate(story)}
        for bundle in story:
            for before in must_precede(ended.site, daemon, bundle):
                cause = ended.site.bundles[before]
                if before in place:
                    assert place[before] < place[bundle.position]
                else:
                    assert cause.sender not in together
                    assert bundle.stamp > ended.plan.complete_to
                    assert len(shape) > 1 or before not in ended.site.past[bundle.position]


@given(SHAPES, STEPS, SOME, SOME)
def test_who_comes_along_delivers_what_it_sent(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """D3."""
    ended = Ended(stood_still(shape, steps, releasing), coming)
    for daemon in ended.coming:
        sent = {at for at, one in ended.site.bundles.items() if one.sender == daemon.member}
        assert sent <= ended.told(daemon)


@given(SHAPES, STEPS, SOME, SOME)
def test_safe_is_regular_only_if_everybody_held_it(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """S6: in the regular configuration only what every member of it holds that it is for;
    afterwards only what all of those who come along hold."""
    ended = Ended(stood_still(shape, steps, releasing), coming)
    for daemon in ended.coming:
        for bundle in ended.survivors[daemon.member]:
            if bundle.service != Service.SAFE:
                continue
            regular = ended.plan.regular(bundle) and ended.plan.stable_to < UNLIMITED
            for one in ended.site.daemons if regular else ended.coming:
                held = one.delivery.sources[bundle.segment].held
                if one.is_for(bundle):
                    assert bundle.position in one.has or bundle.sequence in held


@given(SHAPES, STEPS, SOME, SOME)
def test_the_regular_part_is_a_prefix_without_a_hole(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """S5: no holes before anything that is delivered in the regular configuration."""
    ended = Ended(stood_still(shape, steps, releasing), coming)
    for daemon in ended.coming:
        ours = [one.position for one in ended.site.everything_for(daemon)]
        for bundle in ended.survivors[daemon.member]:
            if ended.plan.regular(bundle) and bundle.service in ORDERED:
                assert {at for at in ours if at < bundle.position} <= ended.told(daemon)


@example((1, 2), ONE_IS_AHEAD, {0, 2}, {0})
@given(SHAPES, STEPS, SOME, SOME)
def test_a_view_has_one_name_for_all_who_come_along(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """D5: a change that one delivered in its turn is on no other ground for the others, and
    where it is on the common ground, all changes before it are there."""
    ended = Ended(stood_still(shape, steps, releasing), coming)
    changes = {at for at, one in ended.site.bundles.items() if is_change(one)}
    for daemon in ended.coming:
        for other in ended.coming:
            for bundle in ended.survivors[daemon.member]:
                if is_change(bundle) and bundle.position in other.seen:
                    assert ended.plan.lineage_of(bundle) == 0
        for bundle in ended.survivors[daemon.member]:
            if is_change(bundle) and not ended.plan.lineage_of(bundle):
                assert {at for at in changes if at < bundle.position} <= ended.told(daemon)
        assert_in_the_views_they_were_sent_in(ended, daemon)


def assert_in_the_views_they_were_sent_in(ended: Ended, daemon: Daemon) -> None:
    """D2: a message is sent in the view of the last change that its daemon had delivered in its
    turn, and comes in the view of that name."""
    last, on_common_ground = 0, True
    for bundle in daemon.delivered:
        last = bundle.position if is_change(bundle) else last
    for bundle in ended.survivors[daemon.member]:
        if is_change(bundle):
            last, on_common_ground = bundle.position, ended.plan.lineage_of(bundle) == 0
        elif not bundle.control:
            assert last == max(ended.site.knew[bundle.position], default=0)
            assert on_common_ground


@example((1, 1, 1), SENT_IN_A_NEW_VIEW, {0, 1}, set(), {1})
@given(SHAPES, STEPS, SOME, SOME, SOME)
def test_what_was_pledged_holds_in_the_next_attempt(
    shape: Shape, steps: list[Step], coming: set[int], releasing: set[int], later: set[int]
) -> None:
    """D2, D4, S6: all were ready and some went on; who missed that, and comes along with others
    the next time, delivers all that those deliver, in the same views."""
    site = stood_still(shape, steps, releasing)
    first = Ended(site, coming)
    first.pledge()
    second = Ended(site, later)
    for daemon in second.coming:
        if daemon in first.coming:
            assert first.told(daemon) <= second.told(daemon)
        assert_in_the_views_they_were_sent_in(second, daemon)
