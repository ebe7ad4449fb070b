"""Commands, word by word: what is the same option, what is harmless code, what is seen through, and what a doubt says."""

import os
from pathlib import Path

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.policy import operand_code
from toolcrib.policy.argv import seen_through
from toolcrib.policy.commands import Pattern
from toolcrib.policy.lint import lint
from toolcrib.policy.load import Loader
from toolcrib.policy.names import host_of
from toolcrib.policy.shell import analyse
from toolcrib.policy.synonyms import same_options
from toolcrib.sandbox.places import Places
from toolcrib.store.yamltext import parse


@pytest.mark.parametrize(
    ("program", "option", "others"),
    [
        ("rm", "-r", {"-r", "-R", "--recursive"}),
        ("rm", "-f", {"-f", "--force"}),
        ("git", "-D", {"-D", "-d", "--delete", "-f", "--force"}),
        ("rm", "-v", {"-v"}),
        ("unheard-of", "-r", {"-r"}),
    ],
)
def test_an_option_and_its_other_names(program: str, option: str, others: set[str]) -> None:
    """An option that stands in two groups means both."""
    assert same_options(program, option) == others


@pytest.mark.parametrize("line", ["rm --recursive x", "rm -R x", "rm -vR x", "rm --recur x"])
def test_who_blocks_an_option_blocks_it_under_every_name(line: str) -> None:
    assert Pattern.parse("rm -r").touches(line.split())


HARMLESS = [
    ("sed", ["s/a/b/"], []),
    ("sed", ["not a script"], [("-e", "s/a/b/"), ("--expression", "p")]),
    ("sed", ["s,a/b,c,g"], []),
    ("awk", ["{print $1}", "file"], []),
    ("jq", [".a", "env"], []),
    ("sqlite", ["x.db", "select 1"], []),
    ("tar", [], [("-f", "a.tar"), ("-C", "host:dir")]),
    ("url", ["http://a/", "https://a/", "HTTPS://a/", "localhost:80", "a/b"], []),
    ("remote", ["https://a/b"], [("-b", "main")]),
    ("getconfig", ["user.name"], []),
    ("assignment", ["a"], []),
    ("response", ["a@b"], []),
    ("date", ["+%s"], []),
]
HARMFUL = [
    ("sed", ["1e rm x"], [], "1e rm x"),
    ("sed", ["s/a/b/"], [("-e", "1e rm x")], "1e rm x"),
    ("sed", ["s/a/b/"], [("--expression", "w out")], "w out"),
    ("sed", ["s,a,b,w out"], [], "s,a,b,w out"),
    ("awk", ['BEGIN{system("id")}'], [], 'BEGIN{system("id")}'),
    ("awk", ["{print}", "/inet/tcp/0/a/80"], [], "/inet/tcp/0/a/80"),
    ("jq", ["env"], [], "env"),
    ("sqlite", ["file:x?mode=rw", "select 1"], [], "file:x?mode=rw"),
    ("sqlite", ["|id", "select 1"], [], "|id"),
    ("sqlite", ["x.db", ".shell id"], [], ".shell id"),
    ("sqlite", ["x.db", "select writefile('a','b')"], [], "select writefile('a','b')"),
    ("sqlite", ["x.db"], [], ""),
    ("tar", [], [("-f", "host:a.tar")], "host:a.tar"),
    ("tar", [], [("--file", "host:a.tar")], "host:a.tar"),
    ("url", ["file:///etc/passwd"], [], "file:///etc/passwd"),
    ("url", ["@list"], [], "@list"),
    ("remote", ["ext::sh -c id"], [], "ext::sh -c id"),
    ("remote", [], [("-o", "ssh://-oProxyCommand=id/")], "ssh://-oProxyCommand=id/"),
    ("getconfig", ["user.name", "me"], [], "me"),
    ("assignment", ["A=b"], [], "A=b"),
    ("response", ["@list"], [], "@list"),
    ("date", ["1200"], [], "1200"),
]


@pytest.mark.parametrize(("check", "operands", "values"), HARMLESS)
def test_harmless_operands(check: str, operands: list[str], values: list[tuple[str, str]]) -> None:
    assert operand_code.CHECKS[check](operands, values) == []


@pytest.mark.parametrize(("check", "operands", "values", "word"), HARMFUL)
def test_the_operand_that_is_not_known_to_be_harmless(
    check: str, operands: list[str], values: list[tuple[str, str]], word: str
) -> None:
    ((found, text),) = operand_code.CHECKS[check](operands, values)
    assert found == word
    assert repr(word) in text or text in ("commands from its input", "setting a configuration value")


@pytest.mark.parametrize(
    "line",
    [
        ["fd", "--exec-batch=rm", "x"],
        ["fd", "--exec=rm", "x"],
        ["fd", "-xrm", "x"],
        ["fd", "-Xrm", "x"],
        ["flock", "lock", "-c", "rm x"],
        ["su", "-c", "rm x"],
        ["script", "-c", "rm x"],
        ["runuser", "-c", "rm x"],
        ["env", "-S", "rm x"],
        ["env", "-iSrm x"],
        ["env", "--split-string=rm x"],
        ["timeout", "-k", "5", "9", "rm", "x"],
    ],
)
def test_what_is_run_is_seen_wherever_it_stands(line: list[str]) -> None:
    assert ("rm", "x") in seen_through(tuple(line))


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("ls # all", ""),
        ("echo ]", "holds a file pattern (])"),
        ("time -p if", "holds the shell's word if"),
        ("time -- if", "holds the shell's word if"),
        ("time -p -- if", "holds the shell's word if"),
        ("time if", "holds the shell's word if"),
        ("'' x", "has an empty word for a program"),
        ("a\x01b", "holds the control character U+0001"),
        ("", "holds no command"),
        ("%1", "names a job"),
        ("A=1 ls", "sets a variable"),
        ("printf -v x y", "uses printf with an option, which can set a variable"),
    ],
)
def test_a_doubt_says_what_it_is_about(text: str, doubt: str) -> None:
    """A person who is asked reads this."""
    script = analyse(text)
    said = script.refusal or "; ".join(script.doubts)
    assert (doubt in said) if doubt else said == ""


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\u00a0", "\ue000", "\u200b"])
def test_what_looks_like_nothing_or_like_a_blank_is_doubted(char: str) -> None:
    script = analyse(f"ls a{char}b")
    assert script.doubts or script.refusal


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


def oddities(workspace: Path, *rules: str) -> list[tuple[str, int | None, str]]:
    places = Places(str(workspace))
    text = "rules:\n" + "".join(f"- {{{rule}}}\n" for rule in rules)
    made = Loader(os.path.realpath(workspace), places).file(parse(text.encode(), "policy.yaml"), "user policy")
    return [(each.kind, each.rule.origin.line, each.message) for each in lint(made, TOOLS, places)]


def test_oddities_come_in_the_order_of_the_rules(workspace: Path) -> None:
    """A reader goes down the file once, whatever the kinds are."""
    rules = (
        "command: ls, approval: ask",
        "tool: no_such_tool, approval: ask",
        "command: ls, approval: ask",
        "tool: '*', approval: preApproved",
    )
    assert [(kind, line) for kind, line, _ in oddities(workspace, *rules)] == [
        ("dead", 3),
        ("shadowed", 4),
        ("broad", 5),
    ]


def test_a_dead_rule_for_a_pattern_of_paths_is_judged_by_its_literal_part(workspace: Path) -> None:
    assert [kind for kind, *_ in oddities(workspace, "paths: '/etc/*.conf', approval: preApproved")] == ["dead"]
    assert oddities(workspace, "paths: 'src/*.py', approval: preApproved") == []


def test_rules_for_other_sources_do_not_shadow(workspace: Path) -> None:
    wide, narrow = "source: [builtin, function], approval: blocked", "source: builtin, approval: ask"
    assert [(kind, line) for kind, line, _ in oddities(workspace, narrow, wide)] == [("shadowed", 2)]
    other = "source: function, tool: read_file, approval: blocked"
    assert [kind for kind, *_ in oddities(workspace, narrow, other)] == ["dead"]


def test_the_same_arguments_are_the_same(workspace: Path) -> None:
    rules = ("args: {/a: 1}, approval: ask", "args: {/a: 1}, approval: blocked")
    assert [(kind, line) for kind, line, _ in oddities(workspace, *rules)] == [("contradictory", 2)]


def test_what_lint_says_names_what_to_do(workspace: Path) -> None:
    ((_, _, wrapper),) = oddities(workspace, "command: sudo, approval: preApproved")
    assert (
        wrapper == "`sudo` pre-approves sudo, which runs other programs; wrappers are seen through: name what they run"
    )
    ((_, _, dead),) = oddities(workspace, "tool: no_such_tool, approval: ask")
    assert dead == "no tool on offer is meant by it; see the names with: toolcrib list"
