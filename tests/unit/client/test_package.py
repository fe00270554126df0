"""The package: its names, and what importing it costs."""

import subprocess
import sys

import pytest

import antiphon


def test_every_public_name_is_there() -> None:
    for name in antiphon.__all__:
        assert getattr(antiphon, name) is not None
        assert name in dir(antiphon)
    with pytest.raises(AttributeError):
        antiphon.nothing  # noqa: B018  the look-up is what is tested


@pytest.mark.parametrize("use", ["", "antiphon.connect", "antiphon.blocking.connect"])
def test_the_library_loads_no_daemon_and_nothing_large(use: str) -> None:
    program = f"""
import antiphon, sys, time
{use or "pass"}
print(time.process_time(), *sys.modules)
"""
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    seconds, *names = shown.stdout.split()
    assert float(seconds) < 1.5  # ten times the goal, and of this process alone
    loaded = set(names)
    assert "antiphon" in loaded
    large = {"antiphon.daemon", "antiphon.protocol", "antiphon.records", "antiphon.sim"}
    assert not loaded & (large | {"pyarrow", "pyspark", "numpy"})
    if not use:
        assert "antiphon.client" not in loaded and "asyncio" not in loaded
