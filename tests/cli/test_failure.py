"""What a verb says that came to nothing: with `--json` the one document, whatever it is that is broken."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.core.errors import CODES
from toolcrib.core.jsontext import parse

VERBS = """
list
list --outdated
list --profiles
list --profile missing
list --session s
list --unknown
show read_file
show missing
check
check missing
policy check
policy explain read_file --input {"path":"a"}
policy explain read_file --input {
policy explain read_file
policy explain missing
policy approvals
policy revoke --all
policy unknown
trust --yes
trust missing
untrust
grant read_file env LANG
grant read_file unknown
grant missing env LANG
approve
approve missing
session new s
session list
session show s
session end s
skill list
skill list --session s
skill show missing
skill use missing --session s
skill lint
artifact list
artifact show missing
audit show
audit verify
audit unknown
stats
stats --tools
doctor
clean
clean --unknown
test
test missing
new executable made
build missing --yes
call read_file --path a
call missing
""".strip().splitlines()
MONTH = time.strftime("%Y-%m.jsonl")


def link_nowhere(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to("nowhere")


FAULTS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda home: None,
    "config.yaml is wrong": lambda home: (home / "config.yaml").write_text("sandbox: ["),
    "config.yaml is a directory": lambda home: (home / "config.yaml").mkdir(),
    "policy.yaml is wrong": lambda home: (home / "policy.yaml").write_text("rules: 1"),
    "trust.json is damaged": lambda home: (home / "trust.json").write_text("{"),
    "trust.json is a directory": lambda home: (home / "trust.json").mkdir(),
    "grants.json is damaged": lambda home: (home / "grants.json").write_text("{"),
    "state.db is damaged": lambda home: (home / "state.db").write_bytes(b"no database" * 400),
    "state.db is a directory": lambda home: (home / "state.db").mkdir(),
    "the month's record is a directory": lambda home: (home / "audit" / MONTH).mkdir(parents=True),
    "the month's record is a link to nowhere": lambda home: link_nowhere(home / "audit" / MONTH),
    "audit is a file": lambda home: (home / "audit").touch(),
    "the home is a file": lambda home: (home.rename(home.with_name("was")), home.touch()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_verb_prints_one_document_whatever_is_broken(cli: Any, home: Path, fault: str) -> None:
    """Also where it could not even begin; and what it says in it is said to a person as well."""
    FAULTS[fault](home)
    for verb in VERBS:
        done = cli(*verb.split(), "--json")
        answer = parse(done.stdout)
        assert "Traceback" not in done.stderr, f"{verb}: {done.stderr}"
        if done.returncode and answer.get("success") is False:
            assert set(answer) == {"success", "data", "error", "metadata"}, verb
            assert answer["error"]["code"] in CODES and answer["error"]["message"], verb


def test_what_was_typed_wrong_is_told_beside_what_would_be_right(cli: Any) -> None:
    done = cli("clean", "--unknown", "--json")
    assert (done.returncode, parse(done.stdout)["error"]["code"]) == (2, "VALIDATION_ERROR")
    assert done.stderr.startswith("usage: toolcrib clean")
    assert done.stderr.endswith("toolcrib clean: unrecognized arguments: --unknown\n")
