"""A rule that keeps a file from being read also keeps it from tools that look through all that lies around it."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

import toolcrib

SECRET = "sesame_4711"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("grep", {"pattern": "sesame"}),
    ("grep", {"pattern": "sesame", "output": "files"}),
    ("grep", {"pattern": "(?=sesame)", "path": "."}),
    ("grep", {"pattern": "sesame", "path": "secrets"}),
    ("glob", {"pattern": "**/*.py"}),
    ("glob", {"pattern": "secrets/*"}),
    ("search_code", {"query": "sesame"}),
    ("search_code", {"query": "def $F(): $$$", "pattern": True}),
    ("get_codebase_map", {}),
    ("get_symbol_info", {"symbol": SECRET}),
    ("find_references", {"symbol": SECRET}),
    ("find_references", {"symbol": SECRET, "precise": True}),
    ("resolve_symbol", {"symbol": SECRET, "file": "open.py"}),
    ("build_dependency_graph", {}),
    ("detect_project_type", {}),
    ("extract_conventions", {}),
    ("get_project_overview", {}),
]
RULES = """
rules:
  - {paths: [secrets/**], approval: DECISION, access: read}
"""


@pytest.fixture
def tree(home: Path, workspace: Path) -> Path:
    (workspace / "secrets").mkdir()
    (workspace / "secrets" / "keys.py").write_text(f"def {SECRET}():\n    return 1\n")
    (workspace / "secrets" / "pyproject.toml").write_text(f'[project]\nname = "{SECRET}"\n')
    (workspace / "open.py").write_text("def other():\n    return 2\n")
    for number in range(300):  # more than are searched without a program
        (workspace / f"more{number}.py").write_text(f"value{number} = {number}\n")
    return workspace


def called(home: Path, workspace: Path, name: str, args: dict[str, Any], profile: str | None = None) -> toolcrib.Result:
    async def one() -> toolcrib.Result:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes(), profile=profile) as crib:
            return await crib.call(name, args)

    return asyncio.run(one())


def shown(result: toolcrib.Result, args: dict[str, Any]) -> str:
    """All that came back, but for what was asked."""
    text = str(result.data) if result.error is None else str(result.error.to_dict())
    return text.replace(str(args.get("symbol", "\0")), "")


@pytest.mark.parametrize("decision", ["blocked", "ask"])
@pytest.mark.parametrize(("name", "args"), CALLS, ids=[f"{name}-{at}" for at, (name, _) in enumerate(CALLS)])
def test_what_may_not_be_read_is_not_found(
    home: Path, tree: Path, decision: str, name: str, args: dict[str, Any]
) -> None:
    """A person who says yes to the call has not been asked about what lies below."""
    (home / "policy.yaml").write_text(RULES.replace("DECISION", decision))
    result = called(home, tree, name, args)
    if decision == "ask" and args.get("path") == "secrets":
        return  # that was asked about, by name
    assert SECRET not in shown(result, args)
    assert "keys.py" not in shown(result, args)


@pytest.mark.parametrize(("name", "args"), [CALLS[0], CALLS[2], CALLS[4], CALLS[6], CALLS[7]])
def test_without_the_rule_it_is(home: Path, tree: Path, name: str, args: dict[str, Any]) -> None:
    result = called(home, tree, name, args)
    assert result.success
    assert "keys.py" in str(result.data) or SECRET in str(result.data)


def test_without_ripgrep_too(home: Path, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "policy.yaml").write_text(RULES.replace("DECISION", "blocked"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    assert "keys.py" not in str(called(home, tree, "grep", {"pattern": "sesame"}).data)


def test_what_was_withheld_is_counted(home: Path, tree: Path) -> None:
    (home / "policy.yaml").write_text(RULES.replace("DECISION", "blocked"))
    assert called(home, tree, "glob", {"pattern": "**/*.py"}).metadata["withheld"] >= 1
    assert called(home, tree, "grep", {"pattern": "sesame"}).metadata["withheld"] >= 1


def test_under_another_name_too(home: Path, tree: Path) -> None:
    (home / "policy.yaml").write_text(RULES.replace("DECISION", "blocked"))
    (home / "profiles").mkdir()
    (home / "profiles" / "c.yaml").write_text("vocabulary: claude\n")
    found = called(home, tree, "Grep", {"pattern": "sesame"}, profile="c")
    assert found.success, found.error
    assert "keys.py" not in str(found.data)


def test_a_rule_about_writing_hides_nothing(home: Path, tree: Path) -> None:
    (home / "policy.yaml").write_text(RULES.replace("DECISION", "blocked").replace("read", "write"))
    assert "keys.py" in str(called(home, tree, "grep", {"pattern": "sesame"}).data)
