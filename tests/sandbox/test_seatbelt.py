"""The profile for macOS, by its text: it denies by default, and no path ever stands in it."""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import seatbelt
from toolcrib.sandbox.cage import Cage
from toolcrib.sandbox.protected import PATTERNS
from toolcrib.sandbox.seatbelt import profiled

HOSTILE = '/work/a") (allow default) (deny file-read* (literal "'
CAGE = Cage("seatbelt", workspace=HOSTILE, readable=("/data\\",), writable=("/out(",))
TMP = "/private/tmp/own"


def parts(cage: Cage) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """The profile, its parameters, and the program's own words."""
    program, flag, profile, *words = profiled(cage, ("/bin/echo", "-D", "X=y"), tmp=TMP)
    assert (program, flag) == ("/usr/bin/sandbox-exec", "-p")
    parameters: dict[str, str] = {}
    while words[:1] == ["-D"] and words[1].startswith("PATH_"):
        name, _, value = words[1].partition("=")
        parameters[name] = value
        del words[:2]
    return profile, parameters, tuple(words)


def tree(text: str) -> list[object]:
    """The expressions of a profile. Strings are kept whole, as the language has them."""
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[()]|[^\s()"]+', text)
    stack: list[list[object]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1, "it is not balanced"
    return stack[0]


@pytest.mark.parametrize(
    "cage", [CAGE, CAGE._replace(network=True), Cage("seatbelt"), CAGE._replace(workspace_writable=False)]
)
def test_it_denies_by_default_and_is_well_formed(cage) -> None:
    profile, _, _ = parts(cage)
    expressions = tree(profile)
    assert expressions[:2] == [["version", "1"], ["deny", "default"]]
    assert {expression[0] for expression in expressions[1:]} == {"allow", "deny"}
    assert ["allow", "default"] not in expressions


def test_every_path_is_a_parameter() -> None:
    profile, parameters, _ = parts(CAGE)
    assert not [path for path in (HOSTILE, "/data\\", "/out(", TMP) if path in profile]
    assert {HOSTILE, "/data\\", "/out(", TMP} <= set(parameters.values())
    assert set(re.findall(r'\(param "(\w+)"\)', profile)) == set(parameters)


def test_the_programs_words_come_last() -> None:
    assert parts(CAGE)[2] == ("/bin/echo", "-D", "X=y")


def test_writable_is_what_is_granted() -> None:
    profile, parameters, _ = parts(CAGE)
    writes = re.findall(r"^\(allow file-read\* file-write\* file-map-executable (.*)\)$", profile, re.MULTILINE)
    names = re.findall(r'\(subpath \(param "(\w+)"\)\)', writes[0])
    assert (len(writes), [parameters[name] for name in names]) == (1, [HOSTILE, "/out(", TMP])


def test_a_workspace_for_reading_is_not_writable() -> None:
    profile, parameters, _ = parts(Cage("seatbelt", workspace="/work", workspace_writable=False))
    for line in re.findall(r"^\(allow .*file-write\*.*$", profile, re.MULTILINE):
        assert "/work" not in [parameters[name] for name in re.findall(r'param "(\w+)"', line)]


def test_without_network_there_is_none() -> None:
    assert "network" not in parts(CAGE)[0]
    assert "network-outbound" in parts(CAGE._replace(network=True))[0]


def test_what_is_protected_is_denied_after_it_was_allowed() -> None:
    """Also what is not there yet, in any letter case; and not what only begins like it."""
    profile, parameters, _ = parts(CAGE)
    expression = r'^\(deny file-write\* \(regex \(string-append "\^" \(regex-quote \(param "(\w+)"\)\) "(.*)"\)\)\)$'
    rules = re.findall(expression, profile, re.MULTILINE)
    assert {parameters[name] for name, _ in rules} == {HOSTILE}
    assert profile.index("(deny file-write* (regex") > profile.index("(allow file-read* file-write*")

    def denied(path: str) -> bool:
        return any(re.match(pattern, path) for _, pattern in rules)

    for pattern in PATTERNS:
        name = pattern.replace("*", "x")
        assert denied(f"/{name}") and denied(f"/sub/deep/{name.upper()}")
        assert pattern == ".git" or denied(f"/{name}/inside")
    for path in ("/.git/config", "/.git/hooks/x", "/sub/.git/info/exclude", "/.GIT/modules/a/config"):
        assert denied(path)
    for path in ("/.git/objects/ab/cd", "/.git/index", "/src/hooks/x", "/bin/x", "/.gitignore", "/vscode/x"):
        assert not denied(path)


def test_it_cannot_be_held_to_hosts() -> None:
    with pytest.raises(ToolError) as caught:
        profiled(CAGE._replace(hosts=("example.com",)), ("/bin/true",), tmp=TMP)
    assert (caught.value.code, caught.value.before_effect) == ("SANDBOX_UNAVAILABLE", True)


def test_the_canary_says_where_it_is_not(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(seatbelt, "PROGRAM", str(tmp_path / "sandbox-exec"))
    assert "macOS" in seatbelt.canary()


def allowed(cage: Cage) -> dict[str, list[str]]:
    """By what is allowed or denied, the paths that it is about, each with how it is matched; in the order of the rules."""
    profile, parameters, _ = parts(cage)
    found: dict[str, list[str]] = {}
    for expression in tree(profile)[2:]:
        assert isinstance(expression, list)
        whats = [word for word in expression[1:] if isinstance(word, str)]
        about = [f"{kind[0]} {place(kind[1], parameters)}" for kind in expression[1:] if isinstance(kind, list)]
        found.setdefault(" ".join([expression[0], *whats]), []).extend(about)
    return found


def place(word: Any, parameters: dict[str, str]) -> str:
    return parameters[word[1].strip('"')] if isinstance(word, list) and word[0] == "param" else str(word)


@pytest.mark.parametrize("writable", [True, False])
def test_each_place_is_held_to_what_the_cage_says(writable) -> None:
    about = allowed(Cage("seatbelt", "/work", writable, ("/data",), ("/out",)))
    changed = [*(["subpath /work"] if writable else []), "subpath /out", f"subpath {TMP}"]
    assert about["allow file-read* file-write* file-map-executable"] == changed
    readable = about["allow file-read* file-map-executable"]
    assert readable[-2:] == ["subpath /work", "subpath /data"]
    assert {"subpath /usr", "subpath /System", "subpath /bin"} <= set(readable)
    assert "literal /dev/null" in about["allow file-read* file-write-data file-ioctl"]
    assert ("allow file-write*" in about) == writable  # what was granted by name, after what is protected
    assert about.get("allow file-write*", changed[-2:]) == ["subpath /out", f"subpath {TMP}"]
    assert "deny file-write-setugid" in about


def test_without_a_workspace_there_is_its_own_directory_alone() -> None:
    about = allowed(Cage("seatbelt"))
    assert about["allow file-read* file-write* file-map-executable"] == [f"subpath {TMP}"]
    assert "allow file-write*" not in about and "deny file-write*" not in about
    assert not [path for path in about["allow file-read* file-map-executable"] if path in ("subpath ", "subpath None")]


def test_what_was_granted_by_name_is_open_after_what_is_protected() -> None:
    profile, _, _ = parts(CAGE)
    assert profile.rindex("(deny file-write* (regex") < profile.index("(allow file-write* (subpath")


def test_nothing_makes_a_program_run_as_another_user() -> None:
    """The last word about it, whatever was allowed before."""
    profile, _, _ = parts(CAGE)
    assert profile.index("(deny file-write-setugid)") > profile.rindex("(allow file-write*")


SKIPS_OPTIONS = 'shift 2\nwhile [ "$1" = -D ]; do shift 2; done\n'


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Puts a shell script in the place of Seatbelt's own program, which is told the words of the command alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tries"))
    (tmp_path / "tries").mkdir()

    def put(text: str) -> None:
        program = tmp_path / "sandbox-exec"
        program.write_text(f"#!/bin/sh\n{SKIPS_OPTIONS}{text}\n")
        program.chmod(0o755)
        monkeypatch.setattr(seatbelt, "PROGRAM", str(program))

    yield put
    assert os.listdir(tmp_path / "tries") == []


HELD = 'exec "$1" "$2" "$3" "$4" /nowhere'
"""What is tried outside finds nothing."""


def test_the_canary_says_nothing_where_it_holds(stand_in) -> None:
    stand_in(HELD)
    assert seatbelt.canary() == ""


@pytest.mark.parametrize(
    "escape",
    [
        'exec "$@"',
        f'read -r secret < "$5/secret"; [ "$secret" = secret ] && echo read; {HELD}',
        f': > "$5/written"; {HELD}',
    ],
    ids=["not at all", "what is outside is read", "something is written outside"],
)
def test_the_canary_notices_what_does_not_hold(stand_in, escape) -> None:
    stand_in(escape)
    assert "does not hold" in seatbelt.canary()


@pytest.mark.parametrize(
    "text", ["echo 'profile: no such thing'; exit 65", "echo 'profile: no such thing' >&2; exit 65"]
)
def test_the_canary_tells_why_it_does_not_come_up(stand_in, text) -> None:
    stand_in(text)
    said = seatbelt.canary()
    assert "profile: no such thing" in said and "does not hold" not in said


def test_the_canary_tells_not_too_much(stand_in) -> None:
    stand_in("head -c 100000 /dev/zero | tr '\\0' x")
    assert 200 < len(seatbelt.canary()) < 400


def test_in_the_canary_it_has_a_workspace_and_a_directory_of_its_own(stand_in, tmp_path) -> None:
    stand_in(f'(pwd; echo "$TMPDIR"; echo "$PATH"; ls -A; stat -c %a "$TMPDIR") > {tmp_path}/seen; {HELD}')
    assert seatbelt.canary() == ""
    workspace, tmp, path, mode = (tmp_path / "seen").read_text().split()
    assert (Path(workspace).name, Path(tmp).name, path, mode) == ("workspace", "tmp", "/usr/bin:/bin", "700")
    assert Path(workspace).parent == Path(tmp).parent


def test_what_cannot_be_tried_is_told(stand_in, tmp_path) -> None:
    stand_in("exit")
    (tmp_path / "sandbox-exec").write_text("#!/nowhere/interpreter\n")
    said = seatbelt.canary()
    assert "could not be tried" in said and "sandbox-exec" in said
