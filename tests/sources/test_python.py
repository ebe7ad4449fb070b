"""Exports of a Python module become tools."""

import shutil
from pathlib import Path

import pytest

import toolcrib

pytestmark = pytest.mark.parametrize("modules", ["inline", "process"], indirect=True)

EXAMPLE = Path(__file__).parents[2] / "examples" / "modules" / "calculator.py"
FIB = {
    "type": "integer",
    "minimum": 0,
    "maximum": 1000,
    "title": "N",
    "description": "Position in the sequence, from 0.",
}


@pytest.fixture
def calculator(modules):
    shutil.copy(EXAMPLE, modules.path)
    modules.named(
        "calculateFibonacci", "factorial", "mean", "divide", "primes",
        approval="{default: ask, tools: {factorial: preApproved}}",
    )  # fmt: skip
    return modules


def test_only_the_listed_exports_are_tools(calculator) -> None:
    """G1, G3, G8, G22, G23, G30: a file beside the configuration, and nothing of it but the list."""
    assert calculator.names() == ["calculateFibonacci", "divide", "factorial", "mean", "primes"]
    assert calculator.problems() == []
    refused = calculator.call("launch_rockets")
    assert refused.error is not None and refused.error.code == "TOOL_NOT_FOUND"


@pytest.mark.parametrize(
    ("name", "args", "answer"),
    [
        ("calculateFibonacci", {"n": 50}, 12586269025),
        ("factorial", {"n": 5}, 120),
        ("mean", {"values": [1, 2]}, 1.5),
        ("divide", {"number": 5, "by": 2}, 2.5),
        ("primes", {"below": 12}, [2, 3, 5, 7, 11]),
    ],
)
def test_every_form_runs(calculator, name: str, args: dict, answer: object) -> None:
    """G6, G17, G19, G28: functions with hints or with a schema, sync and async, decorated ones, objects, generators."""
    result = calculator.call(name, args)
    assert (result.error, result.data) == (None, answer)


def test_constraints_and_words_reach_the_schema(calculator) -> None:
    """G18, G20, G21"""
    tool = calculator.tool("calculateFibonacci")
    assert tool.description == "Calculate the nth Fibonacci number."
    assert tool.input_schema["properties"] == {"n": FIB}
    assert calculator.tool("factorial").input_schema["properties"]["n"]["description"] == "Whose factorial"
    for name, args in (("calculateFibonacci", {"n": -1}), ("factorial", {"n": 171}), ("divide", {"number": 1})):
        assert calculator.call(name, args).error.code == "VALIDATION_ERROR"


def test_a_tool_knows_where_it_comes_from(calculator) -> None:
    tool = calculator.tool("mean")
    assert (tool.source, tool.version) == ("module", "1.0.0")
    path, _, line = tool.origin.rpartition(":")
    assert path == str(calculator.path) and line.isdigit()
    assert tool.digest.startswith("sha256:") and tool.digest == tool.backend.digest()


def test_what_is_wrong_with_one_export_is_a_problem_of_that_one(modules) -> None:
    """G25, G26, G27: with the words of each, and the others load."""
    modules.write(
        "def good(a: int) -> int:\n    return a\n"
        "def bare(a, b):\n    return a\n"
        "CONSTANT = 3\n"
        "class Kind: pass\n"
        "def odd(*many: int): pass\n"
        "broken = {'name': 'broken', 'input_schema': {'type': 'nonsense'}, 'execute': len}\n"
        "def lost(a: 'Nowhere'): pass\n",
        "good", "bare", "absent", "CONSTANT", "Kind", "odd", "broken", "lost", "two words", "read_file",
    )  # fmt: skip
    assert modules.names() == ["good"]
    said = modules.problems()
    for code, words in [
        ("CONFIG_INVALID", f"Tool 'absent' not found in {modules.path}"),
        ("CONFIG_INVALID", "Schema 'bare_schema' required for function 'bare'"),
        ("CONFIG_INVALID", "Export 'CONSTANT' must be a function or tool object"),
        ("CONFIG_INVALID", "Export 'Kind' must be a function or tool object"),
        ("CONFIG_INVALID", "odd: TypeError: odd: a tool's parameters have names"),
        ("SCHEMA_REJECTED", "broken: "),
        ("CONFIG_INVALID", "lost: NameError: name 'Nowhere' is not defined"),
        ("TOOL_NAME_INVALID", "'two words' is not a tool name"),
        ("CONFIG_INVALID", "Tool 'read_file' not found"),
    ]:
        assert [code for each, message in said if each == code and message.startswith(words)] == [code], words
    assert len(said) == 9
    result = modules.call("bare", {"a": 1})
    assert (result.error.code, "bare_schema" in result.error.message) == ("CONFIG_INVALID", True)


def test_a_module_does_not_cover_a_built_in(modules) -> None:
    modules.write("def read_file(path: str) -> str:\n    return 'mine'\n", "read_file")
    assert [code for code, _ in modules.problems()] == ["TOOL_NAME_CONFLICT"]


@pytest.mark.parametrize(
    ("text", "args", "answer"),
    [
        ("def f(n): return n\nf_schema = {'type': 'object', 'properties': {'n': {'type': 'integer'}}}", {"n": 1}, 1),
        ("def f(n=7): return n\nfSchema = {'type': 'object', 'properties': {'n': {}}}", {}, 7),
        ("def f(args): return args['n']\nf_schema = {'type': 'object', 'properties': {'n': {}}}", {"n": 2}, 2),
        ("def f(**all): return all\nf_schema = {'type': 'object', 'properties': {'n': {}}}", {"n": 2}, {"n": 2}),
        ("from pydantic import BaseModel\nclass f_schema(BaseModel): n: int\ndef f(given): return given.n", {"n": 3}, 3),
        ("from pydantic import BaseModel\nclass f_schema(BaseModel): n: int = 4\ndef f(n): return n", {}, 4),
        ("from pydantic import BaseModel\nclass M(BaseModel): n: int\ndef f(m: M): return m.n\n"
         "f_schema = M", {"n": 5}, 5),
        ("from pydantic import BaseModel\nclass M(BaseModel): n: int\ndef f(m: M): return type(m).__name__",
         {"m": {"n": 5}}, "M"),
        ("import datetime\ndef f(day: datetime.date): return day.year", {"day": "2027-01-31"}, 2027),
        ("import enum\nclass E(enum.Enum):\n  A = 'a'\ndef f(e: E = E.A): return e.name", {}, "A"),
        ("def f(): return 'no arguments'", {}, "no arguments"),
        ("from toolcrib import Context\ndef f(n: int, ctx: Context | None = None): return [n, ctx.tool_name]",
         {"n": 1}, [1, "f"]),
        ("import functools\n@functools.lru_cache\ndef f(n: int) -> int: return n", {"n": 6}, 6),
        ("f = {'name': 'f', 'inputSchema': {'type': 'object'}, 'execute': lambda i: i}", {"a": 1}, {"a": 1}),
        ("async def _e(i, ctx): return ctx.tool_name\n"
         "f = {'name': 'f', 'input_schema': {'type': 'object'}, 'execute': _e}", {}, "f"),
        ("from types import SimpleNamespace\nasync def _e(i): return i.n\nfrom pydantic import BaseModel\n"
         "class M(BaseModel): n: int\nf = SimpleNamespace(name='f', input_schema=M, execute=_e)", {"n": 8}, 8),
        ("class Tool:\n  name = 'f'\n  description = 'Do.'\n  input_schema = {'type': 'object'}\n"
         "  def execute(self, i): return self.name\nf = Tool()", {}, "f"),
        ("import toolcrib\n@toolcrib.tool\ndef f(n: int) -> int: return n", {"n": 9}, 9),
        ("def _g(n: int) -> int: return n\nf = _g", {"n": 10}, 10),
        ("def f(n: int):\n  yield n\n  yield n + 1", {"n": 1}, [1, 2]),
    ],
)  # fmt: skip
def test_how_arguments_arrive(modules, text: str, args: dict, answer: object) -> None:
    """G17, G19, G20, G28, G32"""
    modules.write(text, "f")
    result = modules.call("f", args)
    assert (modules.problems(), result.error, result.data) == ([], None, answer)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(a, b): pass\nf_schema = {'properties': {'a': {}}}", "'f_schema' says nothing of b"),
        ("def f(a, b=1): pass\nf_schema = {'properties': {'a': {}, 'c': {}}}", "'f_schema' has c, which"),
        ("def f(a): pass\nf_schema = 3", "must be a pydantic model or a JSON Schema, not a int"),
        ("f = {'name': 'g', 'input_schema': {}, 'execute': len}", "calls itself 'g'"),
        ("f = {'name': 'f', 'input_schema': {}, 'execute': len, 'needs_aproval': True}", "unknown key 'needs_aproval'"),
        ("f = {'name': 'f', 'input_schema': {}, 'inputSchema': {}, 'execute': len}", "says both input_schema and"),
        ("f = {'name': 'f', 'execute': len}", "has no input_schema"),
        ("f = {'name': 'f', 'input_schema': {}, 'execute': lambda: 1}", "execute takes the input"),
        ("f = {'name': 'f', 'input_schema': {}, 'execute': len, 'needs_approval': 'yes'}", "'yes' is not one of"),
        ("async def _n(a): return True\n"
         "f = {'name': 'f', 'input_schema': {}, 'execute': len, 'needs_approval': _n}", "must not be async"),
        ("f = {'name': 'f', 'input_schema': {}, 'execute': len, 'timeout': 0}", "not a duration above zero"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_said(modules, text: str, words: str) -> None:
    modules.write(text, "f")
    assert modules.names() == []
    ((code, message),) = modules.problems()
    assert code == "CONFIG_INVALID" and words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f() -> int:\n  return 'three'", "/result: expected integer"),
        ("async def f() -> list[int]:\n  return [1, 'two']", "/result/1: expected integer"),
        ("from pydantic import BaseModel\nclass M(BaseModel): n: int\ndef f() -> M:\n  return {'n': 'x'}", "not what it says"),
        ("from typing_extensions import TypedDict\nclass M(TypedDict):\n  n: int\ndef f() -> M:\n  return {}", "not what it says"),
        ("f = {'name': 'f', 'input_schema': {}, 'output_schema': {'type': 'object'}, 'execute': lambda i: 1}",
         "/result: expected object"),
    ],
)  # fmt: skip
def test_a_result_is_what_the_annotation_says(modules, text: str, words: str) -> None:
    """G34"""
    modules.write(text, "f")
    error = modules.call("f").error
    assert error is not None and error.code == "EXECUTION_ERROR" and words in error.message


def test_results_become_json_and_the_output_schema_says_which(modules) -> None:
    """G34"""
    modules.write(
        "import datetime\nfrom pydantic import BaseModel\n"
        "class Day(BaseModel):\n  when: datetime.date\n  next: 'Day | None' = None\n"
        "def f() -> Day:\n  day = datetime.date(2027, 1, 31)\n  return Day(when=day, next=Day(when=day))\n"
        "def g():\n  return 1\n",
        "f", "g",
    )  # fmt: skip
    assert modules.call("f").data == {"when": "2027-01-31", "next": {"when": "2027-01-31", "next": None}}
    assert modules.tool("f").output_schema["$defs"]["Day"]["type"] == "object"
    assert modules.tool("g").output_schema is None


def test_a_generator_tells_of_each_value(modules) -> None:
    modules.write("async def f(to: int):\n  for n in range(to):\n    yield f'step {n}'\n", "f")
    told: list[tuple] = []
    result = modules.call("f", {"to": 3}, progress=lambda *each: told.append(each))
    assert result.data == ["step 0", "step 1", "step 2"]
    assert told == [(1, None, "step 0"), (2, None, "step 1"), (3, None, "step 2")]


def test_a_tool_is_prepared_before_its_first_call_and_ended_once(modules, tmp_path: Path) -> None:
    log = tmp_path / "log"
    modules.write(
        f"def note(word):\n  with open({str(log)!r}, 'a') as file: file.write(word + ' ')\n"
        "f = {'name': 'f', 'input_schema': {}, 'execute': lambda i: note('run'),"
        " 'initialize': lambda ctx: note('begin'), 'shutdown': lambda: note('end')}\n",
        "f",
    )
    assert modules.names() == ["f"]
    assert not log.exists()

    async def twice(crib: toolcrib.Crib) -> None:
        await crib.call("f")
        await crib.call("f")

    modules.opened(twice)
    once, each_time = ["begin", "run", "run", "end"], ["begin", "run", "end"] * 2
    assert log.read_text().split() == (once if modules.isolation == "inline" else each_time)


def test_a_preparation_that_fails_fails_the_call(modules, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    modules.write(
        f"import pathlib\ndef fails(ctx): raise OSError('no database')\n"
        f"f = {{'name': 'f', 'input_schema': {{}}, 'initialize': fails,"
        f" 'execute': lambda i: pathlib.Path({str(ran)!r}).touch()}}\n",
        "f",
    )
    result = modules.call("f")
    assert (result.error.code, result.error.message) == ("EXECUTION_ERROR", "no database")
    assert not ran.exists()


def test_the_configured_time_counts(modules) -> None:
    modules.write(
        "import asyncio\nasync def f() -> None:\n  await asyncio.Event().wait()\n",
        "f",
        more="tools: {f: {timeout: 50ms}}",
    )
    assert modules.call("f").error.code == "TIMEOUT"


def test_nothing_is_imported_before_tools_are_looked_at(modules, tmp_path: Path) -> None:
    from toolcrib.runtime.build import build

    canary = tmp_path / "canary"
    modules.write(f"open({str(canary)!r}, 'w').close()\ndef f() -> int: return 1\n", "f")
    build(workspace=modules.workspace, home=modules.home)
    assert not canary.exists()
    assert modules.names() == ["f"]
    assert canary.exists()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("toolsets: {custom: {tools: [f]}}", "say with `module:`"),
        ("toolsets: {custom: {module: 3}}", "3 is not text"),
        ("toolsets: {custom: {module: t.py, tools: f}}", "must be a list"),
        ("toolsets: {custom: {modul: t.py}}", "did you mean module?"),
        ("toolsets: {custom: {module: t.py, tools: [f], approval: {tools: {g: ask}}}}", "custom has no tool 'g'"),
        ("toolsets: {custom: {module: t.py, tools: [f], approval: {default: true}}}", "not one of preApproved"),
        ("toolsets: {external: {import: x}}", "say with `package:`"),
        ("toolsets: {external: {package: x, tools: [f]}}", "unknown key 'tools'"),
    ],
)
def test_a_wrong_configuration_is_said_with_its_line(modules, config: str, words: str) -> None:
    """G24"""
    (modules.home / "config.yaml").write_text(config)
    with pytest.raises(toolcrib.ConfigError) as caught:
        modules.names()
    assert words in str(caught.value) and f"{modules.home}/config.yaml:1: " in str(caught.value)


def test_the_path_may_be_absolute_or_below_the_home(modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G22"""
    (tmp_path / "mine.py").write_text("def f() -> int: return 1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (tmp_path / "mine.py", "~/mine.py", "../mine.py"):
        (modules.home / "config.yaml").write_text(f"toolsets: {{custom: {{module: {path}, tools: [f]}}}}")
        assert modules.names() == ["f"]


def test_the_commands_know_them(calculator, run_cli) -> None:
    assert "calculateFibonacci  ask " in run_cli("list").stdout
    assert "Position in the sequence" in run_cli("show", "calculateFibonacci").stdout
    done = run_cli("call", "calculateFibonacci", "--n", "10", "--yes")
    assert (done.returncode, done.stdout) == (0, "55\n")
    assert run_cli("call", "calculateFibonacci", "--n", "10").returncode == 3
    calculator.path.write_text("1/0")
    listed = run_cli("list")
    assert (listed.stdout, "line 1: ZeroDivisionError" in listed.stderr) == ("", True)
    assert "line 1: ZeroDivisionError" in run_cli("check").stdout
