"""Delivery against its rules in words: what may be delivered is delivered, and nothing else."""

from hypothesis import given, settings

from antiphon.core.bundle import Bundle
from antiphon.core.service import ORDERED, Service
from tests.property.site import DAEMONS, STEPS, Daemon, Site, Step, must_precede, play

MORE = settings(max_examples=2 * settings().max_examples)


def cursor_of(seen: set[int]) -> int:
    end = 0
    while end + 1 in seen:
        end += 1
    return end


def may(site: Site, daemon: Daemon, seen: set[int], bundle: Bundle) -> bool:
    """The rule of a bundle's service, read aloud."""
    cursor = cursor_of(seen)
    if bundle.sequence == cursor + 1:
        return bundle.service != Service.SAFE or bundle.sequence <= daemon.delivery.stable
    if bundle.service in ORDERED or bundle.after_change > cursor:
        return False
    if bundle.service == Service.RELIABLE:
        return True
    session = site.sent_by(bundle.sender.daemon - 1, bundle.session)
    if not all(one in seen for one in session if one < bundle.sequence):
        return False
    if bundle.service == Service.FIFO:
        return True
    earlier = site.bundles[: bundle.early_past]
    if not all(one.sequence in daemon.has for one in earlier):
        return False  # what is missing may be of an early service
    early = [one for one in earlier if one.service not in ORDERED]
    return cursor >= bundle.order_past and all(one.sequence in seen for one in early)


def by_the_rules(site: Site, daemon: Daemon, seen: set[int]) -> set[int]:
    """Everything that may be delivered from here on, one after the other."""
    seen = set(seen)
    while True:
        found = [
            one
            for one in sorted(daemon.has - seen)
            if may(site, daemon, seen, site.bundles[one - 1])
        ]
        if not found:
            return seen
        seen.add(found[0])


@MORE
@given(STEPS)
def test_what_may_be_delivered_is_delivered_and_nothing_else(steps: list[Step]) -> None:
    """S2 to S6; SP-58, SP-60, SP-62: reliable waits for nothing, fifo only for its session."""
    site = Site(DAEMONS)
    for step in steps:
        play(site, step)
        for daemon in site.daemons:
            expected = by_the_rules(site, daemon, daemon.seen)
            daemon.take()
            assert daemon.seen == expected
            assert len(daemon.delivered) == len(daemon.seen), "at most once (D1)"


@MORE
@given(STEPS)
def test_order_holds_at_every_daemon(steps: list[Step]) -> None:
    """S3, S4, S5; SP-51, SP-52, SP-63, SP-67, X-34: judged by the true causes, not by what
    bundles say of their past."""
    site = Site(DAEMONS)
    for step in steps:
        play(site, step)
    for daemon in site.daemons:
        daemon.take()
        place = {bundle.sequence: at for at, bundle in enumerate(daemon.delivered)}
        for bundle in daemon.delivered:
            for before in [site.bundles[one - 1] for one in must_precede(site, bundle)]:
                assert before.sequence in place, (before, bundle)
                assert place[before.sequence] < place[bundle.sequence], (before, bundle)


@given(STEPS)
def test_safe_waits_until_every_daemon_holds_it(steps: list[Step]) -> None:
    """S6, SP-69, X-30: at or below the line, not above it."""
    site = Site(DAEMONS)
    for step in steps:
        play(site, step)
        for daemon in site.daemons:
            for bundle in daemon.take():
                if bundle.service == Service.SAFE:
                    assert all(bundle.sequence in other.has for other in site.daemons)


@given(STEPS)
def test_at_last_everything_is_delivered_and_released(steps: list[Step]) -> None:
    """P2, P4, SP-69, SP-72: kept until stable, then forgotten."""
    site = Site(DAEMONS)
    for step in steps:
        play(site, step)
    everything = {*range(1, len(site.bundles) + 1)}
    for number, daemon in enumerate(site.daemons):
        for sequence in sorted(everything - daemon.has):
            site.arrive(number, sequence)
        assert {*daemon.delivery.held} == everything - {*range(1, daemon.delivery.released + 1)}
    for number, daemon in enumerate(site.daemons):
        site.stabilize(number)
        daemon.take()
        daemon.delivery.release()
        assert daemon.seen == everything
        assert daemon.delivery.held == {}
        assert daemon.delivery.undelivered() == []
        assert not daemon.delivery.ahead
