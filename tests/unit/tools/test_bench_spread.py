"""`antiphon bench --client spread` against a fake daemon: the same checks, the same last line."""

import json

import pytest
from click.testing import CliRunner

from antiphon.client.events import Closed
from antiphon.client.spread.events import GroupId, Message, View
from antiphon.core.errors import UsageError
from antiphon.core.service import Service
from antiphon.core.trace import Cause
from antiphon.tools.bench.payload import END, MESSAGE, PayloadMaker
from antiphon.tools.bench.plan import SPREAD_BYTES_MAX, Plan, Post
from antiphon.tools.bench.reception import BenchFailed, Reception
from antiphon.tools.bench_command import bench
from antiphon.wire.spread.words import is_session_name
from tests.unit.client.spread.fake import FakeSpread

SHORT = ["--seconds", "0.3", "--warmup", "0.1", "--json", "--client", "spread"]


@pytest.mark.parametrize(
    "command, api", [(["flood"], "asyncio"), (["ping", "--rate", "200"], "blocking")]
)
def test_the_last_line_is_the_same_and_names_the_client(command: list[str], api: str) -> None:
    with FakeSpread() as fake:
        run = CliRunner().invoke(bench, [*command, *SHORT, "--api", api, "--connect", fake.address])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout.splitlines()[-1])
    assert (found["client"], found["api"], found["daemons"]) == ("spread", api, 1)
    assert (found["senders"], found["receivers"], found["lost"]) == (1, 1, 0)
    assert found["messages_per_second"] > 10 and found["messages"] > 10
    assert found["daemon_cpu_us_per_message"] is None
    assert ("round_trip_p50_us" in found) is (command[0] == "ping")


def test_a_daemon_that_is_not_there_is_a_failure_with_words() -> None:
    with FakeSpread() as fake:
        pass
    run = CliRunner().invoke(bench, ["flood", *SHORT, "--connect", fake.address])
    assert run.exit_code == 1 and "no daemon answered" in run.output


def message(payload: bytes, kind: int = MESSAGE) -> Message:
    return Message("#s0#d1", ("g",), payload, Service.AGREED, kind, False, True, None, False)


def test_content_sequence_and_end_are_checked_as_for_native_clients() -> None:
    make = PayloadMaker(0, 100).make
    good = Reception(Plan(client="spread", rate=1.0))
    assert not good.take(message(make(1, 0))) and not good.take(message(make(2, 0)))
    assert good.take(message(make(2, 0), END))
    for wrong in (make(2, 0), make(1, 0)[:-1] + b"\0", make(1, 0)[:-1], b"short"):
        with pytest.raises(BenchFailed):
            Reception(Plan(client="spread", rate=1.0)).take(message(wrong))
    with pytest.raises(BenchFailed, match="ended after 3, not 0"):
        Reception(Plan(client="spread", rate=1.0)).take(message(make(3, 0), END))


def test_a_split_or_the_end_of_the_session_fails_the_bench() -> None:
    calm = View("g", GroupId(1, 2, 3), ("#a#d",), ("#a#d",), Cause.JOIN, "#a#d", ())
    torn = View("g", GroupId(1, 2, 3), ("#a#d",), ("#a#d",), Cause.NETWORK, "", (("#a#d",),))
    reception = Reception(Plan(client="spread", rate=1.0))
    assert not reception.take(calm)
    for event in (torn, Closed("slow")):
        with pytest.raises(BenchFailed):
            reception.take(event)


def test_sizes_and_names_keep_to_the_protocol() -> None:
    with pytest.raises(UsageError):
        Plan(client="spread", size=SPREAD_BYTES_MAX + 1)
    assert Plan(size=SPREAD_BYTES_MAX + 1).client == "native"
    plan = Plan(client="spread")
    assert is_session_name(Post(plan, "sender", 63, "4803").short_name)
    assert is_session_name(Post(plan, "receiver", 199, "4803").short_name)
    assert not is_session_name(Post(plan, "receiver", 199, "4803").name)
