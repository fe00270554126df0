"""A trial runs a script with nodes of its settings and says what came of it."""

from typing import Any

import pytest

from antiphon.core.errors import ConfigError
from antiphon.core.trace import Kind, Record
from antiphon.protocol.node import Node
from antiphon.protocol.presets import SIMULATION
from antiphon.sim.trial import BUG, NodeVariant, Trial, parse_trial, play
from antiphon.wire.heard import Heard

CALM = """
seed 3
daemons 3
sessions 1
at 1s join 1.1 chat
at 1s join 2.1 chat
at 2s send 1.1 chat safe hello x3
quiet 3s
until 7s
"""


def test_a_trial_says_what_came_of_it() -> None:
    played, outcome = play(parse_trial(CALM))
    assert not outcome.failed
    assert outcome.seed == 3
    assert outcome.messages == 3
    assert outcome.events == played.events > 50
    installed = {record.config for record in played.records if record.kind is Kind.INSTALL}
    assert outcome.configurations == len(installed) >= 4
    assert outcome.promises == []


def test_the_settings_of_the_node_stand_in_a_line_of_their_own() -> None:
    trial = parse_trial(f"node packet-bytes=300 accelerated-packets=2\n{CALM}")
    assert trial.variant == NodeVariant(packet_bytes=300, accelerated_packets=2)
    assert parse_trial(str(trial)) == trial
    settings = trial.variant.settings(3)
    assert settings.stream.packet_bytes == 300
    assert settings.stream.accelerated_packets == 2
    assert settings.membership == SIMULATION.membership
    assert settings.daemons == (1, 2, 3)


def test_the_usual_settings_are_those_of_the_preset() -> None:
    settings = NodeVariant().settings(2)
    assert settings.stream == SIMULATION.stream
    assert settings.sessions == SIMULATION.sessions


def test_an_unknown_setting_names_its_line() -> None:
    with pytest.raises(ConfigError, match="line 1"):
        parse_trial("node colour=blue\ndaemons 3\n")


def test_a_node_that_raises_is_a_broken_promise() -> None:
    def plant(node: Node) -> None:
        def fail(now: int, event: Any) -> Any:
            raise RuntimeError("planted")

        if node.me.daemon == 2:
            stream: Any = node.stream
            stream.handle = fail

    _, outcome = play(parse_trial(CALM), plant)
    assert BUG in outcome.promises
    assert outcome.safety and outcome.failed


def test_a_run_without_end_is_stuck_and_owes_nothing_else() -> None:
    _, outcome = play(parse_trial(CALM), events_max=60)
    assert outcome.exhausted and outcome.stuck and outcome.failed
    assert outcome.violations == ()


def test_broken_liveness_is_stuck_but_no_violation() -> None:
    def deaf(node: Node) -> None:
        membership: Any = node.membership
        handle = membership.handle

        def ignore(now: int, event: Any) -> Any:
            return [] if type(event) is Heard else handle(now, event)

        membership.handle = ignore

    _, outcome = play(parse_trial(CALM), deaf)
    assert outcome.promises == ["P1"]
    assert outcome.stuck and not outcome.safety


def test_a_trial_without_quiet_time_owes_no_progress() -> None:
    text = CALM.replace("quiet 3s\n", "").replace("until 7s", "until 2001ms")
    _, outcome = play(parse_trial(text))
    assert not outcome.failed


def test_the_same_trial_gives_the_same_records() -> None:
    trial = Trial(parse_trial(CALM).script)
    first, second = play(trial)[0], play(trial)[0]
    assert first.digest() == second.digest()
    assert isinstance(first.records[0], Record)
