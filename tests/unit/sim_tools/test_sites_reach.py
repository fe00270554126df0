"""What the wide area met is read from records, and nothing counts that did not happen."""

from collections import Counter
from typing import Any

from antiphon.core.ids import NO_CONFIG, ConfigId, DaemonId, Incarnation, Member, SessionId
from antiphon.core.trace import Kind, Record
from antiphon.sim.reach import SITUATION, Counts, Pair, all_pairs
from antiphon.sim.script import parse_script
from antiphon.sim.sites_reach import (
    DETOUR,
    EDGE_DIES,
    FAR_TRANSITIONAL,
    LEADER,
    LEADER_CRASHES,
    SITE_GONE,
    SITE_SITUATIONS,
    TORN,
    UNEQUAL_MERGE,
    count_sites,
    site_pairs,
)
from antiphon.sim.unreached import ONE_SITE_ONLY, findings

LIFE = Incarnation(1)
SCRIPT = parse_script("daemons 4\nsites 1 2 | 3 | 4\nuntil 1s")
ALL = (1, 2, 3, 4)


def config(number: int) -> ConfigId:
    return ConfigId(number, DaemonId(1), LIFE, number)


class Tale:
    """Records of four daemons at three sites, all in one configuration to begin with."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        for daemon in ALL:
            self.tell(Kind.START, daemon)
            self.tell(Kind.ENTER, daemon, reason="operational")
        self.install(1, ALL)

    def tell(self, kind: Kind, daemon: int = 0, **columns: Any) -> None:
        time = len(self.records)
        self.records.append(Record(kind, time, DaemonId(daemon), LIFE, **columns))

    def install(self, number: int, daemons: tuple[int, ...], base: int = 0) -> None:
        members = tuple(Member(DaemonId(one), LIFE) for one in daemons)
        old = config(base) if base else NO_CONFIG
        for one in daemons:
            self.tell(Kind.INSTALL, one, config=config(number), base=old, members=members)

    def fault(self, text: str) -> None:
        self.tell(Kind.FAULT, reason=text)

    def message(self, source: int, number: int, *targets: int, **columns: Any) -> None:
        self.send(source, number)
        self.deliver(source, number, *targets, **columns)

    def send(self, source: int, number: int) -> None:
        origin = SessionId(DaemonId(source), LIFE, 1)
        self.tell(Kind.SEND, source, config=config(1), origin=origin, first=number, count=1)

    def deliver(self, source: int, number: int, *targets: int, **columns: Any) -> None:
        origin = SessionId(DaemonId(source), LIFE, 1)
        told = {"config": config(1), "origin": origin, "first": number, "count": 1, **columns}
        for target in targets:
            self.tell(Kind.DELIVER, target, **told)

    def counts(self) -> Counts:
        return count_sites(SCRIPT, self.records)

    def situations(self) -> Counter[str]:
        return Counter({pair.what: n for pair, n in self.counts().items() if pair.table != LEADER})


def test_a_quiet_run_meets_nothing() -> None:
    tale = Tale()
    tale.message(1, 1, *ALL)
    tale.tell(Kind.QUIET)
    assert tale.counts() == Counter()


def test_an_edge_dies_for_both_its_leaders_in_the_state_each_is_in() -> None:
    tale = Tale()
    tale.tell(Kind.ENTER, 3, reason="recover")
    tale.fault("at 1s oneway site1 > site2")
    tale.fault("at 2s oneway site1 - site2")
    assert tale.counts() == {
        Pair(LEADER, "operational", EDGE_DIES): 1,
        Pair(LEADER, "recover", EDGE_DIES): 1,
    }


def test_only_edges_of_who_leads_count_and_only_inside_a_configuration() -> None:
    tale = Tale()
    tale.fault("at 1s oneway 2 - 3")
    assert not tale.counts()
    tale.install(2, (1, 2), base=1)
    tale.install(3, (3, 4), base=1)
    tale.fault("when 1 install oneway lead1 - lead2")
    assert not tale.counts()
    tale.fault("at 2s cut site2")
    assert tale.counts() == {Pair(LEADER, "operational", EDGE_DIES): 2}


def test_a_leader_crashes_in_a_state() -> None:
    tale = Tale()
    tale.tell(Kind.STOP, 2)
    assert not tale.counts(), "1 leads"
    tale.tell(Kind.ENTER, 1, reason="collect")
    tale.tell(Kind.STOP, 1)
    assert tale.counts() == {
        Pair(LEADER, "collect", LEADER_CRASHES): 1,
        Pair(SITUATION, "", SITE_GONE): 1,
    }


def test_the_next_one_leads_when_the_first_is_gone() -> None:
    tale = Tale()
    tale.tell(Kind.STOP, 1)
    tale.tell(Kind.ENTER, 2, reason="ready")
    tale.tell(Kind.STOP, 2)
    assert tale.counts()[Pair(LEADER, "ready", LEADER_CRASHES)] == 1


def test_a_crash_in_a_configuration_of_one_site_does_not_count() -> None:
    tale = Tale()
    tale.install(2, (1, 2), base=1)
    tale.tell(Kind.STOP, 1)
    tale.tell(Kind.STOP, 2)
    assert not tale.counts()


def test_a_merge_of_sites_counts_if_each_has_delivered_something() -> None:
    for spoke, times in (((2, 3), 1), ((2,), 0), ((), 0)):
        tale = Tale()
        tale.install(2, (1, 2), base=1)
        tale.install(3, (3, 4), base=1)
        for number in spoke:
            tale.deliver(1, 1, 1 if number == 2 else 3, config=config(number))
        tale.install(4, (1, 2), base=2)
        tale.install(4, (3, 4), base=3)
        assert tale.situations()[UNEQUAL_MERGE] == times


def test_a_merge_inside_one_site_is_none_of_sites() -> None:
    tale = Tale()
    tale.install(2, (1,), base=1)
    tale.install(3, (2,), base=1)
    tale.deliver(1, 1, 1, config=config(2))
    tale.deliver(2, 1, 2, config=config(3))
    tale.install(4, (1,), base=2)
    tale.install(4, (2,), base=3)
    assert tale.situations()[UNEQUAL_MERGE] == 0


def test_a_message_of_another_site_in_a_transitional_configuration() -> None:
    tale = Tale()
    tale.message(1, 1, 1, 2, 3, transitional=True)
    assert tale.situations() == {FAR_TRANSITIONAL: 1}


def test_a_detour_is_taken_if_the_straight_way_was_shut_all_the_time() -> None:
    tale = Tale()
    tale.send(1, 1)
    tale.fault("at 1s oneway site1 > site2")
    tale.deliver(1, 1, *ALL)
    assert tale.situations()[DETOUR] == 0, "it may have come before"
    tale.message(1, 2, *ALL)
    assert tale.situations()[DETOUR] == 1, "to 3, not to 4"
    tale.message(3, 1, *ALL)
    assert tale.situations()[DETOUR] == 1, "the other direction is open"
    tale.send(1, 3)
    tale.fault("at 2s heal site1 > site2")
    tale.deliver(1, 3, *ALL)
    assert tale.situations()[DETOUR] == 1


def test_a_torn_site_in_a_configuration_counts_once() -> None:
    tale = Tale()
    tale.fault("at 1s oneway 1 > 2")
    tale.install(2, ALL, base=1)
    tale.install(3, (1, 2), base=2)
    assert tale.situations()[TORN] == 1, "not the one of a single site"


def test_what_sites_must_meet_is_asked_for_only_where_there_are_sites() -> None:
    rows = {row.pair: row for row in findings(Counter(), 1, sites=True)}
    for situation in SITE_SITUATIONS:
        assert rows[Pair(SITUATION, "", situation)].fault == "never met"
    assert not {*site_pairs()} & {*all_pairs()}
    assert not {*site_pairs()} & {row.pair for row in findings(Counter(), 1)}


def test_what_only_one_site_meets_is_explained_over_sites_and_demanded_there() -> None:
    for pair in ONE_SITE_ONLY:
        over, one = (
            next(row for row in findings(Counter(), 1, sites=sites) if row.pair == pair)
            for sites in (True, False)
        )
        assert (over.fault, over.explanation) == ("", ONE_SITE_ONLY[pair])
        assert one.fault == "never met"
