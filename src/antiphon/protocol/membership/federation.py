"""Leaders find each other and tell each other who is there (docs/protocols/wide-area.md).

    Greeting    do you hear me? here is a summary of what I know
    SiteReport  my party and whom I hear; flooded when it changes
    SiteNews    what else has changed in my report

A leader keeps the newest report of each and draws its picture from them (reports.py). Reports
tell levels: one that is lost is asked for as soon as the next Greeting shows the difference.

Timers   GREET   greet the leaders I know of, and see who is silent
         PROBE   greet daemons of sites from which I hear nobody
         REPORT  tell what has changed since my last report
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from antiphon.core.effects import Send, Word
from antiphon.core.ids import ConfigId, DaemonId, Member
from antiphon.core.machine import MILLISECOND, NEVER, Instant, Timers
from antiphon.protocol.membership.distance import GUESS, UNHEARD, Distance
from antiphon.protocol.membership.penalties import Penalties
from antiphon.protocol.membership.reports import Held, Reports
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import (
    SEGMENTS_MAX,
    Greeting,
    SiteNews,
    SiteReport,
    Standing,
    Times,
    pack_control,
)
from antiphon.wire.link import CLOCK
from antiphon.wire.packet import Envelope

GREET = "greet"
PROBE = "probe"
REPORT = "report"

PROBES_PER_SITE = 2
"""So many daemons of a silent site are greeted at a time: cost grows with sites (SP-16)."""


Sites = tuple[tuple[DaemonId, ...], ...]
Weights = tuple[tuple[int, int, int], ...]
"""From site, to site, weight."""


ASK_US = 50 * MILLISECOND
"""One at a time is asked for what it knows better: all of them would tell the same."""


@lru_cache(maxsize=4)
def _atlas(
    sites: Sites, weights: Weights
) -> tuple[dict[DaemonId, int], dict[tuple[int, int], int]]:
    """Where everybody is, and what ways cost; one for all nodes of a process."""
    site_of = {daemon: at for at, site in enumerate(sites) for daemon in site}
    return site_of, {(one, two): weight for one, two, weight in weights}


class Far(NamedTuple):
    """A leader that I hear."""

    member: Member
    at: Instant
    summary: int
    distance: Distance


class Party(NamedTuple):
    """What a leader says of those who follow it."""

    config: ConfigId
    epoch: int
    members: tuple[Member, ...]
    standings: tuple[Standing, ...]


class Federation:
    """Has reports exactly while this daemon leads, and never in a cluster of one site."""

    def __init__(
        self,
        me: Member,
        settings: MembershipSettings,
        envelope: Envelope,
        sites: Sites,
        weights: Weights,
    ) -> None:
        self._me = me
        self._settings = settings
        self._envelope = envelope
        self.timers = Timers()
        self._place(sites, weights)
        self._reports: Reports | None = None
        self._party = Party(ConfigId(0, me.daemon, me.incarnation, 0), 0, (me,), ())
        self._number = 0
        self._born: Instant = NEVER
        """When I first led."""

        self._said: Counter[DaemonId] = Counter()
        """Greetings to each, which number them."""

        self._like = 0
        """The number of my last report with other lists than the one before."""

        self._told_at: Instant = 0
        self._heard: dict[DaemonId, Far] = {}
        self._known: tuple[DaemonId, ...] = ()
        self._referred: dict[DaemonId, Instant] = {}
        self._shunned = Penalties(settings)
        self._probed = 0
        self._turn = 0
        self._asked_at: Instant = -ASK_US
        self.news = False
        """The picture has changed since somebody looked at it."""

    def _place(self, sites: Sites, weights: Weights) -> None:
        self._sites = sites
        self._site_of, self._weights = _atlas(sites, weights)
        self.alone = len(sites) < 2

    def reload(self, sites: Sites, weights: Weights) -> None:
        """Other daemons at other sites; who is named no more is not heard from now on."""
        self._place(sites, weights)
        self._heard = {one: far for one, far in self._heard.items() if one in self._site_of}
        if self._reports is not None:
            for daemon in self._reports.leaders:
                if daemon not in self._site_of:
                    self._reports.remove(daemon)

    # Leading and following.

    def lead(self, now: Instant, party: Party, known: tuple[DaemonId, ...]) -> list[Word]:
        """I lead this party; `known` might be other leaders."""
        if self.alone:
            return []
        self._party = party
        self._known = known
        self._born = min(self._born, now)
        for member in party.members:
            self._heard.pop(member.daemon, None)
        if self._reports is None:
            self._number += 1
            self._like = self._number
            self._reports = Reports(self._report(now))
            # At the start my neighbours first find me. When a ring stands still everybody leads
            # for a moment; after the death of a leader others wait for the one that remains.
            first = now + (self._settings.hello_us if known else 2 * self._settings.settle_us)
            self.timers.set(GREET, first)
            self.timers.set(PROBE, first)
        return self._renew(now)

    def follow(self, now: Instant, leader: DaemonId) -> list[Word]:
        """Somebody else leads: tell those who took me for a leader."""
        if self._reports is None:
            return []
        told = [self._send(far, Greeting(leader, 0, ())) for far in sorted(self._heard)]
        self._reports = None
        self._heard.clear()
        self._referred.clear()
        self.timers.clear_all()
        return told

    def skip(self, gap: Instant) -> None:
        """I stood still: nobody was silent in that time."""
        self.timers.shift(gap)
        self._heard = {daemon: far._replace(at=far.at + gap) for daemon, far in self._heard.items()}
        if self._reports is not None:
            self._reports.skip(gap)

    # The picture.

    def component(self, excluded: frozenset[DaemonId] = frozenset()) -> tuple[SiteReport, ...]:
        """Who can be reached, by their leaders; empty while I know only myself."""
        if self._reports is None:
            return ()
        return self._reports.reached_without(excluded)

    @property
    def hearing(self) -> list[DaemonId]:
        """The leaders that I hear."""
        return sorted(self._heard)

    def edges(self) -> set[tuple[DaemonId, DaemonId]]:
        return set(self._reports.edges()) if self._reports is not None else set()

    def weight(self, one: DaemonId, two: DaemonId) -> int:
        """Of the way between two daemons: it belongs to their sites."""
        by_hand = self._weights.get((self._site_of[one], self._site_of[two]))
        if by_hand is not None:
            return by_hand
        if not self._settings.measured_weights or self._reports is None:
            return 1
        return self._reports.measured(one, two) or GUESS

    def site(self, daemon: DaemonId) -> int:
        return self._site_of[daemon]

    def _measured(self, hears: tuple[Member, ...]) -> tuple[int, ...]:
        if not self._settings.measured_weights:
            return ()
        return tuple(self._heard[member.daemon].distance.weight for member in hears)

    def distances(self) -> dict[DaemonId, Distance]:
        """Of the leaders that I hear."""
        return {daemon: far.distance for daemon, far in sorted(self._heard.items())}

    def is_far(self, daemon: DaemonId) -> bool:
        """It is of another site."""
        return not self.alone and self._site_of.get(daemon) != self._site_of[self._me.daemon]

    # What comes.

    def hear_greeting(
        self, now: Instant, sender: Member, greeting: Greeting, leader: DaemonId
    ) -> str | list[Word]:
        """Why it is refused, or what is answered; `leader` is whom I follow."""
        leads = greeting.leader == sender.daemon
        if self._reports is None:
            return [self._send(sender.daemon, Greeting(leader, 0, ()))] if leads else []
        if sender in self._party.members:
            return []  # it follows me, and will know
        if not leads:
            return self._refer(now, sender.daemon, greeting.leader)
        known = self._heard.get(sender.daemon)
        if known is not None and not self._fresh(now, known):
            known = None
        if known is not None and sender.incarnation < known.member.incarnation:
            return "old_incarnation"
        if known is not None and known.member != sender:
            known = None
        distance = Distance() if known is None else known.distance
        moved = distance.hear(now, greeting.times, now - self._born)
        self._heard[sender.daemon] = Far(sender, now, greeting.summary, distance)
        if known is None and self._reports.of(sender) is None:
            # What another life of it has reported is over, also if that has a higher number:
            # a clock may be set back.
            self.news |= self._reports.remove(sender.daemon)
        effects: list[Word] = []
        if greeting.held:
            for report in self._reports.newer_than(greeting.held):
                effects.append(self._send(sender.daemon, report))
        if known is None or (moved and self._settings.measured_weights):
            effects += self._renew(now)
        if known is None:
            effects.append(self._greet(now, sender.daemon))
        return effects

    def _refer(self, now: Instant, daemon: DaemonId, leader: DaemonId) -> list[Word]:
        """It does not lead; ask the one that does."""
        assert self._reports is not None
        effects: list[Word] = []
        if self._heard.pop(daemon, None) is not None:
            effects += self._renew(now)
        self.news = self._reports.remove(daemon) or self.news
        mine = any(member.daemon == leader for member in self._party.members)
        if leader in self._site_of and leader not in self._heard and not mine:
            if not self._recent(now, leader):
                effects.append(self._greet(now, leader))
            self._referred[leader] = now
        return effects

    def hear_report(self, now: Instant, sender: Member, report: SiteReport) -> str | list[Word]:
        """Why it is refused, or to whom it goes on."""
        leader = report.leader.daemon
        if leader not in self._site_of:
            return "unknown_daemon"
        if self._reports is None or leader == self._me.daemon:
            return []
        heard = self._heard.get(leader)
        if heard is not None and self._fresh(now, heard) and heard.member != report.leader:
            return []  # of a life that is over, or not yet heard: then greetings will show it
        if not self._reports.add(now, report):
            return []
        self.news = True
        # Whom its leader hears was told by itself; if that was lost, greetings will show it.
        done = {sender.daemon, leader, *(other.daemon for other in report.hears)}
        return self._flood(report, done)

    def hear_news(self, now: Instant, sender: Member, news: SiteNews) -> str | list[Word]:
        """A report like one that I have; if I do not, greetings will show it."""
        known = self._reports.of(news.leader) if self._reports is not None else None
        if known is None or known.number < news.like:
            return []
        if not {standing.daemon for standing in news.standings} <= {one[0] for one in known.party}:
            return "bad_field"
        hears = known.hears
        if news.come or news.gone:
            stay = set(hears).difference(news.gone)
            hears = tuple(sorted(stay.union(news.come)))
            if len(hears) != len(known.hears) + len(news.come) - len(news.gone) or known.weights:
                return "bad_field"
        report = SiteReport(
            known.leader,
            news.number,
            news.config,
            news.epoch,
            known.party,
            news.standings,
            hears,
            known.weights,
        )
        return self.hear_report(now, sender, report)

    def hear_leaving(self, now: Instant, sender: Member) -> list[Word]:
        """It stops, and leads nobody any more."""
        far = self._heard.get(sender.daemon)
        if self._reports is None or far is None or far.member != sender:
            return []
        del self._heard[sender.daemon]
        self._reports.remove(sender.daemon)
        return self._renew(now)

    def shun(self, now: Instant, *peers: DaemonId) -> list[Word]:
        """An edge that does not carry, or too slowly, is none for a while."""
        for peer in peers:
            if not self._shunned.excludes(now, peer):
                self._shunned.punish(now, peer)
        return self._renew(now) if self._reports is not None else []

    # What goes.

    def wake(self, now: Instant) -> list[Word]:
        effects: list[Word] = []
        for name in self.timers.due(now):
            if name == GREET:
                effects += self._greet_all(now)
            elif name == PROBE:
                effects += self._probe(now)
            elif name == REPORT:
                effects += self._renew(now)
        return effects

    def _greet_all(self, now: Instant) -> list[Word]:
        assert self._reports is not None
        self.timers.set(GREET, now + self._settings.greet_us)
        self._heard = {daemon: far for daemon, far in self._heard.items() if self._fresh(now, far)}
        self._referred = {
            daemon: at for daemon, at in self._referred.items() if self._recent(now, daemon)
        }
        effects = self._renew(now)
        self._reports.forget(now, self._settings.report_life_us)
        mine = {member.daemon for member in self._party.members}
        found = {*self._heard, *self._known, *self._referred, *self._reports.leaders} - mine
        others = sorted(found)
        self._turn += 1
        first = self._turn % max(1, len(others))  # others are asked each time
        return effects + [self._greet(now, daemon) for daemon in others[first:] + others[:first]]

    def _probe(self, now: Instant) -> list[Word]:
        """Some daemons of each site from which nobody is heard, others the next time."""
        self.timers.set(PROBE, now + self._settings.greet_slow_us)
        chosen: set[DaemonId] = set()
        mine = self._site_of[self._me.daemon]
        for at, site in enumerate(self._sites):
            if at != mine and not any(daemon in self._heard for daemon in site):
                places = range(self._probed, self._probed + PROBES_PER_SITE)
                chosen.update(site[place % len(site)] for place in places)
        self._probed += PROBES_PER_SITE
        return [self._greet(now, daemon) for daemon in sorted(chosen)]

    def _greet(self, now: Instant, daemon: DaemonId) -> Word:
        assert self._reports is not None
        summary = self._reports.summary()
        far = self._heard.get(daemon)
        held: Held = ()
        if far is not None and far.summary != summary and now >= self._asked_at + ASK_US:
            self._asked_at = now
            held = self._reports.held()
        self._said[daemon] += 1
        echo, held_us = UNHEARD if far is None else far.distance.echo(now)
        times = Times(self._said[daemon], now % CLOCK, echo, held_us)
        return self._send(daemon, Greeting(self._me.daemon, summary, held, times))

    def _renew(self, now: Instant) -> list[Word]:
        """Tell what has changed."""
        assert self._reports is not None
        mine = self._reports.mine
        report = self._report(now)
        if report == mine:
            return []
        earliest = self._told_at + self._settings.report_gap_us
        if now < earliest:
            self.timers.set(REPORT, earliest)
            return []
        self._told_at = now
        self._number = report.number = mine.number + 1
        self._reports.add(now, report)
        self.news = True
        before, after = set(mine.hears), set(report.hears)
        come, gone = tuple(sorted(after - before)), tuple(sorted(before - after))
        moved = report.weights != mine.weights or (report.weights and (come or gone))
        if report.party != mine.party or moved:
            self._like = report.number
            return self._flood(report, ())
        news = SiteNews(
            self._me,
            report.number,
            self._like,
            report.config,
            report.epoch,
            report.standings,
            come,
            gone,
        )
        if come or gone:
            self._like = report.number
        newcomers = {member.daemon for member in come}
        told = self._flood(report, set(self._heard) - newcomers) if newcomers else []
        return told + self._flood(news, newcomers)

    def _report(self, now: Instant) -> SiteReport:
        party = self._party
        hears = tuple(
            far.member
            for daemon, far in sorted(self._heard.items())
            if self._fresh(now, far) and not self._shunned.excludes(now, daemon)
        )
        return SiteReport(
            self._me,
            self._number,
            party.config,
            party.epoch,
            party.members,
            party.standings,
            hears[:SEGMENTS_MAX],
            self._measured(hears[:SEGMENTS_MAX]),
        )

    def _flood(self, report: SiteReport | SiteNews, but: Iterable[DaemonId]) -> list[Word]:
        packet = pack_control(self._envelope, report)
        return [Send(daemon, packet) for daemon in sorted(set(self._heard).difference(but))]

    def _fresh(self, now: Instant, far: Far) -> bool:
        return now - far.at <= self._settings.hear_far_us

    def _recent(self, now: Instant, daemon: DaemonId) -> bool:
        at = self._referred.get(daemon)
        return at is not None and now - at <= self._settings.hear_far_us

    def _send(self, to: DaemonId, message: Greeting | SiteReport) -> Word:
        return Send(to, pack_control(self._envelope, message))
