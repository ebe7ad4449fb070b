"""The shape of the package, executable. Each rule is a function from source text to what is wrong with it, so that the
tests can also see every rule fail."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "toolcrib"
LAYERS = """
cli
agent serve
runtime
builtins runners
sources
backends codeindex observe policy sandbox store testing
core
"""
"""Read from the top: an import may only point down; names on one line never import each other."""
LEVEL = {name: depth for depth, line in enumerate(LAYERS.split("\n")) for name in line.split()}
MAX_LINES = 400
MAX_CORE_LINES = 1500
STARTERS = {"subprocess", "_posixsubprocess", "pty", "multiprocessing"}
STARTING_CALLS = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "system", "popen", "startfile"}
ASYNCIO_STARTERS = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}

Sources = dict[str, str]


def sources() -> Sources:
    """Every file of the package, by its path below it."""
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in ROOT.rglob("*.py")}


def layer(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def imported(path: str, text: str) -> set[str]:
    """Layers that a file imports, however it spells them, at any depth in the file."""
    package = ["toolcrib", *path.split("/")[:-1]]
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            found |= {".".join([*stem, alias.name]) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("toolcrib.")}


def upward_imports(files: Sources) -> list[str]:
    return [
        f"{path} imports {other}"
        for path, text in files.items()
        if (here := layer(path)) in LEVEL
        for other in sorted(imported(path, text) - {here, "__version__"})
        if LEVEL.get(other, -1) <= LEVEL[here]  # not a layer: a name of the public door, which is above all
    ]


def homeless(files: Sources) -> list[str]:
    return sorted({layer(path) for path in files} - set(LEVEL) - {"__init__", "__main__"})


def too_long(files: Sources) -> list[str]:
    return [path for path, text in files.items() if text.count("\n") > MAX_LINES and "_pb2" not in path]


def broad_excepts(files: Sources) -> list[str]:
    return [path for path, text in files.items() for line in text.split("\n") if _is_broad(line.strip())]


def _is_broad(line: str) -> bool:
    return line.startswith(("except Exception", "except:", "except (Exception"))


def process_starters(files: Sources) -> list[str]:
    return [path for path, text in files.items() if any(_starts(node) for node in ast.walk(ast.parse(text)))]


def _starts(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] in STARTERS for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] in STARTERS
    if isinstance(node, ast.Attribute):
        of_os = isinstance(node.value, ast.Name) and node.value.id == "os"
        return node.attr in ASYNCIO_STARTERS or (
            of_os and (node.attr in STARTING_CALLS or node.attr.startswith(("exec", "spawn")))
        )
    return False


def prints(files: Sources) -> list[str]:
    return [
        path
        for path, text in files.items()
        if layer(path) != "cli"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def loop_runners(files: Sources) -> list[str]:
    return [path for path, text in files.items() if "asyncio.run(" in text and layer(path) != "cli"]


def core_lines(files: Sources) -> int:
    return sum(text.count("\n") for path, text in files.items() if layer(path) == "core")


def test_imports_point_down() -> None:
    assert upward_imports(sources()) == []


def test_every_part_has_a_layer() -> None:
    assert homeless(sources()) == []


def test_no_file_is_too_long() -> None:
    assert too_long(sources()) == []


def test_one_broad_except() -> None:
    assert broad_excepts(sources()) == ["core/call.py"]


def test_one_place_starts_processes() -> None:
    """The others are programs of their own, which that place starts, and which fork themselves."""
    assert sorted(process_starters(sources())) == ["sandbox/bridge.py", "sandbox/spawn.py", "sandbox/zygote.py"]


def test_only_the_command_line_prints() -> None:
    assert prints(sources()) == []


def test_one_convenience_runs_a_loop() -> None:
    """And a worker, which is a process of its own."""
    assert sorted(loop_runners(sources())) == ["runtime/sync.py", "sources/module_worker.py"]


def test_the_core_is_small() -> None:
    assert core_lines(sources()) < MAX_CORE_LINES


BREACHES: list[tuple[object, Sources]] = [
    (upward_imports, {"core/x.py": "from ..policy import rules"}),
    (upward_imports, {"core/x.py": "def f():\n    import toolcrib.cli"}),
    (upward_imports, {"policy/x.py": "from ..sandbox.spawn import start"}),
    (upward_imports, {"sources/x.py": "from toolcrib.runtime.build import open"}),
    (upward_imports, {"serve/x.py": "from toolcrib import tool"}),
    (homeless, {"helpers/x.py": ""}),
    (homeless, {"utils.py": ""}),
    (too_long, {"core/x.py": "\n" * 401}),
    (broad_excepts, {"serve/x.py": "try:\n    f()\nexcept Exception as exc:\n    pass"}),
    (broad_excepts, {"serve/x.py": "try:\n    f()\nexcept:\n    pass"}),
    (process_starters, {"cli/x.py": "import subprocess"}),
    (process_starters, {"cli/x.py": "from subprocess import run"}),
    (process_starters, {"cli/x.py": "import asyncio\nasyncio.create_subprocess_exec('ls')"}),
    (process_starters, {"cli/x.py": "import os\nos.system('ls')"}),
    (process_starters, {"cli/x.py": "import os\nos.execv('/bin/ls', [])"}),
    (prints, {"core/x.py": "print('hello')"}),
    (loop_runners, {"runtime/x.py": "asyncio.run(f())"}),
]


@pytest.mark.parametrize(("rule", "files"), BREACHES)
def test_each_rule_can_fail(rule, files) -> None:
    assert rule(files) != []


def test_the_rule_on_the_size_of_the_core_can_fail() -> None:
    assert core_lines({"core/x.py": "\n" * 1000, "core/y.py": "\n" * 600, "cli/z.py": "\n" * 9999}) == 1600


def layers_in(text: str) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if line.strip() in {each for each in LAYERS.split("\n") if each})


def test_contributing_shows_the_same_layers() -> None:
    page = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = [" ".join(line.split()) for line in page.splitlines()]
    assert [line for line in LAYERS.split("\n") if line and line not in shown] == []
