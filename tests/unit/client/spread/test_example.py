"""examples/spread_client.py does what its first lines say, against a fake daemon (SP-98)."""

import re
import subprocess
import sys
from pathlib import Path

from tests.unit.client.spread.fake import PATIENCE_S, FakeSpread

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "spread_client.py"


def run(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLE), "--connect", address, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=3 * PATIENCE_S)


def test_it_gets_its_own_messages_back() -> None:
    with FakeSpread() as fake:
        ran = run(fake.address, "--name", "me", "--count", "3")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "#me#d1 at a daemon of version 5.0.1",
        "in spread: me, by join",
        *(f"#me#d1 sent message {number}" for number in range(3)),
    ]


def test_a_daemon_that_is_not_there_is_one_line() -> None:
    ran = run("1@127.0.0.1")
    assert ran.returncode == 1
    assert re.fullmatch(r"spread_client: .+; .+\n", ran.stderr), ran.stderr
