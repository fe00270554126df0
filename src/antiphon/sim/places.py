"""Places: whom a script names, by number, by site, or by role.

3        daemon 3
site2    every daemon of site 2
lead2    who represents site 2 at that time: the lowest of its daemons that run
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from antiphon.core.ids import DaemonId

Runs = Callable[[DaemonId], bool]


@dataclass(frozen=True, slots=True)
class Site:
    """Every daemon of a site; sites are counted from 1."""

    number: int

    def __str__(self) -> str:
        return f"site{self.number}"


@dataclass(frozen=True, slots=True)
class Lead:
    """The representative of a site, whoever that is when it matters."""

    number: int

    def __str__(self) -> str:
        return f"lead{self.number}"


Place = int | Site | Lead
"""0 is any daemon."""

ROLES: dict[str, type[Site] | type[Lead]] = {"site": Site, "lead": Lead}


def rank(place: Place) -> tuple[bool, str, int]:
    """Sorts places: daemons first."""
    if isinstance(place, int):
        return False, "", place
    return True, type(place).__name__, place.number


class Atlas:
    """Where everybody is."""

    def __init__(self, sites: Sequence[Sequence[int]]) -> None:
        self.sites = tuple(tuple(map(DaemonId, sorted(site))) for site in sites)
        self.site_of = {
            daemon: number for number, site in enumerate(self.sites, 1) for daemon in site
        }
        assert len(self.site_of) == sum(map(len, self.sites)), "each daemon is at one site"

    def lead(self, number: int, runs: Runs) -> DaemonId | None:
        return next((daemon for daemon in self.sites[number - 1] if runs(daemon)), None)

    def daemons(self, place: Place, runs: Runs) -> list[DaemonId]:
        """Whom it names now; a site whose daemons are all down has nobody to lead it."""
        if isinstance(place, int):
            return [DaemonId(place)] if place else sorted(self.site_of)
        if isinstance(place, Site):
            return list(self.sites[place.number - 1])
        lead = self.lead(place.number, runs)
        return [] if lead is None else [lead]
