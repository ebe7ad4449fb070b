"""Scripts as tools: arguments are variables and nothing else, and what was approved is what runs."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from toolcrib.backends.declared import Unfit
from toolcrib.backends.declared_program import SECONDS, on_path
from toolcrib.backends.script import INTERPRETERS, ScriptBackend, make
from toolcrib.backends.script_variables import carry, variable_of
from toolcrib.core.errors import ToolError
from toolcrib.core.limits import Limits
from toolcrib.testing import ScriptedSandbox, fake_context

from .declaring import hostile_texts
from .programs import TEXT, Bench, leftovers

TELLS = """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "stdin": sys.stdin.read()}))
"""
HELLO = {
    "bash": 'echo "hello $TOOL_ARG_WHO from ${BASH_VERSION:+bash}"',
    "sh": 'echo "hello $TOOL_ARG_WHO from sh"',
    "zsh": 'echo "hello $TOOL_ARG_WHO from ${ZSH_VERSION:+zsh}"',
    "python": "import os; print(f\"hello {os.environ['TOOL_ARG_WHO']} from python\")",
    "python3": "import os; print(f\"hello {os.environ['TOOL_ARG_WHO']} from python3\")",
    "node": "console.log(`hello ${process.env.TOOL_ARG_WHO} from node`)",
}
WHO = {"properties": {"who": TEXT}, "required": ["who"]}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """With a python3 that is one: a version manager's script of that name would change the environment."""
    first = tmp_path / "first"
    first.mkdir()
    (first / "python3").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PATH", f"{first}:{os.environ['PATH']}")
    return Bench(tmp_path)


@pytest.fixture
def there_soon():
    def wait(holds) -> None:
        until = time.monotonic() + 20
        while not holds():
            assert time.monotonic() < until, "it did not come to pass"
            time.sleep(0.01)

    return wait


def python(script: str = TELLS, **more: object) -> dict[str, object]:
    return {"interpreter": "python3", "script": script, **more}


def wrong(fields: dict[str, object], parameters: dict[str, object] | None = None, *, bench: Bench) -> Unfit:
    with pytest.raises(Unfit) as raised:
        bench.tool(make, fields, parameters)
    return raised.value


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_each_interpreter_runs_its_script(bench, interpreter) -> None:
    """A15, A18: an inline script, and six interpreters."""
    if not any(map(shutil.which, (interpreter, "python3" if interpreter == "python" else interpreter))):
        pytest.skip(f"{interpreter} is not installed")
    result = bench.call(
        bench.tool(make, {"interpreter": interpreter, "script": HELLO[interpreter]}, WHO), {"who": "Bob"}
    )
    assert (result.data, result.metadata["exit_code"]) == (f"hello Bob from {interpreter}\n", 0), result.error


def test_there_are_six_interpreters() -> None:
    """A18"""
    assert list(INTERPRETERS) == ["bash", "sh", "zsh", "python", "python3", "node"] == list(HELLO)


def test_each_argument_is_a_variable(bench) -> None:
    """A16: `TOOL_ARG_<NAME>` in upper case; what is no text is JSON."""
    args = {"name": "ünï", "chunk-size": 5, "a.b": [1, {"c": None}], "ok": True, "none": None, "empty": "", "id": "007"}
    result = bench.call(bench.tool(make, python()), args)
    env = json.loads(result.data)["env"]
    assert {key: value for key, value in env.items() if key.startswith("TOOL_ARG_")} == {
        "TOOL_ARG_NAME": "ünï", "TOOL_ARG_CHUNK_SIZE": "5", "TOOL_ARG_A_B": '[1,{"c":null}]', "TOOL_ARG_OK": "true",
        "TOOL_ARG_NONE": "null", "TOOL_ARG_EMPTY": "", "TOOL_ARG_ID": "007",
    }  # fmt: skip


def test_all_arguments_are_one_more_variable(bench) -> None:
    """A17: `TOOL_ARGS` is the whole as JSON."""
    args = {"name": "x\ny", "number": 1.5, "deep": {"list": [True]}}
    assert json.loads(json.loads(bench.call(bench.tool(make, python()), args).data)["env"]["TOOL_ARGS"]) == args


def test_a_script_without_arguments(bench) -> None:
    env = json.loads(bench.call(bench.tool(make, python())).data)["env"]
    assert env["TOOL_ARGS"] == "{}" and "TOOL_ARGS_FILE" not in env


def test_what_else_a_script_finds(bench, monkeypatch) -> None:
    """A44: nothing is on its input; of the environment it has what is listed, and nothing that changes interpreters."""
    harmful = ("LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "ENV", "ZDOTDIR", "SECRET")
    for name in harmful:
        monkeypatch.setenv(name, "/nowhere" if name != "LD_PRELOAD" else "")
    found = json.loads(bench.call(bench.tool(make, python()), {"path": "/evil", "ld_preload": "/evil"}).data)
    assert (found["argv"], found["stdin"], found["cwd"]) == ([], "", str(bench.workspace))
    assert not set(harmful) & set(found["env"])
    assert found["env"]["PATH"] == os.environ["PATH"]
    assert found["env"]["TOOLCRIB_TOOL_DIR"].startswith(f"{bench.home}/cache/programs/")
    ours = {"PATH", "HOME", "USER", "TMPDIR", "TOOL_ARGS", "TOOL_ARG_PATH", "TOOL_ARG_LD_PRELOAD"}
    own = {"LC_CTYPE"}  # set by Python itself
    assert {name for name in found["env"] if not name.startswith("TOOLCRIB_")} <= ours | own


def test_hostile_values_stay_values(bench) -> None:
    """1,000 texts as arguments: each arrives to the character, and no variable comes or changes because of one."""
    tool = bench.tool(make, python("import json, os\nprint(json.dumps(dict(os.environ)))", max_output=10_000_000))
    names = [f"a{at}" for at in range(1000)]
    texts = list(hostile_texts(1000, seed=6, without="\0"))
    args = dict(zip(names, texts, strict=True))
    plain = json.loads(bench.call(tool).data)
    env = json.loads(bench.call(tool, args).data)
    assert set(env) - set(plain) == {f"TOOL_ARG_A{at}" for at in range(1000)}
    assert [env[f"TOOL_ARG_A{at}"] for at in range(1000)] == texts
    assert json.loads(env["TOOL_ARGS"]) == args
    changing = {"TOOL_ARGS", "TMPDIR", "TOOLCRIB_CALL_ID", "TOOLCRIB_SESSION"}
    assert {name: env[name] for name in plain if name not in changing} == {
        name: value for name, value in plain.items() if name not in changing
    }


def test_hostile_names_stay_below_the_prefix() -> None:
    """1,000 names: the variable of each has the prefix, and nothing but capital letters, digits and underscores."""
    for text in hostile_texts(1000, seed=7):
        variable = variable_of(text)
        assert variable.startswith("TOOL_ARG_") and variable.isascii()
        assert all(char.isdigit() or char == "_" or "A" <= char <= "Z" for char in variable)


@pytest.mark.parametrize("names", [("a-b", "a_b"), ("a", "A"), ("é", "ü"), ("a.b", "a b")])
def test_two_arguments_that_would_be_one_variable(bench, names) -> None:
    """They are refused when the tool is made, and where the schema does not name them, when it is called."""
    parameters = {"properties": dict.fromkeys(names, TEXT)}
    assert "would both be TOOL_ARG_" in str(wrong(python(), parameters, bench=bench))
    ran = bench.workspace / "ran"
    result = bench.call(bench.tool(make, python(f"open({str(ran)!r}, 'w')")), dict.fromkeys(names, "x"))
    assert result.error.code == "VALIDATION_ERROR" and not ran.exists()


BIG = "x" * 200_000
READS = """
import json, os, stat
path = os.environ["TOOL_ARGS_FILE"]
mode = stat.S_IMODE(os.stat(path).st_mode)
args = json.load(open(path))
names = sorted(name for name in os.environ if name.startswith("TOOL_ARG"))
print(json.dumps([path, oct(mode), {name: len(value) for name, value in args.items()}, names]))
"""


def test_what_no_variable_holds_is_in_a_file(bench) -> None:
    """TRAPS: "An environment variable over 128 KiB is E2BIG"."""
    result = bench.call(bench.tool(make, python(READS)), {"big": BIG, "small": "y"})
    path, mode, lengths, names = json.loads(result.data)
    assert (mode, lengths) == ("0o600", {"big": 200_000, "small": 1})
    assert names == ["TOOL_ARGS_FILE", "TOOL_ARG_SMALL"]
    assert not os.path.exists(path)


def test_many_long_arguments_together(bench) -> None:
    args = {f"a{at}": "x" * 100_000 for at in range(40)}
    _, _, lengths, names = json.loads(bench.call(bench.tool(make, python(READS)), args).data)
    assert lengths == dict.fromkeys(args, 100_000)
    assert 5 < len(names) < 12


def test_the_longest_that_fits_and_the_shortest_that_does_not(bench) -> None:
    longest = 128 * 1024 - len("TOOL_ARG_A=") - 1 - 8
    tells = "import os\nprint(len(os.environ.get('TOOL_ARG_A', '')), 'TOOL_ARGS_FILE' in os.environ)"
    tool = bench.tool(make, python(tells))
    assert bench.call(tool, {"a": "x" * longest}).data == f"{longest} True\n"
    assert bench.call(tool, {"a": "x" * (longest + 1)}).data == "0 True\n"
    assert bench.call(tool, {"a": "x" * (longest - 100)}).data == f"{longest - 100} False\n"


def test_a_nul_is_in_the_file(bench) -> None:
    reads = "import json, os\nprint(json.load(open(os.environ['TOOL_ARGS_FILE'])), 'TOOL_ARG_A' in os.environ)"
    assert bench.call(bench.tool(make, python(reads)), {"a": "x\0y"}).data == "{'a': 'x\\x00y'} False\n"


@pytest.mark.parametrize("args", [{"a": BIG}, {"a": "x\0y"}], ids=["long", "nul"])
def test_the_result_says_which_arguments_are_in_the_file_alone(bench, args) -> None:
    """A script that looks for variables only does not find them, and somebody will want to know why."""
    script = "import os\nprint(sorted(name for name in os.environ if name.startswith('TOOL_ARG_')))"
    result = bench.call(bench.tool(make, python(script)), {**args, "b": "small"})
    assert result.data == "['TOOL_ARG_B']\n"
    assert result.metadata["arguments_in_file"] == ["a"]
    assert "arguments_in_file" not in bench.call(bench.tool(make, python(script)), {"b": "small"}).metadata


def test_a_killed_runtime_leaves_no_file_of_arguments(bench, there_soon) -> None:
    place = bench.root / "tmp"
    place.mkdir()
    ready = bench.workspace / "ready"
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from tests.backends.programs import Bench
from toolcrib.backends.script import make
bench = Bench(Path({str(bench.root / "inner")!r}))
script = "import os, time; os.environ['TOOL_ARGS_FILE']; open({str(ready)!r}, 'w').close(); time.sleep(60)"
bench.call(bench.tool(make, {{"interpreter": "python3", "script": script}}), {{"a": "x" * 200000}})
"""
    (bench.root / "inner").mkdir()
    process = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(place)})
    try:
        there_soon(ready.exists)
        assert list(place.glob("toolcrib-*/args-*"))
    finally:
        process.kill()
        process.wait()
    there_soon(lambda: not list(place.glob("toolcrib-*/args-*")))


def test_the_script_is_a_file_that_nobody_changes(bench) -> None:
    result = bench.call(bench.tool(make, python("print(__file__)")))
    path = Path(result.data.strip())
    assert path.is_relative_to(bench.home / "cache" / "programs") and path.name == "script.py"
    assert stat.S_IMODE(path.stat().st_mode) == 0o500
    path.chmod(0o700)
    path.write_text("print('evil')")
    path.chmod(0o500)
    assert bench.call(bench.tool(make, python("print(__file__)"))).data == result.data


def test_a_shell_script_knows_its_name(bench) -> None:
    result = bench.call(bench.tool(make, {"interpreter": "sh", "script": 'echo "$0"'}))
    assert os.path.basename(result.data.strip()) == "script.sh"


def test_a_script_in_a_file(bench) -> None:
    bench.program("import sys\nprint('from', sys.argv[0].rsplit('/')[-1])", "scripts/run.py")
    result = bench.call(bench.tool(make, {"interpreter": "python3", "file": "scripts/run.py"}))
    assert result.data == "from run.py\n"


def test_a_script_in_a_file_has_its_modules_beside_it(bench) -> None:
    """All of the folder is copied, and a module that was changed is not taken for the one that was listed."""
    bench.program("import words\nprint(words.HELLO)", "scripts/run.py")
    module = Path(bench.program("HELLO = 'hello'", "scripts/words.py"))
    tool = bench.tool(make, {"interpreter": "python3", "file": "scripts/run.py"})
    assert bench.call(tool).data == "hello\n"
    module.write_text("HELLO = 'evil'")
    assert bench.call(tool).error.code == "TOOL_PIN_MISMATCH"


def test_a_script_that_looks_for_its_folder_finds_a_copy(bench) -> None:
    (bench.folder / "lib.sh").write_text("echo from lib")
    tool = bench.tool(make, {"interpreter": "sh", "script": '. "$TOOLCRIB_TOOL_DIR/lib.sh"; echo "$TOOLCRIB_TOOL_DIR"'})
    said, place = bench.call(tool).data.splitlines()
    assert said == "from lib" and place.startswith(f"{bench.home}/cache/programs/")
    (bench.folder / "lib.sh").write_text("echo evil")
    assert bench.call(tool).error.code == "TOOL_PIN_MISMATCH"


def test_a_changed_file_does_not_run(bench) -> None:
    ran = bench.workspace / "ran"
    path = Path(bench.program("print(1)", "run.py"))
    tool = bench.tool(make, {"interpreter": "python3", "file": "run.py"})
    path.write_text(f"open({str(ran)!r}, 'w')")
    result = bench.call(tool)
    assert result.error.code == "TOOL_PIN_MISMATCH" and not ran.exists()
    assert bench.tool(make, {"interpreter": "python3", "file": "run.py"}).digest != tool.digest


def test_an_interpreter_that_is_not_installed(bench, monkeypatch, tmp_path) -> None:
    """A44: it says what to install."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    result = bench.call(bench.tool(make, {"interpreter": "node", "script": "1"}))
    assert result.error.code == "ENGINE_NOT_AVAILABLE" and "install Node.js" in result.error.message


def test_python_is_python3_where_there_is_no_other(bench, monkeypatch, tmp_path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert bench.call(bench.tool(make, {"interpreter": "python", "script": "print(1)"})).data == "1\n"


def test_a_directory_that_depends_on_where_one_stands_is_no_path(tmp_path, monkeypatch) -> None:
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert on_path("sh", ".::bin") is None
    assert on_path("sh", f".:{tmp_path}") == str(tmp_path / "sh")


def test_how_a_script_fails(bench) -> None:
    result = bench.call(bench.tool(make, {"interpreter": "sh", "script": "echo out; echo no >&2; exit 3"}))
    assert (result.error.code, result.error.details["exit_code"]) == ("EXECUTION_ERROR", 3)
    assert (result.error.details["stdout"], result.error.details["stderr"]) == ("out\n", "no\n")


def test_sixty_seconds_unless_it_says_otherwise(bench) -> None:
    """A19, A38"""
    assert bench.tool(make, python()).limits == Limits(60.0, 102_400) and SECONDS == 60.0
    assert bench.tool(make, python(timeout_ms=1500, max_output=10)).limits == Limits(1.5, 10)


def test_time_that_is_over_leaves_no_process(bench) -> None:
    """A38"""
    mark = uuid.uuid4().hex
    script = "sleep 60 & sleep 60"
    result = bench.call(bench.tool(make, {"interpreter": "sh", "script": script, "timeout_ms": 300}), {"mark": mark})
    assert result.error.code == "TIMEOUT"
    assert leftovers(mark) == []


def test_output_past_its_limit_is_an_artifact(bench) -> None:
    """A8, A37: 100 KiB are kept, and the whole has a handle."""
    result = bench.call(bench.tool(make, python("print('x' * 500_000)")))
    assert result.metadata["truncated"] and len(result.data) < 110_000
    assert result.metadata["artifacts"][0]["bytes"] == 500_001


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, "/interpreter"),
        ({"interpreter": "ruby", "script": "1"}, "/interpreter"),
        ({"interpreter": "/bin/sh", "script": "1"}, "/interpreter"),
        ({"interpreter": "sh -c", "script": "1"}, "/interpreter"),
        ({"interpreter": ["sh"], "script": "1"}, "/interpreter"),
        ({"interpreter": "sh"}, "/script"),
        ({"interpreter": "sh", "script": ""}, "/script"),
        ({"interpreter": "sh", "script": 5}, "/script"),
        ({"interpreter": "sh", "script": "\ud800"}, "/script"),
        ({"interpreter": "sh", "script": "#" * 1_100_000}, "/script"),
        ({"interpreter": "sh", "script": "1", "file": "x"}, "/file"),
        ({"interpreter": "sh", "file": "none.sh"}, "/file"),
        ({"interpreter": "sh", "file": "../out.sh"}, "/file"),
        ({"interpreter": "sh", "file": "/etc/passwd"}, "/file"),
        ({"interpreter": "sh", "file": "link.sh"}, "/file"),
        ({"interpreter": "sh", "file": "pipe"}, "/file"),
        ({"interpreter": "sh", "script": "1", "args": "x"}, "/args"),
        ({"interpreter": "sh", "script": "1", "timeout_ms": 0}, "/timeout_ms"),
        ({"interpreter": "sh", "script": "1", "timeout_ms": "60s"}, "/timeout_ms"),
        ({"interpreter": "sh", "script": "1", "timeout_ms": True}, "/timeout_ms"),
        ({"interpreter": "sh", "script": "1", "max_output": -1}, "/max_output"),
    ],
)
def test_a_declaration_that_is_wrong(bench, fields, pointer) -> None:
    (bench.root / "out.sh").write_text("echo")
    (bench.folder / "link.sh").symlink_to(bench.root / "out.sh")
    os.mkfifo(bench.folder / "pipe")
    assert wrong(fields, bench=bench).pointer == pointer


def test_a_file_of_what_was_handed_over_as_text(bench) -> None:
    with pytest.raises(Unfit) as raised:
        bench.tool(make, {"interpreter": "sh", "file": "run.sh"}, folder="")
    assert "handed over as text" in str(raised.value)


def test_alone_without_a_gate() -> None:
    """A46: with a context of one's own, and nothing started."""
    sandbox = ScriptedSandbox(b"said\n")
    ctx = fake_context(sandbox=sandbox, environ={"PATH": os.environ["PATH"], "SECRET": "x"})
    backend = ScriptBackend("sh", b"echo said", "script.sh", "sha256:mark")
    assert asyncio.run(backend.run({"a": "$(evil)"}, ctx)) == "said\n"
    command = sandbox.commands[0]
    assert [os.path.basename(word) for word in command.argv] == ["sh", "script.sh"]
    assert (command.env["TOOL_ARG_A"], command.stdin, "SECRET" in command.env) == ("$(evil)", b"", False)
    assert not os.path.exists(command.argv[1])


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ToolError) as raised:
        carry({"a": "\ud800"})
    assert raised.value.code == "VALIDATION_ERROR"
