"""The parts of making and running tools can be had one without the other (F37)."""

import subprocess
import sys

import pytest

PARTS = {
    "registry": "toolcrib.core.registry",
    "scaffolder": "toolcrib.sources.workshop",
    "executor": "toolcrib.core.executor",
    "guard": "toolcrib.sandbox.guard",
}
NEEDS = {"executor": {"registry"}}
"""What one of them is made with."""


@pytest.mark.parametrize("part", PARTS)
def test_each_part_stands_alone(part) -> None:
    """F37: importing one brings none of the others."""
    text = f"import sys, {PARTS[part]}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    assert {name for name, module in PARTS.items() if module in loaded} == {part} | NEEDS.get(part, set())
