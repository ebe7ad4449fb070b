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


def test_an_environment_that_was_made_from_a_python_of_the_system(home: Path, tmp_path: Path) -> None:
    interpreter = venv_in(home / "made/v", "/usr/bin/env")  # any program that every system has
    tool = tmp_path / "tool"
    tool.write_text(f"#!{interpreter}\n")
    assert behind(str(tool), str(home)) == (str(home / "made/v"),)


def test_an_environment_whose_python_is_a_key_is_none(home: Path, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text(f"#!{venv_in(home / 'made/v', str(home / '.ssh/id_rsa'))}\n")
    assert behind(str(tool), str(home)) == ()


def test_a_first_line_that_names_a_link_into_the_system(home: Path, tmp_path: Path, program: Maker) -> None:
    """The link itself must be there, for that is what is started."""
    tool = tmp_path / "tool"
    tool.write_text(f"#!{program('made/python', to='/usr/bin/env')}\n")
    assert behind(str(tool), str(home)) == (str(home / "made/python"),)


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


# What is an installation, by its signs


def signs(prefix: Path, *names: str) -> None:
    for name in ("bin", *names):
        (prefix / name).mkdir(parents=True, exist_ok=True)


WHOLE = [
    "pyvenv.cfg", "conda-meta", "Cellar", "lib/rustlib", "pkg/tool src", "release jmods", "release lib/modules",
    "shims versions", "shims installs",
]  # fmt: skip


@pytest.mark.parametrize("group", WHOLE)
def test_what_can_be_nothing_but_an_installation_is_granted_whole(home: Path, group: str) -> None:
    signs(home / "sdk", *group.split())
    assert installations(f"{home}/sdk/bin", str(home)) == (f"{home}/sdk",)


@pytest.mark.parametrize("sign", ["pkg/tool", "src", "release", "jmods", "shims", "versions", "installs"])
def test_one_sign_of_two_is_not_enough(home: Path, sign: str) -> None:
    signs(home / "sdk", sign)
    assert installations(f"{home}/sdk/bin", str(home)) == (f"{home}/sdk/bin",)


@pytest.mark.parametrize(
    "library", ["lib/python3.11", "lib/node_modules", "lib/ruby", "lib/perl5", "include/node", "lib"]
)
def test_of_what_has_programs_and_libraries_the_parts_are_granted(home: Path, library: str) -> None:
    signs(home / "sdk", library, "sbin", "lib32", "lib64", "libexec", "include", "share", "etc", "data")
    parts = {"bin", "include", "lib", "lib32", "lib64", "libexec", "sbin", "share"} - (
        {"lib"} - {library.split("/")[0]}
    )
    assert installations(f"{home}/sdk/bin", str(home)) == tuple(f"{home}/sdk/{part}" for part in sorted(parts))


@pytest.mark.parametrize("names", ["include", "share", "libexec", "lib64"])
def test_programs_without_libraries_are_programs_alone(home: Path, names: str) -> None:
    signs(home / "sdk", *names.split())
    assert installations(f"{home}/sdk/bin", str(home)) == (f"{home}/sdk/bin",)


@pytest.mark.parametrize(("below", "found"), [("bin", True), ("a/bin", True), ("a/b/bin", True), ("a/b/c/bin", False)])
def test_so_far_above_its_programs_an_installation_is_found(home: Path, below: str, found: bool) -> None:
    (home / "sdk" / below).mkdir(parents=True)
    (home / "sdk/pyvenv.cfg").touch()
    expected = f"{home}/sdk" if found else f"{home}/sdk/{below}"
    assert installations(f"{home}/sdk/{below}", str(home)) == (expected,)


def test_parts_that_do_not_hold_the_programs_are_not_granted_for_them(home: Path) -> None:
    signs(home / "sdk", "lib", "own/bin")
    assert installations(f"{home}/sdk/own/bin", str(home)) == (f"{home}/sdk/own/bin",)


@pytest.mark.parametrize("name", [".local", ".cargo", ".npm", "go"])
def test_of_what_is_mixed_below_a_home_programs_and_libraries_by_name(home: Path, name: str) -> None:
    signs(home / name, "lib/python3.11", "lib/node_modules", "lib/other", "share", "include", "lib/python2.7")
    expected = ("bin", "lib/node_modules", "lib/python3.11")
    got = installations(f"{home}/{name}/bin", str(home))
    assert got == tuple(f"{home}/{name}/{part}" for part in expected)


def test_what_is_called_so_further_down_is_as_any_other(home: Path) -> None:
    signs(home / "deep/go", "lib", "share")
    parts = ("bin", "lib", "share")
    assert installations(f"{home}/deep/go/bin", str(home)) == tuple(f"{home}/deep/go/{part}" for part in parts)


def test_without_a_home_such_a_directory_is_mixed_anywhere(tmp_path: Path) -> None:
    signs(tmp_path / "go", "lib", "share")
    assert installations(f"{tmp_path}/go/bin", "") == (f"{tmp_path.resolve()}/go/bin",)


@pytest.mark.parametrize("name", ["bin", "sbin", "shims", "libexec"])
def test_a_directory_of_programs_is_granted_with_all_that_is_in_it(home: Path, program: Maker, name: str) -> None:
    program(f"x/{name}/tool")
    assert installations(f"{home}/x/{name}", str(home)) == (f"{home}/x/{name}",)


def test_of_another_only_what_can_be_started(home: Path, program: Maker) -> None:
    tool, by_link = program("work/tool"), program("apps/linked")
    program("work/link", to=by_link)
    program("work/dangling", to="nothing")
    program("work/self", to=".")
    os.mkfifo(home / "work/fifo", 0o755)
    (home / "work/text").write_text("mine")
    for mode, name in ((0o100, "mine"), (0o010, "group"), (0o001, "others")):
        (home / "work" / name).write_text("")
        (home / "work" / name).chmod(mode)
    expected = sorted(
        [tool, by_link, f"{home}/work/link", *(f"{home}/work/{name}" for name in ("mine", "group", "others"))]
    )
    assert installations(f"{home}/work", str(home)) == tuple(expected)


@pytest.mark.parametrize("key", [".ssh", ".gnupg", ".aws", ".config", ".cache", ".git", ".toolcrib", ".m2", "keyrings"])
def test_where_keys_lie_nothing_is_granted_not_even_an_installation(home: Path, program: Maker, key: str) -> None:
    signs(home / "x" / key / "sdk", "pyvenv.cfg")
    program("y/tool", to=program(f"x/{key}/sdk/bin/tool"))
    assert installations(f"{home}/x/{key}/sdk/bin", str(home)) == ()
    assert installations(f"{home}/y", str(home)) == ()


@pytest.mark.parametrize(("before", "found"), [(63, True), (64, False)])
def test_so_many_entries_are_looked_at(home: Path, program: Maker, before: int, found: bool) -> None:
    program("x/bin/tool")
    path = ":".join([f"{home}/none{number}" for number in range(before)] + [f"{home}/x/bin"])
    assert installations(path, str(home)) == ((f"{home}/x/bin",) if found else ())


def test_an_entry_is_named_in_one_way(home: Path, program: Maker) -> None:
    program("x/bin/tool")
    path = f"relative/bin:{home}/x/../x//bin/:{home}/x/bin:\0/bin:{home}/x/bin\0"
    assert installations(path, str(home)) == (f"{home}/x/bin",)


def test_a_directory_under_another_name_is_there_under_that_one_too(home: Path, program: Maker) -> None:
    program("x/bin/tool")
    (home / "alias").symlink_to("x")
    (home / ".ssh/alias").symlink_to("../x")
    assert installations(f"{home}/alias/bin:{home}/x/bin", str(home)) == (f"{home}/alias/bin", f"{home}/x/bin")
    assert installations(f"{home}/.ssh/alias/bin", str(home)) == (f"{home}/x/bin",)


def test_every_hop_of_a_link_is_there_up_to_so_many(home: Path, program: Maker) -> None:
    tool = program("end/tool")
    for number in range(10):
        program(f"h{number}/x", to=f"../h{number + 1}/x" if number < 9 else tool)
    granted = installations(f"{home}/h0", str(home))
    assert granted == tuple(sorted([tool, *(f"{home}/h{number}/x" for number in range(8))]))


def test_so_much_is_granted_and_no_more(home: Path, program: Maker) -> None:
    for number in range(300):
        program(f"work/tool{number:03}")
    granted = installations(f"{home}/work", str(home))
    assert (len(set(granted)), all(each.startswith(f"{home}/work/tool") for each in granted)) == (256, True)


def test_what_lies_in_another_is_not_named_again(home: Path, program: Maker) -> None:
    program("sdk/bin/tool", to=program("sdk/deep/tool"))
    program("sdk/bin/other", to=program("sdk-2/tool"))
    (home / "sdk/pyvenv.cfg").touch()
    assert installations(f"{home}/sdk/bin", str(home)) == (f"{home}/sdk", f"{home}/sdk-2/tool")


def test_rust_is_found_only_where_it_is_the_users_own(home: Path, program: Maker, tmp_path: Path) -> None:
    program("x/bin/rustup")
    assert installations(f"{home}/x/bin", str(home)) == (f"{home}/x/bin",)
    (home / ".rustup").mkdir()
    (home / ".rustup/settings.toml").touch()
    (home / ".rustup/toolchains").symlink_to(tmp_path)
    assert installations(f"{home}/x/bin", str(home)) == (f"{home}/.rustup/settings.toml", f"{home}/x/bin")
    assert installations(f"{home}/x/bin", "") == (f"{home}/x/bin",)
    program("y/bin/cargo")
    assert installations(f"{home}/y/bin", str(home)) == (f"{home}/y/bin",)


def test_the_libraries_of_python_are_those_of_a_home_itself(home: Path) -> None:
    for name in ("python3.11", "python3.12", "python2.7", "ruby"):
        (home / ".local/lib" / name).mkdir(parents=True)
    (home / ".local/lib/python3.13").symlink_to("../../.ssh")
    libraries = (f"{home}/.local/lib/python3.11", f"{home}/.local/lib/python3.12")
    assert installations("", str(home)) == libraries
    assert installations("", "") == ()
    (home.parent / "alias").symlink_to(home)
    assert installations("", str(home.parent / "alias")) == libraries


@pytest.mark.parametrize(
    ("there", "name", "value"),
    [
        (".rustup/toolchains", "RUSTUP_HOME", ".rustup"),
        (".asdf/installs", "ASDF_DATA_DIR", ".asdf"),
        (".pyenv/versions", "PYENV_ROOT", ".pyenv"),
        (".rbenv/versions", "RBENV_ROOT", ".rbenv"),
        (".nodenv/versions", "NODENV_ROOT", ".nodenv"),
        (".local/lib", "PYTHONUSERBASE", ".local"),
    ],
)
def test_each_installation_below_a_home_is_told_by_its_variable(home: Path, there: str, name: str, value: str) -> None:
    assert homes(f"{home}/other") == {}
    (home / "full" / there).mkdir(parents=True)
    assert homes(f"{home}/full") == {name: f"{home}/full/{value}"}


@pytest.mark.parametrize("name", [".venv", "venv", "env"])
def test_an_environment_beside_a_tool_may_have_each_of_these_names(home: Path, name: str) -> None:
    folder = home / "tools/mine"
    venv_in(folder / name, python_in(home / "pythons/3.11"))
    expected = (f"{home}/pythons/3.11/bin", f"{home}/pythons/3.11/lib", f"{folder}/{name}")
    assert behind(_script(folder, "#!/bin/sh\n"), str(home)) == expected
    os.unlink(folder / name / "pyvenv.cfg")
    (folder / name / "pyvenv.cfg").mkdir()
    assert behind(_script(folder, "#!/bin/sh\n"), str(home)) == ()


def test_an_environment_beside_a_tool_is_no_single_file(home: Path, program: Maker) -> None:
    program("tools/mine/venv/bin/python", to=program("private/diary"))
    (home / "tools/mine/venv/pyvenv.cfg").touch()
    assert behind(_script(home / "tools/mine", "#!/bin/sh\n"), str(home)) == (f"{home}/tools/mine/venv",)


@pytest.mark.parametrize(
    "first", ["#!{tool}", "#! {tool}", "#!  {tool} -x", "#!{tool} -x y", "#!{home}/./apps/../apps/tool"]
)
def test_an_interpreter_that_is_a_program_of_its_own(home: Path, tmp_path: Path, program: Maker, first: str) -> None:
    tool = program("apps/tool")
    script = _script(tmp_path, first.format(tool=tool, home=home) + "\nsecond line")
    assert behind(script, str(home)) == (tool,)
    assert behind(script, str(home), f"{home}/apps") == ()


def test_an_interpreter_in_the_workspace_chooses_no_single_file(home: Path, tmp_path: Path, program: Maker) -> None:
    program("work/tool", to=program("private/diary"))
    script = _script(tmp_path, f"#!{home}/work/tool\n")
    assert behind(script, str(home), f"{home}/work") == ()
    assert f"{home}/private/diary" in behind(script, str(home))


@pytest.mark.parametrize("text", ["x\n#!{tool}\n", "# !{tool}\n", "\n#!{tool}\n", " {tool}", "{tool}"])
def test_only_the_first_line_names_an_interpreter(home: Path, tmp_path: Path, program: Maker, text: str) -> None:
    assert behind(_script(tmp_path, text.format(tool=program("apps/tool"))), str(home)) == ()


def test_what_cannot_be_read_as_a_script_names_nothing(home: Path, tmp_path: Path) -> None:
    """A FIFO is not waited for."""
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "missing", "", "no\0path"):
        assert behind(f"{tmp_path}/{name}", str(home)) == ()
    (tmp_path / "bytes").write_bytes(b"\xff\xfe#!/bin/sh\n")
    assert behind(f"{tmp_path}/bytes", str(home)) == ()


@pytest.mark.parametrize(("too_many", "read"), [(0, True), (30, False)])
def test_of_an_environment_s_settings_the_first_lines_are_read(home: Path, too_many: int, read: bool) -> None:
    line = f"  home  =  {os.path.dirname(python_in(home / 'pythons/3.11'))}/ \n"
    signs(home / "venv")
    (home / "venv/pyvenv.cfg").write_text(f"#{'x' * (4096 - len(line) - 2 + too_many)}\n{line}")
    expected = (f"{home}/pythons/3.11/bin", f"{home}/pythons/3.11/lib") if read else ()
    assert installations(f"{home}/venv/bin", str(home)) == (*expected, f"{home}/venv")


@pytest.mark.parametrize("name", ["python3", "python"])
def test_the_base_of_an_environment_has_one_of_these_programs(home: Path, program: Maker, name: str) -> None:
    program(f"base/bin/{name}")
    signs(home / "base", "lib")
    signs(home / "venv")
    (home / "venv/pyvenv.cfg").write_text(f"homes = /x\nhome = {home}/base/bin\n")
    assert installations(f"{home}/venv/bin", str(home)) == (f"{home}/base/bin", f"{home}/base/lib", f"{home}/venv")


def test_the_base_of_an_environment_is_no_single_file(home: Path, program: Maker) -> None:
    program("private/python3")
    signs(home / "venv")
    (home / "venv/pyvenv.cfg").write_text(f"home = {home}/private\n")
    assert installations(f"{home}/venv/bin", str(home)) == (f"{home}/venv",)
