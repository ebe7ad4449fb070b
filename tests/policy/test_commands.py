"""Patterns of commands: what they cover, what they touch, and what is offered to be remembered."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.policy.argv import unwrap
from toolcrib.policy.commands import Pattern, candidates, exactly, offered
from toolcrib.policy.programs import hazards
from toolcrib.policy.shell import Script, analyse, analyse_argv

from .command_cases import ASK, BENIGN, BLOCKED, CASES, PRE_APPROVED, REFUSED, SPARED, Case, Command


def script_of(command: Command) -> Script:
    return analyse(command) if isinstance(command, str) else analyse_argv(command)


def judged(case: Case) -> str:
    """The whole decision, made of the public parts."""
    script = script_of(case.command)
    blocked = [Pattern.parse(text) for text in case.blocked]
    if any(pattern.touches(words) for words in candidates(script) for pattern in blocked):
        return BLOCKED
    if script.refusal:
        return REFUSED
    seen = [unwrap(part) for part in script.parts]
    if script.doubts or any(each.doubts for each in seen):
        return ASK
    allowed = [Pattern.parse(text) for text in case.allowed]
    leaves = [leaf for each in seen for leaf in each.leaves]
    return PRE_APPROVED if all(any(p.covers(leaf) for p in allowed) for leaf in leaves) else ASK


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}: {case.command!r:.80}")
def test_case(case: Case) -> None:
    assert judged(case) == case.expected


def test_there_are_enough_cases() -> None:
    assert len(CASES) == len(set(CASES))
    assert sum(case.expected in (ASK, REFUSED) for case in CASES) > 330
    assert len(BENIGN) > 60


@pytest.mark.parametrize(("blocked", "command"), SPARED)
def test_a_rule_that_tightens_spares_what_it_does_not_mean(blocked: tuple[str, ...], command: Command) -> None:
    found = candidates(script_of(command))
    assert not any(Pattern.parse(text).touches(words) for text in blocked for words in found)


TEXTS = [
    ("git status", "git status"),
    ("git ", "git"),
    ("git", "git"),
    ("  git\t status ...", "git status"),
    ("git status $", "git status $"),
    ("git status|log|diff", "git status|log|diff"),
    ("npm run *", "npm run *"),
    ("pytest -q", "pytest -q"),
    ("git push --force origin", "git push --force origin"),
    ("rm -f -r", "rm -f -r"),
    ("foo --*", "foo --*"),
    ("foo 'a|b' \"c d\" '$' '*' ''", "foo 'a|b' 'c d' '$' '*' ''"),
    ('foo it"\'"s', "foo 'it'\"'\"'s'"),
    ("python -m pytest", "python -m pytest"),
    ("ls|cat", "ls|cat"),
    ("foo 'a\nb'", "foo 'a\nb'"),
]


@pytest.mark.parametrize(("text", "canonical"), TEXTS)
def test_a_pattern_has_one_canonical_text(text: str, canonical: str) -> None:
    pattern = Pattern.parse(text)
    assert str(pattern) == canonical
    assert Pattern.parse(canonical) == pattern


WRONG = [
    "",
    " ",
    "$",
    "...",
    "*",
    "-x",
    "A=b git",
    "git st*",
    "git [a]",
    "git $X",
    "git `x`",
    "a; b",
    "a && b",
    "a > b",
    "a & b",
    "(a)",
    "git 'x",
    'git "x',
    "git a||b",
    "git |a",
    "git -a|-b",
    "git a\\b",
    "git\r",
    "git \x1b",
    "'' a",
    "a{b,c}",
    "git 'a'|b",
    "git \ud800",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_pattern_says_what_is_wrong(text: str) -> None:
    with pytest.raises(ValueError, match=r"command pattern|quote"):
        Pattern.parse(text)


COVERED = [
    ("git status", "git status"),
    ("git status", "git status -s src"),
    ("git status $", "git status"),
    ("git", "git log --oneline"),
    ("git status|log", "git log"),
    ("npm run *", "npm run build"),
    ("git push --force", "git push --force origin main"),
    ("git push --force", "git push origin main"),
    ("git push -f", "git push -fu origin main"),
    ("rm -rf", "rm -r -f a"),
    ("rm -rf", "rm -fr a"),
    ("rm -r", "rm -rv a"),
    ("git --no-pager log", "git --no-pager log -5"),
    ("git -C sub status", "git -C sub status"),
    ("python -m pytest", "python -m pytest -q tests"),
    ("python tools/gen.py", "python tools/gen.py a b"),
    ("foo --bar", "foo x --bar=5"),
    ("foo --bar=5", "foo --bar=5"),
    ("foo -n", "foo -n 5"),
    ("foo --*", "foo -x --y z"),
    ("/usr/bin/git status", "/usr/bin/git status -s"),
    ("pytest --*", "pytest --snapshot-update"),
    ("uv run pytest", "uv run pytest -q"),
    ("git bisect run", "git bisect run make"),
    ("sed -i", "sed -i s/a/b/ a"),
    ("./run.sh", "./run.sh a"),
    ("cargo test --nocapture", "cargo test -- --nocapture"),
    ("tar -x -C", "tar xf a.tar -C sub"),
    ("npm run x --y", "npm run x -- --y"),
]


@pytest.mark.parametrize(("pattern", "line"), COVERED)
def test_covers(pattern: str, line: str) -> None:
    assert Pattern.parse(pattern).covers(line.split())


NOT_COVERED = [
    ("git status", "git"),
    ("git status", "git statusx"),
    ("git status $", "git status -s"),
    ("git status $", "git status x"),
    ("git log", "git --no-pager log"),
    ("git --no-pager log", "git log"),
    ("git -C sub status", "git -C other status"),
    ("git -C sub status", "git -C sub -C other status"),
    ("npm run *", "npm run -x"),
    ("npm run *", "npm run"),
    ("rm -r", "rm -rf a"),
    ("git push --force", "git push --mirror"),
    ("git push --force", "git push --forc"),
    ("git", "/usr/bin/git status"),
    ("/usr/bin/git status", "git status"),
    ("python -m pytest", "python pytest"),
    ("python -m pytest", "python -m pytest -p evil"),
    ("python -m pytest", "python -m pip install x"),
    ("python", "python a.py"),
    ("python", "python"),
    ("python -c", "python -c 1"),
    ("bash", "bash a.sh"),
    ("python tools/gen.py", "python tools/gen.py --out=x"),
    ("foo --bar=5", "foo --bar=6"),
    ("foo --bar", "foo --barx"),
    ("foo -n", "foo -n5"),
    ("foo", "foo -- --bar"),
    ("pytest --*", "pytest -p evil"),
    ("git --*", "git -c a=b log"),
    ("sort --*", "sort -o canary a"),
    ("sort -n", "sort -no canary a"),
    ("find --*", "find . -exec rm {} ;"),
    ("uv run", "uv run rm a"),
    ("uv run pytest", "uv run pytest -p evil"),
    ("git bisect", "git bisect run make"),
    ("sed -i", "sed -i 1w_canary a"),
    ("tar -x", "tar xf a.tar -C /"),
    ("sort --*", "sort --outp=canary a"),
    ("go --*", "go test --exec=evil"),
    ("python --*", "python -cprint"),
    ("npm --*", "npm run x -- --y"),
    ("npm run x", "npm run x -- --json"),
]


@pytest.mark.parametrize(("pattern", "line"), NOT_COVERED)
def test_does_not_cover(pattern: str, line: str) -> None:
    assert not Pattern.parse(pattern).covers(line.split())


def test_options_can_be_added_but_not_to_an_exact_command() -> None:
    assert Pattern.parse("rm").allowing(frozenset(("-r", "-f"))).covers(["rm", "-rf", "a"])
    assert str(Pattern.parse("rm").allowing(frozenset("*"))) == "rm --*"
    with pytest.raises(ValueError, match="exact"):
        Pattern.parse("rm a $").allowing(frozenset(("-r",)))


OFFERED = [
    ("git status", "git status"),
    ("git log --oneline -5", "git log"),
    ("git --no-pager log -5", "git --no-pager log"),
    ("git stash list", "git stash list"),
    ("npm run build", "npm run build"),
    ("npm test", "npm test"),
    ("ls -la src", "ls"),
    ("grep -rn x src", "grep"),
    ("pytest -q tests", "pytest"),
    ("pytest --snapshot-update", "pytest --snapshot-update"),
    ("cargo test -p core", "cargo test"),
    ("docker ps -a", "docker ps"),
    ("docker compose ps", "docker compose ps"),
    ("go mod tidy", "go mod tidy"),
    ("gh pr view 12", "gh pr view"),
    ("kubectl get pods", "kubectl get"),
    ("find . -name x", "find"),
    ("sed -n 1,5p a", "sed"),
]


@pytest.mark.parametrize(("line", "pattern"), OFFERED)
def test_what_is_offered_to_be_remembered(line: str, pattern: str) -> None:
    found = offered(line.split())
    assert str(found) == pattern
    assert found is not None and found.covers(line.split())


NEVER = """python -c 1|python a.py|python3 -m pytest|bash -c ls|sh a.sh|node -e 1|perl -e 1|ruby a.rb|awk {print}|git|git --version|git -c a=b log|git foo
git log --output=x|git push|git push --force|git clone x|git commit --no-verify|rm a|rm -rf a|mv a b|cp a b|chmod 755 a|curl https://a.example|wget x|ssh host|scp a b
foo|foo bar|foo --x|./run.sh|/usr/bin/foo a|sudo ls|env A=b ls|xargs ls|timeout 5 ls|nice ls|find . -exec rm|find . -delete|sed -i s/a/b/ a|sort -o a b|make test|make A=b
docker run x|docker exec x y|npm install x|npx x|uv run pytest|pip install x|tar xf a|tar cf a b|dd if=a|kill 1|tee a|vim a|sqlite3 a.db|npm run x -- --y|uniq a b"""


@pytest.mark.parametrize("line", NEVER.replace("\n", "|").split("|"))
def test_what_is_never_offered_widely(line: str) -> None:
    assert offered(line.split()) is None


def test_hazards_are_told_to_a_person() -> None:
    assert hazards(["git", "-c", "a=b", "log"]) == ("git -c is not known to be harmless",)
    assert hazards(["git", "-c", "a=b", "log"], frozenset(("-c",))) == ()
    assert hazards(["foo", "--x=1"]) == ("foo --x=1 is not known to be harmless",)
    assert hazards(["git", "foo"]) == ("git foo is not known to be harmless",)
    assert hazards(["ls", "-la"]) == ()
    assert hazards([]) == ()


PROGRAMS = st.sampled_from(
    [
        "git",
        "ls",
        "rm",
        "find",
        "sed",
        "tar",
        "npm",
        "uv",
        "python",
        "foo",
        "./x",
        "sort",
        "make",
        "awk",
        "docker",
        "pytest",
        "bash",
        "env",
        "sudo",
        "sqlite3",
        "curl",
    ]
)
WORDS = st.sampled_from(
    [
        "status",
        "log",
        "push",
        "run",
        "test",
        "-x",
        "-rf",
        "-n",
        "5",
        "--force",
        "--output=x",
        "-c",
        "-o",
        "--",
        "-",
        "a|b",
        "*",
        "$",
        "...",
        ";",
        "-exec",
        "{}",
        "+x",
        "@x",
        "s/a/b/",
        "w",
        "A=b",
        "--*",
        "''",
        "it's",
        ".",
    ]
) | st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6)
ARGV = st.builds(lambda program, words: [program, *words], PROGRAMS, st.lists(WORDS, max_size=6))
PATTERNS = st.builds(
    lambda argv, kept, options, rest: (
        exactly(argv[: max(kept, 1)])
        if not rest
        else Pattern.parse(str(exactly(argv[: max(kept, 1)])).removesuffix("$")).allowing(options)
    ),
    ARGV,
    st.integers(1, 4),
    st.frozensets(st.sampled_from(["-x", "--force", "-rf", "*", "-n"]), max_size=2),
    st.booleans(),
)


@given(PATTERNS)
def test_text_keeps_a_pattern(pattern: Pattern) -> None:
    assert Pattern.parse(str(pattern)) == pattern


@given(ARGV, st.integers(1, 4))
def test_what_is_covered_is_touched(argv: list[str], kept: int) -> None:
    """A rule of the same words cannot loosen for a command and be blind to it when it tightens."""
    pattern = Pattern.parse(str(exactly(argv[:kept])).removesuffix("$"))
    bare = Pattern(pattern.words)
    assert bare.covers(argv) <= bare.touches(argv)


@given(ARGV, ARGV)
def test_an_exact_pattern_covers_this_command_and_no_other(argv: list[str], other: list[str]) -> None:
    assert exactly(argv).covers(argv)
    assert exactly(argv).covers(other) == (argv == other)
    assert not exactly(argv).covers([*argv, "x"])
    assert Pattern.parse(str(exactly(argv))).covers(argv)


@given(ARGV)
def test_what_is_offered_covers_what_it_was_offered_for(argv: list[str]) -> None:
    found = offered(argv)
    assert found is None or (found.covers(argv) and Pattern.parse(str(found)) == found)


@given(st.lists(st.text(max_size=8), max_size=6), st.frozensets(st.text(max_size=4), max_size=3))
def test_hazards_of_any_words(argv: list[str], named: frozenset[str]) -> None:
    """Naming more options never adds a hazard."""
    assert set(hazards(argv, named)) <= set(hazards(argv))


@pytest.mark.parametrize(
    "word",
    [
        " " * 30_000 + "w",
        "1" * 30_000,
        "s/" + "a" * 30_000,
        "[" * 30_000,
        ";" * 30_000,
        "p;" * 15_000 + "w",
        "{ print " + '"a" ' * 7_000 + ">",
        "select " + " " * 30_000 + ";x",
    ],
)
@pytest.mark.parametrize("program", ["sed", "awk", "jq", "sqlite3 a.db", "git", "foo", "curl"])
def test_long_operands_are_judged_soon(program: str, word: str) -> None:
    began = time.thread_time()
    hazards([*program.split(), word])
    assert time.thread_time() - began < 1


@pytest.mark.parametrize("program", ["sed", "awk", "sqlite3 a.db"])
def test_code_that_is_not_recognised_is_a_hazard(program: str) -> None:
    assert hazards([*program.split(), "\x01"])


HARMLESS_CODE = [
    ("sed", "-n", "5p"), ("sed", "-n", "5,10p;11q"), ("sed", "-n", "/a b/,/c/p"), ("sed", "1d"), ("sed", "$d"), ("sed", "/^$/d"), ("sed", "-n", "$="),
    ("sed", "s/a/b/2g"), ("sed", "s|/a|/b|"), ("sed", "s/[[:space:]]*$//"), ("sed", "s/\\//x/"), ("sed", "-e", "s/a/b/", "-e", "2p"), ("sed", "y/abc/xyz/"), ("sed", "/a/!d"), ("sed", "2,+3p"),
    ("awk", "{print}"), ("awk", "{ print $1,$NF }"), ("awk", "NR==5"), ("awk", "NR==2 {print $1 \" \" $2}"), ("awk", "/x/"), ("awk", "-F,", "{print $(NF-1)}"),
    ("sqlite3", "-readonly", "a.db", "select count(*) from t"), ("jq", ".a[0] | {b: .c}"),
]  # fmt: skip


@pytest.mark.parametrize("argv", HARMLESS_CODE, ids=" ".join)
def test_small_scripts_are_recognised(argv: tuple[str, ...]) -> None:
    assert hazards(argv) == ()
