"""A shrunk script still fails and has nothing that it does not need."""

from dataclasses import replace
from typing import Any

from antiphon.core.effects import Installed
from antiphon.protocol.node import Node
from antiphon.sim.shrink import Fails, breaks, broken, shrink
from antiphon.sim.swarm import draw
from antiphon.sim.trial import Trial, parse_trial, play
from antiphon.sim.without import without_daemon, without_site, without_slot

LONG = """
node packet-bytes=300
seed 5
daemons 4
sessions 2
network latency=700us jitter=50us loss=0.01
workload rate=8 until=12s groups=3
at 1s cut 1 2 | 3 4
at 2s heal
at 3s pause 2 100ms
at 4s send 3.2 g1 agreed needed x4
at 5s when 4 enters gather crash 4
at 6s oneway 1 > 3
at 7s heal
quiet 10s
until 16s
"""


def needs(*texts: str) -> Fails:
    return lambda trial: all(text in str(trial) for text in texts)


def test_only_what_is_needed_is_left() -> None:
    trial = parse_trial(LONG)
    smaller = shrink(trial, needs("agreed needed", "pause"))
    assert [step.action.verb for step in smaller.script.steps] == ["pause", "send"]
    assert smaller.script.daemons == 2
    assert smaller.script.sessions == 1
    assert smaller.script.workload is None
    assert smaller.script.quiet is None
    assert smaller.variant == Trial(smaller.script).variant
    assert parse_trial(str(smaller)) == smaller


def test_no_candidate_is_run_twice_and_the_runs_are_bounded() -> None:
    seen: list[str] = []

    def fails(trial: Trial) -> bool:
        seen.append(str(trial))
        return "needed" in str(trial)

    shrink(parse_trial(LONG), fails, runs_max=30)
    assert len(seen) == 30
    assert len(set(seen)) == 30


def test_what_is_told_still_fails() -> None:
    fails = needs("needed")
    told: list[Trial] = []
    last = shrink(parse_trial(LONG), fails, told=lambda trial, runs: told.append(trial))
    assert told[-1] == last
    assert all(fails(trial) for trial in told)


def test_a_planted_bug_shrinks_to_a_script_that_shows_it() -> None:
    """A node that raises at its second install needs a merge and nothing else."""

    def plant(node: Node) -> None:
        groups: Any = node.groups
        handle = groups.handle

        def fragile(now: int, event: Any) -> Any:
            if type(event) is Installed and len(event.configuration.members) == 3:
                raise RuntimeError("planted")
            return handle(now, event)

        groups.handle = fragile

    trial = draw(3)
    assert "BUG" in broken(play(trial, plant)[1])
    smaller = shrink(trial, breaks("BUG", plant), runs_max=150)
    assert "BUG" in broken(play(smaller, plant)[1])
    assert smaller.script.daemons == 3
    assert not smaller.script.steps
    assert smaller.script.until < trial.script.until / 4


def test_without_a_daemon_the_others_move_up() -> None:
    script = without_daemon(parse_trial(LONG).script, 3)
    assert script.daemons == 3
    text = str(script)
    assert "cut 1 2 | 3\n" in text
    assert "when 3 enters gather crash 3" in text
    assert "oneway" not in text and "send" not in text


def test_a_partition_of_one_side_is_none() -> None:
    script = parse_trial("daemons 3\nat 1s cut 1 | 2 3\nuntil 2s\n").script
    assert not without_daemon(script, 1).steps
    assert str(without_daemon(script, 2).steps[0]) == "at 1s cut 1 | 2"


def test_without_a_slot_the_others_move_up() -> None:
    script = parse_trial(LONG).script
    assert "send 3.1" in str(without_slot(script, 1))
    assert "send" not in str(without_slot(script, 2))


def test_a_variant_that_no_node_accepts_does_not_count_as_failing() -> None:
    trial = parse_trial(LONG)
    wrong = replace(trial, variant=replace(trial.variant, window_packets_low=500))
    assert not breaks("D4")(wrong)


OVER_SITES = """\
seed 5
daemons 5
sessions 1
sites 1 4 | 2 | 3 5
wan site1 - site3 latency=40ms
wan site2 > site3 loss=0.1
network
when lead3 enters recover crash lead2
at 1s oneway site1 - site3
at 2s cut site2 | site3
at 3s crash site1
at 4s pause lead3 10ms
at 5s send 5.1 g agreed needed
until 6s
"""


def test_a_site_loses_one_daemon_and_keeps_its_number() -> None:
    script = without_daemon(parse_trial(OVER_SITES).script, 4)
    assert script.sites == ((1,), (2,), (3, 4))
    assert "send 4.1 g" in str(script)
    assert len(script.steps) == 6 and len(script.wan) == 2


def test_a_site_that_is_empty_is_gone_and_the_others_move_up() -> None:
    script = without_daemon(parse_trial(OVER_SITES).script, 2)
    assert script.sites == ((1, 3), (2, 4))
    assert [str(told) for told in script.wan] == ["wan site1 - site2 latency=40ms"]
    verbs = [str(step).split(" ", 2)[2] for step in script.steps]
    assert verbs == ["oneway site1 - site2", "crash site1", "pause lead2 10ms"] + [
        "send 4.1 g agreed needed"
    ]


def test_of_one_site_nothing_is_said() -> None:
    script = parse_trial(OVER_SITES).script
    smaller = without_site(without_site(script, 3), 2)
    assert (smaller.daemons, smaller.sites, smaller.wan) == (2, (), ())
    assert [str(step) for step in smaller.steps] == ["at 3s crash site1"]
    assert parse_trial(str(smaller)).script == smaller


def test_sites_that_are_not_needed_are_left_out() -> None:
    trial = parse_trial(OVER_SITES)
    smaller = shrink(trial, needs("agreed needed"))
    assert (smaller.script.sites, smaller.script.wan) == ((), ())
    assert smaller.script.daemons == 2
    kept = shrink(trial, needs("pause lead", "wan"))
    assert [str(step.action) for step in kept.script.steps] == ["pause lead2 10ms"]
    assert len(kept.script.sites) == 2 and len(kept.script.wan) == 1
    assert kept.script.daemons == 2


def test_an_isolated_site_may_lose_a_daemon() -> None:
    script = parse_trial("daemons 3\nsites 1 2 | 3\nat 1s cut site1\nuntil 2s\n").script
    assert [str(step) for step in without_daemon(script, 2).steps] == ["at 1s cut site1"]
    assert not without_site(script, 1).steps
