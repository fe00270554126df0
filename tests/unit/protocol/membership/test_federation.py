"""Leaders that find each other: whom they greet, what they answer, what they pass on."""

from dataclasses import replace

from antiphon.core.effects import Send, Word
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.protocol.membership.federation import Federation, Party
from antiphon.protocol.membership.settings import MembershipSettings
from antiphon.wire.control import (
    Greeting,
    PacketMessage,
    SiteNews,
    SiteReport,
    Standing,
    Times,
    read_control,
)
from antiphon.wire.link import NOTHING_HEARD
from antiphon.wire.packet import Envelope, open_header

SETTINGS = MembershipSettings()
SITES = tuple(tuple(DaemonId(10 * site + at) for at in range(4)) for site in (1, 2, 3))
START = 10_000_000


def member(number: int, life: int = 1) -> Member:
    return Member(DaemonId(number), Incarnation(life))


def party(*numbers: int) -> Party:
    return Party(ConfigId(1, *member(numbers[0]), 1), 1, tuple(map(member, numbers)), ())


def report(leader: int, *hears: int, number: int = 1) -> SiteReport:
    who = member(leader)
    config = ConfigId(1, *who, 1)
    return SiteReport(who, number, config, 1, (who,), (), tuple(map(member, hears)))


def sent(effects: str | list[Word]) -> list[tuple[int, PacketMessage]]:
    assert not isinstance(effects, str), effects
    found = []
    for effect in effects:
        assert isinstance(effect, Send)
        tag, _, _ = open_header(effect.packet, 1)
        found.append((int(effect.to), read_control(tag, effect.packet)))
    return found


def greeting(leader: int, summary: int = 0) -> Greeting:
    return Greeting(DaemonId(leader), summary, ())


class Leader:
    """Daemon 10, which leads 11."""

    def __init__(self, sites: tuple[tuple[DaemonId, ...], ...] = SITES) -> None:
        self.me = member(10)
        self.now = START
        self.federation = Federation(self.me, SETTINGS, Envelope(1, self.me), sites, ((0, 1, 7),))
        self.began = self.federation.lead(self.now, party(10, 11), ())

    def hear(self, sender: int, told: Greeting | SiteReport) -> list[tuple[int, PacketMessage]]:
        if isinstance(told, SiteReport):
            return sent(self.federation.hear_report(self.now, member(sender), told))
        return sent(self.federation.hear_greeting(self.now, member(sender), told, DaemonId(10)))

    def run(self, us: int, *heard: int) -> list[tuple[int, PacketMessage]]:
        """Let time pass; these greet all the time."""
        found = []
        end = self.now + us
        while self.now < end:
            self.now += 10_000
            for other in heard:
                found += self.hear(other, greeting(other))
            if self.federation.timers.deadline() <= self.now:
                found += sent(self.federation.wake(self.now))
        return found

    def meet(self, *others: int) -> None:
        """Edges to these, who hear only me."""
        for other in others:
            self.hear(other, greeting(other))
            self.hear(other, report(other, 10))

    def component(self) -> list[int]:
        return [int(one.leader.daemon) for one in self.federation.component()]


def kinds(told: list[tuple[int, PacketMessage]], kind: type) -> list[int]:
    return [to for to, message in told if isinstance(message, kind)]


def test_in_a_cluster_of_one_site_nobody_is_greeted() -> None:
    """Membership of one site costs nothing more than before."""
    alone = Leader(SITES[:1])
    assert alone.federation.alone and alone.began == []
    assert alone.run(5_000_000) == [] and alone.federation.component() == ()


def test_silent_sites_are_probed_some_daemons_at_a_time() -> None:
    """SP-16: what it costs grows with sites; in the end everybody was asked."""
    leader = Leader()
    first = leader.run(2 * SETTINGS.settle_us)
    assert kinds(first, Greeting) == [20, 21, 30, 31]
    second = leader.run(SETTINGS.greet_slow_us)
    assert kinds(second, Greeting) == [22, 23, 32, 33]
    third = leader.run(SETTINGS.greet_slow_us, 20)
    assert not set(kinds(third, Greeting)) & {21, 22, 23}, "from there somebody is heard"


def test_leaders_of_the_last_configuration_are_greeted_after_a_hello() -> None:
    """After the death of a leader its party must not be missed for long; but where a ring stands
    still everybody leads for a moment, and most of them follow again (SP-16)."""
    heir = Leader()
    heir.federation.follow(heir.now, DaemonId(9))
    heir.federation.lead(heir.now, party(10, 11), (DaemonId(22), DaemonId(31)))
    assert heir.run(SETTINGS.hello_us - 10_000) == []
    assert {22, 31} <= set(kinds(heir.run(10_000), Greeting))


def test_what_is_new_is_told_without_what_is_not() -> None:
    """SP-16: party and neighbours are told again only when they change."""
    leader = Leader()
    leader.meet(20, 30)
    leader.run(2 * SETTINGS.report_gap_us, 20, 30)
    moved = party(10, 11)._replace(config=ConfigId(5, *member(10), 2), epoch=5)
    told = sent(leader.federation.lead(leader.now, moved, ()))
    assert kinds(told, SiteNews) == [20, 30] and not kinds(told, SiteReport)
    larger = party(10, 11, 12)._replace(config=moved.config, epoch=5)
    leader.federation.lead(leader.now, larger, ())
    told = leader.run(2 * SETTINGS.report_gap_us, 20, 30)
    assert kinds(told, SiteReport)[:2] == [20, 30]


def test_a_life_with_a_lower_number_takes_the_place_of_one_that_is_silent() -> None:
    """Its clock was set back (site seed 20438): what its other life has reported does not keep
    it out, also if somebody passes that on once more."""
    leader = Leader()
    leader.meet(30)
    old, new = member(20, 9), member(20, 2)
    federation = leader.federation
    earlier = SiteReport(old, 17, ConfigId(1, *old, 1), 1, (old,), (), (member(10),))
    federation.hear_greeting(leader.now, old, greeting(20), DaemonId(10))
    federation.hear_report(leader.now, old, earlier)
    leader.run(2 * SETTINGS.report_gap_us, 30)
    assert leader.component() == [10, 20, 30]
    assert federation.hear_greeting(leader.now, new, greeting(20), DaemonId(10)) == (
        "old_incarnation"
    )
    leader.run(SETTINGS.hear_far_us + 2 * SETTINGS.greet_us, 30)
    assert leader.component() == [10, 30]
    federation.hear_greeting(leader.now, new, greeting(20), DaemonId(10))
    federation.hear_report(leader.now, member(30), earlier)
    now = SiteReport(new, 1, ConfigId(1, *new, 1), 1, (new,), (), (member(10),))
    federation.hear_report(leader.now, new, now)
    leader.run(2 * SETTINGS.report_gap_us, 30)
    assert leader.component() == [10, 20, 30]


def test_news_make_a_report_with_one_that_is_known() -> None:
    leader = Leader()
    leader.meet(20, 30)
    config = ConfigId(5, *member(20), 2)
    news = SiteNews(member(20), 4, 1, config, 5, (Standing(DaemonId(20), config, "token_loss"),))
    leader.federation.news = False
    told = sent(leader.federation.hear_news(leader.now, member(20), news))
    assert kinds(told, SiteReport) == [30], "whom its leader does not hear is told all of it"
    assert leader.federation.news
    held = {one.leader.daemon: one for one in leader.federation.component()}[DaemonId(20)]
    assert (held.number, held.config, held.epoch) == (4, config, 5)
    assert (held.party, held.hears) == ((member(20),), (member(10),))
    assert [one.trouble for one in held.standings] == ["token_loss"]


def test_who_comes_is_told_the_report_and_the_others_that_it_came() -> None:
    """SP-16: what a leader says to all when one comes or goes does not grow with sites."""
    leader = Leader()
    leader.meet(20, 30)
    leader.run(2 * SETTINGS.report_gap_us, 20, 30)
    told = leader.hear(40, greeting(40))
    assert kinds(told, SiteReport) == [40]
    assert [(to, one.come) for to, one in told if isinstance(one, SiteNews)] == [
        (20, (member(40),)),
        (30, (member(40),)),
    ]


def test_news_of_leaders_that_came_and_went_change_whom_it_hears() -> None:
    leader = Leader()
    leader.meet(20, 30)
    config = ConfigId(5, *member(20), 2)
    come, gone = (member(30), member(40)), (member(10),)
    news = SiteNews(member(20), 4, 1, config, 5, (), come, gone)
    leader.federation.hear_news(leader.now, member(20), news)
    assert leader.federation._reports is not None
    held = leader.federation._reports.of(member(20))
    assert held is not None and held.hears == come
    for wrong in (
        SiteNews(member(20), 9, 4, config, 5, (), (member(30),), ()),
        SiteNews(member(20), 9, 4, config, 5, (), (), (member(10),)),
    ):
        assert leader.federation.hear_news(leader.now, member(20), wrong) == "bad_field"


def test_news_like_a_report_that_is_not_known_say_nothing() -> None:
    """Greetings will show what is missing."""
    leader = Leader()
    leader.meet(20)
    config = ConfigId(5, *member(20), 2)
    leader.federation.news = False
    for news in (
        SiteNews(member(20), 9, 7, config, 5, ()),
        SiteNews(member(20, life=2), 9, 1, config, 5, ()),
        SiteNews(member(21), 9, 1, config, 5, ()),
    ):
        assert leader.federation.hear_news(leader.now, member(20), news) == []
    stranger = SiteNews(member(20), 9, 1, config, 5, (Standing(DaemonId(23), config, "lost"),))
    assert leader.federation.hear_news(leader.now, member(20), stranger) == "bad_field"
    assert not leader.federation.news


def test_who_is_heard_for_the_first_time_is_answered_and_told_everything() -> None:
    leader = Leader()
    told = leader.hear(20, greeting(20))
    assert kinds(told, Greeting) == [20] and kinds(told, SiteReport) == [20]
    (mine,) = [one for _, one in told if isinstance(one, SiteReport)]
    assert mine.hears == (member(20),) and mine.party == (member(10), member(11))
    assert leader.hear(20, greeting(20)) == [], "and not again"


def test_an_edge_needs_both_reports() -> None:
    """A one-way link is none."""
    leader = Leader()
    leader.hear(20, greeting(20))
    leader.hear(20, report(20))
    assert leader.component() == [10]
    leader.hear(20, report(20, 10, number=2))
    assert leader.component() == [10, 20]
    assert leader.federation.edges() == {(10, 20), (20, 10)}


def test_who_does_not_hear_another_is_in_its_component_over_a_third() -> None:
    """A broken pair excludes nobody while another way exists."""
    leader = Leader()
    leader.hear(20, greeting(20))
    leader.hear(20, report(20, 10, 30))
    leader.hear(20, report(30, 20))
    assert leader.component() == [10, 20, 30]
    assert (10, 30) not in leader.federation.edges()


def test_a_new_report_goes_on_to_those_whom_its_leader_does_not_reach() -> None:
    leader = Leader()
    leader.meet(20, 30)
    assert kinds(leader.hear(20, report(20, 10, number=2)), SiteReport) == [30]
    assert leader.hear(30, report(20, 10, number=2)) == [], "once"
    leader.hear(30, report(30, 10, 20, number=2))
    assert leader.hear(20, report(20, 10, 30, number=3)) == [], "30 has it from 20 itself"


def test_a_difference_in_what_two_know_is_made_good_by_greetings() -> None:
    """A report that was lost is asked for: the next greeting lists what is held."""
    leader = Leader()
    leader.meet(20, 30)
    told = leader.run(3 * SETTINGS.greet_us, 20, 30)
    lists = [one for to, one in told if isinstance(one, Greeting) and to == 20 and one.held]
    assert lists and dict(lists[-1].held)[member(30)] == 1
    lacking = Greeting(DaemonId(20), 5, ((member(10), 99), (member(20), 1)))
    assert [one.leader for _, one in leader.hear(20, lacking) if isinstance(one, SiteReport)] == [
        member(30)
    ]
    same = leader.federation.component()
    assert len(same) == 3
    mine = [one for to, one in leader.run(SETTINGS.greet_us) if isinstance(one, Greeting)][-1]
    leader.hear(20, Greeting(DaemonId(20), mine.summary, ()))
    after = [one for to, one in leader.run(SETTINGS.greet_us) if to == 20]
    assert [one.held for one in after if isinstance(one, Greeting)] == [()]


def test_who_is_silent_is_out_of_reach_and_forgotten() -> None:
    leader = Leader()
    leader.meet(20, 30)
    told = leader.run(SETTINGS.hear_far_us + 2 * SETTINGS.greet_us, 30)
    assert leader.component() == [10, 30]
    news = [one for to, one in told if isinstance(one, SiteNews) and to == 30]
    assert [one.gone for one in news] == [(member(20),)], "and all are told"
    assert leader.federation._reports is not None
    assert leader.federation._reports.leaders == [10, 20, 30], "in case a way returns"
    leader.run(SETTINGS.report_life_us + SETTINGS.greet_us, 30)
    assert leader.federation._reports.leaders == [10, 30]


def test_one_that_does_not_lead_answers_with_whom_it_follows() -> None:
    follower = Leader()
    follower.federation.follow(follower.now, DaemonId(9))
    answer = follower.federation.hear_greeting(follower.now, member(20), greeting(20), DaemonId(9))
    assert sent(answer) == [(20, Greeting(DaemonId(9), 0, ()))]
    assert (
        follower.federation.hear_greeting(follower.now, member(21), greeting(20), DaemonId(9)) == []
    ), "two that follow have nothing to say to each other"


def test_a_leader_follows_the_reference_to_another() -> None:
    leader = Leader()
    leader.meet(21)
    told = leader.hear(21, greeting(20))
    assert kinds(told, Greeting) == [20]
    assert leader.component() == [10]
    assert kinds(leader.hear(22, greeting(20)), Greeting) == [], "it was asked just now"
    assert kinds(leader.hear(22, greeting(99)), Greeting) == [], "nobody of this cluster"
    assert kinds(leader.hear(22, greeting(11)), Greeting) == [], "that is one of my party"


def test_who_follows_another_from_now_on_says_so() -> None:
    leader = Leader()
    leader.meet(20, 30)
    told = sent(leader.federation.follow(leader.now, DaemonId(9)))
    assert told == [(20, Greeting(DaemonId(9), 0, ())), (30, Greeting(DaemonId(9), 0, ()))]
    assert leader.federation.component() == () and leader.run(5_000_000) == []


def test_numbers_of_reports_go_on_when_a_daemon_leads_again() -> None:
    """Else others would take the new report for an old one."""
    leader = Leader()
    leader.meet(20)
    before = leader.federation.component()[0].number
    leader.federation.follow(leader.now, DaemonId(9))
    leader.federation.lead(leader.now, party(10), ())
    assert leader.federation.component()[0].number > before


def test_changes_in_a_party_are_told_at_once_but_not_faster_than_others_can_read() -> None:
    leader = Leader()
    leader.meet(20)
    leader.run(1_000_000, 20)
    told = sent(leader.federation.lead(leader.now, party(10), ()))
    assert kinds(told, SiteReport) == [20]
    leader.now += 1
    assert leader.federation.lead(leader.now, party(10, 11), ()) == []
    leader.now += SETTINGS.report_gap_us
    told = sent(leader.federation.wake(leader.now))
    (last,) = [one for _, one in told if isinstance(one, SiteReport)]
    assert last.party == (member(10), member(11))


def test_a_dead_link_is_no_edge_for_a_while_longer_each_time() -> None:
    """X-02: both hear each other, and yet nothing comes through."""
    leader = Leader()
    leader.meet(20, 30)
    leader.run(100_000, 20, 30)
    lengths = []
    for _ in range(2):
        leader.federation.shun(leader.now, DaemonId(20))
        leader.run(SETTINGS.report_gap_us, 20, 30)
        assert leader.component() == [10, 30]
        since = leader.now
        while leader.component() == [10, 30]:
            leader.run(50_000, 20, 30)
        lengths.append(leader.now - since)
    assert lengths[0] >= SETTINGS.penalty_us - 100_000
    assert lengths[1] > 1.5 * lengths[0]


def test_an_older_life_is_refused_while_the_newer_one_is_heard() -> None:
    leader = Leader()
    newer = member(20, life=2)
    leader.federation.hear_greeting(leader.now, newer, greeting(20), DaemonId(10))
    answer = leader.federation.hear_greeting(leader.now, member(20), greeting(20), DaemonId(10))
    assert answer == "old_incarnation"
    leader.run(SETTINGS.hear_far_us + 1)
    answer = leader.federation.hear_greeting(leader.now, member(20), greeting(20), DaemonId(10))
    assert not isinstance(answer, str), "clocks can be set back"


def test_a_report_of_a_stranger_is_refused() -> None:
    leader = Leader()
    refused = leader.federation.hear_report(leader.now, member(20), report(77))
    assert refused == "unknown_daemon"


def test_what_others_say_of_me_is_not_believed() -> None:
    leader = Leader()
    assert leader.hear(20, report(10, number=99)) == []
    assert leader.federation.component()[0].number < 99


def test_after_a_pause_nobody_was_silent() -> None:
    leader = Leader()
    leader.meet(20)
    leader.now += 60_000_000
    leader.federation.skip(60_000_000)
    leader.run(SETTINGS.greet_us)
    assert leader.component() == [10, 20]


def test_weights_belong_to_sites_and_directions() -> None:
    """SP-44."""
    federation = Leader().federation
    assert federation.weight(DaemonId(11), DaemonId(23)) == 7
    assert federation.weight(DaemonId(23), DaemonId(11)) == 1


class Surveyor(Leader):
    """A leader where weights are measured, and daemons greet it back after a while."""

    def __init__(self) -> None:
        super().__init__()
        settings = replace(SETTINGS, measured_weights=True)
        envelope = Envelope(1, self.me)
        self.federation = Federation(self.me, settings, envelope, SITES, ((0, 1, 7),))
        self.federation.lead(self.now, party(10, 11), ())
        self.now += 1_000_000

    def survey(self, other: int, round_trip_us: int, number: int = 1) -> list[SiteReport]:
        """Reports that are sent when its greeting has come."""
        times = Times(number, 0, (self.now - round_trip_us) % 2**32, 0)
        told = self.hear(other, Greeting(DaemonId(other), 0, (), times))
        return [one for _, one in told if isinstance(one, SiteReport)]


def test_measured_weights_are_told_and_renewed_when_they_moved() -> None:
    """SP-44."""
    leader = Surveyor()
    (first,) = leader.survey(30, 40_000)
    assert (first.hears, first.weights) == ((member(30),), (200,))
    leader.now += 1_000_000
    assert leader.survey(30, 39_000, 2) == [], "noise"
    leader.now += 1_000_000
    (renewed,) = leader.survey(30, 20_000, 3)
    assert renewed.weights == (100,)
    assert leader.federation.distances()[DaemonId(30)].round_trip_us == 20_000


def test_a_weight_is_what_the_end_of_the_way_says_or_else_its_start() -> None:
    """SP-44, SP-112: set by hand, measured at either end, or guessed; in this order."""
    leader = Surveyor()
    federation = leader.federation
    leader.survey(20, 40_000)
    leader.now += 100_000
    leader.survey(30, 60_000)
    leader.hear(20, replace_weights(report(20, 10, 30), (900, 150)))
    leader.hear(30, replace_weights(report(30, 10, 20), (0, 0)))
    ways = {
        (10, 20): 7,  # by hand
        (20, 10): 200,
        (10, 30): 300,  # 30 has not measured it yet
        (30, 20): 150,
        (20, 30): 150,
        (21, 31): 500,  # nobody has
    }
    for (one, two), weight in ways.items():
        assert federation.weight(DaemonId(one), DaemonId(two)) == weight, (one, two)


def test_weights_are_not_told_where_the_file_sets_them() -> None:
    leader = Leader()
    leader.now += 1_000_000
    times = Times(1, 0, leader.now - 40_000, 0)
    ((_, told), _) = leader.hear(20, Greeting(DaemonId(20), 0, (), times))
    assert isinstance(told, SiteReport) and told.weights == ()
    assert leader.federation.distances()[DaemonId(20)].round_trip_us == 40_000, "but known"


def replace_weights(told: SiteReport, weights: tuple[int, ...]) -> SiteReport:
    told.weights = weights
    return told


def test_greetings_are_numbered_for_each_and_echo_the_clock() -> None:
    leader = Leader()
    times = Times(4, 77, 0, NOTHING_HEARD)
    told = leader.hear(20, Greeting(DaemonId(20), 0, (), times))
    (answer,) = [one for _, one in told if isinstance(one, Greeting)]
    assert answer.times == (1, leader.now, 77, 0)
    later = [one for to, one in leader.run(2 * SETTINGS.settle_us) if to == 20]
    (second,) = [one for one in later if isinstance(one, Greeting)]
    assert second.times.number == 2 and second.times.echo == 77 and second.times.held_us > 0
