"""`pytest tests/scenario --rewrite` accepts what the scenarios give now; review the diff."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write the transcripts anew")
