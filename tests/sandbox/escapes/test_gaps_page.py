"""The page on confinement names every gap there is, and none that is not."""

from pathlib import Path

from tests.sandbox.escapes.trial import CASES

PAGE = (Path(__file__).parents[3] / "docs" / "confinement.md").read_text(encoding="utf-8")
NAMED = {
    "metadata": "*What is said of your files.*",
    "protected": "*Protected places that exist.*",
}
"""By the group of the cases. One more, `forgets its environment`, has a test of its own."""


def test_every_gap_is_named_and_no_other() -> None:
    part = PAGE.split("## What holds, and what does not")[1].split("\n## ")[0]
    gaps = {each.group for each in CASES if each.case.gap_of}
    assert gaps == set(NAMED)
    assert part.count("\n- *") == len(NAMED) + 1
    assert [name for name in (*NAMED.values(), "*What forgets its environment.*") if name not in part] == []
