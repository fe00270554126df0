"""The end of a configuration: all who come along make the same of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.bundle import Bundle
from antiphon.core.effects import Holdings, Recover
from antiphon.core.ids import ConfigId, DaemonId, Incarnation
from antiphon.core.service import ORDERED, Service
from antiphon.protocol.stream.recovery import Plan, holding_runs
from tests.property.site import DAEMONS, STEPS, Daemon, Site, Step, must_precede, play

ATTEMPT = ConfigId(2, DaemonId(1), Incarnation(1), 2)
COMING = st.sets(st.integers(0, DAEMONS - 1), min_size=1)
RELEASING = st.sets(st.integers(0, DAEMONS - 1))
MORE = settings(max_examples=2 * settings().max_examples)


class Ended:
    """A site that stood still, and what those who come along recover of it."""

    def __init__(self, steps: list[Step], coming: set[int], releasing: set[int]) -> None:
        self.site = Site(DAEMONS)
        for step in steps:
            play(self.site, step)
        for number, daemon in enumerate(self.site.daemons):
            daemon.take()
            if number in releasing:
                daemon.delivery.release()
        self.coming = [self.site.daemons[number] for number in sorted(coming)]
        self.recover = Recover(
            ATTEMPT,
            len(self.coming) == DAEMONS,
            tuple((daemon.member, holdings_of(daemon)) for daemon in self.coming),
        )
        self.plans = {daemon.member: Plan(self.recover) for daemon in self.coming}
        self.survivors = {daemon.member: self._recovered(daemon) for daemon in self.coming}

    def _recovered(self, daemon: Daemon) -> list[Bundle]:
        plan = self.plans[daemon.member]
        delivery = daemon.delivery
        for sequence in plan.missing(delivery.complete, delivery.held):
            holder = plan.holder(sequence, 0)
            bundle = self.site.daemons[holder - 1].delivery.held[sequence]
            assert delivery.add(bundle)
        return [bundle for bundle in delivery.undelivered() if plan.survives(bundle)]

    def whole_story(self, daemon: Daemon) -> list[Bundle]:
        return daemon.delivered + self.survivors[daemon.member]


def holdings_of(daemon: Daemon) -> Holdings:
    """As the stream tells them when it freezes."""
    delivery = daemon.delivery
    return Holdings(
        ATTEMPT,
        holding_runs(delivery.held),
        delivery.complete,
        delivery.stable,
        tuple(delivery.ahead.runs()),
    )


@MORE
@given(STEPS, COMING, RELEASING)
def test_all_who_come_along_deliver_the_same_set(
    steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """D4, SP-72: from what any of them holds, whoever sent it."""
    ended = Ended(steps, coming, releasing)
    sets = [
        sorted(bundle.sequence for bundle in ended.whole_story(daemon)) for daemon in ended.coming
    ]
    assert all(one == sets[0] for one in sets)
    assert len(set(sets[0])) == len(sets[0]), "at most once (D1)"


@MORE
@given(STEPS, COMING, RELEASING)
def test_order_holds_to_the_very_end(
    steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """S3 to S5: what is delivered last comes behind its causes, and no cause is left out;
    an agreed message comes behind every earlier one whose sender comes along."""
    ended = Ended(steps, coming, releasing)
    together = [daemon.member for daemon in ended.coming]
    for daemon in ended.coming:
        story = ended.whole_story(daemon)
        place = {bundle.sequence: at for at, bundle in enumerate(story)}
        for bundle in story:
            for before in must_precede(ended.site, bundle):
                cause = ended.site.bundles[before - 1]
                if behind_a_hole(ended, bundle, cause) and cause.sender not in together:
                    continue
                assert before in place and place[before] < place[bundle.sequence]


def behind_a_hole(ended: Ended, bundle: Bundle, cause: Bundle) -> bool:
    """Nobody of those who come along may know a cause that is not one of its own past."""
    plan = next(iter(ended.plans.values()))
    own = cause.sequence in ended.site.past[bundle.sequence]
    return bundle.sequence > plan.complete_to and not own


@given(STEPS, COMING, RELEASING)
def test_who_comes_along_delivers_what_it_sent(
    steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """D3."""
    ended = Ended(steps, coming, releasing)
    for daemon in ended.coming:
        delivered = {bundle.sequence for bundle in ended.whole_story(daemon)}
        own = {one.sequence for one in ended.site.bundles if one.sender == daemon.member}
        assert own <= delivered


@given(STEPS, COMING, RELEASING)
def test_safe_is_regular_only_if_everybody_held_it(
    steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """S6: in the regular configuration only what every member of it holds; afterwards only
    what all who come along hold."""
    ended = Ended(steps, coming, releasing)
    for daemon in ended.coming:
        plan = ended.plans[daemon.member]
        for bundle in ended.survivors[daemon.member]:
            if bundle.service == Service.SAFE and plan.regular(bundle):
                holders = ended.coming if plan.stable_to > 1 << 60 else ended.site.daemons
                assert all(
                    bundle.sequence in one.has or bundle.sequence in one.delivery.held
                    for one in holders
                )


@given(STEPS, COMING, RELEASING)
def test_the_regular_part_is_a_prefix_without_a_hole(
    steps: list[Step], coming: set[int], releasing: set[int]
) -> None:
    """S5: no holes before anything that is delivered in the regular configuration."""
    ended = Ended(steps, coming, releasing)
    for daemon in ended.coming:
        plan = ended.plans[daemon.member]
        told = {bundle.sequence for bundle in ended.whole_story(daemon)}
        for bundle in ended.survivors[daemon.member]:
            if plan.regular(bundle) and bundle.service in ORDERED:
                assert all(one in told for one in range(1, bundle.sequence))
