"""Scripts are read, written back the same, and refused with the line that is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.core.errors import ConfigError
from antiphon.core.service import Service
from antiphon.core.trace import Kind
from antiphon.sim.action import JUNK, NOTHING, VERBS, Action
from antiphon.sim.faults import PERFORMERS
from antiphon.sim.notation import Link
from antiphon.sim.places import Lead, Site
from antiphon.sim.script import TRIGGERS, WITH_REASON, Script, Step, Trigger, parse_script
from antiphon.wire.packet import Tag

EXAMPLE = """\
seed 7
daemons 5
sessions 3
network latency=300us loss=0.01
disk late=0.1
workload rate=12 until=12s
when 1 trouble token_loss after 5ms drop token 2 > 3 x2
when * install crash 4
at 1s cut 1 2 | 3 4 5
at 1500ms crash 2
at 2s restart 2
at 2s heal
at 2s when 2 enters recover crash 1
at 3s oneway 1 > 4
at 3s break 1 - 5
at 3s pause 3 400ms
at 3s slow 3 50us
at 3s loss 0.3 500ms
at 3s delay +50ms 1s 1 > 2
at 4s lose-forever 1 > 2
at 4s snap 1 - 2
at 4s clock 3 -2s
at 4s jump 3 +1s
at 4s drop data * > 3 until 5s
at 4s inject other-cluster 1 > 2 x5
at 4s dead 5
at 4s domains 1 2 | 3
at 5s join 1.1 orders
at 5s send 1.1 orders,#s1#2 agreed hello x10
at 5s send 1.1 orders safe big size 20000
at 6s leave 1.1 orders
at 6s stall 1.2
quiet 14s
at 15s disconnect 1.1
at 15s reconnect 1.1
until 20s
"""


def test_the_example_reads_back_the_same() -> None:
    script = parse_script(EXAMPLE)
    assert parse_script(str(script)) == script
    assert sorted(str(script).splitlines()) == sorted(EXAMPLE.splitlines())
    assert (script.seed, script.daemons, script.quiet, script.until) == (
        7,
        5,
        14 * 10**6,
        20 * 10**6,
    )
    assert script.steps[0].trigger == Trigger(1, Kind.TROUBLE, "token_loss", 5_000)
    assert script.steps[0].action == Action("drop", tag=Tag.TOKEN, link=Link(2, 3, False), times=2)


def test_steps_are_sorted_by_time_and_keep_their_order_within() -> None:
    script = parse_script("at 2s heal\nat 1s crash 2\nat 1s crash 1\nuntil 3s")
    assert [str(step) for step in script.steps] == ["at 1s crash 2", "at 1s crash 1", "at 2s heal"]


def test_every_verb_can_be_done() -> None:
    assert list(PERFORMERS) == list(VERBS)


HOSTS = st.integers(1, 5)
SITES = ((1, 3), (2,), (4, 5))
ROLES = st.builds(Site, st.integers(1, 3)) | st.builds(Lead, st.integers(1, 3))
ENDS = st.integers(0, 5) | ROLES
FIELDS = {
    "host": HOSTS | st.builds(Site, st.integers(1, 3)),
    "link": st.builds(Link, ENDS, ENDS, st.booleans()),
    "sides": st.permutations([1, 2, 3, 4, 5]).map(
        lambda hosts: (tuple(sorted(hosts[:2])), (hosts[2], Site(3)))
    ),
    "duration": st.integers(0, 10**7),
    "shift": st.integers(0, 10**7),
    "chance": st.floats(0, 1),
    "times": st.integers(1, 99),
    "until": st.integers(1, 10**7),
    "groups": st.lists(st.sampled_from(["a", "b", "#s1#1"]), min_size=1, max_size=3).map(tuple),
    "service": st.sampled_from(Service),
    "text": st.sampled_from(["hello", "x", "x5", "size", "until"]),
    "size": st.integers(1, 10**5),
    "tag": st.sampled_from(Tag),
    "junk": st.sampled_from(JUNK),
}


@st.composite
def actions(draw: st.DrawFn) -> Action:
    verb = draw(st.sampled_from(list(VERBS)))
    values = {}
    for name in VERBS[verb]:
        if name == "session":
            values |= {"host": draw(HOSTS), "slot": draw(st.integers(1, 2))}
        elif not name.endswith("?") or draw(st.booleans()):
            values[name.removesuffix("?")] = draw(FIELDS[name.removesuffix("?")])
    return Action(verb, **values)


@st.composite
def triggers(draw: st.DrawFn) -> Trigger:
    kind = draw(st.sampled_from(list(TRIGGERS.values())))
    reason = draw(st.sampled_from(["gather", "token_loss"])) if kind in WITH_REASON else ""
    return Trigger(draw(ENDS), kind, reason, draw(st.integers(0, 10**6)))


STEPS = st.builds(Step, st.integers(0, 10**7), actions(), st.none() | triggers())


@given(st.lists(STEPS, max_size=8))
def test_any_script_reads_back_the_same(steps: list[Step]) -> None:
    ordered = tuple(sorted(steps, key=lambda step: step.time))
    script = Script(daemons=5, sites=SITES, sessions=2, steps=ordered)
    assert parse_script(str(script)) == script


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed x", "line 1: 'x' is no seed"),
        ("seed 1\nseed 2", "line 2: 'seed' stands here for the second time"),
        ("daemons 0", "line 1"),
        ("\nfoo 1", "line 2: 'foo' is neither a header nor a step"),
        ("at 1s", "line 1: what to do is missing"),
        ("at 1s explode 2", "line 1: 'explode' is not what to do"),
        ("at 1 crash 2", "line 1: '1' is no time"),
        ("at 1s crash", "line 1: daemon is missing"),
        ("at 1s crash 4", "line 1: there is no daemon 4"),
        ("at 1s crash 1 2", "line 1: '2' is too much"),
        ("at 1s crash *", "line 1"),
        ("at 1s cut 1 2 | 4", "line 1: there is no daemon 4"),
        ("at 1s join 1 g", "line 1: '1' is no session"),
        ("at 1s join 1.2 g", "line 1: there is no slot 2"),
        ("at 1s join 1.1 a,,b", "line 1: a group name is empty"),
        ("at 1s send 1.1 g loud hi", "line 1: 'loud' is not a service"),
        ("at 1s drop tokens 1 > 2", "line 1: 'tokens' is not a packet"),
        ("at 1s inject love 1 > 2", "line 1: 'love' is not what to inject"),
        ("at 1s loss 1.5 1s", "line 1: '1.5' is no probability"),
        ("at 1s jump 1 -1s", "line 1: 'jump' goes forward only"),
        ("when 4 install crash 1", "line 1: there is no daemon 4"),
        ("when 1 sleeps crash 1", "line 1: 'sleeps' is not a trigger"),
        ("at 11s heal", "line 1: this comes after the end"),
        ("at 6s crash 1\nquiet 5s", "line 1: a fault after 'quiet'"),
        ("quiet 11s", "quiet: it comes after the end"),
        ("network speed=1", "line 1: 'speed' is no setting here"),
        ("at 1s crash site2", "line 1: there is no site 2"),
        ("when lead2 install crash 1", "line 1: there is no site 2"),
        ("at 1s restart lead1", "line 1: who leads runs already"),
        ("at 1s cut lead1 | 2", "line 1: a side has daemons and sites only"),
        ("sites 1 2", "sites: not every daemon is at one site"),
        ("sites 1 2 | 3 4", "sites: not every daemon is at one site"),
        ("sites 1 2 | 2 3", "line 1: a side is empty or a daemon on two sides"),
        ("sites 1 | 2 | 3\nwan 1 - 2 loss=0.1", "line 2: it is between sites"),
        ("sites 1 | 2 3\nwan site1 - site3", "wan: there is no site3"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_script(text)
    assert str(caught.value).startswith(says)


OVER_SITES = """\
seed 7
daemons 5
sessions 1
sites 1 4 | 2 3 | 5
wan * - * latency=10ms
wan site1 - site2 latency=40ms loss=0.02
wan site2 > site1 latency=80ms bandwidth=4mbit
network
when lead2 enters recover after 5ms crash lead2
at 1s oneway site1 > site3
at 1s oneway lead1 - lead3
at 1s cut site2
at 1s cut 5 site1 | site2
at 1s loss 0.3 500ms site1 - site2
at 2s crash site3
at 2s heal site1 - site3
at 3s restart site3
until 4s
"""


def test_a_script_with_sites_reads_back_the_same() -> None:
    script = parse_script(OVER_SITES)
    assert str(script) == OVER_SITES
    assert script.sites == ((1, 4), (2, 3), (5,))
    assert script.steps[0].trigger == Trigger(Lead(2), Kind.ENTER, "recover", 5_000)


def test_of_what_is_said_about_two_sites_the_last_counts() -> None:
    far = parse_script(OVER_SITES).far
    latencies = {pair: settings.latency_us // 1_000 for pair, settings in far.items()}
    assert latencies == {(1, 2): 40, (2, 1): 80, (1, 3): 10, (3, 1): 10, (2, 3): 10, (3, 2): 10}
    assert far[2, 1].bandwidth_bits == 4_000_000
    assert (far[1, 2].loss, far[2, 1].loss) == (0.02, 0.0)


def test_nothing_is_said_by_default() -> None:
    """Optional fields are written when they differ from an action that says nothing."""
    assert (NOTHING.times, NOTHING.until, NOTHING.size, str(NOTHING.link)) == (0, 0, 0, "* > *")
