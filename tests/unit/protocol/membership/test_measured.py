"""Weights that leaders measure: all have the same, and they move trees only with the sites."""

from dataclasses import replace
from random import Random

from antiphon.core.ids import Configuration
from tests.unit.protocol.membership.country import SETTINGS, Country

MEASURED = replace(SETTINGS, measured_weights=True)
SECOND = 1_000_000
ONE_TWO, TWO_THREE, ONE_THREE = (frozenset(pair) for pair in ((1, 2), (2, 3), (1, 3)))


def surveyed(*sizes: int) -> Country:
    """From the first site to the third it is far, but not over the second."""
    country = Country(Random(5), *sizes, far_us=5_000, settings=MEASURED)
    country.ways[ONE_THREE] = 60_000
    country.start()
    country.run_until(country.whole, 10 * SECOND)
    return country


def installed(country: Country) -> Configuration:
    (configuration,) = {daemon.installed for daemon in country.alive()}
    return configuration


def joined(country: Country) -> set[tuple[int, int]]:
    return {(one, two) for one, two, _ in installed(country).edges}


def test_ways_follow_what_leaders_measure_and_all_have_the_same() -> None:
    """SP-44, SP-110."""
    country = surveyed(1, 2, 2)
    assert joined(country) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    # There and back takes 10 to 20 ms, of which half, in tenths of a millisecond.
    assert all(50 <= weight <= 100 for _, _, weight in installed(country).edges)


def test_better_ways_start_nothing_and_wait_for_other_sites() -> None:
    """SP-36, X-29: neither a daemon nor another leader moves a tree."""
    country = surveyed(1, 2, 3)
    edges = installed(country).edges
    country.ways = {ONE_TWO: 60_000}
    attempts = country.attempts
    country.run(20 * SECOND)
    assert country.attempts == attempts
    for gone in (302, 200):
        country.crash(gone)
        country.run_until(country.whole, 10 * SECOND)
        assert installed(country).edges == edges, gone
    country.crash(201)
    country.run_until(country.whole, 10 * SECOND)
    assert joined(country) == {(0, 1), (1, 0)}
    country.start(201)
    country.run_until(country.whole, 10 * SECOND)
    assert joined(country) == {(0, 2), (2, 0), (1, 2), (2, 1)}, "by the third site now"


def test_noise_floods_no_reports() -> None:
    """A quiet federation costs greetings, whether or not they measure."""
    country = surveyed(1, 1, 1)
    country.run(10 * SECOND)
    country.sent.clear()
    country.run(30 * SECOND)
    assert {tag.name for tag in country.sent} <= {"GREETING", "SITE_REPORT"} | {"HELLO"}
    reports = sum(count for tag, count in country.sent.items() if tag.name == "SITE_REPORT")
    assert reports <= 12
