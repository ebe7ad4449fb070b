"""The page on confinement names every gap there is, and none that is not."""

from pathlib import Path

from tests.sandbox.escapes.trial import CASES

PAGE = (Path(__file__).parents[3] / "docs" / "confinement.md").read_text(encoding="utf-8")
NAMED = {"metadata": "*What is said of your files.*"}
"""By the group of the cases."""
ALSO = ("*Protected places, for a moment.*", "*Signals, before Linux 6.12.*", "*What forgets its environment.*")
"""Which no case can show, because it looks when all is over, or on a newer kernel."""


def test_every_gap_is_named_and_no_other() -> None:
    part = PAGE.split("## What holds, and what does not")[1].split("\n## ")[0]
    gaps = {each.group for each in CASES if each.case.gap_of}
    assert gaps == set(NAMED)
    assert part.count("\n- *") == len(NAMED) + len(ALSO)
    assert [name for name in (*NAMED.values(), *ALSO) if name not in part] == []
