"""A link that finds its rate by itself, beside one connection of the kernel's TCP."""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import msgspec

from antiphon.tools.bench.outcome import Outcome, Table, percent
from antiphon.tools.bench.wan.experiment import Bench
from antiphon.tools.bench.wan.measure import load
from antiphon.tools.bench.wan.stage import Client, Stage
from antiphon.tools.bench.wan.tcp_flow import READY
from antiphon.tools.wan.emulation import Emulation
from antiphon.tools.wan.presets import topology_of

BOTTLENECK = "two-sites:delay_ms=20,mbit=10,hosts=2"
"""10 Mbit/s and 40 ms there and back; TCP is cubic."""

PORT = 5001
HEAD_START_S = 5.0
"""The first has the way for itself so long."""


class TcpFlow:
    def __init__(self, emulation: Emulation) -> None:
        command = [sys.executable, "-m", "antiphon.tools.bench.wan.tcp_flow", str(PORT)]
        self._receiver = emulation.popen("b2", command, stdout=subprocess.PIPE)
        assert self._receiver.stdout is not None
        assert self._receiver.stdout.readline() == READY
        self._sender = emulation.popen("a2", [*command, emulation.address("b2")])

    def by_second(self) -> dict[int, int]:
        self._sender.kill()
        self._sender.wait()
        said, _ = self._receiver.communicate()
        return msgspec.json.decode(said, type=dict[int, int])


@contextmanager
def _hop_flow(stage: Stage) -> Iterator[Client]:
    with load(stage, "a1", ["b1"]) as drains:
        yield drains[0]


def _run(bench: Bench, hop_first: bool) -> tuple[float, float]:
    """Mbit/s of both while both run."""
    with Emulation(topology_of(BOTTLENECK), bench.seed) as emulation, ExitStack() as stack:
        stage = stack.enter_context(Stage(emulation, ["a1", "b1"]))
        if hop_first:
            drain = stack.enter_context(_hop_flow(stage))
            time.sleep(HEAD_START_S)
            flow = TcpFlow(emulation)
        else:
            flow = TcpFlow(emulation)
            time.sleep(HEAD_START_S)
            drain = stack.enter_context(_hop_flow(stage))
        begin = int(time.monotonic()) + 1
        time.sleep(bench.seconds + 1)
        drain.go()
        hop = drain.report().by_second
        tcp = flow.by_second()
    end = begin + int(bench.seconds)
    return _mbit(hop, begin, end), _mbit(tcp, begin, end)


def _mbit(by_second: Mapping[int, int], begin: int, end: int) -> float:
    """Per second, of the bytes that came from `begin` on and before `end`."""
    return sum(by_second.get(second, 0) for second in range(begin, end)) * 8e-6 / (end - begin)


def fairness(bench: Bench) -> Outcome:
    outcome = Outcome()
    rows: list[tuple[str | float | None, ...]] = []
    for hop_first in (True, False):
        who = "Hop" if hop_first else "TCP"
        bench.say(f"{who} first")
        hop, tcp = _run(bench, hop_first)
        share = percent(hop, hop + tcp)
        rows.append((f"{who} first", hop, tcp, share))
        outcome.state(
            "",
            f"both get 25 to 75 % of what arrives over {bench.seconds:.0f} s, {who} first",
            25 <= share <= 75,
            f"Hop {share:.0f} %, TCP {100 - share:.0f} %",
        )
    columns = ("", "Hop Mbit/s", "TCP Mbit/s", "Hop's share %")
    title = "Automatic rate beside one cubic TCP flow, 10 Mbit/s, 40 ms"
    outcome.tables.append(Table(title, columns, rows))
    return outcome
