"""Who is there, near and far, and what configuration that would make.

Near is my site, by Hellos (site.py); far are other leaders and their parties, by reports
(federation.py). In a cluster of one site nobody is far, and whoever leads coordinates.
"""

from antiphon.core.effects import Trouble, Word
from antiphon.core.ids import ConfigId, Configuration, DaemonId, Member
from antiphon.core.machine import Instant, Timers
from antiphon.protocol.membership.evidence import evidence
from antiphon.protocol.membership.federation import Federation, Party, Sites, Weights
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.protocol.membership.site import Site
from antiphon.protocol.membership.states import GatherReason
from antiphon.protocol.membership.wish import (
    Parts,
    configuration_of,
    holds_together,
    is_light,
    kept_edges,
    regrouping,
    wished,
)
from antiphon.wire.control import Greeting, Hello, SiteNews, SiteReport, Standing
from antiphon.wire.packet import Envelope

LeaderWord = Greeting | SiteReport | SiteNews
"""What leaders say to each other outside of attempts."""

TROUBLES_TOLD = 4
"""Other sites are told of so many of a party that have trouble: one is reason enough."""


class Outlook:
    def __init__(
        self,
        me: Member,
        settings: MembershipSettings,
        envelope: Envelope,
        timers: Timers,
        sites: Sites,
        weights: Weights,
    ) -> None:
        self._me = me
        self._settings = settings
        self.site = Site(me, settings, envelope, timers)
        self.federation = Federation(me, settings, envelope, sites, weights)
        self._hellos: dict[Member, Hello] = {}
        """From which the picture was drawn last."""

        self._epoch = 0
        """The highest that I have told other leaders of."""

    # Looking.

    def look(
        self,
        now: Instant,
        installed: Configuration,
        trouble: str,
        epoch: int,
        attempt: Configuration | None,
    ) -> list[Word]:
        """Draw the picture anew, and tell other leaders what is new in my party. That an attempt
        under way has raised my epoch is no news to who takes part in it; but who has gone beyond
        it will take no part in another that is not above."""
        self._hellos = self.site.draw(now)
        self.federation.news = False
        if not self.site.leading:
            return self.federation.follow(now, self.site.picture.leader)
        if self.federation.alone:
            return []
        highest = max([epoch, *(hello.epoch for hello in self._hellos.values())])
        if attempt is None or highest > epoch or self._coordinator() not in attempt.places:
            self._epoch = max(self._epoch, highest)
        effects = self.federation.lead(
            now, self._party(installed, trouble), self._perhaps_leaders(installed)
        )
        self.federation.news = False
        return effects

    def _party(self, installed: Configuration, trouble: str) -> Party:
        party = self.site.picture.party()
        told = [(self._me.daemon, installed.id, trouble)]
        for member in party:
            if member != self._me:
                hello = self._hellos[member]
                told.append((member.daemon, hello.config, hello.trouble))
        troubled = [one for one in told if one[2]]
        troubled.sort(key=lambda one: (one[1] != installed.id, one))  # old ones come late
        standings = (Standing(*one) for one in sorted(troubled[:TROUBLES_TOLD]))
        return Party(installed.id, self._epoch, party, tuple(standings))

    def _perhaps_leaders(self, installed: Configuration) -> tuple[DaemonId, ...]:
        """Those of the last configuration, and who leads others of my site."""
        leaders = [members[0].daemon for members in installed.segments]
        leaders += self.site.strangers(self._hellos)
        return tuple(daemon for daemon in leaders if daemon != self._me.daemon)

    def hear_leader(self, now: Instant, sender: Member, told: LeaderWord) -> str | list[Word]:
        """Why it is refused, or what is answered and passed on."""
        if self.federation.alone:
            return "one_site"
        if isinstance(told, SiteReport):
            return self.federation.hear_report(now, sender, told)
        if isinstance(told, SiteNews):
            return self.federation.hear_news(now, sender, told)
        return self.federation.hear_greeting(now, sender, told, self.site.picture.leader)

    def slow_site(self, told: SiteReport | SiteNews, installed: Configuration) -> bool:
        """Somebody finds a site too slow for this configuration."""
        return any(
            standing.trouble == GatherReason.SLOW_SITE and standing.config == installed.id
            for standing in told.standings
        )

    def hear_leaving(self, now: Instant, sender: Member) -> list[Word]:
        self.site.peers.leave(now, sender)
        return self.federation.hear_leaving(now, sender)

    # What is seen.

    @property
    def coordinating(self) -> bool:
        return self.site.leading and self._coordinator() == self._me

    def _coordinator(self) -> Member:
        """The lowest leader that I can reach."""
        component = self.federation.component()
        return component[0].leader if component else self._me

    def follows(self, sender: Member, segment: tuple[Member, ...]) -> bool:
        """It leads my party; or I lead this segment, and it is the lowest leader I reach."""
        picture = self.site.picture
        if segment[0] != self._me:
            return sender == segment[0] and sender.daemon == picture.leader
        component = self.federation.component()
        if not component or component[0].leader != sender:
            return False
        return self.site.leading and set(segment) <= set(picture.party())

    def wish(self, now: Instant) -> Parts:
        return wished(self.site.picture.party(), self._others(now))

    def _others(self, now: Instant) -> list[SiteReport]:
        """The leaders that I can reach, without those who cannot take part."""
        excluded = frozenset(
            report.leader.daemon
            for report in self.federation.component()
            if self.site.penalties.excludes(now, report.leader.daemon)
        )
        component = self.federation.component(excluded)
        return [report for report in component if report.leader != self._me]

    def lost_of(self, configuration: Configuration) -> GatherReason | None:
        """Why what I proposed cannot be any more. A newcomer is no reason. Who has installed
        something above it will never accept it."""
        parties = {
            report.leader: set(report.party)
            for report in self.federation.component()
            if report.config <= configuration.id
        }
        parties[self._me] = {
            member
            for member in self.site.picture.party()
            if member == self._me or self._hellos[member].config <= configuration.id
        }
        for members in configuration.segments:
            if not set(members) <= parties.get(members[0], set()):
                return GatherReason.MEMBER_LOST
        if not holds_together(configuration, self.federation.edges()):
            return GatherReason.EDGE_LOST
        return None

    def healthy(self, now: Instant, wish: Parts, installed: Configuration, late: bool) -> bool:
        """Nothing to change. A member's word of trouble counts only about this configuration:
        older ones come late. So do leaders that have not installed it; for a while."""
        if wish != installed.segments:
            return False
        if not holds_together(installed, self.federation.edges()):
            return False
        party = self.site.picture.party()
        hellos = [self._hellos[member] for member in party if member != self._me]
        told = [(hello.config, hello.trouble) for hello in hellos]
        for report in self._others(now):
            told += [(standing.config, standing.trouble) for standing in report.standings]
            if report.config > installed.id or (report.config < installed.id and not late):
                return False
        return not any(trouble and config == installed.id for config, trouble in told)

    def settle_us(self, wish: Parts, installed: Configuration) -> int:
        """Longer where reports must travel first."""
        light = is_light(wish, installed, self.federation.edges())
        return self._settings.settle_us if light else self._settings.settle_far_us

    # For a proposal.

    def epoch(self, now: Instant) -> int:
        """The highest that I have heard of."""
        party = self.site.picture.party()
        near = [self._hellos[member].epoch for member in party if member != self._me]
        return max([0, *near, *(report.epoch for report in self._others(now))])

    def evidence(
        self, now: Instant, own_trouble: Trouble, wish: Parts, installed: Configuration
    ) -> tuple[str, str]:
        """Why a change is needed, in a word and in a line."""
        return evidence(
            now,
            self._me,
            own_trouble,
            installed,
            tuple(sorted(member for part in wish for member in part)),
            self._troubles(now),
            self.site.peers,
            regrouping(wish, installed, self.federation.edges()),
        )

    def _troubles(self, now: Instant) -> dict[Member, str]:
        """What the others say of themselves."""
        party = self.site.picture.party()
        found = {member: self._hellos[member].trouble for member in party if member != self._me}
        for report in self._others(now):
            told = {standing.daemon: standing.trouble for standing in report.standings}
            found.update({member: told.get(member.daemon, "") for member in report.party})
        return found

    def configuration(
        self, config: ConfigId, wish: Parts, installed: Configuration
    ) -> Configuration:
        """Measured weights are looked at anew only where the sites or their edges are others:
        trees outlive the coming and going of daemons (SP-36)."""
        edges = self.federation.edges()
        if self._settings.measured_weights and installed.members:
            kept = kept_edges(wish, installed, edges, self.federation.site)
            if kept:
                members = tuple(sorted(member for part in wish for member in part))
                return Configuration(config, members, wish, kept)
        return configuration_of(config, wish, edges, self.federation.weight)
