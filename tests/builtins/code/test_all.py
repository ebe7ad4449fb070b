"""What is the same for all seven: the engine, the arguments, the paths, and what becomes of a failure."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.builtins.build_dependency_graph import build_dependency_graph
from toolcrib.builtins.find_references import find_references
from toolcrib.builtins.get_codebase_map import get_codebase_map
from toolcrib.builtins.get_imports_exports import get_imports_exports
from toolcrib.builtins.get_symbol_info import get_symbol_info
from toolcrib.builtins.resolve_symbol import resolve_symbol
from toolcrib.builtins.search_code import search_code
from toolcrib.core.errors import ToolError
from toolcrib.core.tool import Subject
from toolcrib.sandbox.guard import GuardedFiles
from toolcrib.testing import fake_context

CASES: list[tuple[Any, dict[str, Any], str]] = [
    (build_dependency_graph, {}, "path"),
    (find_references, {"symbol": "Cart"}, "path"),
    (get_codebase_map, {}, "path"),
    (get_imports_exports, {"file": "main.py"}, "file"),
    (get_symbol_info, {"symbol": "Cart"}, "file"),
    (resolve_symbol, {"symbol": "Cart", "file": "main.py"}, "file"),
    (search_code, {"query": "Cart"}, "path"),
]
EACH = pytest.mark.parametrize(("tool", "args", "place"), CASES, ids=[case[0].name for case in CASES])


@EACH
def test_without_the_engine(tool, args, place) -> None:
    """C45: the error has the command that installs it."""
    with pytest.raises(ToolError, match=r"pip install 'toolcrib\[code\]'") as refused:
        asyncio.run(tool.backend.run(args, fake_context({"main.py": ""})))
    assert refused.value.code == "ENGINE_NOT_AVAILABLE"


@EACH
def test_whatever_else_goes_wrong(tool, args, place, tmp_path: Path) -> None:
    """C45: `SEARCH_ERROR`."""

    class Broken:
        async def settled(self, files: Any) -> Any:
            raise RuntimeError("the index fell over")

    (tmp_path / "main.py").write_text("")
    ctx = fake_context(lambda report, judged, session: GuardedFiles(tmp_path, report), code=Broken())
    with pytest.raises(ToolError, match="the index fell over") as failed:
        asyncio.run(tool.backend.run(args, ctx))
    assert failed.value.code == "SEARCH_ERROR"


@EACH
def test_an_answer_says_how_sure_and_how_fresh_it_is(tool, args, place, alone) -> None:
    """C13, C46"""
    answer = alone(tool, **args)
    if isinstance(answer, str):
        assert "confidence: syntactic" in answer and "up to date" in answer
    else:
        assert answer["confidence"] in ("exact", "syntactic", "text") and answer["index"]["files"] == 4


@EACH
def test_it_only_reads_and_says_where(tool, args, place) -> None:
    """C18"""
    claims = tool.capabilities
    assert claims.requires_code and claims.idempotent
    assert not (claims.writes_files or claims.executes_commands or claims.accesses_network)
    assert Subject("read", ("elsewhere",)) in tool.hooks.touches({**args, place: "elsewhere"})


@EACH
def test_what_is_not_an_argument_is_refused(tool, args, place, through) -> None:
    for wrong in ({"nonsense": 1}, {place: 7}, {place: ""}):
        result = through(tool.name, **{**args, **wrong})
        assert result.error is not None and result.error.code == "VALIDATION_ERROR"


@EACH
def test_through_the_gate_nobody_is_asked(tool, args, place, through) -> None:
    """G36"""
    result = through(tool.name, **args)
    assert (result.error, result.metadata["approval"]) == (None, "preApproved")


@EACH
def test_nothing_counts_as_read_by_the_session(tool, args, place, project: Path, through) -> None:
    """Whoever has read a file may write to it: an answer about code is no reading of all the files it rests on."""
    (project / "package.json").write_text('{"name": "shop"}')
    (project / "tsconfig.json").write_text("{}")
    (project / "app.ts").write_text("import { Cart } from 'shop';\n")
    assert "files_accessed" not in through(tool.name, **args).metadata


@EACH
@pytest.mark.parametrize("path", ["..", "../outside.py", "/etc/passwd", "out", "out/outside.py"])
def test_nothing_outside_is_seen(tool, args, place, path, project: Path, tmp_path: Path, through) -> None:
    """A35, A36"""
    (tmp_path / "outside.py").write_text("class Cart:\n    SECRET = 1\n")
    (project / "out").symlink_to(tmp_path)
    result = through(tool.name, **{**args, place: path})
    assert result.error is not None and result.error.code in (
        "PATH_OUTSIDE_WORKSPACE",
        "PATH_NOT_REGULAR",
        "SEARCH_ERROR",
    )
    assert "SECRET" not in str(result.to_dict())


@EACH
def test_a_rule_that_blocks_reading_blocks_this(tool, args, place, home: Path, project: Path, through) -> None:
    (home / "policy.yaml").write_text("rules:\n  - {paths: [shop], approval: blocked}\n")
    result: toolcrib.Result = through(tool.name, **{**args, place: "shop/cart.py"})
    assert result.error is not None and result.error.code == "BLOCKED_BY_POLICY", result.to_dict()
