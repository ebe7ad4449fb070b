"""Shell text: what counts as understood, what is doubted, what is refused, and that bash agrees."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.soak import turns

from toolcrib.policy.shell import BUILTINS, Script, analyse, analyse_argv

UNDERSTOOD: list[tuple[str, tuple[tuple[str, ...], ...]]] = [
    ("git status", (("git", "status"),)),
    ("  git\tstatus  ", (("git", "status"),)),
    ("a;b&&c||d|e|&f\ng", (("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",))),
    ("a &&\n\n b", (("a",), ("b",))),
    ("a | # why\n b", (("a",), ("b",))),
    ("a # b; rm c", (("a",),)),
    ("# only then\na", (("a",),)),
    ("a;", (("a",),)),
    ("a 'b c' \"d e\" f'g'\"h\"", (("a", "b c", "d e", "fgh"),)),
    ("a \"\" ''", (("a", "", ""),)),
    (r'a "x\"y\\z\$w\`v\q"', (("a", 'x"y\\z$w`v\\q'),)),
    ('a "x\\\ny"', (("a", "xy"),)),
    ('a "x\ny\tz"', (("a", "x\ny\tz"),)),
    ('grep "end$" f', (("grep", "end$", "f"),)),
    ('a "wow!" !x', (("a", "wow!", "!x"),)),
    ("git show HEAD~1 HEAD^ a~b", (("git", "show", "HEAD~1", "HEAD^", "a~b"),)),
    ("git commit -m 'it''s'", (("git", "commit", "-m", "its"),)),
    ("dd if=x of=y", (("dd", "if=x", "of=y"),)),
    ("cat 'naïve – ü.txt'", (("cat", "naïve – ü.txt"),)),
    ("make test 2>&1 | tail -5", (("make", "test"), ("tail", "-5"))),
    ("a >/dev/null 2>&1; b 2> /dev/null; c &>/dev/null; d < /dev/null", (("a",), ("b",), ("c",), ("d",))),
    ("echo 1 2", (("echo", "1", "2"),)),
    ("time -p a b", (("time", "-p", "a", "b"),)),
    ("command -v git", (("command", "-v", "git"),)),
    ("command -V git", (("command", "-V", "git"),)),
    ("X aX Xa aXa", (("X", "aX", "Xa", "aXa"),)),
    ("cd src && ls", (("cd", "src"), ("ls",))),
    ("test -f a && echo b", (("test", "-f", "a"), ("echo", "b"))),
    ("printf '%s\\n' x", (("printf", "%s\\n", "x"),)),
]


@pytest.mark.parametrize(("text", "parts"), UNDERSTOOD)
def test_plain_text_is_understood_exactly(text: str, parts: tuple[tuple[str, ...], ...]) -> None:
    script = analyse(text)
    assert (script.parts, script.doubts, script.refusal) == (parts, (), "")


DOUBTED = r"""
a $(b)|a `b`|a <(b)|a $b|a ${b}|a "$b"|a "${b}"|a "$(b)"|a $((1+1))|a $'b'|a $"b"|a "$'b'"
a >b|a >>b|a 2>b|a <b|a <>b|a >|b|a >&b|a &>b|a 3>&1|a 2>&-|a 2>&3|>b a|2>&1 a|a 2>/dev/nullx|a >/dev/null/x|a >/dev/tcp/x/1|a {x}>b|a 2>&1 b
A=b c|A=b|A+=b c|a[1]=2|export A=b|declare A|readonly A|local A|typeset A=b|unset A|A=(b)
a <<E
(a)|{ a; }|f() { a; }|function f { a; }|if a; then b; fi|for i in a; do b; done|while a; do b; done|until a; do b; done
case a in a) b;; esac|select i in a; do b; done|[ -f a ]|[[ -f a ]]|! a|a &|a & b|coproc a|((1))|a &&! b
a *|a ?|a [b]|a {b,c}|a {1..3}|a ~|a ~/b|a --c=~/b|a b:~|a=~|~/a|a \b|\a|a\|b|a b\
a &&|a ;; b|a ; ; b|; a|&& a|a | ; b
. a|source a|eval a|exec a|command a|builtin a|trap a EXIT|alias a=b|unalias a|set -e|shopt -s b|hash -p a b|let a=1|read a
mapfile a|readarray a|getopts a b|bind a|complete -C a b|compgen -C a|fc|history|pushd a|popd|dirs|umask 0|ulimit -n 1|wait|jobs
fg|bg|disown|suspend|logout|return|break|continue|shift|times|caller|enable -f a b|printf -v a b|test -v a|test -R a|test 'a[1]' -eq 1
cd|cd -|cd a b|cd -P a|cd ''|time ! a|time A=b c|time if|%1|"" a|'' a|if|then|do|done|}|]]|in|command -v -x|command -p a
cd a && ./b|cd a && git status|cd a; b/c|cd /x && make|cd .. && npm test|cd a/../.. && pytest
"""


def doubted() -> list[str]:
    lines = [
        line.replace("a\\|b", "\1").replace(">|b", "\2").replace("a | ; b", "\3")
        for line in DOUBTED.strip("\n").split("\n")
    ]
    texts = [text for line in lines for text in line.split("|")]
    return [text.replace("\1", "a\\|b").replace("\2", ">|b").replace("\3", "a | ; b") for text in texts]


@pytest.mark.parametrize("text", doubted())
def test_what_is_more_than_plain_commands_is_doubted_or_refused(text: str) -> None:
    script = analyse(text)
    assert script.doubts or script.refusal


@pytest.mark.parametrize(
    "text", ["a\rb", "a\0b", "a\x1b[0m", "a\x7f", "a\x85b", "a\u2028b", "a\u2029b", "a\x0cb", "a '\r'", "a \ud800"]
)
def test_control_characters_and_halves_are_refused(text: str) -> None:
    script = analyse(text)
    assert script.refusal
    assert script.parts == ()


@pytest.mark.parametrize(
    "char",
    [
        "\u00a0",
        "\u3000",
        "\u2003",
        "\u202e",
        "\u2066",
        "\u200b",
        "\u200d",
        "\ufeff",
        "\u00ad",
        "\U000e0041",
        "\u3164",
        "\u2800",
    ],
)
@pytest.mark.parametrize("text", ["git{}status", "git status '{}'", "git status # {}"])
def test_invisible_characters_are_doubted_even_in_quotes(char: str, text: str) -> None:
    assert analyse(text.format(char)).doubts


def test_a_byte_that_some_systems_take_for_a_blank_is_doubted_outside_quotes_only() -> None:
    assert analyse("cat à").doubts
    assert analyse("cat 'à'").doubts == ()


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "a (b", "if a", "a $(b", "a )", "a `b"])
def test_text_that_cannot_be_parsed_is_refused(text: str) -> None:
    script = analyse(text)
    assert script.refusal or script.doubts
    assert script.parts == () or script.doubts


@pytest.mark.parametrize("text", ["", " ", "\n\t\n"])
def test_no_command_is_refused(text: str) -> None:
    assert "no command" in analyse(text).refusal


def test_64_commands_are_fine_and_65_are_refused() -> None:
    assert len(analyse(";".join(["a"] * 64)).parts) == 64
    assert "64" in analyse(";".join(["a"] * 65)).refusal
    assert "64" in analyse("$(" + ";".join(["a"] * 65) + ")").refusal


def test_32_kib_are_fine_and_more_is_refused() -> None:
    assert analyse("a " + "b" * (32 * 1024 - 2)).refusal == ""
    assert analyse("a " + "b" * (32 * 1024 - 1)).refusal
    assert analyse("a " + "ü" * (16 * 1024)).refusal


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "(" * 32_000,
        "$(" * 16_000,
        "a " + "$((" * 10_000,
        "`" * 32_000,
        "{ " * 16_000,
        "a;" * 5001,
        "a 'b" * 6000,
        'a "' * 9000,
        "<(" * 16000,
        "if " * 10000,
        "a|" * 16000,
        "!" * 32000,
        "${" * 16000,
        "<<a " * 8000,
        "a\n" * 16000,
        "1@" * 16000,
        "a`<" * 10000,
        "$)1" * 10000,
    ],
    ids=lambda text: f"{text[:6]!r}x{len(text)}",
)
def test_deep_and_long_texts_end_soon(text: str) -> None:
    began = time.thread_time()
    script = analyse(text)
    assert time.thread_time() - began < 1
    assert script.refusal or script.doubts or script.parts


MENTIONS = [
    ("echo $(rm a)", ("rm", "a")),
    ("echo `rm a`", ("rm", "a")),
    ('echo "$(rm a)"', ("rm", "a")),
    ("cat <(rm a)", ("rm", "a")),
    ("if true; then rm a; fi", ("rm", "a")),
    ("for i in 1; do rm a; done", ("rm", "a")),
    ("while true; do rm a; done", ("rm", "a")),
    ("case x in x) rm a;; esac", ("rm", "a")),
    ("(rm a)", ("rm", "a")),
    ("{ rm a; }", ("rm", "a")),
    ("f() { rm a; }; f", ("rm", "a")),
    ("! rm a", ("rm", "a")),
    ("rm a &", ("rm", "a")),
    ("A=b rm a", ("rm", "a")),
    ("rm a > b", ("rm", "a")),
    ("a=$(rm a)", ("rm", "a")),
    ("cat <<E\n$(rm a)\nE", ("rm", "a")),
    ("bash <<'E'\nrm a\nE", ("sh", "-c", "rm a\n")),
    ("bash <<< 'rm a'", ("sh", "-c", "rm a")),
    ("r\\m a", ("rm", "a")),
    ('r""m a', ("rm", "a")),
    ("rm $a", ("rm", None)),
    ("$a b", (None, "b")),
    ("rm {a,b}", ("rm", None)),
    ("export A=$(rm a)", ("rm", "a")),
    ("echo ${A:-$(rm a)}", ("rm", "a")),
    ("echo $((1 + $(rm a)))", ("rm", "a")),
    ("[ -f $(rm a) ]", ("rm", "a")),
    ("rm >/dev/null -r a", ("rm", "-r", "a")),
    ("rm 2>&1 -r a", ("rm", "-r", "a")),
    ("rm -r >b -f a >c d", ("rm", "-r", "-f", "a", "d")),
    ("ls | rm >b -r a", ("rm", "-r", "a")),
    ("rm <<E -r a\nE", ("rm", "-r", "a")),
    ("cat <<E | rm a\nE", ("rm", "a")),
    ("rm 'ü ö' $(ß)", ("rm", "ü ö", None)),
]


@pytest.mark.parametrize(("text", "command"), MENTIONS)
def test_every_command_is_found_wherever_it_stands(text: str, command: tuple[str | None, ...]) -> None:
    assert command in analyse(text).mentioned


def test_an_argv_is_literal() -> None:
    argv = ("echo", "$(a)", "*", "~", "a\nb", "c\td", "-x")
    assert analyse_argv(argv) == Script((argv,), mentioned=(argv,))


@pytest.mark.parametrize("argv", [[], [""], ["a", "\0"], ["a", "\ud800"], ["a", "b" * 40_000]])
def test_an_argv_that_cannot_run_is_refused(argv: list[str]) -> None:
    assert analyse_argv(argv).refusal


@pytest.mark.parametrize(
    "argv", [["a\n"], ["a\tb"], ["a", "\r"], ["a", "\x1b[2J"], ["a", "\u202e"], ["a", "\u00a0"], ["a", "\x85"]]
)
def test_an_argv_that_misleads_a_reader_is_doubted(argv: list[str]) -> None:
    assert analyse_argv(argv).doubts


@pytest.mark.parametrize("char", ["\xa6", "\U0010c224", "\U000b03c6", "日", "\U0001f600"])
@pytest.mark.parametrize(
    "text",
    [
        "{}{{{}",
        "{{{}",
        "${}",
        "${{{}}}",
        "<<{}\n{}\n",
        "a[{}]={}",
        "{}=(",
        "#{}",
        "$(({}",
        "[[ {} =~ {}",
        "{}(",
        "a @({}",
        "${{a/{}/",
        "a#{}b",
    ],
)
def test_no_character_can_crash_the_parser(char: str, text: str) -> None:
    """The grammar's scanner reads beyond its tables for some of these: they must not reach it."""
    script = analyse(text.replace("{}", char).replace("{{", "{").replace("}}", "}"))
    assert script.refusal or script.doubts or script.parts


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    script = analyse(text)
    assert script.refusal or script.doubts or script.parts


def bash_is_new_enough() -> bool:
    bash = shutil.which("bash")
    asked = [bash, "-c", "mapfile -d '' texts < /dev/null"] if bash else []
    return bool(asked) and subprocess.run(asked, capture_output=True, check=False).returncode == 0


needs_bash = pytest.mark.skipif(not bash_is_new_enough(), reason="bash 4.4 or newer is not here")


@needs_bash
def test_the_list_of_builtins_is_bash_s_own() -> None:
    listed = subprocess.run(["bash", "-c", "compgen -b"], capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) <= BUILTINS


LITERAL = [
    "x",
    "yz",
    "-n",
    "=",
    "a=b",
    "HEAD~1",
    ":",
    "!",
    "%",
    "^",
    "@",
    "+",
    ",",
    ".",
    "/",
    "5",
    "2",
    "é",
    "日本",
    "'q_r'",
    '"q_r"',
    "''",
    '""',
    "'\"'",
    '"\'"',
    '"\\""',
    '"\\\\"',
    '"\\$x"',
    '"\\`"',
    '"\\n"',
    '"a$"',
    "'$x'",
    "'`'",
    "'\\'",
    "'#'",
    "'!'",
    '"!"',
    "-",
    "--",
    "..",
    "''x",
    'x""',
    "'a'b\"c\"",
    "in",
    "do",
    "time",
    "if",
    "a#b",
    "x=~y",
    "é~",
    "a@{",
]
SPACED = ["'q r'", '"q r"', "'\n'", '"\n"', '"\\\n"', "'\t'", '" ; "', "' | a '", '"&& b"']
BORDER = [
    "~",
    "~x",
    "#",
    "#c",
    "'",
    '"',
    "\\",
    "$",
    "`",
    "*",
    "?",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "&",
    "$'x'",
    '$"x"',
    "]]",
    "{}",
    "a{b",
    "a[b",
    "~/",
    "=~",
    ":~",
    "à",
    '"$x"',
    '"`a`"',
    '"$"',
    "\\a",
    "$a",
    "a&b",
    "2>",
    "1>&2",
    "{a,b}",
] + ["\\\n"]
GAPS = [
    " ; ",
    ";",
    " && ",
    "&&",
    " || ",
    "||",
    " | ",
    "|",
    "|&",
    "\n",
    " \n ",
    " # note\n",
    " 2>&1 ;",
    " >/dev/null\n",
    " 2> /dev/null;",
    " &> /dev/null\n",
    " < /dev/null;",
]
RISKY_GAPS = [
    " ",
    "",
    "&",
    " & ",
    ";;",
    "2>&1",
    " >&2 ",
    "<",
    "#n\n",
    "; ;",
    "\n;",
    "&&&",
    "|| ||",
    " \\\n ",
    ">/dev/nul;",
]
PROGRAMS = ["a", "b", "c", "a", "b", "'a'", '"b"', "c''", "'a'\"\"", "x", "time a", "! b", "A=1 c", "\\a"]


def texts(rng: Random, count: int) -> list[str]:
    """Texts near the border between plain and not: a good part is understood, the rest just is not."""
    made = []
    for _ in range(count):
        risk = rng.choice([0, 0, 0.1, 0.4])
        text = ""
        for _ in range(rng.randint(1, 4)):
            text += rng.choice(PROGRAMS if rng.random() < risk else PROGRAMS[:9])
            for _ in range(rng.randint(0, 3)):
                text += rng.choice([" ", " ", "  ", "\t", ""])
                text += rng.choice(BORDER if rng.random() < risk else rng.choice([LITERAL, LITERAL, SPACED]))
            text += rng.choice(RISKY_GAPS if rng.random() < risk else GAPS)
        made.append(text)
    return made


HARNESS = "".join(
    f"{name}() {{ local IFS=$'\\1'; local all=\"{name}${{1+$IFS}}$*\"; printf '%s\\2' \"${{all//$'\\n'/$'\\4'}}\" >&9; }}\n"
    for name in "abc"
)
HARNESS += 'function time { while [[ $1 == -* ]]; do shift; done; "$@"; }\n'  # after a pipe, time is no keyword
"""The programs that bash runs are functions that print what they got."""


HARNESS += """
exec 9>>out
mapfile -d '' texts < in
for text in "${texts[@]}"; do printf '\\3' >&9; eval "$text" < /dev/null > /dev/null 2>&1; done
"""


def ran(batch: Sequence[str], directory: Path) -> list[list[tuple[str, ...]]]:
    """What bash made of each text: the argv of each program it ran, in order."""
    (directory / "in").write_bytes(b"".join(text.encode() + b"\0" for text in batch))
    (directory / "out").write_bytes(b"")
    environment = {"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"}
    subprocess.run([shutil.which("bash") or "bash", "-p", "-c", HARNESS], cwd=directory, env=environment, check=False)
    each = (directory / "out").read_bytes().split(b"\3")[1:]
    return [
        [tuple(map(os.fsdecode, one.replace(b"\4", b"\n").split(b"\1"))) for one in raw.split(b"\2")[:-1]]
        for raw in each
    ]


def expected(script: Script) -> list[tuple[str, ...]]:
    """What the programs get: `time` is taken off."""
    return [part[1:] if part[0] == "time" else part for part in script.parts if part != ("time",)]


def agree(text: str, got: list[tuple[str, ...]], want: list[tuple[str, ...]]) -> bool:
    """The commands of a pipeline run in any order, and `||` skips some; the rest must be the same in order."""
    if "||" in text:
        return (
            set(got) <= set(want) and got[:1] == want[:1]
            if "|" not in text.replace("||", "")
            else set(got) <= set(want)
        )
    return sorted(got) == sorted(want) if "|" in text else got == want


def disagreements(seed: int, count: int, directory: Path) -> tuple[list[tuple[str, object, object]], int]:
    """Understood texts for which bash ran something else, and how many were understood."""
    rng = Random(seed)
    plain: dict[str, Script] = {}
    for text in texts(rng, count):
        script = analyse(text)
        if not script.refusal and not script.doubts and all(part[0] in ("a", "b", "c") for part in expected(script)):
            plain[text] = script
    batch = list(plain)
    wrong: list[tuple[str, object, object]] = []
    for start in range(0, len(batch), 500):
        some = batch[start : start + 500]
        for text, got in zip(some, ran(some, directory), strict=True):
            want = expected(plain[text])
            if not agree(text, got, want):
                wrong.append((text, got, want))
    return wrong, len(batch)


@needs_bash
def test_bash_makes_the_same_arguments_of_every_understood_text(tmp_path: Path) -> None:
    texts = turns(10_000, 3_000)
    wrong, understood = disagreements(20261116, texts, tmp_path)
    assert wrong == []
    assert understood > texts // 5


def test_going_where_one_is_changes_nothing() -> None:
    """Agents begin with `cd` to the directory they are in; that is no reason to ask about what follows."""

    def here(path: str) -> bool:
        return path == "/work"

    assert analyse("cd /work && git status", here=here).doubts == ()
    assert analyse("cd /work && ./build && cd /work && git status", here=here).doubts == ()
    for text in ("cd /other && git status", "cd src && cd /work && git status", "cd /work/.. && git status"):
        assert analyse(text, here=here).doubts != (), text


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
