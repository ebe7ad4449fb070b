"""C46: how code is written in a project, by what is configured and by what is there; each with its evidence."""

import os
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolcrib.builtins.extract_conventions import extract_conventions
from toolcrib.sandbox.guard import GuardedFiles

from .projects import (
    CMAKE,
    ECOSYSTEMS,
    GO,
    INFRASTRUCTURE,
    NODE,
    PHP,
    PYTHON,
    RUBY,
    RUST,
    answer,
    through_gate,
    unfounded,
)

ROOT = Path(__file__).parents[2]
ask = partial(answer, extract_conventions)


def on_disk(place: Path) -> Any:
    return ask(lambda report, judged, session: GuardedFiles(place, report, judged, session))


def settings(found: Any) -> dict[tuple[str, str], Any]:
    rows = found.get("configured", ())
    return {(row["tool"], row["setting"]): row["value"] for row in rows if "setting" in row}


def usual(found: Any, language: str) -> dict[str, Any]:
    (measured,) = (each for each in found["measured"] if each["language"] == language)
    return {key: value["value"] for key, value in measured.items() if isinstance(value, dict) and "value" in value}


def commands(rows: Any) -> dict[str, str]:
    return {row["command"]: row.get("for", "") for row in rows}


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_no_claim_without_evidence(name: str) -> None:
    found = ask(ECOSYSTEMS[name])
    rows = [*found.get("configured", ()), *found.get("commands", ()), *found.get("ci_commands", ())]
    assert all(row["evidence"]["file"] in ECOSYSTEMS[name] for row in rows)
    assert all(each["evidence"]["files"] and each["evidence"]["lines"] for each in found.get("measured", ()))
    assert unfounded(found, ECOSYSTEMS[name]) == []


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (
            PYTHON,
            {("ruff", "line length"): 100, ("ruff", "quotes"): "double", ("mypy", "strict"): True},
        ),
        (
            NODE,
            {
                ("Prettier", "line length"): 90,
                ("Prettier", "single quotes"): True,
                ("Prettier", "semicolons"): False,
                ("TypeScript", "strict"): True,
                ("TypeScript", "target"): "ES2022",
            },
        ),
        (RUST, {("rustfmt", "line length"): 110}),
        (CMAKE, {("clang-format", "based on"): "Google", ("clang-format", "line length"): "100"}),
        (RUBY, {("RuboCop", "line length"): "110", ("RuboCop", "quotes"): "single_quotes"}),
        (GO, {("gofmt", "indentation"): "tab"}),
        (
            {
                ".editorconfig": "root = true\n[*]\nindent_style = space\nindent_size = 2\n[*.md]\nmax_line_length = 80\n"
            },
            {
                ("EditorConfig", "indentation style"): "space",
                ("EditorConfig", "indentation"): "2",
                ("EditorConfig", "line length in *.md"): "80",
            },
        ),
        (
            {
                "setup.cfg": "[flake8]\nmax-line-length = 99\n[isort]\nprofile = black\n",
                ".pylintrc": "max-line-length=88\n",
            },
            {("flake8", "line length"): "99", ("isort", "profile"): "black", ("pylint", "line length"): "88"},
        ),
        (
            {".eslintrc.json": '{"extends": "airbnb", "rules": {"quotes": ["error", "single"], "max-len": 0}}'},
            {("ESLint", "extends"): ["airbnb"], ("ESLint", "quotes"): ["error", "single"], ("ESLint", "max-len"): 0},
        ),
        (
            {"biome.json": '{"formatter": {"lineWidth": 120}, "javascript": {"formatter": {"quoteStyle": "single"}}}'},
            {("Biome", "line length"): 120, ("Biome", "quotes"): "single"},
        ),
        (
            {"ruff.toml": 'line-length = 79\n[lint]\nselect = ["E", "F"]\n'},
            {("ruff", "line length"): 79, ("ruff", "rules"): ["E", "F"]},
        ),
    ],
)
def test_what_is_configured(files: dict[str, str], wanted: dict[tuple[str, str], Any]) -> None:
    assert settings(ask(files)) == wanted


def test_a_setting_is_shown_where_it_stands() -> None:
    (row,) = (row for row in ask(PYTHON)["configured"] if row.get("setting") == "line length")
    assert row["evidence"] == {"file": "pyproject.toml", "line": 15, "text": "line-length = 100"}


@pytest.mark.parametrize(
    ("files", "language", "wanted"),
    [
        (
            PYTHON,
            "Python",
            {
                "indentation": "4 spaces",
                "quotes": "double",
                "newlines": "LF",
                "final_newline": "yes",
                "function_names": "snake_case",
            },
        ),
        (
            NODE,
            "TypeScript",
            {
                "indentation": "2 spaces",
                "quotes": "single",
                "semicolons": "no",
                "newlines": "LF",
                "final_newline": "yes",
                "function_names": "camelCase",
            },
        ),
        (
            {"a.js": 'function doIt() {\r\n\tconst a = "x";\r\n\treturn a;\r\n}'},
            "JavaScript",
            {
                "indentation": "tab",
                "quotes": "double",
                "semicolons": "yes",
                "newlines": "CRLF",
                "final_newline": "no",
                "function_names": "camelCase",
            },
        ),
        (GO, "Go", {"indentation": "tab", "newlines": "LF", "final_newline": "yes", "function_names": "camelCase"}),
    ],
)
def test_what_the_code_does(files: dict[str, str], language: str, wanted: dict[str, str]) -> None:
    assert usual(ask(files), language) == wanted


def test_what_the_code_does_and_what_is_configured_may_differ() -> None:
    found = ask({"ruff.toml": "line-length = 80\n", "a.py": "x = 1\n" * 99 + "y" * 150 + "\n"})
    assert settings(found)["ruff", "line length"] == 80
    assert found["measured"][0]["line_length"] == {"median": 5, "95_percent": 5, "longest": 150}


def test_how_usual_something_is() -> None:
    found = ask({"a.py": "a = 'x'\nb = \"y\"\nc = 'z'\nd = 'w'\ne = \"it's\"\n"})
    assert found["measured"][0]["quotes"] == {"value": "single", "percent": 75, "seen": 4}, "one had no choice"


@pytest.mark.parametrize(
    ("files", "frameworks", "names", "places"),
    [
        (PYTHON, ["pytest"], ["test_*.py"], ["tests"]),
        (NODE, ["Vitest"], ["*.test.*"], ["beside the code"]),
        (RUST, ["cargo test"], ["tests/*.rs"], ["tests"]),
        (GO, ["go test"], ["*_test.go"], ["beside the code"]),
        (PHP, [], ["*Test.php"], ["tests"]),
        (RUBY, ["RSpec"], ["*_spec.rb"], ["spec"]),
        (CMAKE, ["CTest"], [], []),
        ({"src/__tests__/a.test.js": "", "jest.config.js": ""}, ["Jest"], ["*.test.*"], ["__tests__ beside the code"]),
    ],
)
def test_tests(files: dict[str, str], frameworks: list[str], names: list[str], places: list[str]) -> None:
    found = ask(files)["tests"]
    assert [each["name"] for each in found.get("frameworks", ())] == frameworks
    assert [each["name"] for each in found.get("names", ())] == names
    assert [each["name"] for each in found.get("directories", ())] == places


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (GO, {"make build": "build", "make test": "test"}),
        (NODE, {"pnpm run build": "build", "pnpm run test": "test", "pnpm run lint": "lint", "pnpm run start": "run"}),
        (PHP, {"composer test": "test"}),
        ({"justfile": "set shell := ['sh']\n\nfmt:\n  ruff format .\n\ncheck-all arg='x':\n  ruff check .\n"},
         {"just fmt": "format", "just check-all": "test"}),
        ({"tox.ini": "[testenv]\ncommands = pytest\n[testenv:lint]\ncommands = ruff check\n"},
         {"tox": "test", "tox -e lint": "lint"}),
        ({"noxfile.py": "import nox\n\n@nox.session\ndef tests(session):\n    pass\n"}, {"nox -s tests": "test"}),
        ({"Taskfile.yml": "tasks:\n  build:\n    cmds: [go build]\n"}, {"task build": "build"}),
        ({"pyproject.toml": '[tool.poe.tasks]\nlint = "ruff check"\n[tool.hatch.envs.test.scripts]\nall = "pytest"\n'},
         {"poe lint": "lint", "hatch run test:all": "test"}),
        ({"docs/Makefile": "html:\n\tsphinx-build\n", "Rakefile": "task :spec do\nend\n"}, {"rake spec": "test"}),
    ],
)  # fmt: skip
def test_commands(files: dict[str, str], wanted: dict[str, str]) -> None:
    assert commands(ask(files)["commands"]) == wanted


def test_what_the_ci_runs() -> None:
    """Anchors, merges and tags of people's CI files are no obstacle."""
    found = ask(INFRASTRUCTURE)
    assert commands(found["ci_commands"]) == {
        "make test": "test",
        "ruff check .": "test",
        "mypy src": "lint",
        "pip install tox": "test",
        "tox -e py": "test",
    }
    assert found["ci_commands"][0]["evidence"] == {
        "file": ".github/workflows/ci.yml",
        "line": 7,
        "text": "- run: make test",
    }


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        (".circleci/config.yml", "jobs:\n  b:\n    steps:\n      - run: npm test\n      - run: {command: npm ci}\n",
         ["npm test", "npm ci"]),
        ("azure-pipelines.yml", "steps:\n- script: dotnet test\n", ["dotnet test"]),
        (".travis.yml", "language: python\nscript: pytest\n", ["pytest"]),
        ("Jenkinsfile", "node {\n  sh 'mvn verify'\n  sh(script: \"make\")\n}\n", ["mvn verify", "make"]),
    ],
)  # fmt: skip
def test_other_ci(file: str, text: str, wanted: list[str]) -> None:
    assert sorted(commands(ask({file: text})["ci_commands"])) == sorted(wanted)


# Commits


def reflog(*subjects: str) -> str:
    line = "0" * 40 + " " + "1" * 40 + " A B <a@b.example> 1700000000 +0000\t"
    return "".join(f"{line}commit: {subject}\n" for subject in subjects) + f"{line}checkout: moving from a to b\n"


def loose(place: Path, *subjects: str) -> None:
    """A repository in which every commit lies in a file of its own, written without git."""
    parent, objects = "", place / ".git" / "objects"
    for number, subject in enumerate(subjects, 1):
        body = (
            f"tree {'0' * 40}\n{f'parent {parent}{chr(10)}' if parent else ''}author x\n\n{subject}\n\nWhy.\n".encode()
        )
        parent = f"{number:040x}"
        (objects / parent[:2]).mkdir(parents=True, exist_ok=True)
        (objects / parent[:2] / parent[2:]).write_bytes(zlib.compress(b"commit %d\0" % len(body) + body))
    (place / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (place / ".git" / "refs" / "heads").mkdir(parents=True)
    (place / ".git" / "refs" / "heads" / "main").write_text(parent + "\n")


def test_commit_messages_by_the_log_of_the_head() -> None:
    found = ask({".git/logs/HEAD": reflog("feat: one", "fix(core): two", "docs: three", "Four")})["commits"]
    assert (found["conventional"], found["capitalised"]) == ("75 %", "25 %")
    assert found["evidence"] == {
        "file": ".git/logs/HEAD",
        "commits": 4,
        "examples": ["Four", "docs: three", "fix(core): two"],
    }
    assert "a@b.example" not in str(found)


def test_commit_messages_by_objects(tmp_path: Path) -> None:
    loose(tmp_path, "Add one", "Add two", "Add three.", "ABC-12 Add four")
    found = on_disk(tmp_path)["commits"]
    assert (found["capitalised"], found["full_stop"], found["ticket"]) == ("100 %", "25 %", "25 %")
    assert found["evidence"]["examples"] == ["ABC-12 Add four", "Add three.", "Add two"]


def test_two_commits_are_no_habit() -> None:
    assert "commits" not in ask({".git/logs/HEAD": reflog("a", "b")})


@pytest.mark.parametrize("head", ["ref: refs/../../../outside", "ref: refs/heads/\0", "x" * 2000, "../outside", ""])
def test_a_hostile_repository_leads_nowhere(tmp_path: Path, head: str) -> None:
    work = tmp_path / "work"
    (work / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / "outside").write_text("1" * 40)
    (work / ".git" / "HEAD").write_text(head)
    (work / ".git" / "logs").symlink_to(tmp_path)
    (tmp_path / "HEAD").write_text(reflog("stolen", "stolen 2", "stolen 3"))
    assert on_disk(work) == {}


def test_a_commit_that_unpacks_to_a_gigabyte_is_not_unpacked(tmp_path: Path) -> None:
    loose(tmp_path, "one", "two", "three")
    bomb = zlib.compress(b"commit 9\0tree x\n\nlong " + b"x" * 50_000_000, 9)
    (tmp_path / ".git" / "objects" / "00" / f"{3:038x}").write_bytes(bomb)
    assert len(str(on_disk(tmp_path).get("commits", ""))) < 2000


# Bounds and the gate


def test_the_answer_is_bounded(tmp_path: Path) -> None:
    scripts = ", ".join(f'"s{number}": "{"x" * 300}"' for number in range(700))
    (tmp_path / "package.json").write_text(f'{{"scripts": {{{scripts}}}}}')
    (tmp_path / "Makefile").write_text("".join(f"t{number}:\n\techo {'y' * 500}\n" for number in range(400)))
    for number in range(300):
        (tmp_path / f"m{number}.py").write_text("def f():\n    return 'x'\n")
    found = on_disk(tmp_path)
    assert len(found["commands"]) == 40 and found["measured"][0]["evidence"]["files"] == 40
    assert len(str(found)) < 40_000


def test_a_line_of_a_megabyte_is_measured_by_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("var a='" + "\\'" * 500_000)
    (tmp_path / "a.js").write_text("const b = 'x'\n")
    assert on_disk(tmp_path)["measured"][0]["evidence"]["files"] == 2


def test_through_the_gate(tmp_path: Path) -> None:
    for path, text in PYTHON.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    before = sorted(map(str, tmp_path.rglob("*")))
    result = through_gate(extract_conventions, tmp_path)
    assert result.success and result.metadata["approval"] == "preApproved"
    assert settings(result.data)["ruff", "line length"] == 100
    assert sorted(map(str, tmp_path.rglob("*"))) == before


@pytest.mark.parametrize(
    ("args", "code"), [({"path": []}, "VALIDATION_ERROR"), ({"path": "../x"}, "PATH_OUTSIDE_WORKSPACE")]
)
def test_a_wrong_call_is_refused(tmp_path: Path, args: dict[str, Any], code: str) -> None:
    result = through_gate(extract_conventions, tmp_path, args)
    assert result.error is not None and result.error.code == code


def test_this_repository() -> None:
    found = on_disk(ROOT)
    assert settings(found)["ruff", "line length"] == 120 and settings(found)["mypy", "strict"] is True
    assert usual(found, "Python")["indentation"] == "4 spaces" and usual(found, "Python")["quotes"] == "double"
    assert {"make test": "test", "make lint": "lint"}.items() <= commands(found["commands"]).items()
    assert [each["name"] for each in found["tests"]["frameworks"]] == ["pytest"]
    assert os.path.exists(ROOT / found["measured"][0]["evidence"]["first"])
