"""Programs in directories: which are found, asked, offered, covered, and which are not."""

import asyncio
import json
import os
import shutil

import pytest

import toolcrib
from toolcrib.core.limits import Limits


def test_any_executable_that_describes_itself_is_a_tool(shelf) -> None:
    """K1, K2, K5, K7, K8, K9, K12, K20, K21"""
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Whom to greet."}},
        "required": ["name"],
    }
    path = shelf.tool("greet", input_schema=schema, version="1.2.3", does="echo Hello")
    tool = shelf.one()
    assert (tool.name, tool.description, tool.version) == ("custom_tool_greet", "Is greet.", "1.2.3")
    assert (tool.input_schema, tool.origin, tool.source) == (schema, str(path), "executable")
    assert tool.limits == Limits(30.0, 1048576, None)
    assert tool.capabilities.executes_commands
    result = shelf.opened(lambda crib: crib.call("custom_tool_greet", {"name": "Bob"}))
    assert result.data == "Hello\n"
    assert shelf.started() == ["greet description", "greet run"]


def test_the_name_is_what_it_says_whatever_the_file_is_called(shelf) -> None:
    """ "Folder name and manifest name differ: the tool was listed and could not be called." """
    shelf.tool("file.sh", name="named")
    assert shelf.opened() == ["custom_tool_named"]
    assert shelf.opened(lambda crib: crib.call("custom_tool_named", {"a": 1})).data == '{"a":1}'


def test_only_files_with_an_execute_bit_are_looked_at(shelf, tmp_path) -> None:
    """K11, K46: the rest is passed over without a word."""
    shelf.tool("plain", mode=0o644)
    shelf.tool(".hidden")
    shelf.tool("backup~")
    (shelf.user_tools / "folder").mkdir()
    os.mkfifo(shelf.user_tools / "pipe")
    (shelf.user_tools / "pipe").chmod(0o755)
    (shelf.user_tools / "nowhere").symlink_to(tmp_path / "nothing")
    (shelf.user_tools / "loop").symlink_to(shelf.user_tools / "loop")
    shelf.tool("good", mode=0o700)
    assert shelf.opened() == ["custom_tool_good"]
    assert (shelf.problems(), shelf.started()) == ({}, ["good description"])


def test_the_listing_has_one_order(shelf) -> None:
    """ "A listing in random order." """
    for name in ("zeta", "alpha", "mid", "Beta"):
        shelf.tool(name)
    assert shelf.opened() == [f"custom_tool_{name}" for name in ("Beta", "alpha", "mid", "zeta")]


def test_nothing_there_is_nothing_wrong(shelf) -> None:
    """K59, K25"""
    assert (shelf.opened(), shelf.problems()) == ([], {})
    assert set(os.listdir(shelf.home)) - {"cache"} == {"config.yaml"}
    assert not list((shelf.home / "cache").glob("probes-*"))
    shelf.tool("one")
    (shelf.home / "config.yaml").write_text("toolsets: {}\ncustom_tools:\n  enabled: false\n")
    assert (shelf.opened(), shelf.started()) == ([], [])


def test_the_directory_may_be_configured_and_begins_at_home(shelf, tmp_path, monkeypatch) -> None:
    """K4"""
    monkeypatch.setenv("HOME", str(tmp_path))
    shelf.tool("one")
    os.rename(shelf.user_tools, tmp_path / "elsewhere")
    (shelf.home / "config.yaml").write_text("toolsets: {}\ncustom_tools:\n  global_dir: ~/elsewhere\n")
    assert shelf.opened() == ["custom_tool_one"]


def test_a_project_s_tool_covers_the_user_s_and_its_removal_brings_that_back(shelf) -> None:
    """K3, K6, K24, K60. "Skill removal must bring back the very tool it covered." """
    users, projects = shelf.tool("one", does="echo user"), shelf.tool("one", of_project=True, does="echo project")
    shelf.tool("other")
    shelf.trust()

    async def through(crib: toolcrib.Crib) -> list[str]:
        said = [(await crib.call("custom_tool_one")).data, crib.find("custom_tool_one").origin]
        projects.unlink()
        assert await crib.refresh()
        said += [(await crib.call("custom_tool_one")).data, crib.find("custom_tool_one").origin]
        users.unlink()
        assert await crib.refresh()
        return said + [tool.name for tool in crib.tools()]

    assert shelf.opened(through) == ["project\n", str(projects), "user\n", str(users), "custom_tool_other"]


def test_two_of_one_name_are_both_withheld_and_both_named(shelf) -> None:
    """K85. Neither is offered, so that no chance decides."""
    first, second = shelf.tool("first", name="same"), shelf.tool("second", name="same")
    dashed, underscored = shelf.tool("c", name="a-b"), shelf.tool("d", name="a_b")  # one, after clients fold names
    shelf.tool("good")
    assert shelf.opened() == ["custom_tool_good"]
    messages = shelf.opened(lambda crib: {p.code: p.message for p in crib.problems()})
    assert set(messages) == {"TOOL_NAME_CONFLICT"}
    told = "\n".join(shelf.opened(lambda crib: [p.message for p in crib.problems()]))
    assert all(str(path) in told for path in (first, second, dashed, underscored))
    result = shelf.opened(lambda crib: crib.call("custom_tool_same"))
    assert (result.error.code, "custom_tool_same" in result.error.message) == ("TOOL_NAME_CONFLICT", True)


def test_an_unchanged_program_is_never_started_again_to_be_listed(shelf) -> None:
    """K62, K73"""
    for number in range(10):
        shelf.tool(f"tool{number}")
    assert len(shelf.opened()) == 10
    assert len(shelf.started()) == 10
    for _ in range(3):
        assert len(shelf.opened()) == 10
    assert shelf.started() == []


def test_a_program_that_changed_is_asked_again_and_only_that(shelf) -> None:
    """K24"""
    shelf.tool("one")
    shelf.tool("two")
    shelf.opened()
    shelf.started()
    shelf.tool("two", description="Is new.")
    assert shelf.opened(lambda crib: [tool.description for tool in crib.tools()]) == ["Is one.", "Is new."]
    assert shelf.started() == ["two description"]


def test_a_change_that_keeps_size_and_time_is_seen(shelf) -> None:
    path = shelf.tool("one", description="Is old.")
    before = os.stat(path)
    shelf.opened()
    shelf.tool("one", description="Is new.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert shelf.one().description == "Is new."


def test_losing_the_right_to_run_takes_a_tool_away(shelf) -> None:
    path = shelf.tool("one")
    assert shelf.opened() == ["custom_tool_one"]
    path.chmod(0o644)
    assert (shelf.opened(), shelf.problems()) == ([], {})


def test_failures_are_kept_too_and_asked_again_when_the_file_changes(shelf) -> None:
    """K10, K85: the reason is there each time, the program is not started for it."""
    shelf.program("broken", "echo oops >&2; exit 3")
    reasons = [shelf.problem("broken") for _ in range(3)]
    assert reasons == [("EXECUTION_ERROR", "`description` failed with exit status 3: oops")] * 3
    assert shelf.started() == ["broken description"]
    shelf.tool("broken", name="mended")
    assert (shelf.opened(), shelf.problems()) == (["custom_tool_mended"], {})


def test_a_skipped_tool_is_in_the_record_with_its_reason(shelf) -> None:
    """K85"""
    path = shelf.program("broken", "exit 3")
    shelf.opened()
    (log,) = (shelf.home / "audit").glob("*.jsonl")
    (record,) = [json.loads(line) for line in log.read_text().splitlines() if '"skipped"' in line]
    assert (record["origin"], record["code"]) == (str(path), "EXECUTION_ERROR")
    assert "exit status 3" in record["message"]


def test_what_was_short_of_resources_is_asked_again(shelf, monkeypatch) -> None:
    """It says nothing about the program, so it is not kept."""
    from toolcrib.sandbox import launch

    shelf.tool("one")
    true_start = launch.start

    def start(about):
        if about.argv[0].endswith("/one"):
            raise toolcrib.ToolError("no process left", code="RESOURCE_EXHAUSTED", before_effect=True)
        return true_start(about)

    with monkeypatch.context() as patch:
        patch.setattr(launch, "start", start)
        assert shelf.problem("one")[0] == "RESOURCE_EXHAUSTED"
    assert shelf.opened() == ["custom_tool_one"]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 99}',
        b'{"version": 2, "directory": 1, "folder": [], "answers": {}}',
        b"\xff\x00\xd8 noise",
    ],
)
def test_a_damaged_cache_costs_time_only(shelf, damage) -> None:
    shelf.tool("one")
    shelf.opened()
    (cache,) = (shelf.home / "cache").glob("probes-*")
    cache.write_bytes(damage)
    assert shelf.opened() == ["custom_tool_one"]


def test_a_home_that_cannot_be_written_costs_time_only(shelf) -> None:
    shelf.tool("one")
    shutil.rmtree(shelf.home / "cache", ignore_errors=True)
    (shelf.home / "cache").write_text("a file where a directory should be")
    assert [shelf.opened(), shelf.opened()] == [["custom_tool_one"]] * 2


def test_asking_again_while_others_read_and_call(shelf) -> None:
    """K22, K23: a reader sees a whole set, the old or the new one."""
    shelf.tool("one", does="echo one")

    async def busy(crib: toolcrib.Crib) -> set[int]:
        seen = set()

        async def reads() -> None:
            for _ in range(30):
                seen.add(len(crib.tools()))
                assert (await crib.call("custom_tool_one")).data == "one\n"

        async def writes() -> None:
            for number in range(5):
                shelf.tool(f"more{number}a")
                shelf.tool(f"more{number}b")
                await crib.refresh()

        await asyncio.gather(reads(), reads(), writes())
        return seen

    assert shelf.opened(busy) <= {1, 3, 5, 7, 9, 11}
