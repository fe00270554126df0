"""One spelling for each message, bounds on each field: everything else has a reason."""

import re
from pathlib import Path

import pytest

import antiphon.wire
from antiphon.core.errors import DecodeError
from tests.unit.wire.refusals import ALL, BY_NAME, Refusal

OF_THE_HEADER = {"wire_version", "other_cluster"}
"""Shown in test_packet.py."""


@pytest.mark.parametrize("refusal", ALL, ids=str)
def test_what_no_sender_writes_is_refused_with_its_reason(refusal: Refusal) -> None:
    """SP-185: malformed and wrong-size tokens are dropped; and so is everything else."""
    example = BY_NAME[refusal.name]
    assert refusal.raw != example.raw
    with pytest.raises(DecodeError) as caught:
        example.decode(refusal.raw)
    assert caught.value.reason == refusal.reason, caught.value


def test_every_reason_that_the_decoders_name_is_shown() -> None:
    files = [file for file in Path(antiphon.wire.__path__[0]).glob("*.py")]
    sources = [file.read_text() for file in files if file.name != "client.py"]
    declared = {
        reason for source in sources for reason in re.findall(r'DecodeError\(\s*"(\w+)"', source)
    }
    assert declared - OF_THE_HEADER == {refusal.reason for refusal in ALL}
