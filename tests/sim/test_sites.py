"""Sites in the simulated world, with real nodes."""

from antiphon.core.trace import Kind
from antiphon.protocol.links.tube import Tube
from antiphon.sim.trial import parse_trial, play

ONE_SITE = """
seed 11
daemons 3
sessions 2
network latency=300us jitter=100us loss=0.01
workload rate=20 until=4s
at 1s cut 1 2 | 3
at 2s heal
at 3s crash 1
quiet 4s
until 7s
"""

PARTED = """
seed 12
daemons 5
sessions 2
sites 1 4 5 | 2 3
wan * - * latency=30ms jitter=3ms loss=0.05
workload rate=20 until=6s
at 0s break site1 - site2
at 2s crash lead1
at 3s when lead1 enters collect crash lead1
at 4s restart site1
at 4s oneway 2 - 3
at 5s heal
quiet 6s
until 10s
"""


def test_one_site_is_what_there_is_without_sites() -> None:
    """The line alone changes nothing, and settings of links between sites concern nobody."""
    told = f"sites 1 2 3\nwan * - * latency=80ms\n{ONE_SITE}"
    assert play(parse_trial(told))[0].digest() == play(parse_trial(ONE_SITE))[0].digest()


def test_sites_that_never_meet_keep_every_promise_for_themselves() -> None:
    """SP-13: who leads is not configured; the next one takes over, and the first one again."""
    played, outcome = play(parse_trial(PARTED))
    assert not outcome.failed, outcome.violations
    assert outcome.messages > 100
    reached = {tuple(one.daemon for one in row.members) for row in _rows(played, Kind.REACH)}
    assert reached == {(1, 4, 5), (2, 3)}
    assert _rows(played, Kind.STOP)[0].node == 1
    faults = [row.reason for row in _rows(played, Kind.FAULT)]
    assert "at 2s crash lead1" in faults


def _rows(played, kind):
    return [row for row in played.records if row.kind is kind]


TCP = """
node tcp-edges=1
seed 13
daemons 5
sessions 2
sites 1 4 5 | 2 3
wan * - * latency=30ms jitter=3ms loss=0.05
workload rate=30 until=6s
at 1s snap
at 2s snap
at 2200ms snap site1 - site2
at 3s crash lead1
at 4s restart site1
at 5s oneway site1 > site2
at 5600ms heal
quiet 6s
until 20s
"""


def test_sites_joined_by_tcp_keep_every_promise_whatever_breaks() -> None:
    """SP-23, SP-196: the same overlay over TCP."""
    played, outcome = play(parse_trial(TCP))
    assert not outcome.failed, outcome.violations
    reached = {tuple(one.daemon for one in row.members) for row in _rows(played, Kind.REACH)}
    assert reached == {(1, 2, 3, 4, 5)}
    links = [host.node.links._links for host in played.world.hosts.values()]
    tubes = [link for each in links for link in each.values()]
    assert tubes and all(isinstance(link, Tube) and link.state == "OPEN" for link in tubes)


def test_a_broken_connection_is_no_change_of_membership() -> None:
    calm = TCP[: TCP.index("at 3s")] + "quiet 6s\nuntil 20s\n"
    played, outcome = play(parse_trial(calm))
    assert not outcome.failed, outcome.violations
    without, _ = play(parse_trial("\n".join(one for one in calm.splitlines() if "snap" not in one)))
    assert _configurations(played) == _configurations(without)


def _configurations(played):
    return {row.config for row in _rows(played, Kind.INSTALL)}
