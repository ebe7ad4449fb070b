"""Which places a program can be given, and which it can ask for."""

from pathlib import Path

import pytest

from toolcrib.sandbox.grantable import Grounds, too_wide, why_not_asked


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/home",
        "/home/u",
        "/home/u/.toolcrib",
        "/home/u/.toolcrib/tools",
        "/etc",
        "/proc/1/root",
        "/dev/sda",
        "/tmp",
    ],
)
def test_what_holds_everything_is_given_to_nobody(path: str) -> None:
    assert too_wide(path, home="/home/u", own="/home/u/.toolcrib")


@pytest.mark.parametrize(
    "path", ["/home/u/data", "/home/user", "/srv/data", "/data", "/etc/app", "/home/u/.toolcrib-2"]
)
def test_a_place_by_name_can_be_given(path: str) -> None:
    assert too_wide(path, home="/home/u", own="/home/u/.toolcrib") == ""


@pytest.mark.parametrize(
    "path",
    ["", "~", "~/", "/", "/srv", "..", "a/../b", "~/a/../.ssh", "a//b", "~root/x", "a\nb", "~/.ssh", "~/.SSH", "~/.aws",
     "~/.config", "~/.config/gh/hosts.yml", "~/.local", "~/.toolcrib", "~/.bashrc", "~/.netrc", ".git/config", ".envrc",
     "x/.vscode", ".", "./", "a" * 2000],
)  # fmt: skip
def test_what_no_program_can_ask_for(path: str) -> None:
    assert why_not_asked(path)


@pytest.mark.parametrize("path", ["data", "./data", "a/b.c", "~/models", "~/.cache/models", "~/.config/app", ".aws"])
def test_what_a_program_can_ask_for(path: str) -> None:
    assert why_not_asked(path) == ""


@pytest.fixture
def grounds(tmp_path: Path) -> Grounds:
    for name in ("home/work", "home/data", "home/.ssh", "home/.toolcrib/tools", "home/.toolcrib/audit", "else"):
        (tmp_path / name).mkdir(parents=True)
    home = (tmp_path / "home").resolve()
    return Grounds(str(home / "work"), str(home), str(home / ".toolcrib"))


def test_a_link_in_the_workspace_leads_to_nothing_outside(grounds: Grounds) -> None:
    link = Path(grounds.workspace, "link")
    link.symlink_to(f"{grounds.home}/data")
    assert (grounds.asked_for("link"), grounds.leads_to(str(link))) == ("", "")
    Path(grounds.workspace, "real").mkdir()
    assert grounds.asked_for("real") == f"{grounds.workspace}/real"


def test_a_link_in_the_home_is_followed_for_its_user_and_not_for_a_tool(grounds: Grounds) -> None:
    for name, leads in (("out", "../else"), ("keys", ".ssh"), ("ours", ".toolcrib/audit")):
        Path(grounds.home, name).symlink_to(leads)
    assert [grounds.asked_for(f"~/{name}") for name in ("out", "keys", "ours", "data")] == [
        "", "", "", f"{grounds.home}/data",
    ]  # fmt: skip
    assert grounds.leads_to(f"{grounds.home}/out").endswith("/else")
    assert grounds.leads_to(f"{grounds.home}/ours") == ""


def test_a_tool_reads_its_folder_but_not_a_home(grounds: Grounds) -> None:
    own = Path(grounds.home, ".toolcrib", "module.py")
    own.touch()
    assert grounds.folder_of(f"{grounds.own}/tools/x") == (f"{grounds.own}/tools",)
    assert grounds.folder_of(str(own)) == (str(own),)
    assert grounds.folder_of(f"{grounds.home}/nothing") == ()
    assert grounds.folder_of(f"{grounds.home}/data/x") == (f"{grounds.home}/data",)
