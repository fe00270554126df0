"""Tests of one session run in one process; else each would start a Spark of its own."""

import os

import pytest

pytestmark = pytest.mark.xdist_group("spark")


def test_xdist_keeps_the_group_together(request: pytest.FixtureRequest) -> None:
    """Its group is part of a test's name while xdist distributes. pytest 9.2 keeps names in another
    place than where xdist 3.8 writes it: then nothing is kept together, and nobody says so."""
    distributed = "PYTEST_XDIST_WORKER" in os.environ
    assert request.node.nodeid.endswith("@spark") == distributed
