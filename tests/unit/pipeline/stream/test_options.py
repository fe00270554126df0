"""Options of format("antiphon"): what is wrong is told by its name."""

import pytest

from antiphon.core.errors import ConfigError
from antiphon.core.offsets import ORIGIN
from antiphon.core.service import Service
from antiphon.pipeline.stream.options import read_options

GOOD = {"connect": "4803@a, 4804@b", "group": "x, y"}


def test_what_is_not_said_is_sensible() -> None:
    options = read_options(GOOD)
    assert options.connect == ("4803@a", "4804@b") and options.groups == ("x", "y")
    assert (options.starting, options.ending) == ("earliest", "latest")
    assert (options.max_rows, options.on_gap, options.service) == (0, "fail", Service.AGREED)


def test_spark_writes_options_in_small_letters() -> None:
    told = {"startingoffsets": '{"x": ":0"}', "maxrowsperbatch": "7", "ongap": "skip"}
    options = read_options(GOOD | told | {"service": "safe"})
    assert options.starting == {"x": ORIGIN}
    assert (options.max_rows, options.on_gap, options.service) == (7, "skip", Service.SAFE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connect", ""),
        ("connect", "nowhere:port"),
        ("group", "a#b"),
        ("startingOffsets", "soon"),
        ("startingOffsets", '{"x": 7}'),
        ("startingOffsets", "[]"),
        ("endingOffsets", "{"),
        ("maxRowsPerBatch", "many"),
        ("onGap", "cry"),
        ("service", "causal"),
        ("colour", "red"),
    ],
)
def test_a_fault_names_its_option(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_options(GOOD | {key: value})
    assert caught.value.key == key
