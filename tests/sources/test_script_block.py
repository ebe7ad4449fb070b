"""A Python tool with dependencies of its own (F49): what its block may say, and that it is put beside the tool."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolcribError
from toolcrib.sources import workshop
from toolcrib.sources.script_block import VENDOR, Block, read_block, steps_for

SHEBANG = "#!/usr/bin/env python3\n"


def block(*lines: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in ("/// script", *lines, "///"))


def needs(*dependencies: str) -> str:
    return block(f"dependencies = {list(dependencies)!r}")


def refusal(work, *args, **how) -> ToolcribError:
    with pytest.raises(ToolcribError) as caught:
        work(*args, **how)
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print()\n", None),
        (needs(), Block()),
        (SHEBANG + needs("httpx"), Block("", ("httpx",))),
        (SHEBANG + needs("httpx").replace("\n", "\r\n"), Block("", ("httpx",))),
        (needs("httpx").rstrip("\n"), Block("", ("httpx",))),
        (block("requires-python = '>=3.11'", "", "dependencies = [", '  "a",', "]", "[tool.x]", "y = 1"), Block(">=3.11", ("a",))),
        ("# /// other\n# x = 1\n# ///\n\n" + needs("a"), Block("", ("a",))),
        ("x = '''\n# // / script\n'''\n", None),
    ],
)  # fmt: skip
def test_a_block_is_read(text: str, expected: Block | None) -> None:
    assert read_block(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# /// script\n# dependencies = []\n", "has no end"),
        ("# /// script\ndependencies = []\n# ///\n", "has no end"),
        ("#/// script\n# dependencies = []\n# ///\n", "has no end"),
        (needs("a") + "\n" + needs("b"), "two blocks"),
        (block("dependencies = ["), "is not TOML"),
        (block("dependencies = 'a'"), "not a list"),
        (block("dependencies = [1]"), "is not text"),
        (block("requires-python = 3"), "is not text"),
        (block("requires-python = 'three'"), "requires-python"),
        (block("requires-python = '>=3.11; evil'"), "requires-python"),
        (block("requires-python = '~=3'"), "needs two numbers"),
        (block("requires-python = '>=3.*'"), "requires-python"),
        (block("dependecies = []"), "no key 'dependecies'"),
        (needs(*["a"] * 101), "at most 100"),
    ],
)
def test_a_block_that_is_wrong(text: str, why: str) -> None:
    failure = refusal(read_block, text)
    assert failure.code == "VALIDATION_ERROR" and why in str(failure)


@pytest.mark.parametrize(
    "good",
    [
        "httpx", "httpx>=0.28", "httpx >= 0.28, < 1", "httpx[http2,cli]==0.28.*", "a.b_c-d~=1.0", "x (>=1)", "x!=1.0+local",
        'tomli; python_version < "3.11"', "x>=1 ; sys_platform == 'linux' and (extra == 'a' or extra == 'b')", "X1",
    ],
)  # fmt: skip
def test_a_package_by_its_name(good: str) -> None:
    assert read_block(
        block(f"dependencies = [{good!r}]" if '"' not in good else f"dependencies = ['''{good}''']")
    ) == Block("", (good,))


@pytest.mark.parametrize(
    "bad",
    [
        "-r requirements.txt", "--index-url=https://evil.example", "-i", "--extra-index-url https://evil.example x",
        "x --index-url https://evil.example", "x\n--index-url=https://evil.example", "git+ssh://evil.example/x",
        "https://evil.example/x.whl", "x @ https://evil.example/x.whl", "x@file:///etc", "./local", "../x", "/etc", "~/x", ".",
        "file:x", "x;", "x; $(touch y)", "x `touch y`", "x>=1\x00", "", " ", "ü", "x" * 300, "x[", "x>=", "x y", "[x]", "a/b", "a\\b",
    ],
)  # fmt: skip
def test_what_is_no_package_by_its_name(bad: str) -> None:
    """No option, address or path reaches what fetches packages."""
    text = SHEBANG + block(f"dependencies = [{json.dumps(bad)}]")
    assert refusal(read_block, text).code == "VALIDATION_ERROR"
    assert refusal(lambda: list(steps_for(text, "x.py", search_path=os.defpath))).code == "VALIDATION_ERROR"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    path = tmp_path / "bin"
    path.mkdir()
    (path / "python3").symlink_to(sys.executable)
    return path


def test_packages_stand_behind_the_end_of_options(bench: Path) -> None:
    ((words, _),) = steps_for(SHEBANG + needs("a", "b>=1"), "x.py", search_path=str(bench))
    assert words[0] == str(bench / "python3") and words[1:5] == ("-I", "-m", "pip", "install")
    assert words[-5:] == ("--target", VENDOR, "--", "a", "b>=1")
    (bench / "uv").write_text("#!/bin/sh\n")
    (bench / "uv").chmod(0o755)
    ((words, _),) = steps_for(SHEBANG + needs("a"), "x.py", search_path=str(bench))
    assert words[:3] == (str(bench / "uv"), "pip", "install") and words[-4:] == ("--target", VENDOR, "--", "a")


@pytest.mark.parametrize(
    ("shebang", "counts"),
    [
        ("#!/usr/bin/env python3\n", True),
        ("#!/usr/bin/env -S python3 -u\n", True),
        ("", True),
        ("#!/usr/bin/env -S uv run --script\n", False),
        ("#!/bin/sh\n", False),
    ],
)
def test_only_what_python_runs_is_looked_at(bench: Path, shebang: str, counts: bool) -> None:
    """Another runner reads the block itself."""
    assert bool(list(steps_for(shebang + needs("a"), "x.py", search_path=str(bench)))) is counts


def test_the_python_that_would_run_it_must_be_there(tmp_path: Path) -> None:
    text = "#!/usr/bin/env python3.99\n" + needs("a")
    assert refusal(lambda: list(steps_for(text, "x.py", search_path=str(tmp_path)))).code == "ENGINE_NOT_AVAILABLE"


HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
SERIES = f"{sys.version_info[0]}"


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        (f">={HERE}", True), (f">={HERE},<4", True), (f"=={HERE}.*", True), (f"~={HERE}", True), (">=2.7", True), ("!=3.99.*", True),
        (f"~={HERE}.0", True), (">=3.99", False), (f"<{HERE}", False), (f"!={HERE}.*", False), ("==2.*", False), ("~=3.99", False),
        (f"=={HERE}.99", False), (f">={HERE},!={SERIES}.*", False),
    ],
)  # fmt: skip
def test_the_version_of_python_is_checked(bench: Path, said: str, holds: bool) -> None:
    """By the Python that would run the tool."""
    ((words, _),) = steps_for(SHEBANG + block(f"requires-python = '{said}'"), "x.py", search_path=str(bench))
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) is holds, done.stderr
    assert holds or f"and the tool requires {said}" in done.stderr


def wheel(directory: Path, name: str, text: str) -> None:
    """A package, as an index has it."""
    about = f"{name}-1.0.dist-info"
    directory.mkdir(exist_ok=True)
    with zipfile.ZipFile(directory / f"{name}-1.0-py3-none-any.whl", "w") as file:
        file.writestr(f"{name}.py", text)
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")


@pytest.fixture
def greeting(shelf, tmp_path: Path) -> Path:
    """A new tool that needs a package, and the wheels it can come from."""
    made = workshop.plan(str(shelf.user_tools), "greet", description="Greets.", prefix="custom_tool_")
    workshop.create(made)
    source = shelf.user_tools / "greet" / "greet.py"
    text = source.read_text().replace("# dependencies = []", '# dependencies = ["greetings >= 1"]')
    source.write_text(text.replace('["greet works."]', "[__import__('greetings').HELLO]"))
    wheel(tmp_path / "wheels", "greetings", "HELLO = 'hello from a package'\n")
    return shelf.user_tools / "greet"


def build(folder: Path, wheels: Path) -> list["subprocess.CompletedProcess[str]"]:
    """Run the steps with nothing but these wheels to choose from."""
    path = os.path.dirname(sys.executable)  # without uv, with the pip of this Python
    where = {"PATH": path, "HOME": str(wheels.parent), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    steps = workshop.build_steps(str(folder), search_path=path)
    return [
        subprocess.run(step.argv, cwd=folder, env=where, capture_output=True, text=True, timeout=120) for step in steps
    ]


def test_what_a_tool_depends_on_becomes_a_part_of_it(shelf, greeting: Path, tmp_path: Path) -> None:
    """F49: fetched into its folder, covered by its digest, and found by the source as it was scaffolded."""
    digest = shelf.one().digest
    failed = shelf.opened(lambda crib: crib.call("custom_tool_greet"))
    assert failed.error is not None and "greetings" in failed.error.message
    (done,) = build(greeting, tmp_path / "wheels")
    if "No module named pip" in done.stderr:
        pytest.skip("this Python has no pip")
    assert done.returncode == 0, done.stderr
    assert workshop.fix_entrypoint(str(greeting)) is None
    assert (greeting / VENDOR / "greetings.py").exists()
    assert shelf.one().digest != digest
    result = shelf.opened(lambda crib: crib.call("custom_tool_greet"))
    assert result.data == "hello from a package\n"


def test_a_package_that_cannot_be_had_changes_nothing(greeting: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (done,) = build(greeting, empty)
    assert done.returncode != 0 and done.stderr
    assert sorted(path.name for path in greeting.iterdir() if path.name != VENDOR) == ["greet.py", "tool.yaml"]
    assert not (greeting / VENDOR).exists() or not any((greeting / VENDOR).iterdir())


def test_no_file_of_the_folder_is_taken_for_a_part_of_pip(greeting: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for name in ("pip.py", "json.py", "tomllib.py", "sitecustomize.py"):
        (greeting / name).write_text(f"open({str(canary)!r}, 'w').close()\n")
    build(greeting, tmp_path / "wheels")
    assert not canary.exists()


def test_a_script_of_nothing_but_beginnings_is_read_at_once() -> None:
    """Each line could be the beginning of a block that never ends."""
    assert read_block("# /// other\n" * 200_000) is None
    assert refusal(read_block, "# /// script\n" * 200_000).code == "VALIDATION_ERROR"
