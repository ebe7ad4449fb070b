"""What matters in a tree, and a map of it that fits."""

import pytest

from toolcrib.codeindex.importance import importance, rank
from toolcrib.codeindex.repomap import BYTES_PER_TOKEN


def test_rank_sums_to_one_and_prefers_what_is_used() -> None:
    scores = rank(["a", "b", "c"], {("a", "c"): 1.0, ("b", "c"): 1.0, ("c", "a"): 1.0})
    assert sum(scores.values()) == pytest.approx(1)
    assert scores["c"] > scores["a"] > scores["b"]
    assert rank([], {}) == {}


@pytest.fixture
def project(sources):
    sources.write(
        {
            "app/engine.py": "class Engine:\n    def start(self, fast: bool = False) -> None:\n        pass\n\n    def _tune(self):\n        pass\n\n\ndef make_engine():\n    return Engine()\n",
            **{
                f"app/part{n}.py": f"from app.engine import Engine, make_engine\n\nclass Part{n}(Engine):\n    pass\n"
                for n in range(8)
            },
            "app/__init__.py": "",
            "tests/test_engine.py": "from app.engine import Engine\n\ndef test_it():\n    Engine().start()\n",
        }
    )
    return sources


def test_the_most_used_file_is_first(project) -> None:
    weighed = importance(project.tree(), project.view().paths())
    assert weighed.files[0][0] == "app/engine.py"
    assert weighed.files[-1][0] in ("tests/test_engine.py", "app/__init__.py")
    assert weighed.mentions["Engine"] == 10


def test_mentions_say_what_imports_do_not(sources) -> None:
    """Files of a Go package use each other without a word."""
    sources.write(
        {
            "store.go": "package a\n\ntype StoreThing struct{}\n",
            **{f"u{n}.go": f"package a\n\nfunc Use{n}(s StoreThing) {{}}\n" for n in range(5)},
        }
    )
    assert importance(sources.tree(), sources.view().paths()).files[0][0] == "store.go"


def test_a_map_shows_the_important_with_lines_and_signatures(project) -> None:
    """C13, C46"""
    text = project.ask(lambda code: code.generate_repo_map())
    lines = text.splitlines()
    assert lines[0] == "app/engine.py:"
    assert lines[1:4] == [
        "    1  class Engine",
        "    2    def start(self, fast: bool = False) -> None",
        "    9  def make_engine()",
    ]
    assert "confidence: syntactic" in lines[-1] and "of 11 files" in lines[-1]
    assert project.ask(lambda code: code.generate_repo_map()) == text


@pytest.mark.parametrize("budget", [64, 100, 150, 300, 1024])
def test_a_map_never_exceeds_its_budget(project, budget) -> None:
    project.write(
        {
            f"app/wide{n}.py": "".join(
                f"def ünïcode_function_{n}_{m}(ärgument_one, ärgument_two): ...\n" for m in range(60)
            )
            for n in range(20)
        }
    )
    text = project.ask(lambda code: code.generate_repo_map(budget=budget))
    assert len(text.encode()) <= budget * BYTES_PER_TOKEN
    assert text.splitlines()[0].endswith(".py:")


def test_a_map_of_a_place(project) -> None:
    text = project.ask(lambda code: code.generate_repo_map("tests"))
    assert text.splitlines()[0] == "tests/test_engine.py:" and "app/engine.py" not in text
