"""What a tool declares, it has once a person who saw that said yes to this very version of it; and not before."""

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.core.call import Result
from toolcrib.core.policy import Answer, Question
from toolcrib.policy.approvers import Standing
from toolcrib.runtime.runtime import Crib
from toolcrib.store.home import Home
from toolcrib.store.state import State

SECRET, COLOUR = "tc-declared-secret-4711", "aquamarine"
PROGRAM = """#!/bin/sh
case $1 in
  description) echo '{"name": "wants", "description": "Says what it has.", "input_schema": {"type": "object"}}' ;;
  config) echo 'ASKS' ;;
  *) echo "${COLOUR-no colour}, ${#API_KEY} letters"; printf '%s\\n' "$API_KEY" >&2 ;;
esac
"""
ASKS: dict[str, Any] = {"env": ["COLOUR"], "secrets": ["API_KEY"]}
NOTHING, EVERYTHING = "no colour, 0 letters\n", f"{COLOUR}, {len(SECRET)} letters\n"
RULE = "approval: {tools: {custom_tool_wants: preApproved}}\n"
BLIND = toolcrib.SaysYes("client", blind=True)


class Person:
    """Says yes, for as long as it is told to, and remembers what it was shown."""

    def __init__(self, scope: str = "once", *, allowed: bool = True) -> None:
        self.scope, self.allowed = scope, allowed
        self.blind = False
        self.shown: list[Any] = []

    async def approve(self, question: Question) -> Answer:
        self.shown.append(getattr(question, "request", None))
        return Standing(self.allowed, "person", scope=self.scope)


class Place:
    def __init__(self, home: Path, workspace: Path, kind: str) -> None:
        self.home, self.workspace, self.kind = home, workspace, kind

    def declare(self, asks: dict[str, Any] = ASKS, *, more: str = "") -> None:
        program = PROGRAM.replace("ASKS", json.dumps(asks)) + more
        path = self.home / "tools" / "wants"
        if self.kind == "manifest":
            path.mkdir(parents=True, exist_ok=True)
            head = {"name": "wants", "description": "Says what it has.", "version": "1.0.0", "entrypoint": "run"}
            (path / "tool.yaml").write_text(json.dumps(head | asks))
            path = path / "run"
        path.parent.mkdir(exist_ok=True)
        path.write_text(program)
        path.chmod(0o755)

    def configure(self, text: str) -> None:
        (self.home / "config.yaml").write_text(text)

    def use(self, what: Callable[[Crib], Any], approver: Any) -> Any:
        async def main() -> Any:
            async with toolcrib.open(workspace=self.workspace, home=self.home, approver=approver) as crib:
                return await what(crib)

        return asyncio.run(main())

    def call(self, approver: Any = None, **how: Any) -> Result:
        result: Result = self.use(lambda crib: crib.call("custom_tool_wants", {}, **how), approver)
        return result


@pytest.fixture(params=["executable", "manifest"])
def place(request: pytest.FixtureRequest, home: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("COLOUR", COLOUR)
    monkeypatch.setenv("API_KEY", SECRET)
    return Place(home, workspace, request.param)


def test_a_yes_gives_what_was_shown_and_no_output_has_the_secret(place: Place) -> None:
    """A39, K50"""
    place.declare()
    person = Person()
    result = place.call(person)
    assert (result.error, result.data) == (None, EVERYTHING)
    assert result.metadata["stderr"] == "[redacted:API_KEY]\n"
    (request,) = person.shown
    assert "COLOUR" in request.variables and request.secrets == ("API_KEY",)
    assert request.declared == ("to see the variables COLOUR", "to have the secrets API_KEY")
    files = [each for each in place.home.rglob("*") if each.is_file()]
    assert not [each for each in files if SECRET.encode() in each.read_bytes()]


def test_a_variable_whose_name_says_that_it_is_a_secret_is_hidden_too(place: Place) -> None:
    place.declare({"env": ["API_KEY"]})
    assert place.call(Person()).metadata["stderr"] == "[redacted:API_KEY]\n"


def test_a_rule_that_asks_nobody_gives_nothing(place: Place) -> None:
    place.declare()
    place.configure(RULE)
    assert place.call().data == NOTHING


def test_what_was_withheld_from_a_tool_that_fails_is_said(place: Place) -> None:
    place.declare(more='case "$1" in run|"") exit 3 ;; esac\n')
    assert "denied" not in place.call(Person()).metadata
    place.configure(RULE)
    result = place.call()
    assert (result.error and result.error.code, result.metadata["denied"]) == (
        "EXECUTION_ERROR",
        [
            {
                "what": "env",
                "message": "custom_tool_wants declares COLOUR, API_KEY, and nobody allowed this version to see that; "
                "the user can",
                "command": "toolcrib grant custom_tool_wants env COLOUR API_KEY",
            }
        ],
    )
    place.configure(RULE + "tools: {custom_tool_wants: {env: [COLOUR], secrets: [API_KEY]}}\n")
    result = place.call()
    assert "denied" not in result.metadata and result.error.details["stdout"] == EVERYTHING


def test_a_client_that_asks_by_itself_does_not_show_it_and_so_gives_nothing(place: Place) -> None:
    place.declare()
    assert place.call(BLIND).data == NOTHING


@pytest.mark.parametrize("later", ["rule", "client"])
def test_a_lasting_yes_to_this_version_counts_there_as_well_until_it_is_taken_back(place: Place, later: str) -> None:
    place.declare()
    assert place.call(Person("user")).data == EVERYTHING
    place.configure(RULE if later == "rule" else "{}\n")
    assert place.call(BLIND).data == EVERYTHING
    State(Home(place.home)).revoke()
    assert place.call(BLIND).data == NOTHING


def test_a_yes_for_once_does_not_outlive_the_crib(place: Place) -> None:
    place.declare()
    assert place.call(Person()).data == EVERYTHING
    assert place.call(BLIND).data == NOTHING


def test_no_gives_nothing_for_later(place: Place) -> None:
    place.declare()
    assert place.call(Person("user", allowed=False)).error is not None
    assert place.call(BLIND).data == NOTHING


def test_another_version_has_nothing_of_it(place: Place) -> None:
    """I3: also when it is the program that changed, and what it declares is the same."""
    place.declare({"env": ["COLOUR"]})
    assert place.call(Person("user")).data == f"{COLOUR}, 0 letters\n"
    place.configure(RULE)
    assert place.call().data == f"{COLOUR}, 0 letters\n"
    place.declare()
    assert place.call().data == NOTHING
    place.declare({"env": ["COLOUR"]}, more="# changed\n")
    assert place.call().data == NOTHING


def test_a_yes_to_a_dry_run_is_none(place: Place) -> None:
    place.declare()
    person = Person()

    async def calls(crib: Crib) -> list[Any]:
        person.blind = False
        dry = await crib.call("custom_tool_wants", {}, dry_run=True)
        person.blind = True
        after = await crib.call("custom_tool_wants", {})
        person.blind = False
        seen = await crib.call("custom_tool_wants", {})
        person.blind = True
        return [dry.error, after.data, seen.data, (await crib.call("custom_tool_wants", {})).data]

    assert place.use(calls, person) == [None, NOTHING, EVERYTHING, NOTHING], "the last answer counts"
    assert len(person.shown) == 4


def test_what_is_not_set_is_not_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.declare()
    monkeypatch.delenv("API_KEY")
    assert place.call(Person()).data == f"{COLOUR}, 0 letters\n"


@pytest.mark.parametrize("key", ["env", "secrets"])
@pytest.mark.parametrize(
    "value", [["TOOLCRIB_HOME"], ["A B"], ["A=B"], [""], [7], "COLOUR", True, ["X" * 129], [f"V{n}" for n in range(65)]]
)
def test_what_cannot_be_asked_for_is_said(home: Path, workspace: Path, key: str, value: Any) -> None:
    place = Place(home, workspace, "executable")
    place.declare({key: value})
    found = place.use(lambda crib: asyncio.sleep(0, crib.problems()), None)
    assert [(each.code, f"`config`: {key}: " in each.message) for each in found] == [("VALIDATION_ERROR", True)]


@pytest.mark.confined
@pytest.mark.parametrize("approver", [None, BLIND], ids=["a rule", "a client"])
def test_the_same_holds_for_the_network_and_for_files(
    home: Path, workspace: Path, tmp_path: Path, approver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Canaries: who connected, and what was written."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        tries = f"echo x > {tmp_path}/data/written; (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo connected"
        program = PROGRAM.replace("#!/bin/sh", "#!/bin/bash").replace(
            "ASKS", '{"network": true, "files": {"rw": ["~/data"]}}'
        )
        path = home / "tools" / "wants"
        path.parent.mkdir()
        path.write_text(program.replace("  *) ", f"  *) {tries}; "))
        path.chmod(0o755)
        place = Place(home, workspace, "executable")
        place.configure(RULE)
        found = place.call(approver)
        if found.metadata["sandbox"] == "process":
            pytest.skip("nothing confines here")
        with pytest.raises(BlockingIOError):
            server.accept()
        assert not (tmp_path / "data" / "written").exists() and "connected" not in str(found.data)
        place.configure("{}\n")
        assert str(place.call(Person()).data).startswith("connected")
        server.accept()[0].close()
        assert (tmp_path / "data" / "written").exists()
