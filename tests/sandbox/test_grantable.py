"""Which places a program can be given, and which it can ask for."""

from pathlib import Path

import pytest

from toolcrib.sandbox.grantable import KEYS, Grounds, too_wide, why_not_asked


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


HOME, OWN = "/home/u", "/home/u/.toolcrib"
SYSTEM = (
    "/bin /boot /etc /home /lib /lib32 /lib64 /libx32 /mnt /media /opt /private /root /run /sbin /srv /tmp /usr /users"
    " /var /library /system /volumes /var/lib /var/run /var/tmp /run/user /private/tmp /private/var /private/etc"
)


@pytest.mark.parametrize(
    "path", [*SYSTEM.split(), "/Users", "/System", "/proc", "/sys", "/dev", "/sys/x", "/dev/shm/x"]
)
def test_no_part_of_the_system_is_given_whole(path: str) -> None:
    assert "system" in too_wide(path, home="/elsewhere/u", own="/elsewhere/own")


@pytest.mark.parametrize(
    "path", ["/usr/local", "/var/lib/app", "/devices", "/process", "/system/app", "/run/user/1000"]
)
def test_what_lies_in_it_can_be(path: str) -> None:
    assert too_wide(path, home=HOME, own=OWN) == ""


def test_each_reason_is_its_own() -> None:
    everything, ours = too_wide("/", home=HOME, own=OWN), too_wide(f"{OWN}/x", home=HOME, own=OWN)
    assert [too_wide(path, home=HOME, own=OWN) for path in ("/home", HOME)] == [everything, everything]
    assert (ours, too_wide("/srv/own", home=HOME, own="/srv/own/deep")) == (ours, ours)
    assert len({everything, ours, too_wide("/etc", home=HOME, own=OWN), ""}) == 4
    assert "Toolcrib" in ours


def test_where_we_keep_nothing_nothing_is_ours() -> None:
    assert too_wide("/home/u/data", home=HOME, own="") == ""
    assert too_wide("/home", home=HOME, own="") != ""


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("a" * 1024, True),
        ("a" * 1025, False),
        ("././data", False),
        ("~/./data", False),
        ("~data", False),
        ("data~", True),
        ("a/~/b", True),
        ("~/a/", False),
        ("a/", False),
        ("...", True),
        ("a\u202eb", False),
        ("~/data/x", True),
        ("./~/data", True),
    ],
)
def test_a_declaration_names_one_place(path: str, asked: bool) -> None:
    assert (why_not_asked(path) == "") is asked


def test_a_declaration_is_told_what_is_wrong_with_it() -> None:
    plain, below, one = why_not_asked("a\nb"), why_not_asked("/srv"), why_not_asked("a/../b")
    assert len({plain, below, one}) == 3
    assert (why_not_asked("~root/x"), why_not_asked("a//b"), why_not_asked("x" * 2000)) == (below, one, plain)
    assert "data/cache" in below and "data/cache" in one
    assert "git" in why_not_asked(".git/config")


@pytest.mark.parametrize("key", ["/".join(names) for names in KEYS])
def test_where_keys_lie_no_program_asks_below_the_home(key: str) -> None:
    for path in (key, key.upper(), f"{key}/deep/er", *(f"{above}" for above in _above(key))):
        assert why_not_asked(f"~/{path}"), path
    assert why_not_asked(f"~/{key}-2") == ""


def _above(key: str) -> list[str]:
    names = key.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names))]


def test_what_is_called_like_a_place_of_keys_elsewhere_is_none() -> None:
    assert [why_not_asked(path) for path in (".mozilla", ".config/chromium", "~/data/.mozilla", "~/x/.config")] == [
        ""
    ] * 4


def test_what_a_path_leads_to_depends_on_who_wants_it(grounds: Grounds) -> None:
    home, work = grounds.home, grounds.workspace
    for name in (f"{work}/.envrc", f"{work}/.mozilla", f"{home}/.mozilla", f"{home}/.envrc", f"{home}/data/x"):
        Path(name).touch()
    given = {
        f"{home}/data": (True, True),
        f"{home}/data/x": (True, True),
        f"{home}/data/not yet": (True, True),
        f"{home}/.mozilla": (True, False),
        f"{home}/.envrc": (True, False),
        f"{work}/.mozilla": (True, True),
        f"{work}/.envrc": (True, False),
        work: (True, True),
        home: (False, False),
        f"{home}/.toolcrib": (False, False),
        f"{home}/../else": (True, False),
        "/etc": (False, False),
        "/etc/hostname": (True, False),
    }
    for path, (to_the_user, to_a_tool) in given.items():
        real = str(Path(path).resolve())
        assert grounds.leads_to(path) == (real if to_the_user else ""), path
        assert grounds.leads_to(path, asked=True) == (real if to_a_tool else ""), path


def test_a_link_in_the_workspace_is_followed_in_it_for_a_tool_and_not_at_all_for_its_user(grounds: Grounds) -> None:
    work = Path(grounds.workspace)
    for name, leads in (("in", "data/deep"), ("protected", ".vscode"), ("up", "../data"), ("over", "../work-2")):
        (work / name).symlink_to(leads)
    for name in ("data/deep", ".vscode", "../work-2"):
        (work / name).mkdir(parents=True)
    answers = {
        name: (grounds.asked_for(name), grounds.leads_to(str(work / name))) for name in ("in", "protected", "up")
    }
    deep = f"{work}/data/deep"
    assert answers == {"in": (deep, ""), "protected": ("", ""), "up": ("", "")}
    assert (grounds.asked_for("over"), grounds.leads_to(f"{work}/over")) == ("", "")


@pytest.mark.parametrize(
    ("workspace", "own", "shown", "shown_where_keys_are_hidden"),
    [
        ("home/work", "home/.toolcrib", "", ""),
        ("home", "home/.toolcrib", "home/.toolcrib", ""),
        (".", "home/.toolcrib", "home/.toolcrib", ""),
        ("home", "else", "home/.ssh", ""),
        ("home", "home/else", "home/else", "home/else"),
        ("home/.ssh", "home/.toolcrib", "home/.ssh", "home/.ssh"),
        ("home/.toolcrib", "home/.toolcrib", "home/.toolcrib", "home/.toolcrib"),
        ("home/.config", "home/.toolcrib", "home/.config/gh", "home/.config/gh"),
        ("home/.local", "home/.toolcrib", "", ""),
        ("linked", "home/.toolcrib", "linked/aws", "linked/aws"),
        ("home-2", "home/.toolcrib", "", ""),
    ],
)
def test_a_workspace_is_ordinary_or_holds_what_no_program_should_find(
    grounds: Grounds, workspace: str, own: str, shown: str, shown_where_keys_are_hidden: str
) -> None:
    root, home = Path(grounds.home).parent, Path(grounds.home)
    (home / ".config" / "gh").mkdir(parents=True)
    (root / "linked" / "aws").mkdir(parents=True)
    (home / ".aws").symlink_to(root / "linked" / "aws")
    (home / "work" / ".toolcrib").mkdir()  # a project's
    stands = grounds._replace(workspace=str((root / workspace).resolve()), own=str(root / own))
    said = [stands.exposed(keys_are_hidden=hidden) for hidden in (False, True)]
    assert said == [path and str(root / path) for path in (shown, shown_where_keys_are_hidden)]


def test_no_link_is_followed_where_a_tool_can_have_put_it(grounds: Grounds) -> None:
    home = grounds.home
    for name, leads in (
        ("data/link", "../more"),
        ("data/away", f"{home}/../else"),
        ("to data", "data"),
        ("by way of data", "data/link/x"),
        ("out", "more/x"),
        ("circle", "circle"),
    ):
        Path(home, name).symlink_to(leads)
    Path(home, "more", "x").mkdir(parents=True)
    written = (f"{home}/to data", f"{home}/else")
    given = {
        "data/link": ("", f"{home}/more"),
        "data/link/../data": ("", f"{home}/data"),
        "data/away": ("", f"{Path(home).parent}/else"),
        "by way of data": ("", f"{home}/more/x"),
        "to data": (f"{home}/data", f"{home}/data"),
        "to data/new": (f"{home}/data/new", f"{home}/data/new"),
        "out": (f"{home}/more/x", f"{home}/more/x"),
        "circle": ("", ""),
    }
    for name, (where_tools_write, elsewhere) in given.items():
        assert grounds.leads_to(f"{home}/{name}", written=lambda: written) == where_tools_write, name
        assert grounds.leads_to(f"{home}/{name}") == elsewhere, name
    assert grounds.asked_for("~/data/link", written=lambda: written) == ""
    assert grounds.asked_for("~/data/link") == f"{home}/more"


def test_what_a_declaration_asks_for_is_looked_for_where_it_says(grounds: Grounds) -> None:
    Path(grounds.workspace, "data").mkdir()
    assert grounds.asked_for("data") == f"{grounds.workspace}/data"
    assert grounds.asked_for("~/data") == f"{grounds.home}/data"
    assert grounds.asked_for("~data") == f"{grounds.workspace}/~data"


def test_a_folder_on_our_shelves_is_a_tool_s_own_and_no_other_of_ours(grounds: Grounds) -> None:
    home, own = Path(grounds.home), Path(grounds.own)
    for name in ("tools/x/run", "skills/y/SKILL.md", "audit/z", "tools-2/a"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).touch()
    (home / "run").touch()
    (home / "data" / "run").symlink_to("../run")
    (home / "by-link").symlink_to("data")
    expected = {
        f"{own}/tools/x/run": f"{own}/tools/x",
        f"{own}/skills/y/SKILL.md": f"{own}/skills/y",
        f"{own}/audit/z": f"{own}/audit/z",
        f"{own}/tools-2/a": f"{own}/tools-2/a",
        f"{home}/run": f"{home}/run",
        f"{home}/data/run": f"{home}/data",
        f"{home}/by-link/x": f"{home}/data",
    }
    assert {file: grounds.folder_of(file) for file in expected} == {file: (path,) for file, path in expected.items()}
    (home / "link").symlink_to("data/run")
    assert grounds.folder_of(f"{home}/link") == (f"{home}/run",)
    assert grounds.folder_of(f"{home}/data") == ()
