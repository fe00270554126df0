"""Topologies from files: what they say, and everything that is wrong with them by its key."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from antiphon.core.errors import ConfigError
from antiphon.daemon.config.findings import ConfigFindings
from antiphon.tools.wan.paths import paths
from antiphon.tools.wan.reading import changed, load, parse
from antiphon.tools.wan.topology import LinkSettings, Topology, hosts_of
from tests.docs.pages import ROOT, blocks

GOOD = """
name = "lab"
routers = ["middle"]

[[site]]
name = "paris"
hosts = 2
up = { mbit = 2.0 }

[[site]]
name = "tokyo"
hosts = ["left", "right"]

[[site]]
name = "rome"

[[link]]
between = ["paris", "middle"]
delay_ms = 10
loss = 0.01
back = { loss = 0.0, mbit = 5.0 }

[[link]]
between = ["middle", "tokyo"]

[[link]]
between = ["middle", "rome"]
"""


def settings(topology: Topology, start: str, end: str) -> LinkSettings:
    return {(link.start, link.end): link.settings for link in topology.links}[start, end]


def test_a_file_becomes_sites_hosts_and_links(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(GOOD)
    lab = load(file)
    assert lab.name == "lab" and lab == parse(GOOD, "elsewhere")
    assert [(host.name, host.site, host.address) for host in hosts_of(lab)] == [
        ("paris1", "paris", "10.204.1.1"),
        ("paris2", "paris", "10.204.1.2"),
        ("left", "tokyo", "10.204.2.1"),
        ("right", "tokyo", "10.204.2.2"),
        ("rome", "rome", "10.204.3.1"),
    ]
    assert settings(lab, "paris", "up") == LinkSettings(mbit=2.0)
    assert settings(lab, "middle", "tokyo") == LinkSettings()


def test_the_way_back_is_the_same_unless_it_says_otherwise() -> None:
    lab = parse(GOOD, "lab")
    assert settings(lab, "paris", "middle") == LinkSettings(delay_ms=10, loss=0.01)
    assert settings(lab, "middle", "paris") == LinkSettings(delay_ms=10, mbit=5.0)


SITES = '[[site]]\nname = "a"\n[[site]]\nname = "b"\n'
LINK = '[[link]]\nbetween = ["a", "b"]\n'


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "site"),
        (f"colour = 1\n{SITES}{LINK}", "colour"),
        (f"name = 1\n{SITES}{LINK}", "name"),
        (f"tcp = 'fast'\n{SITES}{LINK}", "tcp"),
        (f"routers = 1\n{SITES}{LINK}", "routers"),
        (f'routers = ["a"]\n{SITES}{LINK}', "site"),
        (f'routers = ["up"]\n{SITES}{LINK}', "routers[1]"),
        ("[site]\nname = 'a'", "site"),
        ("[[site]]\nhosts = 2", "site[1].name"),
        ("[[site]]\nname = 'A b'", "site[1].name"),
        ("[[site]]\nname = 'a'\nhosts = 0", "site[1].hosts"),
        ("[[site]]\nname = 'a'\nhosts = 1000", "site[1].hosts"),
        ("[[site]]\nname = 'a'\nhosts = true", "site[1].hosts"),
        ("[[site]]\nname = 'a'\nhosts = ['x', 'x']", "site[1].hosts"),
        ("[[site]]\nname = 'a'\nhost = 2", "site[1].host"),
        ("[[site]]\nname = 'a'\nup = 3", "site[1].up"),
        ("[[site]]\nname = 'a'\nup = { mbit = -1 }", "site[1].up.mbit"),
        (f"{SITES}[[link]]", "link[1].between"),
        (f"{SITES}[[link]]\nbetween = ['a', 'a']", "link[1].between"),
        (f"{SITES}[[link]]\nbetween = ['a', 'c']", "link[1].between"),
        (f"{SITES}{LINK}{LINK}", "link[2].between"),
        (f"{SITES}{LINK}los = 0.1", "link[1].los"),
        (f"{SITES}{LINK}loss = 1.5", "link[1].loss"),
        (f"{SITES}{LINK}loss = nan", "link[1].loss"),
        (f"{SITES}{LINK}delay_ms = 'long'", "link[1].delay_ms"),
        (f"{SITES}{LINK}delay_ms = true", "link[1].delay_ms"),
        (f"{SITES}{LINK}overtake = 1", "link[1].overtake"),
        (f"{SITES}{LINK}back = {{ queue_kb = 0 }}", "link[1].back.queue_kb"),
        (SITES, "link"),
        ("= 3", ""),
    ],
)
def test_what_is_wrong_is_told_by_its_key(text: str, key: str) -> None:
    with pytest.raises(ConfigFindings) as raised:
        parse(text, "lab.toml")
    assert key in [finding.key for finding in raised.value.findings], str(raised.value)
    assert str(raised.value).startswith("lab.toml:")


def test_all_that_is_wrong_is_told_with_its_line() -> None:
    with pytest.raises(ConfigFindings) as raised:
        parse(f"{SITES}{LINK}loss = 2\njitter = 1", "lab.toml")
    assert str(raised.value).splitlines() == [
        "lab.toml:7: link[1].loss: 2 cannot be; use 0 to 1",
        "lab.toml:8: link[1].jitter: there is no such key; did you mean jitter_ms?",
    ]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "binary.toml")


def test_changes_of_a_link_are_checked_like_a_file() -> None:
    assert changed(LinkSettings(mbit=2.0), {"loss": 0.5}) == LinkSettings(mbit=2.0, loss=0.5)
    for key, value in [("loss", 2.0), ("los", 0.1), ("overtake", 1), ("mbit", "3")]:
        with pytest.raises(ConfigError) as raised:
            changed(LinkSettings(), {key: value})
        assert raised.value.key == key


def test_the_file_on_the_page_can_be_read() -> None:
    page = ROOT / "docs" / "guide" / "wan.md"
    texts = [block.text for block in blocks(page) if block.text.startswith("# lab.toml\n")]
    lab = parse(texts[0], "lab.toml")
    assert [host.name for host in hosts_of(lab)] == ["paris1", "paris2", "tokyo", "osaka"]
    assert paths(lab)["osaka", "paris"].delay_ms == 9 + 125
    told = set(re.findall(r"^\| `(\w+)` \| ", page.read_text(encoding="utf-8"), re.M))
    assert {field.name for field in fields(LinkSettings)} <= told
