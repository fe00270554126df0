"""How sites are joined in an experiment, as text for the configuration file."""

from collections.abc import Sequence
from itertools import combinations

Pairs = Sequence[tuple[str, str]]

SIX = ("mae-east", "ucsb", "osu", "rutgers", "cnds", "hopkins")
"""In the order of the chain of the latency tests."""

TREE = (
    ("mae-east", "ucsb"),
    ("mae-east", "osu"),
    ("mae-east", "rutgers"),
    ("mae-east", "cnds"),
    ("cnds", "hopkins"),
)
"""Of Table 1 and Table 4: the least delays."""


def wires(
    sites: Sequence[str],
    *,
    link: str = "hop",
    rate: str = "auto",
    shape: str = "free",
    edges: Pairs = (),
    hop: str = "",
) -> str:
    """`edges` are those of a tree; `hop` is further lines about links."""
    lines = ["[hop]", f'rate = "{rate}"', hop, "[overlay]", f'shape = "{shape}"']
    if shape == "chain":
        lines.append(f"sites = {_list(sites)}")
    if edges:
        lines.append(f"edges = [{', '.join(map(_list, edges))}]")
    for pair in combinations(sites, 2) if link != "hop" else ():
        lines += ["[[edge]]", f"between = {_list(pair)}", f'link = "{link}"']
    return "\n".join([*lines, ""])


def _list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
