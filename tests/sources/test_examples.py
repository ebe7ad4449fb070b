"""The examples of a manifest, as they are tried (F50)."""

import pytest

from toolcrib.core.errors import ToolcribError
from toolcrib.sources.examples import Example, examples_of

from .folders import put


def test_what_a_manifest_has(shelf) -> None:
    said = [{"name": "first", "input": {}, "exit": 3, "output": "x\n"}, {"input": {}}, {}]
    put(shelf.user_tools / "one", examples=said)
    found = [Example("first", {}, 3, "x\n"), Example("example 2", {}), Example("example 3", {})]
    assert examples_of(shelf.one()) == found


def test_a_tool_without_any(shelf) -> None:
    put(shelf.user_tools / "one")
    assert examples_of(shelf.one()) == []
    assert examples_of(shelf.one()._replace(origin="/somewhere/program")) == []


def test_of_another_folder_than_the_one_on_offer_there_are_none(shelf) -> None:
    """Its examples might be anything."""
    folder = put(shelf.user_tools / "one", examples=[{"input": {}}])
    tool = shelf.one()
    (folder / "run.sh").write_text("#!/bin/sh\necho other\n")
    with pytest.raises(ToolcribError) as caught:
        examples_of(tool)
    assert caught.value.code == "TOOL_PIN_MISMATCH"


@pytest.mark.parametrize(
    ("output", "got", "fits"),
    [("x", "x\n", True), ("x\n", "x", True), ("x\n", "x\n\n", False), ("x", "y", False), ("", "", True), (None, "anything", True)],
)  # fmt: skip
def test_the_end_of_the_last_line_does_not_count(output: str | None, got: str, fits: bool) -> None:
    assert Example("it", {}, 0, output).fits(0, got) is fits
    assert not Example("it", {}, 0, output).fits(1, got)
