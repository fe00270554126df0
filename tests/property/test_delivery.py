"""Delivery against its rules in words: what may be delivered is delivered, and nothing else."""

from hypothesis import given

from antiphon.core.bundle import Bundle
from antiphon.core.positions import stamp_of
from antiphon.core.service import ORDERED, Service
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


def played(shape: Shape, steps: list[Step]) -> Site:
    site = Site(shape)
    for step in steps:
        play(site, step)
    for daemon in site.daemons:
        daemon.take()
    return site


def passed(site: Site, daemon: Daemon, seen: set[Place]) -> Place:
    """Up to where everything for a daemon is delivered, and nothing more will come."""
    end = 0
    for bundle in site.everything_for(daemon):
        if bundle.position not in seen or bundle.stamp > daemon.delivery.line:
            break
        end = bundle.position
    return end


def may(site: Site, daemon: Daemon, seen: set[Place], bundle: Bundle) -> bool:
    """The rule of a bundle's service, read aloud."""
    delivery = daemon.delivery
    ours = site.everything_for(daemon)
    end = passed(site, daemon, seen)
    following = next(one for one in ours if one.position > end)
    if bundle is following and bundle.stamp <= delivery.line:
        return bundle.service != Service.SAFE or bundle.stamp <= delivery.stable
    if bundle.service in ORDERED or bundle.after_change > end:
        return False
    if bundle.service == Service.RELIABLE:
        return True
    session = site.sent_by(bundle.sender.daemon - 1, bundle.session)
    earlier = [one for one in session if one < bundle.position]
    if not all(one in seen for one in earlier if daemon.is_for(site.bundles[one])):
        return False
    if bundle.service == Service.FIFO:
        return True
    for segment, sequence in ((bundle.segment, bundle.early_past), *bundle.early_pasts):
        if delivery.sources[segment].known < sequence:
            return False  # what is missing may be of an early service
        early = [one for one in ours if one.segment == segment and one.sequence <= sequence]
        if not all(one.position in seen for one in early if one.service not in ORDERED):
            return False
    if end < bundle.order_past and stamp_of(bundle.order_past) > delivery.line:
        return False
    return all(one.position in seen for one in ours if one.position <= bundle.order_past)


def by_the_rules(site: Site, daemon: Daemon, seen: set[Place]) -> set[Place]:
    """Everything that may be delivered from here on, one after the other."""
    seen = set(seen)
    while True:
        here = [site.bundles[one] for one in sorted(daemon.has - seen)]
        found = [one for one in here if daemon.is_for(one) and may(site, daemon, seen, one)]
        if not found:
            return seen
        seen.add(found[0].position)


@given(SHAPES, STEPS)
def test_what_may_be_delivered_is_delivered_and_nothing_else(
    shape: Shape, steps: list[Step]
) -> None:
    """S2 to S6; SP-58, SP-60, SP-62: reliable waits for nothing, fifo only for its session."""
    site = Site(shape)
    for step in steps:
        play(site, step)
        for daemon in site.daemons:
            expected = by_the_rules(site, daemon, daemon.seen)
            daemon.take()
            assert daemon.seen == expected
            assert len(daemon.delivered) == len(daemon.seen), "at most once (D1)"


@given(SHAPES, STEPS)
def test_a_daemon_is_never_surer_than_it_may_be(shape: Shape, steps: list[Step]) -> None:
    """SP-65, SP-66: up to its line it has all that is for it, whatever is stamped later."""
    site = Site(shape)
    lines = [(0, set[Place]())] * len(site.daemons)
    for step in steps:
        play(site, step)
        for number, daemon in enumerate(site.daemons):
            line, had = lines[number]
            ours = {one.position for one in site.everything_for(daemon)}
            assert {one for one in ours if stamp_of(one) <= line} <= had
            assert {one for one in ours if stamp_of(one) <= daemon.delivery.line} <= daemon.has
            lines[number] = (daemon.delivery.line, set(daemon.has))


@given(SHAPES, STEPS)
def test_order_holds_at_every_daemon(shape: Shape, steps: list[Step]) -> None:
    """S3, S4, S5; SP-51, SP-52, SP-63, SP-64, SP-67, X-34: judged by the true causes, not by
    what bundles say of their past."""
    site = played(shape, steps)
    for daemon in site.daemons:
        place = {bundle.position: at for at, bundle in enumerate(daemon.delivered)}
        for bundle in daemon.delivered:
            for before in must_precede(site, daemon, bundle):
                assert before in place, (site.bundles[before], bundle)
                assert place[before] < place[bundle.position], (site.bundles[before], bundle)


@given(SHAPES, STEPS)
def test_views_lie_at_one_place_among_all_messages(shape: Shape, steps: list[Step]) -> None:
    """D2, D7: a message is behind a change everywhere, exactly if its daemon had delivered the
    change when it stamped it."""
    site = played(shape, steps)
    changes = [at for at, bundle in site.bundles.items() if is_change(bundle)]
    for at, bundle in site.bundles.items():
        if not bundle.control:
            assert site.knew[at] == {change for change in changes if change < at}
    for daemon in site.daemons:
        known: set[Place] = set()
        for bundle in daemon.delivered:
            if is_change(bundle):
                known.add(bundle.position)
            elif not bundle.control:
                assert site.knew[bundle.position] == known


@given(SHAPES, STEPS)
def test_safe_waits_until_every_daemon_holds_it(shape: Shape, steps: list[Step]) -> None:
    """S6, SP-68, SP-69, X-30: at or below the line, not above it; whom it is not for, it
    does not concern."""
    site = Site(shape)
    for step in steps:
        play(site, step)
        for daemon in site.daemons:
            for bundle in daemon.take():
                if bundle.service == Service.SAFE:
                    others = [one for one in site.daemons if one.is_for(bundle)]
                    assert all(bundle.position in other.has for other in others)


@given(SHAPES, STEPS)
def test_what_is_forgotten_is_held_by_all_it_is_for(shape: Shape, steps: list[Step]) -> None:
    """SP-69, SP-72: it may be the last copy, also where it only passed through."""
    site = Site(shape)
    for step in steps:
        play(site, step)
        for daemon in site.daemons:
            daemon.take()
            daemon.delivery.release()
            for place in daemon.has:
                bundle = site.bundles[place]
                if bundle.sequence not in daemon.delivery.sources[bundle.segment].held:
                    assert place in daemon.seen or not daemon.is_for(bundle)
                    others = [one for one in site.daemons if one.is_for(bundle)]
                    assert all(place in other.has for other in others)


@given(SHAPES, STEPS)
def test_at_last_everything_is_delivered_and_released(shape: Shape, steps: list[Step]) -> None:
    """P2, P4, SP-69, SP-72, SP-120 to SP-122: kept until stable, then forgotten; what is for
    others is not waited for."""
    site = played(shape, steps)
    site.settle()
    for daemon in site.daemons:
        ours = {bundle.position for bundle in site.everything_for(daemon)}
        assert daemon.seen == ours
        assert daemon.delivery.undelivered() == []
        daemon.delivery.release()
        assert daemon.delivery._waiting == {}
        for source in daemon.delivery.sources:
            assert source.held == {} and source._numbers == [] and source._links == {}
            assert not source.ahead and not source.ready and source.gaps == {}
