"""What the pages say is there is there, and what is there is said."""

import ast
import importlib
import re
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from antiphon import __version__
from antiphon.core.trace import Kind
from antiphon.protocol.groups.groups import State as GroupsState
from antiphon.protocol.membership.membership import GatherReason
from antiphon.protocol.membership.membership import State as MembershipState
from antiphon.protocol.stream.stream import State as StreamState
from antiphon.sim.action import JUNK, VERBS
from antiphon.sim.disk import DiskSettings
from antiphon.sim.network import NetworkSettings
from antiphon.sim.script import HEADERS, TRIGGERS
from antiphon.sim.trial import NodeVariant
from antiphon.sim.workload import WorkloadSettings
from antiphon.wire.packet import Tag
from tests.docs.pages import PAGES, PROTOCOLS, ROOT, anchors, headings, links, name_of, text_of

SEVEN = [
    "Problem",
    "Messages",
    "States",
    "Timers",
    "Invariants",
    "Where we differ from the paper",
    "References",
]
PROMISES = [*(f"D{n}" for n in range(1, 9)), *(f"S{n}" for n in range(1, 7))]
PROMISES += [*(f"P{n}" for n in range(1, 5)), *(f"K{n}" for n in range(1, 4))]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    lost = []
    for target in links(page):
        path, _, part = target.partition("#")
        if path.startswith(("http:", "https:")):
            continue
        file = (page.parent / path) if path else page
        known = file.suffix != ".md" or not part or part in anchors(file)
        if not file.exists() or not known:
            lost.append(target)
    assert not lost


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page: Path) -> None:
    """A renderer would drop the cells that are too many without a word."""
    wrong, cells, fenced = [], 0, False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.startswith("```")
        if fenced or not line.startswith("|"):
            cells = 0
            continue
        found = len(re.findall(r"(?<!\\)\|", line))
        if cells and found != cells:
            wrong.append(f"{number}: {line}")
        cells = found
    assert not wrong


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        for target in links(page):
            file = (page.parent / target.partition("#")[0]).resolve()
            if file.suffix == ".md" and file not in reached:
                waiting.append(file)
    assert {*PAGES} == reached


@pytest.mark.parametrize("page", PROTOCOLS, ids=name_of)
def test_every_protocol_is_told_under_the_same_seven_headings(page: Path) -> None:
    assert headings(page, level=2) == SEVEN


def test_every_promise_has_a_section_with_a_decider_that_exists() -> None:
    sections = re.split(r"^### ", text_of("docs/guarantees.md"), flags=re.M)[1:]
    assert [section.split()[0] for section in sections] == PROMISES
    for section in sections:
        decided = section.partition("Decided by")[2]
        decided = re.split(r"Why\s+it\s+holds|Content is|The limit", decided)[0]
        found = 0
        for module, names in re.findall(r"check/(\w+)\.py\)([^\[]*)", decided):
            judges = importlib.import_module(f"antiphon.check.{module}")
            for name in re.findall(r"`([\w.]+)`", names):
                assert attribute(judges, name) is not None, f"{section.split()[0]}: no {name}"
                found += 1
        assert found, f"{section.split()[0]} names no function"


def attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


@pytest.mark.parametrize(
    ("page", "states"),
    [
        ("membership", MembershipState),
        ("membership", GatherReason),
        ("ring", StreamState),
        ("groups", GroupsState),
    ],
)
def test_every_state_and_reason_is_told(page: str, states: type[Enum]) -> None:
    text = text_of(f"docs/protocols/{page}.md")
    for state in states:
        assert state.name in text or f"`{state.value}`" in text, state


def timers(path: Path) -> set[str]:
    """Names of the timers that a module sets."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "set" and node.args and isinstance(node.args[0], ast.Name):
                if "timers" in ast.unparse(node.func.value):
                    names.add(node.args[0].id)
    return names


@pytest.mark.parametrize(
    ("page", "module"),
    [
        ("ring", "stream/ring.py"),
        ("recovery", "stream/stream.py"),
        ("membership", "membership/membership.py"),
    ],
)
def test_every_timer_is_told(page: str, module: str) -> None:
    found = timers(ROOT / "src" / "antiphon" / "protocol" / module)
    assert found
    told = text_of(f"docs/protocols/{page}.md").partition("## Timers")[2].partition("\n## ")[0]
    for name in found:
        assert f"| {name} |" in told, name


def test_every_message_is_told_on_some_page_of_a_protocol() -> None:
    told = " ".join(page.read_text(encoding="utf-8") for page in PROTOCOLS)
    for tag in Tag:
        name = {Tag.DATA: "ring packet", Tag.TOKEN: "token"}.get(
            tag, "".join(word.capitalize() for word in tag.name.split("_"))
        )
        assert f"| {name} |" in told, tag


def test_the_simulators_page_tells_every_word_of_a_script() -> None:
    page = text_of("docs/simulator.md")
    first_cells = re.findall(r"^\| `([\w-]+)`", page, re.M)
    assert set(VERBS) <= set(first_cells)
    assert set(TRIGGERS) <= set(first_cells)
    for word in (*HEADERS, "node", *JUNK, *(state.value for state in MembershipState)):
        assert f"`{word}`" in page, word
    for settings in (NetworkSettings, DiskSettings, WorkloadSettings, NodeVariant):
        for field in fields(settings):
            name = field.name.removesuffix("_us").removesuffix("_bits").replace("_", "-")
            assert f"`{name}`" in page, name


def test_records_that_a_page_names_exist() -> None:
    kinds = {kind.value for kind in Kind}
    for words in re.findall(r"--kinds \+?([\w,]+)", text_of("docs/simulator.md")):
        assert words == "all" or set(words.split(",")) <= kinds, words


def test_the_glossary_is_sorted() -> None:
    words = re.findall(r"^\| ([^|]+) \|", text_of("docs/glossary.md"), re.M)[2:]
    assert len(words) > 50
    assert [word.lower() for word in words] == sorted(word.lower() for word in words)


def test_the_changelog_has_this_version_and_its_four_headings() -> None:
    versions = re.split(r"^## ", text_of("CHANGELOG.md"), flags=re.M)[1:]
    assert versions[0].startswith(__version__)
    for version in versions:
        assert re.findall(r"^### (\w+)", version, re.M) == [
            *("Guarantees", "Wire", "Features", "Fixes")
        ]


def test_the_rooms_of_the_architecture_are_those_of_the_tree() -> None:
    page = text_of("ARCHITECTURE.md")
    rooms = {file.name for file in (ROOT / "src" / "antiphon").iterdir() if file.is_dir()}
    told = set(re.findall(r"^\| (\w+) \| [^|]+ \| [^|]*\|$", page, re.M))
    assert rooms - {"__pycache__"} <= told
