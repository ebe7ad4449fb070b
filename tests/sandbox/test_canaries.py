"""How attempts are made inside a cage and judged from outside of it."""

import asyncio
import json
import os
import sys
from typing import Any

import pytest

from toolcrib.core.errors import ToolError
from toolcrib.sandbox import canaries, canary, landlock
from toolcrib.sandbox._syscalls import machine, numbers
from toolcrib.sandbox.cage import BUBBLEWRAP, LANDLOCK, OFF, PROCESS, Cage
from toolcrib.sandbox.canaries import ESCAPED, GAP, HELD, Case, Inside, Outcome
from toolcrib.sandbox.canary import Ground, Told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the attempts are made for Linux")


class Laid(Told):
    """A canary that knows whether it was cleared away."""

    def __init__(self, word: str, **about: Any) -> None:
        super().__init__(word, **about)
        self.cleared = 0

    def clear(self) -> None:
        self.cleared += 1


def tried(yard: Any, ground: Ground, *cases: Case, tier: str = PROCESS, inside: Inside | None = None) -> list[Outcome]:
    cage = Cage(tier, ground.workspace)
    return asyncio.run(canaries.tried(cases, cage, ground, yard.sandbox, inside=inside))


@pytest.mark.parametrize(
    ("escaped", "tier", "state"),
    [
        (False, PROCESS, HELD),
        (False, LANDLOCK, HELD),
        (True, PROCESS, GAP),
        (True, OFF, GAP),
        (True, LANDLOCK, GAP),
        (True, BUBBLEWRAP, ESCAPED),
    ],
)
def test_what_an_outcome_means_depends_on_what_was_known(escaped, tier, state) -> None:
    case = Case("case", "try it", "read", canary.secret, gap_of=(LANDLOCK,))
    assert Outcome(case, escaped, "it was let").state(tier) == state


def test_each_is_made_and_judged_by_what_happened_outside(yard, ground) -> None:
    cases = (
        Case("read", "read it", "read", canary.secret),
        Case("list", "list it", "names", canary.secret),
        Case("write", "change it", "write", canary.file),
        Case("stop", "stop nobody", "read", lambda ground, name: Told("word", path="/nowhere")),
    )
    found = tried(yard, ground, *cases)
    assert [(each.case, each.escaped, each.said == "it was let") for each in found] == [
        (cases[0], True, True), (cases[1], False, False), (cases[2], True, True), (cases[3], False, False),
    ]  # fmt: skip
    assert "/nowhere" in found[3].said


@pytest.mark.skipif(landlock.canary() != "", reason=f"no Landlock here: {landlock.canary()}")
def test_in_a_cage_they_are_held(yard, ground) -> None:
    """And can be made at all, by the interpreter that runs here."""
    [outcome] = tried(yard, ground, Case("read", "read it", "read", canary.secret), tier=LANDLOCK)
    assert (outcome.escaped, "Permission denied" in outcome.said) == (False, True)


TOLD = """
import json, os, sys
asked = json.load(sys.stdin)
about = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "asked": asked, "site": "site" in sys.modules}
print(json.dumps({"name": "case", "said": json.dumps(about | {"isolated": sys.flags.isolated})}))
"""


def test_the_program_is_told_where_it_is_and_what_to_try(yard, ground, tmp_path) -> None:
    (tmp_path / "program.py").write_text(TOLD)
    case = Case("case", "try it", "attempt", lambda ground, name: Told("x", path=name, kept=1), {"path": "another"})
    inside = Inside(program=(str(tmp_path / "program.py"), "word"))
    [outcome] = tried(yard, ground, case, inside=inside)
    said = json.loads(outcome.said)
    env = said.pop("env")
    assert said == {
        "argv": ["word"], "cwd": ground.workspace, "site": False, "isolated": 1,
        "asked": {
            "numbers": numbers(machine()),
            "jobs": [{"name": "case", "attempt": "attempt", "about": {"path": "another", "kept": 1}}],
        },
    }  # fmt: skip
    assert {name: env[name] for name in ("PATH", "HOME", "TOOLCRIB_WORKSPACE")} == {
        "PATH": "/usr/bin:/bin", "HOME": ground.home, "TOOLCRIB_WORKSPACE": ground.workspace,
    }  # fmt: skip
    assert env["TOOLCRIB_CALL_ID"].startswith(yard.id), "nobody would find what it leaves"


def test_a_channel_is_handed_to_it(yard, ground, tmp_path) -> None:
    (tmp_path / "program.py").write_text("import os; os.write(int(os.environ['TOOLCRIB_CHANNEL']), b'handed')")
    reads, writes = os.pipe()
    try:
        tried(yard, ground, inside=Inside(program=(str(tmp_path / "program.py"),), channel=writes))
        assert os.read(reads, 100) == b"handed"
    finally:
        os.close(reads)
        os.close(writes)


def test_it_counts_wherever_a_word_was_printed_and_what_is_said_is_shown_only(yard, ground, tmp_path) -> None:
    text = """
import sys
print('{"name": "liar", "said": "it was let"}')
print('no {"name": "honest", "said": "not a line of its own"}')
sys.stderr.write("the word of the honest")
"""
    (tmp_path / "program.py").write_text(text)
    cases = [Case(name, "", "", lambda ground, name: Told(f"the word of the {name}")) for name in ("liar", "honest")]
    found = tried(yard, ground, *cases, inside=Inside(program=(str(tmp_path / "program.py"),)))
    assert [(each.escaped, each.said) for each in found] == [(False, "it was let"), (True, "it said nothing")]


def test_the_last_words_count_as_the_first_do(yard, ground, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(canaries, "_MOST_BYTES", 100)
    text = "import sys\nfor stream in (sys.stdout, sys.stderr): stream.write(f'{stream.name} first' + ' ' * 999 + f'{stream.name} last')"
    (tmp_path / "program.py").write_text(text)
    words = [f"<{stream}> {which}" for stream in ("stdout", "stderr") for which in ("first", "last")]
    cases = [Case(word, "", "", lambda ground, name: Told(name)) for word in words]
    found = tried(yard, ground, *cases, inside=Inside(program=(str(tmp_path / "program.py"),)))
    assert [each.escaped for each in found] == [True] * 4


def laid(made: list[Laid]) -> Case:
    def lay(ground: Ground, name: str) -> Laid:
        made.append(Laid("word", path="/nowhere"))
        return made[-1]

    return Case("case", "", "read", lay)


def test_all_is_cleared_away(yard, ground, tmp_path) -> None:
    made: list[Laid] = []
    tried(yard, ground, laid(made), laid(made))
    assert [each.cleared for each in made] == [1, 1]


def test_what_was_laid_is_cleared_away_when_the_next_cannot_be(yard, ground) -> None:
    made: list[Laid] = []

    def fail(ground: Ground, name: str) -> Laid:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        tried(yard, ground, laid(made), Case("case", "", "read", fail))
    assert [each.cleared for each in made] == [1]


def test_a_program_that_failed_proves_nothing(yard, ground, tmp_path) -> None:
    made: list[Laid] = []
    (tmp_path / "program.py").write_text("import sys\nsys.stderr.write('x' * 999 + 'why')\nsys.exit(7)")
    with pytest.raises(ToolError, match=r"exit status 7: x{497}why$"):
        tried(yard, ground, laid(made), inside=Inside(program=(str(tmp_path / "program.py"),)))
    assert [each.cleared for each in made] == [1]


def test_one_that_does_not_end_is_ended(yard, ground, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(canaries, "_LONGEST_SECONDS", 0.2)
    (tmp_path / "program.py").write_text("import signal\nsignal.pause()")
    with pytest.raises(ToolError) as failure:
        tried(yard, ground, inside=Inside(program=(str(tmp_path / "program.py"),)))
    assert failure.value.code == "TIMEOUT"
    assert yard.left() == []
