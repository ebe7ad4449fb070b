"""What is readable because it lies behind a program on PATH, and what no link or setting can make readable."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.sandbox.installations import behind, homes, installations

Maker = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home, with keys in it."""
    home = tmp_path.resolve() / "home"
    for name in (".ssh", ".aws", ".gnupg", ".config", ".local/share/keyrings"):
        (home / name).mkdir(parents=True)
    (home / ".ssh/id_rsa").write_text("key")
    (home / ".ssh/id_rsa").chmod(0o755)  # as careless as can be
    return home


@pytest.fixture
def program(home: Path) -> Maker:
    """`program("a/b")` puts a program below the home and gives its path; with `to=`, a link."""

    def make(relative: str, text: str = "#!/bin/sh\n", *, to: str | Path = "") -> str:
        path = home / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        if to:
            path.symlink_to(to)
        else:
            path.write_text(text)
            path.chmod(0o755)
        return str(path)

    return make


def python_in(prefix: Path) -> str:
    """Something that looks like an installation of Python."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib/python3.11").mkdir(parents=True)
    (prefix / "bin/python3.11").write_text("ELF")
    (prefix / "bin/python3.11").chmod(0o755)
    (prefix / "bin/python3").symlink_to("python3.11")
    return str(prefix / "bin/python3")


def venv_in(prefix: Path, base: str) -> str:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib/python3.11").mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text(f"home = {os.path.dirname(base)}\ninclude-system-site-packages = false\n")
    (prefix / "bin/python").symlink_to(base)
    return str(prefix / "bin/python")


def reaches(granted: tuple[str, ...], path: str | Path) -> bool:
    return any(str(path) == each or str(path).startswith(f"{each}/") for each in granted)


# What is needed


def test_a_version_of_python_that_pyenv_installed(home: Path) -> None:
    python = python_in(home / ".pyenv/versions/3.11.7")
    granted = installations(os.path.dirname(python), str(home))
    assert reaches(granted, python) and reaches(granted, home / ".pyenv/versions/3.11.7/lib/python3.11/os.py")


def test_shims_need_the_versions_that_they_choose_from(home: Path, program: Maker) -> None:
    python_in(home / ".pyenv/versions/3.11.7")
    for name in ("shims/python3", "libexec/pyenv", "plugins/extra/shims/deactivate"):
        program(f".pyenv/{name}")
    path = f"{home}/.pyenv/shims:{home}/.pyenv/plugins/extra/shims"
    assert installations(path, str(home)) == (f"{home}/.pyenv",)


def test_an_environment_of_python_and_what_it_was_made_from(home: Path) -> None:
    base = python_in(home / "pythons/3.11")
    venv_in(home / "project/.venv", base)
    granted = installations(f"{home}/project/.venv/bin", str(home))
    assert reaches(granted, home / "project/.venv/lib/python3.11/site-packages/x.py")
    assert reaches(granted, home / "pythons/3.11/lib/python3.11/os.py")
    assert not reaches(granted, home / "project/.env")


def test_a_linked_program_brings_its_installation(home: Path, program: Maker) -> None:
    venv_in(home / ".local/pipx/venvs/black", python_in(home / "pythons/3.11"))
    black = program(".local/pipx/venvs/black/bin/black")
    program(".local/bin/black", to=black)
    granted = installations(f"{home}/.local/bin", str(home))
    assert reaches(granted, home / ".local/pipx/venvs/black/lib/python3.11/black.py")
    assert reaches(granted, home / "pythons/3.11/lib/python3.11/os.py")


def test_a_node_of_nvm(home: Path, program: Maker) -> None:
    node = program(".nvm/versions/node/v20/bin/node")
    (home / ".nvm/versions/node/v20/lib/node_modules/npm").mkdir(parents=True)
    granted = installations(os.path.dirname(node), str(home))
    assert reaches(granted, home / ".nvm/versions/node/v20/lib/node_modules/npm/index.js")


def test_a_directory_that_is_reached_by_a_link_is_there_under_both_names(home: Path) -> None:
    python_in(home / "sdk/python/3.11.7")
    (home / "sdk/python/current").symlink_to("3.11.7")
    granted = installations(f"{home}/sdk/python/current/bin", str(home))
    assert reaches(granted, home / "sdk/python/current/lib/python3.11/os.py")
    assert reaches(granted, home / "sdk/python/3.11.7/lib/python3.11/os.py")


def test_rust_brings_its_toolchains_and_not_what_lies_beside_them(home: Path, program: Maker) -> None:
    program(".cargo/bin/rustup")
    program(".cargo/bin/cargo", to="rustup")
    (home / ".cargo/credentials.toml").write_text("token")
    (home / ".rustup/toolchains/stable/lib/rustlib").mkdir(parents=True)
    granted = installations(f"{home}/.cargo/bin", str(home))
    assert granted == (f"{home}/.cargo/bin", f"{home}/.rustup/toolchains")


def test_the_libraries_that_python_finds_in_a_home(home: Path) -> None:
    (home / ".local/lib/python3.11/site-packages").mkdir(parents=True)
    assert installations("/usr/bin", str(home)) == (f"{home}/.local/lib/python3.11",)


def test_a_program_of_its_own_is_one_file(home: Path, program: Maker) -> None:
    tool = program("apps/tool/tool")
    program("bin/tool", to=tool)
    (home / "apps/tool/notes.txt").write_text("mine")
    assert installations(f"{home}/bin", str(home)) == (tool, f"{home}/bin")


def test_whoever_has_another_home_is_told_where_installations_are(home: Path) -> None:
    (home / ".rustup/toolchains").mkdir(parents=True)
    assert homes(str(home)) == {"RUSTUP_HOME": f"{home}/.rustup"}
    assert homes("") == homes("relative") == {}


def test_what_the_system_has_is_not_named_again() -> None:
    assert installations("/usr/local/bin:/usr/bin:/bin:/usr/sbin", "/nonexistent") == ()


def test_this_interpreter_is_reached(tmp_path: Path) -> None:
    granted = installations(os.path.dirname(sys.executable), str(tmp_path))
    granted += behind(_script(tmp_path, f"#!{sys.executable}\n"), str(tmp_path))
    for path in (sys.executable, os.path.realpath(sys.executable), os.__file__):
        assert reaches((*granted, "/usr", "/opt"), path) or tmp_path in Path(path).parents


# The first line of a script, and what lies beside it


def _script(folder: Path, text: str) -> str:
    path = folder / "tool"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_the_interpreter_that_a_first_line_names(home: Path, tmp_path: Path) -> None:
    python = venv_in(home / "venv", python_in(home / "pythons/3.11"))
    granted = behind(_script(tmp_path, f"#!{python}\n"), str(home))
    assert reaches(granted, home / "venv/lib/python3.11/x.py")
    assert reaches(granted, home / "pythons/3.11/lib/python3.11/os.py")


def test_the_environment_beside_a_tool(home: Path) -> None:
    folder = home / "tools/mine"
    venv_in(folder / ".venv", python_in(home / "pythons/3.11"))
    granted = behind(_script(folder, "#!/bin/sh\nexec ./.venv/bin/python x.py\n"), str(home))
    assert reaches(granted, home / "pythons/3.11/lib/python3.11/os.py")


@pytest.mark.parametrize("first", ["#!/usr/bin/env python3", "#!python3", "#!../../bin/sh", "#!", "\x7fELF", ""])
def test_a_first_line_that_names_nothing_by_its_path(home: Path, tmp_path: Path, first: str) -> None:
    assert behind(_script(tmp_path, first + "\n"), str(home)) == ()


# What nobody can make readable


@pytest.mark.parametrize(
    "entry",
    ["", ".", "bin", "../bin", "/", "/etc", "/proc/self", "/etc/ssh", "{home}", "{home}/.ssh", "{home}/.config/x/bin"],
)
def test_an_entry_that_is_no_installation_grants_nothing(home: Path, program: Maker, entry: str) -> None:
    program(".config/x/bin/tool")
    program("tool")
    assert installations(entry.format(home=home), str(home)) == ()


@pytest.mark.parametrize(
    "target", ["/", "/etc", "/etc/passwd", "{home}", "{home}/.ssh", "{home}/.ssh/id_rsa", "{home}/.."]
)
def test_a_link_on_path_does_not_lead_out(home: Path, program: Maker, target: str) -> None:
    program("tools/bin/x", to=target.format(home=home))
    assert installations(f"{home}/tools/bin", str(home)) == (f"{home}/tools/bin",)


@pytest.mark.parametrize("base", ["~", "/", "/etc/ssh", "{home}", "{home}/.ssh", "../..", "relative", "{home}/\0x"])
def test_an_environment_that_lies_about_its_base_grants_nothing_more(home: Path, base: str) -> None:
    venv = home / "project/.venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base.format(home=home)}\n")
    (home / "python3").write_text("")
    (home / "python3").chmod(0o755)
    assert installations(f"{venv}/bin", str(home)) == (str(venv),)


def test_a_first_line_that_names_a_key_grants_nothing(home: Path, tmp_path: Path) -> None:
    assert behind(_script(tmp_path, f"#!{home}/.ssh/id_rsa\n"), str(home)) == ()


def test_an_entry_in_the_workspace_chooses_no_single_files(home: Path, program: Maker) -> None:
    program("work/node_modules/.bin/x", to=program("private/diary"))
    path, workspace = f"{home}/work/node_modules/.bin", f"{home}/work"
    assert installations(path, str(home), workspace) == ()


def test_an_entry_in_the_workspace_may_stand_on_an_installation(home: Path) -> None:
    venv_in(home / "work/.venv", python_in(home / "pythons/3.11"))
    granted = installations(f"{home}/work/.venv/bin", str(home), f"{home}/work")
    assert reaches(granted, home / "pythons/3.11/lib/python3.11/os.py")
    assert not any(each.startswith(f"{home}/work") for each in granted)


def test_of_what_holds_more_than_programs_only_parts_are_granted(home: Path, program: Maker) -> None:
    program("project/bin/run")
    (home / "project/lib").mkdir()
    (home / "project/.env").write_text("SECRET=1")
    assert installations(f"{home}/project/bin", str(home)) == (f"{home}/project/bin", f"{home}/project/lib")


def test_of_a_home_only_the_directory_of_programs(home: Path, program: Maker) -> None:
    program("bin/x")
    program(".local/bin/y")
    (home / "lib").mkdir()
    (home / ".local/lib").mkdir()
    assert installations(f"{home}/bin:{home}/.local/bin", str(home)) == (f"{home}/.local/bin", f"{home}/bin")


def test_a_directory_that_is_not_one_of_programs_gives_its_programs_alone(home: Path, program: Maker) -> None:
    tool = program("work/tool")
    (home / "work/diary").write_text("mine")
    (home / "work/deep/er").mkdir(parents=True)
    assert installations(f"{home}/work", str(home)) == (tool,)


def test_links_in_a_ring_and_a_path_of_ten_thousand_entries_end(home: Path, program: Maker) -> None:
    program("tools/bin/a", to="b")
    program("tools/bin/b", to="a")
    path = ":".join([f"{home}/tools/bin", *(f"{home}/none{count}" for count in range(10_000))])
    assert installations(path, str(home)) == (f"{home}/tools/bin",)


def test_nothing_is_started_and_it_takes_no_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **about: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    began = time.monotonic()
    installations(os.environ["PATH"], str(home))
    assert time.monotonic() - began < 10
