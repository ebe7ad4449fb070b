"""The whole way of a tool that an agent makes: made, edited, built, used on the next turn, changed, removed."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from toolcrib.policy.approvers import Standing

SOURCE = """#!/bin/sh
for word in "$@"; do case $word in --text=*) printf '%s!\\n' "${word#--text=}" | tr a-z A-Z ;; esac; done
"""


class Lasting:
    """A person who says yes for good, to every question, and counts them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def approve(self, question):
        self.asked.append(question.tool.name)
        return Standing(allowed=True, by="test", scope="user")


def test_from_the_first_wish_to_the_last(shop) -> None:
    """F1, F5, F7, F26, F32, F34, F36, F38, X7: by calls alone. A changed tool is asked about again."""
    person = shop.person = Lasting()

    async def use(crib):
        made = await crib.call("create_custom_tool", {
            "name": "shout", "description": "Say it loudly.", "language": "bash",
            "parameters": [{"name": "text", "required": True}],
        })  # fmt: skip
        source = made.data["folder"] + "/shout.sh"
        assert (await crib.call("read_file", {"path": source})).success
        assert (await crib.call("write_file", {"path": source, "content": SOURCE})).success
        assert (await crib.call("build_custom_tool", {"name": "shout"})).success
        assert "custom_tool_shout" not in [tool.name for tool in crib.tools()]
        await crib.refresh()  # the next turn
        first = crib.find("shout").digest
        for _ in range(2):
            assert (await crib.call("custom_tool_shout", {"text": "hello"})).data == "HELLO!\n"
        ran = await crib.call("run_custom_tool", {"tool_name": "shout", "arguments": {"text": "again"}})
        assert ran.data == "AGAIN!\n"
        asked = list(person.asked)

        assert (await crib.call("write_file", {"path": source, "content": SOURCE.replace("%s!", "%s!!")})).success
        stale = await crib.call("custom_tool_shout", {"text": "hello"})
        assert stale.error.code == "TOOL_PIN_MISMATCH"
        await crib.refresh()
        assert crib.find("shout").digest != first
        assert (await crib.call("custom_tool_shout", {"text": "hello"})).data == "HELLO!!\n"

        assert (await crib.call("delete_custom_tool", {"name": "shout"})).success
        await crib.refresh()
        assert crib.find("shout") is None
        return asked

    asked = shop.use(use)
    assert asked == ["create_custom_tool", "read_file", "write_file", "build_custom_tool", "custom_tool_shout"]
    assert person.asked[len(asked) :] == ["custom_tool_shout", "delete_custom_tool"]
    assert list(shop.tools.iterdir()) == []


def test_a_tool_is_there_in_the_next_session(shop) -> None:
    """F1."""
    shop.create("shout", language="bash")
    assert shop.call("custom_tool_shout", {}).success


def test_a_no_to_a_change_leaves_the_tool_as_it_was(shop) -> None:
    """F32, F35."""
    folder = shop.create()
    shop.person.refuses = ("write_file",)
    before = shop.tree()
    refused = shop.call("write_file", {"path": f"{folder}/shout.py", "content": "evil"})
    assert refused.error.code == "APPROVAL_DENIED"
    assert shop.person.asked[-1].reason == "changing a tool"
    assert shop.tree() == before


@pytest.mark.parametrize(
    ("config", "policy"),
    [
        ("approval: {tools: {write_file: preApproved}}", ""),
        ("approval: {default: preApproved}", ""),
        ("toolsets: {filesystem: {approval: {default: preApproved}}, workshop: {}}", ""),
        ("", "rules:\n- {tool: write_file, approval: preApproved}\n"),
    ],
)
def test_where_files_are_written_without_asking_a_tool_is_not(shop, config, policy) -> None:
    """X7: changing a tool is itself a call that is judged."""
    folder = shop.create()
    (shop.home / "config.yaml").write_text(config)
    (shop.home / "policy.yaml").write_text(policy or "rules: []\n")
    shop.person.asked.clear()
    assert shop.call("write_file", {"path": "notes", "content": "x"}).success
    assert shop.person.names == []
    assert shop.call("write_file", {"path": f"{folder}/notes", "content": "x"}).success
    assert shop.person.names == ["write_file"]


def test_a_rule_that_names_the_place_is_the_user_s_word(shop) -> None:
    folder = shop.create()
    other = shop.create("other")
    (shop.home / "policy.yaml").write_text(f"rules:\n- {{paths: ['{folder}'], approval: preApproved}}\n")
    shop.person.asked.clear()
    assert shop.call("write_file", {"path": f"{folder}/notes", "content": "x"}).success
    assert shop.call("read_file", {"path": f"{folder}/notes"}).success
    assert shop.person.names == []
    shop.call("write_file", {"path": f"{other}/notes", "content": "x"})
    assert shop.person.names == ["write_file"]


@pytest.mark.parametrize("paths", ["**", "."])
def test_a_rule_for_everything_does_not_mean_tools(shop, paths) -> None:
    """Also where the workspace is around them."""
    folder = shop.create()
    shop.workspace = shop.home.parent
    (shop.home / "policy.yaml").write_text(f"rules:\n- {{paths: ['{paths}'], approval: preApproved}}\n")
    shop.person.asked.clear()
    assert shop.call("write_file", {"path": "notes", "content": "x"}).success
    assert shop.person.names == []
    shop.person.refuses = ("write_file",)
    assert shop.call("write_file", {"path": f"{folder}/notes", "content": "x"}).error.code == "APPROVAL_DENIED"
    assert not (folder / "notes").exists()


def test_a_yes_for_the_workspace_does_not_mean_tools(shop) -> None:
    folder = shop.create()
    shop.workspace = shop.home.parent
    person = shop.person = Lasting()
    for path in ("notes", "more notes", f"{folder}/notes", "home/tools/shout/notes"):
        assert shop.call("write_file", {"path": path, "content": "x"}).success
    assert person.asked == ["write_file", "write_file"]  # once for the workspace, once for the tool


def test_a_rule_of_the_project_does_not_allow_it(shop, run_cli) -> None:
    folder = shop.create()
    project = shop.workspace / ".toolcrib"
    project.mkdir()
    (project / "policy.yaml").write_text(f"rules:\n- {{paths: ['{folder}'], approval: preApproved}}\n")
    assert run_cli("trust", "--yes").returncode == 0
    shop.person.refuses = ("write_file",)
    assert not shop.call("write_file", {"path": f"{folder}/notes", "content": "x"}).success
    assert not (folder / "notes").exists()


def test_a_rule_that_blocks_the_place_blocks_it(shop) -> None:
    folder = shop.create()
    (shop.home / "policy.yaml").write_text(f"rules:\n- {{paths: ['{shop.tools}'], approval: blocked}}\n")
    for name, args in (
        ("write_file", {"path": f"{folder}/notes", "content": "x"}),
        ("read_file", {"path": f"{folder}/tool.yaml"}),
        ("build_custom_tool", {"name": "shout"}),
        ("delete_custom_tool", {"name": "shout"}),
    ):
        assert shop.call(name, args).error.code == "BLOCKED_BY_POLICY", name
    assert sorted(path.name for path in folder.iterdir()) == ["shout.py", "tool.yaml"]


@pytest.mark.parametrize("path", ["tools/evil", "tools/evil/tool.yaml", "config.yaml", "policy.yaml", "tools/plain/x"])
def test_no_program_is_put_where_the_next_list_would_start_it(shop, path) -> None:
    """F32: every other restriction stays, whatever the person would say."""
    shop.create()
    (shop.tools / "plain").mkdir()
    before, asked = shop.tree(), len(shop.person.asked)
    refused = shop.call("write_file", {"path": f"{shop.home}/{path}", "content": "#!/bin/sh\n"})
    assert refused.error.code in ("PATH_PROTECTED", "PATH_OUTSIDE_WORKSPACE")
    assert (shop.tree(), len(shop.person.asked)) == (before, asked)


@pytest.mark.parametrize("config", ["toolsets: {filesystem: {}}", "custom_tools: {enabled: false}"])
def test_without_the_workshop_tools_are_out_of_reach(shop, config) -> None:
    folder = shop.create()
    (shop.home / "config.yaml").write_text(config)
    before = shop.tree()
    refused = shop.call("write_file", {"path": f"{folder}/notes", "content": "x"})
    assert refused.error.code == "PATH_OUTSIDE_WORKSPACE"
    assert shop.call("create_custom_tool", {"name": "x", "description": "x"}).error.code == "TOOL_NOT_FOUND"
    assert shop.tree() == before


def test_a_listing_starts_nothing_of_a_tool_s_folder(shop) -> None:
    """Whatever was written into it."""
    folder = shop.create("shout", language="bash")
    for name in ("shout.sh", "description", "evil"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {shop.workspace}/canary\n")
        (folder / name).chmod(0o755)
    names = shop.use(lambda crib: _names(crib))
    assert "custom_tool_shout" in names
    assert not (shop.workspace / "canary").exists()


async def _names(crib):
    await crib.refresh()
    return [tool.name for tool in crib.tools()]


def test_the_record_names_the_tool_and_not_what_was_said_of_it(shop) -> None:
    """F42."""
    shop.create("shout", language="bash")
    shop.call("build_custom_tool", {"name": "shout"})
    shop.call("delete_custom_tool", {"name": "shout"})
    (file,) = (shop.home / "audit").glob("*.jsonl")
    calls = [each for each in map(json.loads, file.read_text().splitlines()) if each["event"] == "call"]
    assert [(each["tool"], each["custom_tool"]) for each in calls] == [
        ("create_custom_tool", "custom_tool_shout"),
        ("build_custom_tool", "custom_tool_shout"),
        ("delete_custom_tool", "custom_tool_shout"),
    ]
    assert "loudly" not in file.read_text()


def test_two_who_make_the_same_tool_at_once_make_one(shop) -> None:
    """Whole or not at all, for each of them."""

    async def use(crib):
        wanted = {"name": "shout", "description": "Say it loudly."}
        return await asyncio.gather(*(crib.call("create_custom_tool", wanted) for _ in range(8)))

    results = shop.use(use)
    assert sum(result.success for result in results) == 1
    assert {result.error.code for result in results if result.error} == {"TOOL_NAME_CONFLICT"}
    assert sorted(os.listdir(shop.tools / "shout")) == ["shout.py", "tool.yaml"]
    assert [path.name for path in Path(shop.tools).iterdir() if not path.name.startswith(".")] == ["shout"]
