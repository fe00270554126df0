"""Each example of a configuration, and one that was a spread.conf, is started and carries a
message. Only what must differ on one machine differs: addresses, ports and secrets."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import antiphon
from antiphon.tools.cluster import free_ports
from tests.real.stage import PATIENCE_S, message, run, together

SECRET = "5" * 64

SPREAD_CONF = """\
# Three machines of the lab, each with an interface for the daemons and one for clients.
Spread_Segment 127.0.0.255:{port} {{
    north 127.0.0.1 {{
        D 127.0.1.1
        C 127.0.0.1
    }}
    south 127.0.0.2 {{
        D 127.0.1.2
        C 127.0.0.2
    }}
    east 127.0.0.3 {{ D C 127.0.0.3 }}
}}
DebugFlags = {{ PRINT EXIT }}
EventTimeStamp = "[%a %d %b %Y %H:%M:%S]"
EventPriority = INFO
MaxSessionMessages = 5000
DaemonUser = spread
SocketPortReuse = AUTO
"""


def call(*arguments: str | Path) -> str:
    """What a command of ours says; it must succeed."""
    command = [sys.executable, "-m", "antiphon", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, command
    return done.stdout


@contextmanager
def started(config: Path) -> Iterator[list[str]]:
    """All daemons of a file; where their clients connect. In the end each must stop well."""
    places = {"STATE_DIRECTORY": "state", "RUNTIME_DIRECTORY": "run"}
    environment = {**os.environ, **{key: str(config.parent / own) for key, own in places.items()}}
    entries = tomllib.loads(config.read_text())["daemon"]
    with ExitStack() as stack:
        running = []
        for entry in entries:
            command = [sys.executable, "-m", "antiphon", "daemon", "--listening"]
            command += ["--config", str(config), "--name", entry["name"]]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
            stack.enter_context(process)
            stack.callback(process.kill)
            running.append(process)
        for entry, process in zip(entries, running, strict=True):
            assert process.stdout is not None
            assert process.stdout.readline().decode() == f"listening {entry['name']}\n"
        hosts_and_ports = [entry["clients"][0].rsplit(":", 1) for entry in entries]
        yield [f"{port}@{host}" for host, port in hosts_and_ports]
        for process in running:
            process.terminate()
        assert [process.wait(PATIENCE_S) for process in running] == [0] * len(running)


def carry_a_message(addresses: list[str], group: str, token: str = "") -> None:
    async def main() -> None:
        sessions = [await antiphon.connect(address, token=token) for address in addresses]
        for session in sessions:
            await together(session, len(addresses))
            await session.join(group)
        await sessions[0].multicast(group, b"hello", service=antiphon.Service.SAFE)
        for session in sessions:
            assert (await message(session)).payload == b"hello"
            await session.close()

    run(main())


@pytest.mark.parametrize("kind", ["lan", "wan", "secure"])
def test_an_example_of_a_configuration_starts_and_carries_a_message(
    tmp_path: Path, kind: str
) -> None:
    config = tmp_path / "cluster.toml"
    udp, tcp = free_ports(2)
    text = call("config", "example", kind).replace("192.0.2.", "127.0.0.")
    config.write_text(text.replace(":4813", f":{udp}").replace(":4803", f":{tcp}"))
    call("keys", "new", tmp_path / "cluster.key")
    if kind == "secure":
        (tmp_path / "tokens").write_text(f"ops {SECRET}\n")
        (tmp_path / "tokens").chmod(0o600)
    with started(config) as addresses:
        carry_a_message(addresses, "orders.new", SECRET if kind == "secure" else "")


def test_a_cluster_of_a_spread_conf_starts_and_carries_a_message(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    spread = tmp_path / "spread.conf"
    spread.write_text(SPREAD_CONF.format(port=port))
    config = tmp_path / "cluster.toml"
    config.write_text(call("config", "import-spread", spread))
    with started(config) as addresses:
        assert [re.sub(".*@", "", one) for one in addresses] == [
            *("127.0.0.1", "127.0.0.2", "127.0.0.3")
        ]
        carry_a_message(addresses, "orders")
