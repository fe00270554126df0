"""Places name daemons, sites, and whoever leads."""

import pytest

from antiphon.core.ids import DaemonId
from antiphon.sim.places import Atlas, Lead, Site, rank

ATLAS = Atlas([(4, 1), (3,), (2, 5)])


def all_run(daemon: DaemonId) -> bool:
    return True


def test_an_atlas_knows_where_everybody_is() -> None:
    assert ATLAS.sites == ((1, 4), (3,), (2, 5))
    assert ATLAS.site_of == {1: 1, 4: 1, 3: 2, 2: 3, 5: 3}
    with pytest.raises(AssertionError):
        Atlas([(1, 2), (2, 3)])


def test_a_place_is_one_daemon_a_site_or_all() -> None:
    assert ATLAS.daemons(4, all_run) == [4]
    assert ATLAS.daemons(Site(3), all_run) == [2, 5]
    assert ATLAS.daemons(0, all_run) == [1, 2, 3, 4, 5]


def test_the_lowest_that_runs_leads() -> None:
    """SP-13: never configured."""
    assert ATLAS.daemons(Lead(1), all_run) == [1]
    assert ATLAS.daemons(Lead(1), lambda daemon: daemon != 1) == [4]
    assert ATLAS.daemons(Lead(2), lambda daemon: daemon != 3) == []


def test_places_are_told_apart_and_sorted() -> None:
    assert Site(2) != Lead(2)
    places = [Site(2), Lead(1), 5, Site(1), 3]
    assert sorted(places, key=rank) == [3, 5, Lead(1), Site(1), Site(2)]
    assert list(map(str, places)) == ["site2", "lead1", "5", "site1", "3"]
