"""What is said to a program's user when confinement probably refused it something, and what is never said."""

import os
import shlex
from pathlib import Path

import pytest

from toolcrib.core.process import Captured, Completed
from toolcrib.sandbox.aftermath import PutAside
from toolcrib.sandbox.cage import BUBBLEWRAP, LANDLOCK, Cage
from toolcrib.sandbox.denied import Hint, hints, of_aftermath

CAGE = Cage(LANDLOCK, workspace="/srv/work", readable=("/srv/tool",), writable=("/srv/given",))


def failed(errors: str, *, code: int = 1, output: str = "") -> Completed:
    out, err = output.encode("utf-8", "surrogateescape"), errors.encode("utf-8", "surrogateescape")
    return Completed(code, Captured(out, total=len(out)), Captured(err, total=len(err)))


def commands(errors: str, cage: Cage = CAGE) -> list[str]:
    return [hint.command for hint in hints("fetch", cage, failed(errors))]


@pytest.mark.parametrize(
    "said",
    [
        "curl: (6) Could not resolve host: example.com",
        "curl: (7) Couldn't connect to server: Network is unreachable",
        "wget: unable to resolve host address 'example.com'",
        "OSError: [Errno 101] Network is unreachable",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "Error: getaddrinfo EAI_AGAIN registry.npmjs.org",
        "Error: connect ENETUNREACH 93.184.216.34:443",
        "Error: connect EACCES 93.184.216.34:443",
        "dial tcp: lookup example.com on 127.0.0.53:53: dial udp 127.0.0.53:53: socket: permission denied",
        "dial tcp 10.0.0.1:443: connect: network is unreachable",
        "java.net.UnknownHostException: example.com",
        "error sending request: failed to lookup address information: Temporary failure",
        "fatal: unable to access 'https://example.com/x.git/': Could not resolve host: example.com",
        "ssh: Could not resolve hostname example.com: Name or service not known",
        "Os { code: 101, kind: NetworkUnreachable } (os error 101)",
        "curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server",
        "Error: connect ECONNREFUSED 127.0.0.1:3000",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "could not connect to server: is it running on that host",
    ],
)
def test_a_program_without_a_network(said: str) -> None:
    [hint] = hints("fetch", CAGE, failed(said))
    assert hint == Hint("network", hint.message, "toolcrib grant fetch network") and hint.message


@pytest.mark.parametrize("code", [4, 6, 7, 56])
def test_one_that_came_nowhere_without_a_word(code: int) -> None:
    """As `wget -q` and `curl -s` do."""
    [hint] = hints("fetch", CAGE, failed(" \n", code=code))
    assert hint == Hint("network", hint.message, "toolcrib grant fetch network")
    [hint] = hints("fetch", CAGE._replace(tier=BUBBLEWRAP, hosts=("example.com",)), failed("", code=code))
    assert hint == Hint("network", hint.message, "toolcrib grant fetch network HOST")
    assert hints("fetch", CAGE, failed("", output="3 found", code=code)) == []
    assert hints("fetch", CAGE._replace(network=True), failed("", code=code)) == []


def test_other_silence_is_no_refusal() -> None:
    """A test that is false, a search that finds nothing."""
    assert hints("fetch", CAGE, failed("", code=1)) == []


@pytest.mark.parametrize("name", [".envrc", "_darcs/prefs"])
def test_a_protected_place_by_a_name_that_could_be_any_word(name: str) -> None:
    """With a dot, or with more than one name."""
    assert commands(f"touch: {name}: Read-only file system") == [f"toolcrib grant fetch files rw /srv/work/{name}"]


def test_one_that_has_the_network_is_told_nothing_about_it() -> None:
    assert commands("Could not resolve host: example.com", CAGE._replace(network=True)) == []


@pytest.mark.parametrize(
    "said",
    ["curl: (56) CONNECT tunnel failed, response 403", "OSError: Tunnel connection failed: 403 Forbidden", "EAI_AGAIN"],
)
def test_one_that_reaches_some_hosts_is_told_which(said: str) -> None:
    cage = CAGE._replace(tier=BUBBLEWRAP, hosts=("pypi.org", "example.com"))
    [hint] = hints("fetch", cage, failed(said))
    assert hint == Hint("network", hint.message, "toolcrib grant fetch network HOST")
    assert "fetch reaches only pypi.org, example.com;" in hint.message


@pytest.mark.parametrize(
    ("said", "access"),
    [
        ("PermissionError: [Errno 13] Permission denied: '/srv/data/x'", "ro"),
        ("cat: /srv/data/x: Permission denied", "ro"),
        ("bash: line 1: /srv/data/x: Permission denied", "ro"),
        ("ls: cannot open directory '/srv/data/x': Permission denied", "ro"),
        ("Error: EACCES: permission denied, open '/srv/data/x'", "ro"),
        ("panic: open /srv/data/x: permission denied", "ro"),
        ("cat: ../data/x: Permission denied", "ro"),
        ("touch: cannot touch '/srv/data/x': Permission denied", "rw"),
        ("mkdir: cannot create directory '/srv/data/x': Permission denied", "rw"),
        ("sh: 1: cannot create /srv/data/x: Permission denied", "rw"),
        ("OSError: [Errno 30] Read-only file system: '/srv/data/x'", "rw"),
        ("Error: EROFS: read-only file system, mkdir '/srv/data/x'", "rw"),
    ],
)
def test_a_path_outside(said: str, access: str) -> None:
    assert commands(said) == [f"toolcrib grant fetch files {access} /srv/data/x"]


def test_a_path_at_the_end_of_a_sentence() -> None:
    assert commands("Permission denied: /srv/data/x.") == ["toolcrib grant fetch files ro /srv/data/x"]


def test_a_path_without_a_workspace_is_one_from_the_root() -> None:
    assert commands("cat: ./data/x: Permission denied", Cage(LANDLOCK)) == ["toolcrib grant fetch files ro /data/x"]


@pytest.mark.parametrize(("said", "access"), [("cat: /tmp/x", "ro"), ("touch: cannot touch '/var/tmp/a/x'", "rw")])
def test_a_shared_temporary_directory(said: str, access: str) -> None:
    [hint] = hints("fetch", CAGE, failed(f"{said}: Permission denied"))
    path = said.split(" ")[-1].strip("'")
    assert hint == Hint("files", hint.message, f"toolcrib grant fetch files {access} {path}")
    assert path in hint.message and "TMPDIR" in hint.message


def test_a_place_below_the_home_that_anybody_may_be_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path.resolve()
    monkeypatch.setenv("HOME", str(home))
    assert commands(f"cat: {home}/models/x: Permission denied") == [f"toolcrib grant fetch files ro {home}/models/x"]


def test_it_is_said_whether_the_place_is_known_to_be_there() -> None:
    bubble = CAGE._replace(tier=BUBBLEWRAP)
    [refused] = hints("fetch", bubble, failed("cat: /srv/data/x: Permission denied"))
    [missing] = hints("fetch", bubble, failed("cat: /srv/data/x: No such file or directory"))
    assert ("if it is there" in refused.message, "if it is there" in missing.message) == (False, True)
    assert all("/srv/data/x" in hint.message for hint in (refused, missing))


def test_what_is_outside_does_not_exist_for_one_in_bubblewrap() -> None:
    said = "FileNotFoundError: [Errno 2] No such file or directory: '/srv/data/x'"
    assert commands(said, CAGE._replace(tier=BUBBLEWRAP)) == ["toolcrib grant fetch files ro /srv/data/x"]
    assert commands(said) == [], "below that tier, what is missing is missing"


@pytest.mark.parametrize("tier", [LANDLOCK, BUBBLEWRAP])
@pytest.mark.parametrize("word", ["Permission denied", "No such file or directory"])
def test_a_hint_does_not_tell_what_exists(tmp_path: Path, tier: str, word: str) -> None:
    """A program that prints paths learns nothing about them from what is said then."""
    (tmp_path / "is").write_text("")
    there, missing = (
        [hint.command.removesuffix(name) for hint in hints("t", CAGE._replace(tier=tier), failed(f"x: {tmp_path}/{name}: {word}"))]
        for name in ("is", "no")
    )  # fmt: skip
    assert there == missing


def test_what_may_be_read_and_is_written() -> None:
    [hint] = hints("fetch", CAGE, failed("PermissionError: [Errno 13] Permission denied: '/srv/tool/cache'"))
    assert hint.command == "toolcrib grant fetch files rw /srv/tool/cache" and "may be read" in hint.message


def test_a_protected_place_is_called_so() -> None:
    [hint] = hints("fetch", CAGE, failed("OSError: [Errno 30] Read-only file system: '/srv/work/.vscode/tasks.json'"))
    assert hint.what == "protected" and "an editor's settings" in hint.message
    assert hint.command == "toolcrib grant fetch files rw /srv/work/.vscode/tasks.json"


def test_a_link_in_the_workspace_that_leads_out(tmp_path: Path) -> None:
    work, outside = tmp_path.resolve() / "work", tmp_path.resolve() / "data"
    work.mkdir()
    (work / "link").symlink_to(outside)
    [hint] = hints("fetch", Cage(LANDLOCK, workspace=str(work)), failed(f"cat: {work}/link: Permission denied"))
    assert hint == Hint("files", hint.message, f"toolcrib grant fetch files ro {outside}")
    assert f"{work}/link is a link" in hint.message


@pytest.mark.parametrize(
    "target",
    [
        "{outside}/current",
        "../outside/current",
        "within/to-outside/current",
        "{work}/within/../within/to-outside/current",
    ],
)
def test_a_link_out_of_the_workspace_is_followed_no_further(tmp_path: Path, target: str) -> None:
    """Where the user's own links lead is not to be seen from inside, so it is not told there either."""
    work, outside = tmp_path.resolve() / "work", tmp_path.resolve() / "outside"
    for place in (work / "within", outside / "customers" / "acme"):
        place.mkdir(parents=True)
    (outside / "current").symlink_to(outside / "customers" / "acme")
    (work / "within" / "to-outside").symlink_to("../../outside")
    (work / "link").symlink_to(target.format(outside=outside, work=work))
    cage = Cage(BUBBLEWRAP, workspace=str(work))
    [hint] = hints("fetch", cage, failed("./link: Permission denied"))
    assert hint.command == f"toolcrib grant fetch files ro {outside}/current"
    assert "acme" not in hint.message


def test_links_that_stay_in_the_workspace_or_lead_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    work = tmp_path.resolve()
    (work / "plain").mkdir()
    for name, target in (("inner", "plain"), ("there", f"{work}/inner"), ("one", "other"), ("other", "one")):
        (work / name).symlink_to(target)
    cage = Cage(BUBBLEWRAP, workspace=str(work))
    for said in ("./inner/x", "./there/x", "./there/../inner", "./one", "./one/x", "./missing/x"):
        assert commands(f"{said}: Permission denied", cage) == []


@pytest.mark.parametrize(
    "said",
    [
        "cat: /srv/work/plain: Permission denied",  # its own business
        "cat: /srv/given/x: Permission denied",
        "cat: /usr/lib/x: Permission denied",
        "cat: /proc/1/environ: Permission denied",
        "it failed at 12:00/13:00 with Permission denied",
        "Permission denied (publickey).",
        "see https://example.com/x for why permission denied",
        "/srv/data/x was read",
        "",
    ],
)
def test_what_has_nothing_to_do_with_confinement(said: str) -> None:
    assert commands(said) == []


@pytest.mark.parametrize(
    "path", ["/srv/tool/x", "/srv/work/.vscode/tasks.json", "/srv/given/x", "/usr/x", "/srv/work/plain"]
)
def test_what_is_missing_where_it_would_be_seen_is_missing(path: str) -> None:
    said = f"FileNotFoundError: [Errno 2] No such file or directory: '{path}'"
    assert commands(said, CAGE._replace(tier=BUBBLEWRAP)) == []


@pytest.mark.parametrize("tier", ["off", "process"])
def test_where_nothing_is_confined_nothing_is_said(tier: str) -> None:
    assert commands("cat: /srv/data/x: Permission denied\nNetwork is unreachable", Cage(tier)) == []


def test_where_nothing_failed_nothing_is_said() -> None:
    assert hints("fetch", CAGE, failed("cat: /srv/data/x: Permission denied", code=0)) == []


def test_an_error_that_was_told_in_another_way() -> None:
    done = failed("", code=0)
    assert [hint.what for hint in hints("fetch", CAGE, done, said="PermissionError: '/srv/x': Permission denied")] == [
        "files"
    ]


# What a hostile program cannot make anybody say


@pytest.mark.parametrize(
    "path", ["", "/", "/.ssh/id_rsa", "/.aws/credentials", "/.bashrc", "/.gnupg", "/.toolcrib/trust.json"]
)
def test_nobody_is_told_to_give_away_a_home_or_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str) -> None:
    home = tmp_path.resolve() / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    [hint] = hints("fetch", CAGE, failed(f"cat: '{home}{path}': Permission denied"))
    assert hint == Hint("files", hint.message) and "toolcrib grant" not in hint.message
    _, _, why = hint.message.partition("; ")
    assert why.startswith("it "), "it is not said why"


@pytest.mark.parametrize("path", ["/", "/etc", "/home", "/var"])
def test_nor_the_system(path: str) -> None:
    assert [hint.command for hint in hints("fetch", CAGE, failed(f"ls: '{path}': Permission denied"))] in ([""], [])


@pytest.mark.parametrize(
    "path",
    ["/srv/\x1b[2J\x1b]52;c;AAAA\x07", "/srv/\u202egnp.x", "/srv/ö", "/srv/\udcff", "/srv/\x00x", "/srv/" + "x" * 5000],
)
def test_what_it_printed_is_shown_escaped_and_short(path: str) -> None:
    for hint in hints("fetch", CAGE, failed(f"open '{path}': Permission denied")):
        assert hint.command == "" and hint.message.isascii() and hint.message.isprintable() and len(hint.message) < 400


@pytest.mark.parametrize("path", ["/srv/a b", "/srv/$(reboot)", "/srv/;reboot", "/srv/a\\nb", "/srv/--rw", "/srv/*"])
def test_a_command_is_safe_to_type(path: str) -> None:
    [command] = commands(f"open '{path}': Permission denied")
    assert shlex.split(command) == ["toolcrib", "grant", "fetch", "files", "ro", path]


def test_what_no_path_can_be_is_none() -> None:
    assert hints("fetch", CAGE, failed("open '/srv/data/\0x': Permission denied")) == []


def test_a_long_path_is_cut_off_where_it_is_shown_and_not_suggested() -> None:
    longest = "/srv/" + "x" * 195
    [whole] = hints("fetch", CAGE, failed(f"open '{longest}': Permission denied"))
    [cut] = hints("fetch", CAGE, failed(f"open '{longest}y': Permission denied"))
    assert (whole.message.startswith(f"{longest} "), whole.command) == (
        True,
        f"toolcrib grant fetch files ro {longest}",
    )
    assert (cut.message.startswith(f"{longest}... "), cut.command) == (True, "")


def test_only_so_many_paths_are_looked_at() -> None:
    fine = "cat: /srv/work/plain: Permission denied\n"
    assert commands(fine * 63 + "cat: /srv/data/x: Permission denied") == ["toolcrib grant fetch files ro /srv/data/x"]
    assert commands(fine * 64 + "cat: /srv/data/x: Permission denied") == []


def test_a_flood_of_refusals_is_a_few_hints_in_no_time() -> None:
    lines = "\n".join(f"cat: /srv/data/{count}: Permission denied" for count in range(100_000))
    assert len(hints("fetch", CAGE, failed(lines, output="'" * 1_000_000))) == 3


def test_a_line_that_never_ends_is_looked_at_no_further() -> None:
    said = "Permission denied " + "dial tcp " * 5000 + "'/" * 5000
    assert isinstance(hints("fetch", CAGE, failed(said)), list)


def test_the_workspace_itself_is_never_outside() -> None:
    here = os.path.realpath(".")
    assert commands(f"ls: cannot open directory '{here}': Permission denied", Cage(LANDLOCK, workspace=here)) == []


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("bash: line 1: .git/config: Read-only file system", ".git/config"),
        ("/srv/tools/plant: 4: cannot create .vscode/x: Read-only file system", ".vscode/x"),
        ("rm: cannot remove '.envrc': Device or resource busy", ".envrc"),
        ("mv: cannot move 'sub/.git' to 'was': Device or resource busy", "sub/.git"),
        ("OSError: [Errno 30] Read-only file system: '.npmrc'", ".npmrc"),
        ("Error: EROFS: read-only file system, open '.mcp.json'", ".mcp.json"),
    ],
)
def test_a_protected_name_without_a_path_is_known(said: str, path: str) -> None:
    """As it stands in the command; and what the script is called that says so is refused nothing."""
    assert commands(said, Cage(BUBBLEWRAP, "/srv/work")) == [f"toolcrib grant fetch files rw /srv/work/{path}"]


@pytest.mark.parametrize(
    "said",
    [
        "rm: cannot remove 'notes.txt': Device or resource busy",
        "cat: .envrc: No such file or directory",
        "e.g. Permission denied. Sorry... -.envrc ~/.envrc ..",
    ],
)
def test_an_ordinary_name_is_not(said: str) -> None:
    assert commands(said, Cage(BUBBLEWRAP, "/srv/work")) == []


def test_what_was_put_aside_and_what_was_changed() -> None:
    why = "an editor's settings and tasks"
    found = [PutAside(".vscode", "/srv/aside/1", why), PutAside(".idea", "", why)]
    moved, changed = of_aftermath("fetch", "/srv/work", found)
    assert moved == Hint("put_aside", moved.message, "toolcrib grant fetch files rw /srv/work/.vscode")
    assert ".vscode is protected" in moved.message and "/srv/aside/1" in moved.message
    assert changed == Hint("changed", changed.message) and ".idea" in changed.message and why in changed.message
    assert "put aside" not in changed.message


def test_what_was_put_back_and_what_was_there_instead() -> None:
    found = [PutAside(".vscode", "/srv/aside/1", "why", back=True), PutAside(".idea", "", "why", back=True)]
    moved, alone = of_aftermath("fetch", "/srv/work", found)
    assert moved == Hint("put_back", moved.message, "toolcrib grant fetch files rw /srv/work/.vscode")
    assert moved.message.startswith(
        ".vscode is protected, as why, and was changed and put back; what stood there instead is now /srv/aside/1"
    )
    assert alone == Hint("put_back", alone.message, "toolcrib grant fetch files rw /srv/work/.idea")
    assert alone.message == ".idea is protected, as why, and was changed and put back; the user can allow it"


def test_of_much_that_was_put_aside_a_little_is_told() -> None:
    found = [PutAside(f".vscode{count}", "/srv/aside/1", "why") for count in range(9)]
    *shown, rest = of_aftermath("fetch", "/srv/work", found)
    assert len(shown) == 3
    assert rest == Hint("put_aside", "so it is with 6 more; what was put aside is in /srv/aside")


def test_how_many_there_are_is_told_and_what_is_still_there() -> None:
    found = [PutAside(f".vscode{count}", "/srv/aside/1", "why", more=count) for count in range(5)]
    first, second, _, rest = of_aftermath("fetch", "/srv/work", [*found, PutAside(".envrc", "", "why", stays=True)])
    assert "more beside it" not in first.message and ".vscode1 (and 1 more beside it) is" in second.message
    assert rest.what == "changed"
    assert rest.message.startswith("so it is with 10 more; what was put aside is in /srv/aside; 1 of them are still")
    (stays,) = of_aftermath("fetch", "/srv/work", [PutAside(".envrc", "", "why", stays=True)])
    assert stays.what == "changed" and "cannot be moved away: it is still there" in stays.message


def test_where_what_could_not_be_put_back_is_now() -> None:
    about = PutAside(".envrc", "/srv/aside/new", "why", kept_in=("/srv/aside/old", "/srv/aside/older"))
    (hint,) = of_aftermath("fetch", "/srv/work", [about])
    assert "it is now /srv/aside/new; what was there before is now /srv/aside/old, and 1 more" in hint.message


def test_one_that_stays_running_is_told_why_it_writes_nothing() -> None:
    cage = CAGE._replace(workspace_writable=False)
    (hint,) = hints("fetch", cage, failed("cannot write ./out.txt: Permission denied"))
    assert "`tools: {fetch: {warm: false}}`" in hint.message
    assert hint.command == "toolcrib grant fetch files rw /srv/work/out.txt"
    assert hints("fetch", CAGE, failed("cannot write ./out.txt: Permission denied")) == []
