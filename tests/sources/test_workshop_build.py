"""What builds a tool: said as words, and run by nobody here (F24, F25, F51)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from toolcrib.backends import folder as folders
from toolcrib.core.errors import ToolcribError
from toolcrib.sources import workshop
from toolcrib.sources.workshop import build_steps, fix_entrypoint
from toolcrib.store import yamltext

from .folders import put
from .languages import need


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A directory of compilers, each of which would leave a file behind."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("go", "rustc", "cargo", "cp", "make", "python3"):
        (path / name).write_text(f"#!/bin/sh\n: > {tmp_path}/started\n")
        (path / name).chmod(0o755)
    return path


def words(folder: Path, bench: Path) -> list[tuple[str, ...]]:
    """What would be run, the programs by their names; and nothing was."""
    steps = build_steps(str(folder), search_path=str(bench))
    assert not (bench.parent / "started").exists()
    assert all(os.path.isabs(step.argv[0]) and step.why for step in steps)
    return [(os.path.basename(step.argv[0]), *step.argv[1:]) for step in steps]


def refusal(work, *args, **how) -> ToolcribError:
    with pytest.raises(ToolcribError) as caught:
        work(*args, **how)
    return caught.value


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("make all", ("make", "all")),
        ("make 'two words' \"x\"", ("make", "two words", "x")),
        ("make a; touch x && $(touch y) `touch z` > out", ("make", "a;", "touch", "x", "&&", "$(touch", "y)", "`touch", "z`", ">", "out")),
        (["make", "a b", "$(touch x)", ""], ("make", "a b", "$(touch x)", "")),
    ],
)  # fmt: skip
def test_the_command_of_a_manifest_is_split_into_words(tmp_path: Path, bench: Path, said, expected) -> None:
    """No shell ever sees it."""
    assert words(put(tmp_path / "one", build=said), bench) == [expected]


def test_a_program_of_the_folder_is_meant_from_there(tmp_path: Path, bench: Path, monkeypatch) -> None:
    """Whatever the directory is in which we happen to be."""
    folder = put(tmp_path / "one", build="./run.sh x", more={"build.sh": ""})
    elsewhere = put(tmp_path / "two")
    monkeypatch.chdir(elsewhere)
    (step,) = build_steps(str(folder), search_path=str(bench))
    assert step.argv == (str(folder / "run.sh"), "x")


@pytest.mark.parametrize("said", ["", "'open", [], ["make", 1], {"a": 1}, ["", "x"], 7, ["make", "a\0b"]])
def test_a_command_that_is_none(tmp_path: Path, bench: Path, said) -> None:
    assert refusal(build_steps, str(put(tmp_path / "one", build=said)), search_path=str(bench)).code == "CONFIG_INVALID"


@pytest.mark.parametrize(
    ("file", "entrypoint", "expected"),
    [
        ("one.go", "one.go", [("go", "build", "-o", "one", "one.go")]),
        ("one.go", "one", [("go", "build", "-o", "one", "one.go")]),
        ("one.rs", "one", [("rustc", "-O", "--edition", "2021", "--crate-name", "tool", "-o", "one", "one.rs")]),
        ("other.go", "one", []),
        ("one.go", "run.sh", []),
        (
            "Cargo.toml",
            "one",
            [("cargo", "build", "--release", "--bin", "one"), ("cp", "target/release/one", "one"), ("cargo", "clean")],
        ),
    ],
)
def test_a_source_beside_the_manifest_is_enough(tmp_path: Path, bench: Path, file, entrypoint, expected) -> None:
    """F24: a folder from elsewhere has no `build`."""
    assert words(put(tmp_path / "one", entrypoint=entrypoint, more={file: ""}), bench) == expected


def test_modules_of_go_are_honoured_and_never_fetched_behind_ones_back(tmp_path: Path, bench: Path) -> None:
    """F51: `go get` is the author's to type; the build is the same with a go.mod."""
    folder = put(tmp_path / "one", entrypoint="one.go", more={"one.go": "", "go.mod": "module x\n", "go.sum": ""})
    assert words(folder, bench) == [("go", "build", "-o", "one", "one.go")]


def test_a_go_tool_that_imports_another_module(tmp_path: Path) -> None:
    """F51: what its go.mod names is built in; here from a directory, so that no network is needed."""
    need("go")
    made = workshop.plan(str(tmp_path), "one", description="Is one.", language="go", prefix="")
    workshop.create(made)
    folder = Path(made.folder)
    (folder / "greeting").mkdir()
    (folder / "greeting" / "go.mod").write_text("module example.com/greeting\n\ngo 1.19\n")
    (folder / "greeting" / "greeting.go").write_text('package greeting\n\nconst Hello = "hello from a module"\n')
    required = "\nrequire example.com/greeting v0.0.0\n\nreplace example.com/greeting => ./greeting\n"
    (folder / "go.mod").write_text((folder / "go.mod").read_text() + required)
    source = (folder / "one.go").read_text().replace('\t"strings"\n', '\t"strings"\n\n\t"example.com/greeting"\n')
    (folder / "one.go").write_text(source.replace('"one works."', "greeting.Hello"))
    (step,) = build_steps(made.folder, search_path=os.environ["PATH"])
    done = subprocess.run(step.argv, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "one"], capture_output=True, text=True).stdout == "hello from a module\n"


@pytest.mark.parametrize("language", ["go", "rust"])
def test_what_to_install_where_the_compiler_is_missing(tmp_path: Path, language: str) -> None:
    made = workshop.plan(str(tmp_path), "one", description="Is one.", language=language, prefix="")
    workshop.create(made)
    failure = refusal(build_steps, made.folder, search_path=str(tmp_path))
    assert failure.code == "ENGINE_NOT_AVAILABLE"
    assert f"{made.build[0]} builds this tool, and is not installed; install" in str(failure)


def test_a_folder_without_a_manifest_is_no_tool(tmp_path: Path, bench: Path) -> None:
    (tmp_path / "one").mkdir()
    assert refusal(build_steps, str(tmp_path / "one"), search_path=str(bench)).code == "FILE_NOT_FOUND"
    put(tmp_path / "other", build="make")
    (tmp_path / "one" / "tool.yaml").symlink_to(tmp_path / "other" / "tool.yaml")
    assert refusal(build_steps, str(tmp_path / "one"), search_path=str(bench)).code == "PATH_NOT_REGULAR"
    os.unlink(tmp_path / "one" / "tool.yaml")
    os.mkfifo(tmp_path / "one" / "tool.yaml")
    assert refusal(build_steps, str(tmp_path / "one"), search_path=str(bench)).code == "PATH_NOT_REGULAR"


MANIFESTS = [
    'name: one\nentrypoint: one.go\n',
    '# entrypoint: one.go\nname: one # x\nentrypoint:   "one.go"   # of the source: one.go\n# the end',
    "\ufeffentrypoint: 'one.go'\r\nname: one\r\n",
    'name: one\nentrypoint : one.go\nusage: |\n  entrypoint: one.go\n',
]  # fmt: skip


@pytest.mark.parametrize("text", MANIFESTS)
def test_after_a_build_the_manifest_names_the_program(tmp_path: Path, text: str) -> None:
    """F14, F25: one line changes, with its comment kept, and nothing else."""
    folder = put(tmp_path / "one", text="", more={"one.go": "", "one": ""})
    (folder / "tool.yaml").write_bytes(text.encode())
    (folder / "tool.yaml").chmod(0o640)
    (folder / "one").chmod(0o755)
    assert fix_entrypoint(str(folder)) == 'entrypoint: "one"'
    before, after = text.split("\n"), (folder / "tool.yaml").read_bytes().decode().split("\n")
    changed = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    assert len(changed) == 1 and changed[0][1].split("#")[0].count('"one"') == 1
    assert changed[0][0].partition("#")[2] == changed[0][1].partition("#")[2]
    assert yamltext.parse((folder / "tool.yaml").read_bytes(), "tool.yaml").value["entrypoint"] == "one"
    assert (folder / "tool.yaml").stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]
    assert fix_entrypoint(str(folder)) is None


@pytest.mark.parametrize("text", ["{name: one, entrypoint: one.go}\n", "entrypoint:\n  one.go\n"])
def test_a_line_that_is_not_plain_is_left_to_its_author(tmp_path: Path, text: str) -> None:
    folder = put(tmp_path / "one", text=text, more={"one.go": "", "one": ""})
    (folder / "one").chmod(0o755)
    failure = refusal(fix_entrypoint, str(folder))
    assert failure.code == "CONFIG_INVALID" and "write `entrypoint: one` here" in str(failure)
    assert (folder / "tool.yaml").read_text() == text


@pytest.mark.parametrize("wrong", ["not built", "not executable", "link", "other entrypoint"])
def test_a_manifest_stays_as_it_is_where_nothing_was_built(tmp_path: Path, wrong: str) -> None:
    folder = put(
        tmp_path / "one", entrypoint="run.sh" if wrong == "other entrypoint" else "one.go", more={"one.go": ""}
    )
    if wrong == "link":
        (folder / "one").symlink_to("run.sh")
    elif wrong != "not built":
        (folder / "one").write_text("")
        (folder / "one").chmod(0o644 if wrong == "not executable" else 0o755)
    before = (folder / "tool.yaml").read_text()
    assert fix_entrypoint(str(folder)) is None
    assert (folder / "tool.yaml").read_text() == before


def test_a_tool_that_became_too_large_is_told_why(tmp_path: Path, monkeypatch) -> None:
    """F49: what was fetched is a part of the tool, and counts."""
    monkeypatch.setattr(folders, "MOST_FILES", 5)
    folder = put(tmp_path / "one", more={f"vendor/package/{number}.py": "" for number in range(9)})
    failure = refusal(fix_entrypoint, str(folder))
    assert failure.code == "INPUT_TOO_LARGE"
    assert "9 of its files are in vendor; name fewer dependencies" in str(failure)


@pytest.mark.parametrize("language", ["go", "rust"])
def test_from_the_scaffold_to_a_tool(shelf, language: str) -> None:
    """F5, F24, F25, F30: not offered before it is built; built in its folder; offered by the next look."""
    made = workshop.plan(str(shelf.user_tools), "one", description="Is one.", language=language, prefix="custom_tool_")
    need(language)
    workshop.create(made)
    assert shelf.opened() == []
    code, message = shelf.problem("tool.yaml")
    assert code == "EXECUTION_ERROR" and "cannot be executed" in message
    for step in build_steps(made.folder, search_path=os.environ["PATH"]):
        assert subprocess.run(step.argv, cwd=made.folder, timeout=120).returncode == 0
    assert fix_entrypoint(made.folder) == 'entrypoint: "one"'
    assert shelf.opened() == ["custom_tool_one"]
    assert shelf.opened(lambda crib: crib.call("custom_tool_one")).data == "one works.\n"


def test_a_cargo_project_is_built_and_tidied_up(tmp_path: Path) -> None:
    """Without a registry: the tool depends on nothing."""
    need("rust")
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    cargo = '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2021"\n'
    main = 'fn main() { println!("from cargo"); }\n'
    folder = put(tmp_path / "one", entrypoint="one", more={"Cargo.toml": cargo, "src/main.rs": main})
    for step in build_steps(str(folder), search_path=os.environ["PATH"]):
        done = subprocess.run(step.argv, cwd=folder, timeout=120, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert subprocess.run([folder / "one"], capture_output=True, text=True).stdout == "from cargo\n"
    assert not (folder / "target").exists()
    assert fix_entrypoint(str(folder)) is None


def test_nothing_is_built_for_a_script(tmp_path: Path, bench: Path) -> None:
    for language in ("python", "bash", "node"):
        made = workshop.plan(str(tmp_path), language, description="Is one.", language=language, prefix="")
        workshop.create(made)
        assert words(Path(made.folder), bench) == []
