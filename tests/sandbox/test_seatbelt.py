"""The profile for macOS, by its text: it denies by default, and no path ever stands in it."""

import re

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
