"""Accelerated token passing against the plain ring, on the same busy network."""

from antiphon.core.machine import SECOND
from antiphon.core.trace import Kind
from antiphon.sim.trial import parse_trial, play

SENDERS = range(1, 5)

BUSY_RING = (
    """
seed 3
daemons 4
sessions 1
network latency=50us bandwidth=100mbit
"""
    + "".join(
        f"at 1s join {daemon}.1 g\nat 2s send {daemon}.1 g agreed m x400 size 1200\n"
        for daemon in SENDERS
    )
    + "quiet 6s\nuntil 8s\n"
)

NODE = (
    "node packet-bytes=1400 member-packets-max=20 ring-packets-max=60"
    " window-packets-low=300 window-packets-max=800"
)


def milliseconds_for_all(extra: str) -> float:
    """From the first submission to the last delivery of 1600 messages at 4 daemons."""
    played, outcome = play(parse_trial(f"{NODE} {extra}\n{BUSY_RING}"))
    assert not outcome.failed, outcome.violations
    times = [row.time for row in played.records if row.kind is Kind.DELIVER]
    delivered = [time for time in times if time > 2 * SECOND]
    assert len(delivered) == 4 * 4 * 400
    return (max(delivered) - 2 * SECOND) / 1000


def test_passing_the_token_early_keeps_the_network_busier():
    """Measured when written: plain 412 ms, 15 packets after the token 294 ms."""
    plain = milliseconds_for_all("")
    accelerated = milliseconds_for_all("accelerated-packets=15")
    assert accelerated < 0.85 * plain
