"""Operands that are programs of a kind: which are known to be harmless, and which word is not."""

import pytest

from toolcrib.policy import operand_code

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
