"""The scanner finds the line of everything that tomllib finds, and trips over nothing."""

import tomllib
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from antiphon.daemon.config.findings import Path
from antiphon.daemon.config.lines import Lines

TEXT = '''
top = 1
"quoted = key" . part = """
[not.a.table]
x = 1 """"
[a]
b.c = [ 1, # one
  "]", {d = 2, e = [3]},
]
[[many]]
x = 'it\\'
[[many]]
x = 2
[many.inner]
y = 1979-05-27 07:32:00
'''
PLACES: dict[Path, int] = {
    ("top",): 2,
    ("quoted = key", "part"): 3,
    ("a",): 6,
    ("a", "b", "c"): 7,
    ("a", "b", "c", 0): 7,
    ("a", "b", "c", 1): 8,
    ("a", "b", "c", 2, "e", 0): 8,
    ("many", 0): 10,
    ("many", 0, "x"): 11,
    ("many", 1): 12,
    ("many", 1, "x"): 13,
    ("many", 1, "inner"): 14,
    ("many", 1, "inner", "y"): 15,
}


def paths(value: Any, path: Path = ()) -> set[Path]:
    found = {path} if path else set()
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= paths(inner, (*path, key))
    if isinstance(value, list):
        for place, inner in enumerate(value):
            found |= paths(inner, (*path, place))
    return found


def test_every_thing_has_its_line() -> None:
    lines = Lines(TEXT)
    assert {path: lines.of(path) for path in PLACES} == PLACES
    assert set(lines.paths()) == paths(tomllib.loads(TEXT))


def test_what_is_not_there_has_the_line_of_what_is_around_it() -> None:
    lines = Lines(TEXT)
    assert lines.of(("many", 1, "inner", "z")) == 14
    assert lines.of(("nowhere",)) == 1


KEYS = st.sampled_from(["a", "b", '"c d"', "'e#'", '"f\\"]"', "g . h", "i-1"])
VALUES = st.recursive(
    st.sampled_from(["1", "'x'", '"#\\""', '"""\n[t]\n\\""""', "'''\n'''''", "2.5e3", "true"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", # note ]\n".join(items) + "\n]")
        | st.lists(inner, max_size=2).map(
            lambda items: "{" + ", ".join(f"k{at} = {x}" for at, x in enumerate(items)) + "}"
        )
    ),
    max_leaves=6,
)
PIECES = st.lists(
    st.tuples(KEYS, VALUES).map(lambda pair: f"{pair[0]} = {pair[1]} # note\n")
    | KEYS.map(lambda key: f"[{key}]\n")
    | KEYS.map(lambda key: f"[[ {key} ]] # note\n"),
    max_size=8,
).map("".join)


@given(PIECES)
def test_it_finds_what_tomllib_finds(text: str) -> None:
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = Lines(text).paths()
    assert set(lines) == paths(tree)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


@given(st.text(st.sampled_from("ab.=[]{}\"'#\\\n\t ,1"), max_size=60))
@example('"')
@example("[[")
@example("a = '''")
def test_no_text_trips_it(text: str) -> None:
    lines = Lines(text)
    assert lines.of(("a", 0)) >= 1
