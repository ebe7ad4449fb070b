"""Completion, in the real shells."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.cli import VERBS
from toolcrib.cli.completion import script

Complete = Callable[[str], set[str]]

HOSTILE = """#!/bin/sh
cat <<'END'
{"name": "sly", "description": "x\\n  --injected", "input_schema": {"type": "object", "properties": {
 "$(touch canary)": {"type": "string"}, "; touch canary": {"type": "string"}, "fine": {"type": "string"}}}}
END
"""

BASH = """
source "$3"
toolcrib() { "$python" -m toolcrib "$@"; }
python=$1
IFS=' ' read -r -a COMP_WORDS <<<"$2"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_toolcrib
printf '%s\\n' "${COMPREPLY[@]}"
"""

ZSH = """
compdef() { :; }
_files() { :; }
compadd() { shift; for each in "$@"; do [[ $each == ${PREFIX}* ]] && print -r -- "$each"; done; return 0 }
python=$1
toolcrib() { "$python" -m toolcrib "$@"; }
source "$3"
words=(${(s: :)2})
[[ $2 == *' ' ]] && words+=('')
CURRENT=$#words
PREFIX=$words[CURRENT]
_toolcrib
"""

FISH = """
function toolcrib; $python -m toolcrib $argv; end
set -g python $argv[1]
source $argv[3]
complete -C $argv[2] | string split -f1 \\t
"""


@pytest.fixture(params=["bash", "zsh", "fish"])
def complete(request: pytest.FixtureRequest, workspace: Path, tmp_path: Path, environment: dict[str, str]) -> Complete:
    """What a shell offers for a line."""
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")

    loaded = tmp_path / "completion"
    loaded.write_text(script(shell))

    def run(line: str) -> set[str]:
        arguments = {
            "bash": ["bash", "--norc", "-c", BASH, "bash"],
            "zsh": ["zsh", "-f", "-c", ZSH, "zsh"],
            "fish": ["fish", "--no-config", "-c", FISH],
        }[shell]
        done = subprocess.run(
            [*arguments, sys.executable, line, loaded], cwd=workspace, env=environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=60,
        )  # fmt: skip
        assert done.stderr == ""
        return set(done.stdout.split())

    return run


def test_verbs(complete: Complete) -> None:
    assert complete("toolcrib ") == set(VERBS)
    assert complete("toolcrib un") == {"untrust"}
    assert complete("toolcrib new ") == {"executable", "manifest"}


def test_tools_and_their_flags(complete: Complete, make_tool, repeat: Path, workspace: Path) -> None:
    make_tool("sly", HOSTILE)
    assert complete("toolcrib call re") == {"read_artifact", "read_file", "repeat", "resolve_symbol"}
    assert complete("toolcrib show custom") == {"custom_tool_repeat", "custom_tool_sly"}
    assert complete("toolcrib call repeat --t") == {"--tags", "--timeout"}
    assert complete("toolcrib call sly --f") == {"--fine"}
    assert complete("toolcrib call sly --in") == {"--input"}
    assert complete("toolcrib check --") == {"--help", "--json", "--profile", "--verbs"}
    assert not (workspace / "canary").exists() and not (workspace / "ran").exists()


def test_profiles(complete: Complete, home: Path, workspace: Path) -> None:
    for place in (home / "profiles", workspace / ".toolcrib" / "profiles"):
        place.mkdir(parents=True)
    for name in ("reviewer", "reader", "$(touch canary)", "a b"):
        (home / "profiles" / f"{name}.yaml").write_text("")
    (workspace / ".toolcrib" / "profiles" / "untrusted.yaml").write_text("")
    assert complete("toolcrib list --profile ") == {"reviewer", "reader"}
    assert complete("toolcrib call --profile rev") == {"reviewer"}
    assert complete("toolcrib serve mcp --profile r") == {"reviewer", "reader"}
    assert not (workspace / "canary").exists()


def test_bash_really_uses_it(run_cli) -> None:
    """`complete -p` knows both commands."""
    printed = run_cli("completion", "bash").stdout
    done = subprocess.run(
        ["bash", "--norc", "-c", printed + "\ncomplete -p toolcrib crib"], capture_output=True, text=True
    )
    assert done.stdout.count("-F _toolcrib") == 2
    assert run_cli("completion", "tcsh").returncode == 2
