"""What becomes C when it is asked for (setup.py): the machines, and nothing that msgspec reads."""

import ast
import runpy
from pathlib import Path

import pytest
import setuptools

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def told() -> dict[str, list[str]]:
    """The modules that are compiled, and the arguments of `setup` when nothing is asked."""
    given: dict[str, list[str]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.delenv("ANTIPHON_COMPILE", raising=False)
        patch.setattr(setuptools, "setup", given.update)
        machines = runpy.run_path("setup.py")["machines"]
        return {**given, "machines": machines()}


def test_nothing_is_compiled_unless_it_is_asked(told: dict[str, list[str]]) -> None:
    assert told["ext_modules"] == []


def test_the_machines_are_compiled(told: dict[str, list[str]]) -> None:
    wanted = ["protocol/node.py", "protocol/stream/ring.py", "protocol/links/hop.py"]
    assert {f"src/antiphon/{name}" for name in wanted} <= set(told["machines"])


def test_so_is_what_else_every_bundle_passes(told: dict[str, list[str]]) -> None:
    wanted = ["client/outbox.py", "client/session.py", "daemon/driver.py", "daemon/datagrams.py"]
    assert {f"src/antiphon/{name}" for name in wanted} <= set(told["machines"])
    assert all((ROOT / name).exists() for name in told["machines"])


def test_errors_are_not_for_they_have_heirs(told: dict[str, list[str]]) -> None:
    """What is compiled would not take a ConfigFindings for a ConfigError."""
    assert "src/antiphon/core/errors.py" not in told["machines"]


def test_what_msgspec_reads_is_not(told: dict[str, list[str]]) -> None:
    read = ["core/ids.py", "core/offsets.py", "wire/client.py", "wire/control.py"]
    assert not {f"src/antiphon/{name}" for name in read} & set(told["machines"])


def test_no_assignment_inside_a_slice_is_compiled(told: dict[str, list[str]]) -> None:
    """mypyc reads the name after it was assigned, and Python before."""
    for name in told["machines"]:
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Slice):
                assert not any(isinstance(one, ast.NamedExpr) for one in ast.walk(node)), name
