"""Folders with a `tool.yaml` as tools, looked at and called through a crib as anybody would."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

import toolcrib
from toolcrib.backends.folder import read_folder
from toolcrib.sources.executable import Settings
from toolcrib.sources.manifest import ManifestSource

from .folders import ECHO, manifest, put

EVERYTHING = [
    {"name": "since", "type": "string", "required": True, "description": "The first day"},
    {"name": "limit", "type": "number", "required": False},
    {"name": "merges", "type": "boolean"},
]


def call(shelf, name: str, args: dict | None = None) -> toolcrib.Result:
    return shelf.opened(lambda crib: crib.call(name, args))


def echoed(shelf, args: dict) -> dict:
    return json.loads(call(shelf, "custom_tool_one", args).data)


# What is offered


def test_a_folder_is_a_tool(shelf) -> None:
    """F2, F3, F11 to F17, F29, F38: what the file says is what is offered, beside the programs."""
    folder = put(shelf.user_tools / "one", parameters=EVERYTHING, usage="First this.\nThen that.\n")
    shelf.tool("two")
    assert shelf.opened() == ["custom_tool_one", "custom_tool_two"]
    tool = shelf.opened(lambda crib: crib.find("one"))
    assert (tool.source, tool.origin, tool.version) == ("manifest", str(folder / "tool.yaml"), "1.2.3")
    assert tool.description == "Is one.\n\nUsage:\nFirst this.\nThen that."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "since": {"type": "string", "description": "The first day"},
            "limit": {"type": "number"},
            "merges": {"type": "boolean"},
        },
        "required": ["since"],
        "additionalProperties": False,
    }
    assert tool.digest == tool.backend.digest() == read_folder(str(folder)).digest
    assert (len(tool), len(tool.backend)) == (len(tool._fields), len(tool.backend._fields))


def test_a_folder_without_a_manifest_is_none(shelf) -> None:
    (shelf.user_tools / "notes").mkdir(parents=True)
    assert (shelf.opened(), shelf.problems()) == ([], {})


def test_a_broken_folder_takes_nothing_with_it(shelf) -> None:
    """F29, F30."""
    put(shelf.user_tools / "bad", version="one")
    put(shelf.user_tools / "gone", entrypoint="bin/gone")
    put(shelf.user_tools / "good")
    (put(shelf.user_tools / "source") / "run.sh").chmod(0o644)
    assert shelf.opened() == ["custom_tool_good"]
    problems = shelf.opened(lambda crib: {Path(p.origin).parent.name: (p.code, p.message) for p in crib.problems()})
    assert {name: code for name, (code, _) in problems.items()} == {
        "bad": "CONFIG_INVALID",
        "gone": "FILE_NOT_FOUND",
        "source": "EXECUTION_ERROR",
    }
    assert all(message.startswith("line ") for _, message in problems.values())


def test_a_compiled_program_is_there_on_the_next_turn(shelf) -> None:
    """F14, F28, F30: offered when what the entrypoint names is there and can be executed, and no longer than that."""
    folder = put(shelf.user_tools / "one", entrypoint="one")

    async def turns(crib: toolcrib.Crib) -> list[int]:
        seen = [len(crib.tools())]
        for change in (
            lambda: shutil.copy(folder / "run.sh", folder / "one"),
            lambda: (folder / "one").chmod(0o644),
            lambda: (folder / "one").chmod(0o755),
            lambda: shutil.rmtree(folder),
        ):
            change()
            await crib.refresh()
            seen.append(len(crib.tools()))
        return seen

    assert shelf.opened(turns) == [0, 1, 0, 1, 0]


def test_a_program_and_a_folder_of_one_name_are_a_conflict(shelf) -> None:
    put(shelf.user_tools / "one")
    shelf.tool("other", name="one")
    assert shelf.opened() == []
    assert shelf.opened(lambda crib: crib.call("custom_tool_one")).error.code == "TOOL_NAME_CONFLICT"


def test_the_directory_of_forge_is_read_when_it_is_named(shelf, tmp_path, monkeypatch) -> None:
    """F2: and a program that lies there is not started to be described."""
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / ".forge" / "tools" / "one", script='echo "$FORGE_WORKSPACE"')
    program = tmp_path / ".forge" / "tools" / "loose"
    program.write_text(f"#!/bin/sh\n: > {tmp_path}/canary\n")
    program.chmod(0o755)
    assert shelf.opened() == []
    (shelf.home / "config.yaml").write_text("toolsets: {}\ncompat: [forge]\n")
    assert (shelf.opened(), shelf.problems()) == (["custom_tool_one"], {})
    assert call(shelf, "custom_tool_one").data == f"{shelf.project}\n"
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize(("written", "seconds"), [("5s", 5), (5, 5), ("2h", 7200)])
def test_a_wish_for_time_is_heard_and_the_user_wins(shelf, written, seconds) -> None:
    """F54: one that takes long says so."""
    put(shelf.user_tools / "one", limits={"timeout": written, "output": "1k"})
    assert shelf.one().limits.seconds == seconds
    assert shelf.one().limits.output_bytes == 1024
    (shelf.home / "config.yaml").write_text("toolsets: {}\ntools: {custom_tool_one: {timeout: 7s}}\n")
    assert shelf.one().limits.seconds == 7


def test_claims_are_claims(shelf) -> None:
    put(shelf.user_tools / "one", capabilities=["writes_files"], network=["api.example.com"])
    claims = shelf.one().capabilities
    assert (claims.writes_files, claims.accesses_network, claims.executes_commands) == (True, True, True)
    assert shelf.opened(lambda crib: crib.verdict(crib.find("one")).decision.wire) == "ask"


def test_what_it_asks_for_it_has_once_somebody_said_yes(shelf, monkeypatch) -> None:
    """F33 otherwise: of the user's environment it sees what it names, and no more. See tests/runtime/test_declared.py."""
    monkeypatch.setenv("COLOUR", "blue")
    monkeypatch.setenv("API_KEY", "sesame")
    put(shelf.user_tools / "one", script=ECHO, env={"COLOUR": "what to paint with"}, secrets=["API_KEY"], network=True)
    monkeypatch.setenv("OTHER", "not asked for")
    assert "OTHER" not in (env := echoed(shelf, {})["env"])
    assert (env["COLOUR"], env["API_KEY"]) == ("blue", "[redacted:API_KEY]")
    assert shelf.one().backend.wishes == (("COLOUR",), ("API_KEY",), ("*",), (), (), ())


# How it is called


def test_what_it_is_started_with(shelf, home) -> None:
    """F18, F19, F22."""
    folder = put(shelf.user_tools / "one", script=ECHO, parameters=EVERYTHING)
    said = echoed(shelf, {"merges": True, "limit": 1.0, "since": "2024-01-01"})
    copy = f"{home}/cache/programs/{read_folder(str(folder)).digest.removeprefix('sha256:')}/one"
    assert said["argv"] == ["--since=2024-01-01", "--limit=1.0", "--merges=true"]
    assert (said["stdin"], said["cwd"]) == ("", str(shelf.project))
    own = {name: value for name, value in said["env"].items() if name in ("FORGE_WORKSPACE", "TOOLCRIB_TOOL_DIR")}
    assert own == {"FORGE_WORKSPACE": str(shelf.project), "TOOLCRIB_TOOL_DIR": copy}
    allowed = {"PATH", "HOME", "USER", "TMPDIR", "LC_CTYPE", "FORGE_WORKSPACE"}
    assert {name for name in said["env"] if not name.startswith("TOOLCRIB_")} <= allowed


@pytest.mark.parametrize(
    ("args", "word"),
    [
        ({}, "since"),
        ({"since": 5}, "string"),
        ({"since": "x", "limit": "5"}, "number"),
        ({"since": "x", "merges": "true"}, "boolean"),
        ({"since": "x", "other": 1}, "other"),
        ({"since": "a\0b"}, "NUL"),
        ({"since": "x" * 140_000}, "131072"),
    ],
)
def test_wrong_arguments_start_nothing(shelf, tmp_path, args, word) -> None:
    """F46: nothing is coerced, nothing unknown is passed on, and nobody is asked first."""
    put(shelf.user_tools / "one", script=f": > {tmp_path}/canary", parameters=EVERYTHING)
    result = call(shelf, "custom_tool_one", args)
    assert result.error.code == "VALIDATION_ERROR"
    assert word in str(result.error.details)
    assert not (tmp_path / "canary").exists()


def test_a_full_schema_passes_nested_values_as_json(shelf) -> None:
    schema = {"type": "object", "properties": {"where": {"type": "object"}, "tags": {"type": "array"}, "x": {}}}
    put(shelf.user_tools / "one", script=ECHO, input_schema=schema)
    said = echoed(shelf, {"tags": ["a b", 1], "where": {"k": {"é": None}}, "x": None})
    assert said["argv"] == ['--where={"k":{"é":null}}', '--tags=["a b",1]', "--x=null"]
    refused = call(shelf, "custom_tool_one", {"other": 1})
    assert refused.error.code == "VALIDATION_ERROR"


def test_stdout_stderr_and_the_exit_status_come_back(shelf) -> None:
    """F21, F39."""
    put(shelf.user_tools / "one", script="echo out; echo err >&2; exit 3")
    error = call(shelf, "custom_tool_one").error
    assert error.code == "EXECUTION_ERROR"
    assert error.details == {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}


def test_one_that_takes_too_long_is_ended(shelf) -> None:
    """F39."""
    put(shelf.user_tools / "one", script="sleep 60", limits={"timeout": "300ms"})
    assert call(shelf, "custom_tool_one").error.code == "TIMEOUT"


@pytest.mark.parametrize("file", ["run.sh", "lib/words.sh", "tool.yaml"])
def test_each_file_is_a_part_of_the_tool(shelf, file) -> None:
    """F45: shell scripts, with others beside them."""
    folder = put(
        shelf.user_tools / "one", script='. "$(dirname "$0")/lib/words.sh"', more={"lib/words.sh": "echo lib\n"}
    )

    async def changed(crib: toolcrib.Crib) -> list[str]:
        said = [(await crib.call("custom_tool_one")).data]
        with (folder / file).open("a") as text:
            text.write("# more\n")
        said.append((await crib.call("custom_tool_one")).error.code)
        await crib.refresh()
        return [*said, (await crib.call("custom_tool_one")).data]

    assert shelf.opened(changed) == ["lib\n", "TOOL_PIN_MISMATCH", "lib\n"]


def test_what_changes_by_itself_is_no_part_of_it(shelf) -> None:
    folder = put(shelf.user_tools / "one", script='ls -A "$TOOLCRIB_TOOL_DIR"')
    before = shelf.one().digest
    for name in ("__pycache__/x.pyc", ".git/index"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("changes")
    assert shelf.one().digest == before
    assert call(shelf, "custom_tool_one").data.split() == ["run.sh", "tool.yaml"]


def test_who_is_asked_sees_what_would_run(shelf) -> None:
    folder = put(shelf.user_tools / "one")

    class Curious:
        async def approve(self, question):
            self.seen = (question.tool.origin, question.tool.backend.program)
            return toolcrib.Answer(allowed=False, by="test")

    async def visit() -> tuple[str, str]:
        curious = Curious()
        async with toolcrib.open(workspace=shelf.project, home=shelf.home, approver=curious) as crib:
            assert (await crib.call("custom_tool_one")).error.code == "APPROVAL_DENIED"
        return curious.seen

    assert asyncio.run(visit()) == (str(folder / "tool.yaml"), str(folder / "run.sh"))


# Looking again


def source(directory: Path, kept: dict, **more) -> ManifestSource:
    return ManifestSource(str(directory), Settings(), (kept.get, kept.__setitem__), "/usr/bin:/bin", rank=10, **more)


def settled(folder: Path) -> None:
    """As if all of it had been written long ago; its ctime cannot be set, so that is waited for."""
    while not read_folder(str(folder)).settled:
        pass


def test_what_did_not_change_is_the_very_same(tmp_path) -> None:
    """F27, F31, F53: looked at each turn, read when it changed."""
    for number in range(20):
        put(tmp_path / f"tool{number}", version="bad" if number == 7 else "1.0.0")
    each = source(tmp_path, {})

    async def thrice() -> list[bool]:
        first = await each.load()
        assert (len(first.tools), len(first.problems)) == (19, 1)
        return [await each.load() is first, await each.load() is first]

    assert asyncio.run(thrice()) == [True, True]


def test_a_cached_folder_is_not_opened_again(tmp_path, monkeypatch) -> None:
    folder, kept = put(tmp_path / "one"), {}
    settled(folder)
    first = asyncio.run(source(tmp_path, kept).load())
    monkeypatch.setattr("toolcrib.sources.manifest.read_folder", lambda path: pytest.fail("it was read"))
    again = asyncio.run(source(tmp_path, kept).load())
    assert again == first


def damaged(kept: bytes, place: int) -> bytes:
    return kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :]


def test_a_damaged_cache_costs_time_only(tmp_path) -> None:
    """Each byte in turn is another one, or the last that is left."""
    folder, kept = put(tmp_path / "one"), {}
    settled(folder)
    first = asyncio.run(source(tmp_path, kept).load())
    ((key, whole),) = kept.items()
    for place in range(len(whole)):
        for bad in (damaged(whole, place), whole[:place]):
            assert asyncio.run(source(tmp_path, {key: bad}).load()) == first


def test_list_notices_what_changed_inside_a_folder(shelf, run_cli) -> None:
    """The kept answer of `list` depends on every file of a folder."""
    folder = put(shelf.user_tools / "one", more={"lib/a": "a"})
    digests = []
    for text in ("a", "b", "b"):
        (folder / "lib" / "a").write_text(text)
        (tool,) = json.loads(run_cli("list", "--json").stdout)["tools"]
        digests.append(tool["digest"])
    assert digests[0] != digests[1] == digests[2]


def test_show_tells_usage_and_wishes(shelf, run_cli) -> None:
    """F15."""
    put(shelf.user_tools / "one", usage="Use it well.", env=["COLOUR"], network=["api.example.com"])
    said = run_cli("show", "one").stdout
    assert "Use it well." in said
    assert "asks for     env: COLOUR; network: api.example.com" in said
    facts = json.loads(run_cli("show", "one", "--json").stdout)
    assert facts["wishes"]["env"] == ["COLOUR"]


def test_clean_removes_the_copies_of_folders(shelf, home, run_cli) -> None:
    put(shelf.user_tools / "one", more={"lib/a": "a"})
    call(shelf, "custom_tool_one")
    assert list((home / "cache" / "programs").rglob("lib/a"))
    assert run_cli("clean", "--all").returncode == 0
    assert list((home / "cache" / "programs").iterdir()) == []
    assert call(shelf, "custom_tool_one").data == "fine\n"


# A project's


def test_a_project_s_folder_counts_once_it_is_trusted(shelf) -> None:
    """F48: it is shared with all who work on the project, and each of them decides."""
    put(shelf.project_tools / "one", script="echo project")
    put(shelf.user_tools / "one", script="echo user")
    assert shelf.opened() == []
    assert call(shelf, "custom_tool_one").error.code == "WORKSPACE_UNTRUSTED"
    shelf.trust()
    assert call(shelf, "custom_tool_one").data == "project\n"


def added(folder: Path) -> None:
    (folder / "new").write_text("")


def removed(folder: Path) -> None:
    (folder / "lib").unlink()


def changed(folder: Path) -> None:
    (folder / "lib").write_text("other")


def made_executable(folder: Path) -> None:
    (folder / "lib").chmod(0o755)


def manifest_changed(folder: Path) -> None:
    (folder / "tool.yaml").write_text(manifest("one", description="Poisoned."))


def became_a_link(folder: Path) -> None:
    os.rename(folder, folder.parent.parent / "moved")
    folder.symlink_to("../moved")


@pytest.mark.parametrize("change", [added, removed, changed, made_executable, manifest_changed, became_a_link])
def test_a_project_s_folder_that_changed_holds_its_name(shelf, tmp_path, change) -> None:
    """What the user trusted is every file of it; nothing of another is parsed or run, nor the user's tool in its place."""
    folder = put(shelf.project_tools / "one", script=f": > {tmp_path}/canary", more={"lib": "x"})
    put(shelf.user_tools / "one", script=f": > {tmp_path}/canary")
    put(shelf.project_tools / "other")
    shelf.trust()
    assert shelf.opened() == ["custom_tool_one", "custom_tool_other"]
    change(folder)
    for _ in range(2):
        assert shelf.opened() == ["custom_tool_other"]
        assert call(shelf, "custom_tool_one").error.code in ("WORKSPACE_UNTRUSTED", "PATH_NOT_REGULAR")
    assert not (tmp_path / "canary").exists()


def test_nothing_of_an_untrusted_project_is_parsed(shelf, monkeypatch) -> None:
    put(shelf.project_tools / "one")
    monkeypatch.setattr("toolcrib.store.yamltext.parse", lambda *args: pytest.fail("it was parsed"))
    monkeypatch.setattr("toolcrib.sources.manifest.read_folder", lambda path: pytest.fail("it was read"))
    (shelf.home / "config.yaml").unlink()
    assert call(shelf, "custom_tool_one").error.code == "WORKSPACE_UNTRUSTED"


def test_a_changed_folder_of_a_project_is_not_parsed(shelf, monkeypatch) -> None:
    folder = put(shelf.project_tools / "one")
    shelf.trust()
    manifest_changed(folder)
    monkeypatch.setattr("toolcrib.sources.manifest_file.read_manifest", lambda *a, **k: pytest.fail("it was parsed"))
    assert shelf.opened() == []
