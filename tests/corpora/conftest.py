"""Public test data, each with its licence and source beside it. Not part of this repository."""

from collections.abc import Callable
from pathlib import Path

import pytest

PLACES = (Path(__file__).parent, Path(__file__).parents[3] / "shared" / "corpora")
"""Here, or beside the project."""


@pytest.fixture(scope="session")
def corpus() -> Callable[[str], Path]:
    """`corpus("JSONTestSuite")` is the directory of that name; without it, the test is skipped."""

    def find(name: str) -> Path:
        for place in PLACES:
            if (place / name / "LICENSE").is_file():
                return place / name
        pytest.skip(f"the public test data {name} is not on this machine")

    return find
