"""docs/policy.md is true: its policy is read, its examples are run, and `…` stands for any text within a line."""

import re
from collections.abc import Callable
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")


def test_the_page_is_true(home: Path, typed: Callable[[str], str]) -> None:
    (policy,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (home / "policy.yaml").write_text(policy)
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    steps = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    assert len(steps) == 4
    for step in steps:
        line, _, expected = step.partition("\n")
        shown = typed(line)
        assert re.fullmatch(_pattern(expected), _pattern_free(shown)), f"$ {line}\n{shown}"


def _pattern(expected: str) -> str:
    """Lines are wrapped by width, and the home's path is longer here than on the page."""
    return re.escape(_pattern_free(expected)).replace("…", ".*")


def _pattern_free(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
