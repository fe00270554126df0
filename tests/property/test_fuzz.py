"""The fuzzer itself: it reaches every decoder and the nodes, and finds what is planted."""

from collections.abc import Callable
from random import Random

import pytest

from antiphon.core.errors import DecodeError
from antiphon.protocol.node import Node
from antiphon.protocol.stream.delivery import Delivery
from antiphon.tools import fuzz_command
from antiphon.tools.fuzz_command import ACCEPTED, NODE, Report, feed_decoders, feed_nodes, run
from antiphon.tools.fuzz_inputs import samples
from antiphon.tools.fuzz_nodes import TAKEN
from antiphon.tools.fuzz_targets import TARGETS

SEED = 3


def test_every_decoder_accepts_some_and_refuses_some_and_nothing_is_found() -> None:
    report = Report()
    feed_decoders(report, Random(SEED), 44_000)
    assert [str(finding) for finding in report.findings] == []
    for name in TARGETS:
        outcomes = report.counts[name]
        assert outcomes[ACCEPTED] > 100, name
        assert sum(outcomes.values()) - outcomes[ACCEPTED] > 100, name


def test_nodes_take_spoiled_packets_and_go_on() -> None:
    report = Report()
    feed_nodes(report, Random(SEED), 400)
    assert [str(finding) for finding in report.findings] == []
    assert report.counts[NODE][TAKEN] > 20
    assert len(report.counts[NODE]) > 10, "for many reasons"


def test_a_run_feeds_decoders_and_nodes_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_command, "CHUNK", 1_000)
    report = run(2_500, SEED)
    assert report.inputs >= 2_500
    assert {*report.counts} == {*TARGETS, NODE}
    assert report.seconds > 0


def test_the_same_seed_feeds_the_same_inputs() -> None:
    def counts() -> dict[str, dict[str, int]]:
        report = Report()
        feed_decoders(report, Random(SEED), 3_000)
        return {name: dict(outcomes) for name, outcomes in report.counts.items()}

    assert counts() == counts()


def raising(raw: bytes) -> bytes:
    if len(raw) % 10 == 7:
        raise IndexError("planted")
    raise DecodeError("malformed")


def changing(raw: bytes) -> bytes:
    return raw[:-1]


@pytest.mark.parametrize(("planted", "text"), [(raising, "IndexError"), (changing, "other bytes")])
def test_a_planted_mistake_of_a_decoder_is_found(
    planted: Callable[[bytes], bytes], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "token", planted)
    report = Report()
    feed_decoders(report, Random(SEED), 3_000)
    assert [finding.target for finding in report.findings] == ["token"]
    assert text in report.findings[0].what
    assert report.findings[0].raw


def test_a_planted_assertion_of_a_node_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that trusts its peers."""

    def trusting(node: Node, packet: bytes) -> object:
        raise AssertionError("planted")

    report = Report()
    monkeypatch.setattr(Node, "_refused", trusting)
    feed_nodes(report, Random(SEED), 20)
    assert {finding.target for finding in report.findings} == {NODE}
    assert any("planted" in finding.what for finding in report.findings)


def test_a_planted_broken_invariant_of_a_node_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Delivery.release

    def hasty(delivery: Delivery) -> None:
        kept(delivery)
        delivery.own.released += 1

    monkeypatch.setattr(Delivery, "release", hasty)
    report = Report()
    feed_nodes(report, Random(SEED), 20)
    assert any("released" in finding.what for finding in report.findings)


def test_there_are_samples_of_everything() -> None:
    """Mutations of nothing reach nothing."""
    assert {name for name, found in samples().items() if found} == set(TARGETS)
    for name, found in samples().items():
        for raw in found:
            assert TARGETS[name](raw) == raw
