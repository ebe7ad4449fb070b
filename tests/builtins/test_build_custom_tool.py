"""`build_custom_tool`: runs what its author says, so a person sees that first, and what they saw is what runs."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from toolcrib.cli._prompt import drawn
from toolcrib.core.policy import Answer

MANIFEST = """\
name: made
description: Made by a build.
version: "0.1.0"
entrypoint: made
build: {build}
"""
BUILD = """#!/bin/sh
echo built here: "$PWD"
echo "#!/bin/sh
echo it works" > made
chmod +x made
"""


@pytest.fixture
def made(shop):
    """A tool that is built by a script of its own folder."""
    folder = shop.tools / "made"
    folder.mkdir(parents=True)
    (folder / "tool.yaml").write_text(MANIFEST.format(build="./build.sh"))
    (folder / "build.sh").write_text(BUILD)
    (folder / "build.sh").chmod(0o755)
    return folder


def test_what_the_manifest_says_is_run_in_the_folder(shop, made) -> None:
    """F5, F24."""

    async def use(crib):
        before = crib.find("made")
        built = await crib.call("build_custom_tool", {"name": "made"})
        await crib.refresh()
        return before, built, await crib.call("custom_tool_made", {})

    before, built, result = shop.use(use)
    assert before is None
    assert f"ran {made}/build.sh" in built.data and f"built here: {made}" in built.data
    assert (built.metadata["exit_code"], built.metadata["custom_tool"]) == (0, "custom_tool_made")
    assert result.data == "it works\n"


def test_the_person_sees_the_folder_and_the_commands(shop, made) -> None:
    shop.call("build_custom_tool", {"name": "made"})
    request = shop.person.asked[0].request
    page = drawn(request, width=200, now=request.created)
    assert f"builds       | {made}" in page
    assert f"| {made}/build.sh" in page
    assert "executes commands" in page


@pytest.mark.parametrize("refusal", ["no", "nobody"])
def test_without_a_yes_nothing_runs(shop, made, refusal) -> None:
    """X7."""
    before = shop.tree()
    if refusal == "no":
        shop.person.refuses = ("build_custom_tool",)
    else:
        shop.person = None
    assert not shop.call("build_custom_tool", {"name": "made"}).success
    assert shop.tree() == before


def test_what_changed_while_the_person_thought_is_not_run(shop, made) -> None:
    """What was approved is what runs."""

    class Slow:
        async def approve(self, question):
            (made / "build.sh").write_text("#!/bin/sh\ntouch evil\n")
            return Answer(allowed=True, by="test")

    shop.person = Slow()
    refused = shop.call("build_custom_tool", {"name": "made"})
    assert refused.error.code == "APPROVAL_DENIED"
    assert not (made / "evil").exists() and not (made / "made").exists()


def test_a_yes_that_lasts_is_for_what_lies_in_the_folder_now(shop, made) -> None:
    shop.call("build_custom_tool", {"name": "made"})
    (before,) = shop.person.asked[-1].request.subjects
    (made / "build.sh").write_text(BUILD + "# changed\n")
    shop.call("build_custom_tool", {"name": "made"})
    (after,) = shop.person.asked[-1].request.subjects
    assert before.wide is None and set(before.exact) == {"build"}
    assert before.exact != after.exact
    assert shop.person.asked[0].request.call_digest != shop.person.asked[1].request.call_digest


def test_a_compiler_s_words_are_in_the_error(shop, made) -> None:
    """F39, F42."""
    (made / "build.sh").write_text("#!/bin/sh\necho 'line 7: no such thing' >&2\nexit 3\n")
    failed = shop.call("build_custom_tool", {"name": "made"})
    assert failed.error.code == "EXECUTION_ERROR"
    assert "build.sh failed with exit status 3: line 7: no such thing" in failed.error.message
    assert failed.error.details["exit_code"] == 3
    assert failed.metadata["custom_tool"] == "custom_tool_made"


def test_a_build_that_hangs_is_ended(shop, made) -> None:
    (made / "build.sh").write_text("#!/bin/sh\nsleep 60\n")
    assert shop.call("build_custom_tool", {"name": "made"}, timeout=0.3).error.code == "TIMEOUT"


def test_it_sees_no_more_of_the_environment_than_tools_do(shop, made, monkeypatch) -> None:
    monkeypatch.setenv("PRECIOUS", "secret")
    (made / "build.sh").write_text("#!/bin/sh\nenv\n")
    assert "PRECIOUS" not in shop.call("build_custom_tool", {"name": "made"}).data
    (shop.home / "config.yaml").write_text("tools: {build_custom_tool: {env: [PRECIOUS]}}")
    assert "PRECIOUS=secret" in shop.call("build_custom_tool", {"name": "made"}).data


def test_no_shell_sees_the_command(shop, made) -> None:
    """The words of `build` are split, and nothing in them is expanded."""
    (made / "tool.yaml").write_text(MANIFEST.format(build="'./build.sh $(touch evil); touch evil2'"))
    shop.call("build_custom_tool", {"name": "made"})
    assert (made / "made").exists()
    assert not (made / "evil").exists() and not (made / "evil2").exists()


def test_a_compiler_that_is_missing_is_named_before_anybody_is_asked(shop, made) -> None:
    (made / "tool.yaml").write_text(MANIFEST.format(build="no-such-compiler made.x"))
    refused = shop.call("build_custom_tool", {"name": "made"})
    assert (refused.error.code, "no-such-compiler" in refused.error.message) == ("ENGINE_NOT_AVAILABLE", True)
    assert shop.person.asked == []


def test_a_tool_that_needs_no_build_says_so(shop) -> None:
    shop.create("shout", language="bash")
    assert "needs no build" in shop.call("build_custom_tool", {"name": "custom_tool_shout"}).data


def test_what_is_not_there_is_not_there(shop, made) -> None:
    refused = shop.call("build_custom_tool", {"name": "maid"})
    assert (refused.error.code, refused.error.details) == ("TOOL_NOT_FOUND", {"nearest": ["made"]})
    assert shop.person.asked == []


def test_an_untrusted_project_s_build_is_not_run(shop) -> None:
    folder = shop.workspace / ".toolcrib/tools/evil"
    folder.mkdir(parents=True)
    (folder / "tool.yaml").write_text(MANIFEST.format(build="touch canary").replace("made", "evil"))
    refused = shop.call("build_custom_tool", {"name": "evil"})
    assert refused.error.code == "PATH_PROTECTED"
    assert shop.person.asked == []
    assert not (folder / "canary").exists()


@pytest.mark.parametrize("rule", ["command: [touch]", "command: [curl]", "tool: build_custom_tool"])
def test_a_rule_that_blocks_holds_for_what_a_build_would_run(shop, made, rule) -> None:
    (shop.home / "policy.yaml").write_text(f"rules:\n- {{{rule}, approval: blocked}}\n")
    (made / "tool.yaml").write_text(MANIFEST.format(build="[sh, -c, 'touch canary && curl http://127.0.0.1:1']"))
    assert shop.call("build_custom_tool", {"name": "made"}).error.code == "BLOCKED_BY_POLICY"
    assert not (made / "canary").exists()


def test_to_allow_the_command_elsewhere_does_not_allow_the_build(shop, made) -> None:
    (shop.home / "policy.yaml").write_text("rules:\n- {command: [touch], approval: preApproved}\n")
    (made / "tool.yaml").write_text(MANIFEST.format(build="touch made"))
    shop.call("build_custom_tool", {"name": "made"})
    assert shop.person.names == ["build_custom_tool"]


@pytest.mark.parametrize(
    "config", ["approval: {tools: {build_custom_tool: preApproved}}", "approval: {default: preApproved}"]
)
def test_where_it_is_allowed_beforehand_nobody_is_asked(shop, made, config) -> None:
    (shop.home / "config.yaml").write_text(config)
    assert shop.call("build_custom_tool", {"name": "made"}).success
    assert shop.person.asked == [] and (made / "made").exists()


def test_a_dry_run_says_what_would_run(shop, made) -> None:
    before = shop.tree()
    shown = shop.call("build_custom_tool", {"name": "made"}, dry_run=True)
    assert shown.data == {"folder": str(made), "would_run": [f"{made}/build.sh"]}
    assert shop.tree() == before


def test_explaining_says_what_a_call_would_come_to(made, run_cli) -> None:
    done = run_cli("policy", "explain", "build_custom_tool", "--input", '{"name": "made"}', "--json")
    assert json.loads(done.stdout)["decision"] == "ask"
    done = run_cli("policy", "explain", "build_custom_tool", "--input", '{"name": "nothing"}')
    assert (done.returncode, done.stderr.split()[0]) == (4, "TOOL_NOT_FOUND")


@pytest.mark.skipif(not shutil.which("go"), reason="there is no Go compiler here")
def test_a_compiled_tool_is_named_in_its_manifest(shop) -> None:
    """F24, F25, F26: scaffold, compile, the entrypoint is put right, and it is there on the next turn."""
    folder = shop.create("count", language="go", parameters=[{"name": "text"}])

    async def use(crib):
        assert crib.find("count") is None
        built = await crib.call("build_custom_tool", {"name": "count"})
        await crib.refresh()
        return built, await crib.call("custom_tool_count", {"text": "abc"})

    built, result = shop.use(use)
    assert built.success, built.error
    assert 'entrypoint: "count"' in built.data
    assert (Path(folder) / "count").exists() and result.success, result.error


def test_two_builds_at_once_do_not_disturb_each_other(shop, made) -> None:
    other = shop.tools / "other"
    shutil.copytree(made, other)
    (other / "tool.yaml").write_text(MANIFEST.format(build="./build.sh").replace("made", "other"))

    async def use(crib):
        names = ("made", "other")
        return await asyncio.gather(*(crib.call("build_custom_tool", {"name": name}) for name in names))

    assert [built.success for built in shop.use(use)] == [True, True]
