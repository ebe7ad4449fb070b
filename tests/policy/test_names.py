"""Patterns match exactly what they say, whole segment by whole segment."""

import os
from pathlib import Path

import pytest

from toolcrib.policy.names import ArgumentPattern, HostPattern, NamePattern, PathPattern, host_of, strings


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("bash", "bash", True),
        ("bash", "bash_session", False),
        ("bash", "Bash", False),
        ("bash", "b\u0430sh", False),
        ("git_*", "git_log", True),
        ("git_*", "git_log_all", True),
        ("git_*", "gitleaks", False),
        ("git_*", "git_", False),
        ("git_*", "git", False),
        ("*", "anything-at_all", True),
        ("mcp__*__get", "mcp__github__get", True),
        ("mcp__*__get", "mcp__github__get_all", False),
        ("mcp__github__*", "mcp__github__delete", True),
        ("mcp__github__*", "mcp__githubevil__delete", False),
        ("custom_tool_*", "custom_tool_x\nrun_command", True),
        ("x.y", "xzy", False),
    ],
)
def test_names(pattern: str, name: str, expected: bool) -> None:
    assert NamePattern(pattern).matches(name) is expected


@pytest.mark.parametrize("pattern", ["", "ba*", "*sh", "b*h", "git_lo*", "mcp__git*__x"])
def test_a_star_stands_for_whole_segments(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"segments|empty"):
        NamePattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src", "src", True),
        ("src", "src/a/b.py", True),
        ("src", "src-evil/a.py", False),
        ("src/", "src/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a.pyc", False),
        ("src/*.py", "src/sub/a.py", False),
        ("src/**/*.py", "src/sub/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("**/*.key", "deep/down/x.key", True),
        ("**/*.key", "x.key", True),
        (".env", ".env", True),
        (".env", ".environment", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("a.c", "abc", False),
        (".", "anything/at/all", True),
        ("*", "anything/at/all", True),
    ],
)
def test_paths(tmp_path: Path, pattern: str, path: str, expected: bool) -> None:
    base = os.path.realpath(tmp_path)
    assert PathPattern.made(pattern, base).matches(os.path.join(base, path)) is expected


def test_a_path_pattern_is_resolved_as_the_paths_are(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    pattern = PathPattern.made(str(tmp_path / "link"), "/")
    assert pattern.matches(os.path.realpath(tmp_path / "real" / "x"))


@pytest.mark.parametrize("pattern", ["", "../x", "a/../../b", "a\0b"])
def test_a_path_pattern_leads_nowhere_else(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ValueError, match="path|upwards"):
        PathPattern.made(pattern, str(tmp_path))


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("api.example.com", "https://api.example.com/x", True),
        ("api.example.com", "https://API.Example.COM./x", True),
        ("api.example.com", "https://api.example.com.evil.net/", False),
        ("api.example.com", "https://evil.net/api.example.com", False),
        ("example.com", "https://api.example.com/", False),
        ("*.example.com", "https://api.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://evilexample.com/", False),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8081/", False),
        ("127.0.0.1", "http://127.0.0.1:8081/", True),
        ("[::1]", "http://[::1]:80/", True),
    ],
)
def test_hosts(pattern: str, url: str, expected: bool) -> None:
    host = host_of(url)
    assert host is not None
    assert HostPattern(pattern).matches(host) is expected


@pytest.mark.parametrize(
    "url",
    [
        "https://user@example.com/",
        "https://example.com@evil.net/",
        "https://ex\nample.com/",
        "https://ex ample.com/",
        "https:\\\\example.com",
        "https://ex\u0430mple.com/",
        "https://example.com:99999/",
        "https://example.com:x/",
        "ftp://example.com/",
        "example.com",
        "//example.com/",
        "https://",
        "https://[::1/",
        "",
    ],
)
def test_what_is_no_plain_url_has_no_host(url: str) -> None:
    assert host_of(url) is None


@pytest.mark.parametrize(
    "pattern", ["", "*", "*.*", "ex*.com", "a b", "https://x", "x/y", "ex\u0430mple.com", "*.", "x:"]
)
def test_what_is_no_host_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="not a host"):
        HostPattern(pattern)


@pytest.mark.parametrize(
    ("pointer", "wanted", "args", "expected"),
    [
        ("/a", 1, {"a": 1}, True),
        ("/a", 1, {"a": True}, False),
        ("/a", 1, {"a": "1"}, False),
        ("/a", ["x", "y"], {"a": "y"}, True),
        ("/a/b", None, {"a": {"b": None}}, True),
        ("/a/b", None, {"a": {}}, False),
        ("/a/0", "x", {"a": ["x"]}, True),
        ("/a/-1", "x", {"a": ["x"]}, False),
        ("/a/1", "x", {"a": ["x"]}, False),
        ("/a~1b", "x", {"a/b": "x"}, True),
        ("/a~0b", "x", {"a~b": "x"}, True),
        ("/a/b", "x", {"a": "x"}, False),
    ],
)
def test_arguments(pointer: str, wanted: object, args: dict[str, object], expected: bool) -> None:
    assert ArgumentPattern.made(pointer, wanted).matches(args) is expected


def test_an_argument_pattern_is_a_pointer_and_a_value() -> None:
    with pytest.raises(ValueError, match="begins with /"):
        ArgumentPattern.made("a", 1)
    with pytest.raises(ValueError, match="a value"):
        ArgumentPattern.made("/a", {"b": 1})


def test_every_text_is_found_however_deep() -> None:
    deep: object = "down"
    for _ in range(5000):
        deep = [deep]
    assert sorted(strings({"a": [1, "x", {"b": "y"}], "c": None, "d": deep})) == ["a", "b", "c", "d", "down", "x", "y"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.example/", "a.example:443"),
        ("http://a.example/", "a.example:80"),
        ("wss://a.example/", "a.example:443"),
        ("ws://a.example/", "a.example:80"),
        ("https://A.example.:8443/", "a.example:8443"),
        ("https://[::1]/", "[::1]:443"),
        ("ftp://a.example/", None),
    ],
)
def test_a_host_has_the_port_of_its_scheme(url: str, host: str | None) -> None:
    assert host_of(url) == host
