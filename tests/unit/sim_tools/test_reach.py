"""Reach counts what was met, lists what was not, and says what is missing."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from antiphon import core
from antiphon.core.effects import Freeze, Recovered
from antiphon.core.ids import ConfigId, DaemonId, Incarnation, Member
from antiphon.core.service import Service
from antiphon.core.trace import Kind, Record
from antiphon.protocol.membership.membership import GatherReason
from antiphon.sim import unreached
from antiphon.sim.reach import (
    DROP_REASONS,
    GATHER,
    MEMBERSHIP,
    MERGE_OF_THREE,
    RECOVERY_ABORTED,
    SAFE_TRANSITIONAL,
    SITUATION,
    SITUATIONS_SEEDS,
    STRANGER_IN_RECOVERY,
    STREAM,
    Pair,
    Recorder,
    all_pairs,
    event_name,
)
from antiphon.sim.sites_reach import SITE_DROP_REASONS, site_pairs
from antiphon.sim.trial import parse_trial, play
from antiphon.sim.unreached import findings
from antiphon.wire.control import Ready
from antiphon.wire.heard import Heard

LIFE = Incarnation(1)
CONFIG = ConfigId(2, DaemonId(1), LIFE, 2)
MET = Pair(MEMBERSHIP, "gather", "Hello")

MERGE = """
daemons 4
at 0s cut 1 2 | 3 | 4
at 2s heal
at 3500ms cut 1 2 | 3 4
quiet 5s
until 9s
"""


def situations(*records: Record) -> Counter[str]:
    recorder = Recorder()
    recorder.add_records(list(records))
    return Counter(
        {pair.what: times for pair, times in recorder.counts.items() if pair.table == SITUATION}
    )


def fault_of(pair: Pair, counts: dict[Pair, int], seeds: int = 1) -> str:
    return {row.pair: row.fault for row in findings(Counter(counts), seeds)}[pair]


def enter(state: str) -> Record:
    return Record(Kind.ENTER, 0, DaemonId(1), LIFE, reason=state)


def test_a_run_is_counted_by_state_and_event() -> None:
    recorder = Recorder()
    played, _ = play(parse_trial(MERGE), recorder.plant)
    recorder.add_records(played.records)
    counts = recorder.counts
    assert counts[Pair(MEMBERSHIP, "operational", "Hello")] > 20
    assert counts[Pair(MEMBERSHIP, "collect", "Holdings")] > 5
    assert counts[Pair(STREAM, "running", "HeardToken")] > 50
    assert counts[Pair(GATHER, "", GatherReason.TOKEN_LOSS.value)] >= 2
    assert counts[Pair(SITUATION, "", MERGE_OF_THREE)] == 1
    assert all(pair in set(all_pairs()) for pair in counts)


def test_listening_changes_nothing() -> None:
    trial = parse_trial(MERGE)
    assert play(trial, Recorder().plant)[0].digest() == play(trial)[0].digest()


def test_a_planted_fault_is_there_before_the_listening() -> None:
    planted: list[int] = []
    recorder = Recorder(lambda node: planted.append(node.me.daemon))
    play(parse_trial(MERGE), recorder.plant)
    assert sorted(planted) == [1, 2, 3, 4]


def test_a_packet_is_called_by_what_it_carries() -> None:
    assert event_name(Heard(Member(DaemonId(1), LIFE), Ready(CONFIG))) == "Ready"
    assert event_name(Freeze(CONFIG)) == "Freeze"
    assert event_name(Recovered(CONFIG)) == "Recovered"


def test_a_merge_counts_from_three_bases_on() -> None:
    def install(node: int, base: int) -> Record:
        old = ConfigId(1, DaemonId(base), LIFE, 1)
        return Record(Kind.INSTALL, 0, DaemonId(node), LIFE, config=CONFIG, base=old)

    two = [install(1, 1), install(2, 1), install(3, 3)]
    assert situations(*two)[MERGE_OF_THREE] == 0
    assert situations(*two, install(4, 4))[MERGE_OF_THREE] == 1


def test_an_attempt_counts_as_recovery_only_once_it_recovers() -> None:
    abort = Record(Kind.ABORT, 0, DaemonId(1), LIFE, config=CONFIG)
    assert situations(enter("collect"), abort)[RECOVERY_ABORTED] == 0
    assert situations(enter("collect"), enter("recover"), abort)[RECOVERY_ABORTED] == 1
    again = (enter("recover"), enter("operational"), enter("collect"), abort)
    assert situations(*again)[RECOVERY_ABORTED] == 0


def test_only_safe_messages_in_a_transitional_configuration_count() -> None:
    def deliver(service: Service, transitional: bool) -> Record:
        return Record(
            Kind.DELIVER, 0, DaemonId(1), LIFE, service=service, transitional=transitional
        )

    counted = situations(
        deliver(Service.SAFE, True), deliver(Service.SAFE, False), deliver(Service.AGREED, True)
    )
    assert counted[SAFE_TRANSITIONAL] == 1


def test_what_was_never_met_is_a_fault_unless_it_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fault_of(MET, {}) == "never met"
    assert fault_of(MET, {MET: 1}) == ""
    monkeypatch.setitem(unreached.ELSEWHERE, MET, "because")
    assert fault_of(MET, {}) == ""
    assert fault_of(MET, {MET: 1}) == ""


def test_what_should_be_impossible_may_not_be_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(unreached.IMPOSSIBLE, MET, "because")
    assert fault_of(MET, {}) == ""
    assert fault_of(MET, {MET: 1}) == "should be impossible"


def test_what_is_counted_but_not_listed_is_a_fault() -> None:
    strange = Pair(MEMBERSHIP, "asleep", "Hello")
    assert fault_of(strange, {strange: 2}) == "not listed in reach.py"


def test_situations_must_be_frequent_in_a_large_swarm() -> None:
    pair = Pair(SITUATION, "", STRANGER_IN_RECOVERY)
    assert fault_of(pair, {pair: 49}, SITUATIONS_SEEDS - 1) == ""
    assert fault_of(pair, {pair: 49}, SITUATIONS_SEEDS) != ""
    assert fault_of(pair, {pair: 50}, SITUATIONS_SEEDS) == ""


def test_everything_explained_is_something_that_is_counted() -> None:
    listed = {*all_pairs(), *site_pairs()}
    for table in (unreached.IMPOSSIBLE, unreached.ELSEWHERE):
        assert all(pair in listed and why for pair, why in table.items())


def spoken_reasons() -> set[str]:
    """Every reason for which the protocol's source drops a packet. Clients send frames, which
    end their connection if they are wrong."""
    found: set[str] = set()
    for room in ("wire", "protocol"):
        for file in (Path(core.__file__).parent.parent / room).rglob("*.py"):
            source = "" if file.name == "client.py" else file.read_text()
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call):
                    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                    spoken = {"_drop": node.args[-1:], "DecodeError": node.args[:1]}.get(name, [])
                elif isinstance(node, ast.FunctionDef) and "str | list" in _returns(node):
                    spoken = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
                else:
                    continue
                found |= {text for each in spoken for text in _texts(each)}
    return found


def _returns(function: ast.FunctionDef) -> str:
    return ast.unparse(function.returns) if function.returns else ""


def _texts(node: ast.AST | None) -> list[str]:
    words = ast.walk(node) if node is not None else ()
    constants = [word.value for word in words if isinstance(word, ast.Constant)]
    return [value for value in constants if isinstance(value, str)]


def test_every_reason_to_drop_is_listed() -> None:
    spoken = spoken_reasons()
    assert {"other_attempt", "duplicate", "frozen", "malformed"} <= spoken
    assert spoken <= {*DROP_REASONS, *SITE_DROP_REASONS}
