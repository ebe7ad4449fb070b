"""C46: what kind of project this is, each claim with where it can be seen; and nothing of the project runs."""

import os
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from toolcrib.builtins.detect_project_type import detect_project_type
from toolcrib.builtins.project.survey import LONGEST, Survey
from toolcrib.sandbox.guard import GuardedFiles

from .projects import (
    CMAKE,
    DOTNET,
    ECOSYSTEMS,
    GO,
    GRADLE,
    INFRASTRUCTURE,
    MAVEN,
    MESON,
    NODE,
    PHP,
    PYTHON,
    RUBY,
    RUST,
    SWIFT,
    answer,
    through_gate,
    unfounded,
    values,
)

ROOT = Path(__file__).parents[2]
ask = partial(answer, detect_project_type)


def on_disk(place: Path) -> Any:
    """The same on real files, through the guard."""
    return ask(lambda report, judged, session: GuardedFiles(place, report, judged, session))


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_no_claim_without_evidence(name: str) -> None:
    found = ask(ECOSYSTEMS[name])
    claims = [claim for topic, said in found.items() if topic != "notes" for claim in said]
    assert claims and all(claim["evidence"]["file"] for claim in claims)
    assert unfounded(found, ECOSYSTEMS[name]) == []


def test_python() -> None:
    found = ask(PYTHON)
    assert found["languages"][0]["name"] == "Python" and found["languages"][0]["percent"] == 100.0
    assert list(values(found["build_systems"])) == ["hatchling"]
    assert list(values(found["package_managers"])) == ["uv"]
    assert set(values(found["frameworks"])) == {"FastAPI", "Click", "SQLAlchemy"}
    assert values(found["kind"]) == {"library": "greeter", "command line program": None}
    assert values(found["entry_points"]) == {
        "greet": "greeter.cli:main",
        "greet-all": "greeter.cli:everybody",
        "python -m greeter": None,
    }
    assert [each["value"] for each in found["runtime_versions"]] == [">=3.11", "3.12.4"]
    (_, all_of_them, _) = found["entry_points"]
    assert all_of_them["evidence"] == {
        "file": "pyproject.toml",
        "line": 12,
        "text": 'greet-all = "greeter.cli:everybody"',
    }


def test_a_setup_script_is_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(
        "import pathlib, setuptools\npathlib.Path('ran').touch()\n"
        "setuptools.setup(name='old', python_requires='>=3.8', install_requires=['Django>=4', NAME],\n"
        "    entry_points={'console_scripts': []})\n"
    )
    found = on_disk(tmp_path)
    assert values(found["kind"]) == {"library": "old", "command line program": None}
    assert values(found["runtime_versions"]) == {"Python": ">=3.8"} and list(values(found["frameworks"])) == ["Django"]
    assert os.listdir(tmp_path) == ["setup.py"]


def test_javascript_in_a_monorepo_with_comments_in_its_manifest() -> None:
    found = ask(NODE)
    assert found["kind"][0]["name"] == "monorepo" and values(found["workspaces"]) == {"packages/*": None}
    assert values(found["kind"])["library"] == "@shop/cart"
    assert values(found["package_managers"]) == {"pnpm": "pnpm@9.1.0"} | {"pnpm": None}
    assert {"React", "Express", "Vitest"} <= set(values(found["frameworks"]))
    assert {each["value"] for each in found["runtime_versions"]} == {">=20", "v20.11.1"}
    assert "cart" in values(found["entry_points"]) and found["languages"][0]["name"] == "TypeScript"
    assert "notes" not in found


def test_rust() -> None:
    found = ask(RUST)
    assert list(values(found["build_systems"])) == ["Cargo"] and list(values(found["package_managers"])) == ["Cargo"]
    assert set(values(found["frameworks"])) == {"Tokio", "clap"}
    assert values(found["kind"]) == {"command line program": "tool"}
    assert {"src/main.rs", "helper"} == set(values(found["entry_points"]))
    said = {(each["name"], each["value"]) for each in found["runtime_versions"]}
    assert said == {("Rust", "1.75"), ("Rust edition", "2021"), ("Rust", "1.78.0")}


def test_go() -> None:
    found = ask(GO)
    assert set(values(found["build_systems"])) == {"Go modules", "make"}
    assert values(found["runtime_versions"]) == {"Go": "1.22"} and list(values(found["frameworks"])) == ["Gin"]
    assert list(values(found["kind"])) == ["command line program"] and list(values(found["entry_points"])) == [
        "cmd/svc"
    ]


@pytest.mark.parametrize(
    ("files", "build", "kinds", "workspaces", "framework", "java"),
    [
        (MAVEN, "Maven", ["monorepo"], ["core", "web"], "Spring Boot", "21"),
        (GRADLE, "Gradle", ["monorepo", "application"], [":app", ":lib"], "Ktor", "17"),
    ],
)
def test_java_and_kotlin(
    files: dict[str, str], build: str, kinds: list[str], workspaces: list[str], framework: str, java: str
) -> None:
    found = ask(files)
    assert build in values(found["build_systems"]) and list(values(found["kind"])) == kinds
    assert list(values(found["workspaces"])) == workspaces
    assert list(values(found["frameworks"])) == [framework] and values(found["runtime_versions"]) == {"Java": java}


def test_c_and_cpp() -> None:
    found = ask(CMAKE)
    assert list(values(found["build_systems"])) == ["CMake"] and found["languages"][0]["name"] == "C++"
    assert set(values(found["kind"])) == {"application", "library"} and list(values(found["entry_points"])) == [
        "player"
    ]
    assert values(found["runtime_versions"]) == {"C++ standard": "20"}
    assert list(values(found["frameworks"])) == ["GoogleTest"]
    found = ask(MESON)
    assert list(values(found["build_systems"])) == ["Meson"] and list(values(found["entry_points"])) == ["prog"]
    assert values(found["runtime_versions"]) == {"C standard": "11"}


def test_dotnet() -> None:
    found = ask(DOTNET)
    assert set(values(found["kind"])) == {"monorepo", "application", "library"}
    assert values(found["workspaces"]) == {"src/Lib": None, "src/Web": None}
    assert set(values(found["frameworks"])) == {"ASP.NET Core", "xUnit.net"}
    assert values(found["runtime_versions"]) == {".NET": "net8.0"}


def test_ruby() -> None:
    found = ask(RUBY)
    assert list(values(found["package_managers"])) == ["Bundler"] and list(values(found["kind"])) == ["application"]
    assert set(values(found["frameworks"])) == {"Rails", "RSpec"}
    assert values(found["runtime_versions"]) == {"Ruby": "3.3.0"}


def test_php() -> None:
    found = ask(PHP)
    assert list(values(found["package_managers"])) == ["Composer"] and values(found["kind"]) == {"library": "a/b"}
    assert values(found["runtime_versions"]) == {"PHP": ">=8.2"} and list(values(found["frameworks"])) == ["PHPUnit"]


def test_swift() -> None:
    found = ask(SWIFT)
    assert list(values(found["build_systems"])) == ["Swift Package Manager"]
    assert list(values(found["kind"])) == ["command line program"] and list(values(found["frameworks"])) == ["Vapor"]
    assert values(found["runtime_versions"]) == {"Swift": "5.9"}


def test_containers_terraform_and_continuous_integration() -> None:
    found = ask(INFRASTRUCTURE)
    assert set(values(found["deployment"])) == {"Docker", "Docker Compose", "Terraform"}
    assert set(values(found["continuous_integration"])) == {"GitHub Actions", "GitLab CI"}
    assert values(found["runtime_versions"]) == {"Python": "3.12", "Node.js": "20", "Terraform": ">= 1.5"}
    assert '["node", "x.js"]' in values(found["entry_points"])
    assert list(values(found["frameworks"])) == ["Terraform provider aws"]


def test_what_is_an_example_or_a_test_is_not_the_project() -> None:
    beside = {f"examples/{path}": text for path, text in NODE.items()} | {"tests/Dockerfile": "FROM node:20\n"}
    found = ask(PYTHON | beside)
    assert found["kind"] == ask(PYTHON)["kind"] and "deployment" not in found
    assert "kind" in ask(beside), "but where there is nothing else, it is what there is"


def test_what_others_wrote_does_not_count() -> None:
    found = ask(
        RUST | {"node_modules/react/package.json": '{"name": "react", "main": "x.js"}', "vendor/x.go": "x" * 999}
    )
    assert found == ask(RUST)


def test_a_directory_of_the_workspace() -> None:
    """Paths of the evidence are of the workspace, so that they can be read."""
    found = ask({f"a/b/{path}": text for path, text in GO.items()} | PYTHON, "a/b")
    assert [each["name"] for each in found["languages"]] == ["Go", "Makefile"]
    assert found["runtime_versions"][0]["evidence"] == {"file": "a/b/go.mod", "line": 3, "text": "go 1.22"}


def test_an_empty_directory_claims_nothing(tmp_path: Path) -> None:
    assert on_disk(tmp_path) == {"languages": []}


# Hostile and broken files


DEEP = 200_000
BROKEN = {
    "deep.json": ("package.json", "[" * DEEP),
    "deep objects": ("package.json", '{"a":' * DEEP),
    "cut off": ("package.json", '{"name": "x", "scripts"'),
    "quotes": ("package.json", '{"a": "' + '\\"' * 100_000),
    "comments": ("tsconfig.json", "/*" * 100_000),
    "commas": ("package.json", "{" + ", " * 100_000),
    "not text": ("package.json", "{}\0"),
    "toml": ("pyproject.toml", "[project\nname="),
    "deep toml": ("pyproject.toml", "a = " + "[" * 50_000),
    "dotted toml": ("Cargo.toml", "a." * 50_000 + "b = 1"),
    "python": ("setup.py", "(" * 50_000),
    "minus": ("setup.py", "-" * 50_000 + "1"),
    "python text": ("setup.py", "def ("),
    "deep yaml": ("pnpm-workspace.yaml", "packages: " + "[" * 50_000),
    "spaces": ("go.mod", "require " + " " * 200_000 + "x"),
    "xml": ("pom.xml", "<module>" * 25_000),
    "wrong types": ("package.json", '{"workspaces": 1, "bin": [1], "scripts": [], "engines": "x", "dependencies": []}'),
    "toml types": ("pyproject.toml", 'project = 1\ntool = "x"\nbuild-system = []\ndependency-groups = 3\n'),
    "cargo types": ("Cargo.toml", 'package = 1\nworkspace = 2\nbin = 3\ndependencies = "x"\n'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_takes_nothing_else_with_it(name: str, tmp_path: Path) -> None:
    """Whatever is in a file: the rest is answered, at once."""
    file, text = BROKEN[name]
    (tmp_path / file).write_text(text)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "composer.json").write_text(PHP["composer.json"])
    found = on_disk(tmp_path)
    assert "a/b" in [each.get("value") for each in found["kind"]]


def test_an_alias_bomb_is_not_expanded(tmp_path: Path) -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    (tmp_path / "pnpm-workspace.yaml").write_text(f"a0: &a0 [x]\n{layers}packages: ['p/*', *a11]\n")
    assert values(on_disk(tmp_path)["workspaces"]) == {"p/*": None}


def test_a_long_file_is_a_note(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "' + "x" * 10_000_000 + '"}')
    (tmp_path / "Cargo.toml").write_text('[package]\nname = "x"\nedition = "2021"\n')
    found = on_disk(tmp_path)
    assert found["notes"] == [f"package.json has more than {LONGEST} bytes, and was not read"]
    assert values(found["runtime_versions"]) == {"Rust edition": "2021"}


def test_no_more_is_read_than_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.builtins.project.survey.MOST_BYTES", 4 * LONGEST)
    for number in range(8):
        place = tmp_path / f"p{number}"
        place.mkdir()
        (place / "pyproject.toml").write_text("#" * (LONGEST - 1))
    result = through_gate(detect_project_type, tmp_path)
    assert 4 * LONGEST <= result.metadata["bytes_read"] <= 5 * LONGEST
    assert result.data["notes"] == [f"more than {4 * LONGEST} bytes would have to be read; the rest was left out"]


def test_pipes_links_and_devices_are_named_and_never_opened(tmp_path: Path) -> None:
    """A pipe without a writer would be waited for; a link could lead out."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "secret.toml").write_text('[package]\nname = "stolen"\n[dependencies]\ntokio = "1"\n')
    (outside / "package.json").write_text('{"name": "stolen", "main": "x"}')
    os.mkfifo(work / "package.json")
    (work / "Cargo.toml").symlink_to(outside / "secret.toml")
    (work / "packages").symlink_to(outside, target_is_directory=True)
    (work / "loop").symlink_to(work, target_is_directory=True)
    found = on_disk(work)
    assert "stolen" not in str(found) and found["languages"] == [] and "kind" not in found
    assert set(found["notes"]) == {
        "package.json is a pipe, and was not read",
        "Cargo.toml is a link, and was not read",
    }


def test_a_directory_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    """Also not when it is swapped all the time while it is looked at."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    (work / "real").mkdir(parents=True)
    outside.mkdir()
    (work / "real" / "package.json").write_text('{"name": "mine", "main": "x"}')
    (outside / "package.json").write_text('{"name": "stolen", "main": "x"}')
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            (work / "real").rename(work / "away")
            (work / "real").symlink_to(outside, target_is_directory=True)
            (work / "real").unlink()
            (work / "away").rename(work / "real")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = [str(on_disk(work)) for _ in range(60)]
    finally:
        done.set()
        thread.join()
    assert not any("stolen" in each for each in seen)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    place = os.path.join(os.fsencode(tmp_path), b"\xff\n\x1b[2J")
    os.mkdir(place)
    with open(os.path.join(place, b"package.json"), "wb") as file:
        file.write(b'{"name": "x", "main": "y"}')
    result = through_gate(detect_project_type, tmp_path)
    assert result.success and result.data["kind"][0]["evidence"]["file"] == "\\xff\n\x1b[2J/package.json"


def test_it_stops_when_nobody_waits_any_more(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x", "main": "y"}')
    with GuardedFiles(tmp_path).directory(".") as folder:
        survey = Survey(folder, stop=lambda: True)
        assert survey.files == {} and survey.data("package.json") is None and survey.bytes_read == 0


# Through the gate


def test_it_is_read_only_and_needs_no_approval(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.22\n")
    result = through_gate(detect_project_type, tmp_path, {"path": "."})
    assert result.success and result.metadata["approval"] == "preApproved" and result.metadata["bytes_read"] > 0
    assert os.listdir(tmp_path) == ["go.mod"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"path": 3}, "VALIDATION_ERROR"),
        ({"path": ""}, "VALIDATION_ERROR"),
        ({"directory": "."}, "VALIDATION_ERROR"),
        ({"path": ".."}, "PATH_OUTSIDE_WORKSPACE"),
        ({"path": "/etc"}, "PATH_OUTSIDE_WORKSPACE"),
        ({"path": "link"}, "PATH_OUTSIDE_WORKSPACE"),
        ({"path": "nothing"}, "FILE_NOT_FOUND"),
        ({"path": "file"}, "FILE_NOT_FOUND"),
    ],
)
def test_a_wrong_call_is_refused(tmp_path: Path, args: dict[str, Any], code: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "link").symlink_to("/etc")
    (work / "file").write_text("x")
    result = through_gate(detect_project_type, work, args)
    assert result.error is not None and result.error.code == code


def test_this_repository() -> None:
    found = on_disk(ROOT)
    assert found["languages"][0]["name"] == "Python"
    assert {"hatchling", "make"} <= set(values(found["build_systems"]))
    assert values(found["kind"]) == {"library": "toolcrib", "command line program": None}
    assert {"toolcrib", "crib"} <= set(values(found["entry_points"]))
