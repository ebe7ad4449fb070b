"""Installed packages that the configuration names."""

import sys
from pathlib import Path

import pytest

CODE = """
import toolcrib

def search(query: str) -> str:
    "Search the web."
    return f"found {query}"

@toolcrib.tool(needs_approval=False)
async def fetch(url: str) -> str:
    "Fetch a page."
    return url

def bare(a, b):
    return a

web_tools = [search, fetch, {"name": "ping", "input_schema": {"type": "object"}, "execute": lambda i: "pong"}]
broken_tools = (search, bare, 3)
alone = search
class Box:
    inner = (fetch,)
"""


@pytest.fixture
def package(modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`acme-tools`, installed outside of the workspace, with two entry points."""
    site = tmp_path / "site"
    about = site / "acme_tools-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "acme_tools.py").write_text(CODE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[toolcrib.tools]\nweb = acme_tools:web_tools\none = acme_tools:alone\n")
    monkeypatch.syspath_prepend(str(site))
    yield modules
    sys.modules.pop("acme_tools", None)


def named(modules, rest: str) -> None:
    (modules.home / "config.yaml").write_text(f"toolsets: {{external: {{{rest}}}}}")


@pytest.mark.parametrize(
    ("rest", "names"),
    [
        ("package: acme_tools, import: web_tools", ["fetch", "ping", "search"]),
        ("package: acme_tools, import: alone", ["search"]),
        ("package: acme_tools, import: Box.inner", ["fetch"]),
        ("package: acme-tools, import: web", ["fetch", "ping", "search"]),
        ("package: Acme.Tools, import: one", ["search"]),
    ],
)
def test_tools_come_from_an_attribute_or_an_entry_point(package, rest: str, names: list[str]) -> None:
    """G31"""
    named(package, rest)
    assert (package.names(), package.problems()) == (names, [])
    assert {package.tool(name).source for name in names} == {"package"}


def test_they_run(package) -> None:
    named(package, "package: acme_tools, import: web_tools")
    assert package.call("search", {"query": "x"}).data == "found x"
    assert package.call("ping").data == "pong"
    assert package.call("search", {}).error.code == "VALIDATION_ERROR"


def test_two_entry_points_that_offer_one_name_offer_none(package) -> None:
    named(package, "package: acme-tools")
    assert package.names() == ["fetch", "ping"]
    assert [code for code, _ in package.problems()] == ["TOOL_NAME_CONFLICT"]


def test_a_package_s_own_word_only_tightens(package) -> None:
    """`fetch` says that it needs no approval; somebody else wrote that."""
    named(package, "package: acme_tools, import: web_tools")
    assert package.approvals() == {"fetch": "ask", "ping": "ask", "search": "ask"}
    named(package, "package: acme_tools, import: web_tools, approval: {default: blocked, tools: {fetch: preApproved}}")
    assert package.approvals() == {"fetch": "blocked", "ping": "blocked", "search": "blocked"}
    named(package, "package: acme_tools, import: web_tools, approval: {default: ask, tools: {fetch: preApproved}}")
    assert package.approvals() == {"fetch": "preApproved", "ping": "ask", "search": "ask"}


def test_what_is_wrong_with_one_is_a_problem_of_that_one(package) -> None:
    named(package, "package: acme_tools, import: broken_tools")
    assert package.names() == ["search"]
    said = package.problems()
    assert [code for code, _ in said] == ["CONFIG_INVALID"] * 2
    assert "Schema 'bare_schema' required for function 'bare'" in said[0][1]
    assert "must be a function or tool object" in said[1][1]


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("package: acme_tools, import: nothing", "Export 'nothing' not found in acme_tools"),
        ("package: no_such_package_here, import: x", "there is no package 'no_such_package_here'"),
        ("package: no_such_package_here", "has no entry point in toolcrib.tools"),
        ("package: '../evil', import: x", "there is no package"),
        ("package: acme_tools, import: alone, approval: {tools: {serch: ask}}", "Tool 'serch' not found in acme_tools"),
    ],
)
def test_what_is_not_there_is_said(package, rest: str, words: str) -> None:
    """G25"""
    named(package, rest)
    assert [words in message for _, message in package.problems()] == [True]


def test_no_entry_point_is_used_that_the_configuration_does_not_name(package, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    (tmp_path / "site" / "acme_tools.py").write_text(f"open({str(touched)!r}, 'w').close()\n" + CODE)
    (package.home / "config.yaml").write_text("toolsets: {}")
    assert package.names() == []
    assert "acme_tools" not in sys.modules
    assert not touched.exists()


def test_a_package_that_raises_or_exits_is_a_problem(package, tmp_path: Path) -> None:
    named(package, "package: acme_tools, import: web_tools")
    for text, words in (("1/0", "ZeroDivisionError"), ("raise SystemExit", "SystemExit")):
        (tmp_path / "site" / "acme_tools.py").write_text(text)
        assert [words in message for _, message in package.problems()] == [True]
