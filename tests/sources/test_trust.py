"""A project's programs before and after it is trusted. Each refusal comes with proof that nothing ran."""

import json
import os

import pytest

import toolcrib


def test_nothing_of_an_untrusted_project_runs(shelf, tmp_path) -> None:
    """ "Probing runs code: a cloned repository must not run anything." """
    shelf.tool("evil", of_project=True)
    (shelf.project / ".toolcrib" / "config.yaml").write_text(
        "approval: {default: preApproved}\ncustom_tools: {enabled: 7}\n"
    )
    shelf.tool("mine")

    async def tried(crib: toolcrib.Crib) -> tuple[list[str], str]:
        await crib.refresh()
        result = await crib.call("custom_tool_evil", {})
        return [tool.name for tool in crib.tools()], result.error.code

    assert shelf.opened(tried) == (["custom_tool_mine"], "WORKSPACE_UNTRUSTED")
    assert shelf.started() == ["mine description"]
    code, message = shelf.problem("tools")
    assert (code, f"toolcrib trust {shelf.project}" in message) == ("WORKSPACE_UNTRUSTED", True)


def test_an_untrusted_project_s_tool_of_the_same_name_does_not_fall_back_to_the_user_s(shelf) -> None:
    """Who calls it means the project's; running the other without a word would be a surprise."""
    shelf.tool("one", does="echo user")
    shelf.tool("one", of_project=True)
    result = shelf.opened(lambda crib: crib.call("custom_tool_one"))
    assert result.error.code == "WORKSPACE_UNTRUSTED"
    assert [line for line in shelf.started() if line.endswith("run")] == []


def test_once_trusted_they_are_offered(shelf) -> None:
    """K3"""
    shelf.tool("one", of_project=True)
    shelf.trust()
    assert shelf.opened() == ["custom_tool_one"]


def test_another_directory_at_a_trusted_place_is_not_trusted(shelf, tmp_path) -> None:
    shelf.trust()
    os.rename(shelf.project, tmp_path / "moved")
    shelf.project.mkdir()
    shelf.tool("evil", of_project=True)
    assert (shelf.opened(), shelf.started()) == ([], [])


def test_trust_taken_back_while_a_crib_is_open(shelf) -> None:
    from toolcrib.policy.trust import Trust

    shelf.tool("one", of_project=True)
    shelf.trust()

    async def taken_back(crib: toolcrib.Crib) -> list[str]:
        assert crib.find("one") is not None
        path = str(shelf.home / "trust.json")
        Trust(path, lambda data: (shelf.home / "trust.json").write_bytes(data)).remove(str(shelf.project))
        await crib.refresh()
        return [tool.name for tool in crib.tools()]

    assert shelf.opened(taken_back) == []


def test_a_link_out_of_a_trusted_project_is_refused_and_not_started(shelf, tmp_path) -> None:
    """K47"""
    outside = tmp_path / "outside"
    outside.write_text(f"#!/bin/sh\necho outside >> {shelf.log}\n")
    outside.chmod(0o755)
    shelf.tool("inside", of_project=True)
    (shelf.project_tools / "absolute").symlink_to(outside)
    (shelf.project_tools / "relative").symlink_to("../../../outside")
    (shelf.project_tools / "within").symlink_to("inside")
    shelf.trust()
    problems = shelf.problems()
    assert {name: problems[name][0] for name in ("absolute", "relative")} == {
        "absolute": "PATH_OUTSIDE_WORKSPACE",
        "relative": "PATH_OUTSIDE_WORKSPACE",
    }
    assert "outside" not in shelf.started()


def test_a_tools_directory_that_is_a_link_out_of_the_project_is_refused(shelf, tmp_path) -> None:
    """K47"""
    shelf.tool("one", of_project=True)
    os.rename(shelf.project_tools, tmp_path / "elsewhere")
    shelf.project_tools.symlink_to(tmp_path / "elsewhere")
    shelf.trust()
    assert (shelf.opened(), shelf.started()) == ([], [])
    assert shelf.problem("one")[0] == "PATH_OUTSIDE_WORKSPACE"


def test_a_user_s_own_link_is_followed(shelf, tmp_path) -> None:
    path = shelf.tool("one")
    os.rename(path, tmp_path / "kept-elsewhere")
    path.symlink_to(tmp_path / "kept-elsewhere")
    assert shelf.opened() == ["custom_tool_one"]


def test_a_link_turned_outward_after_listing_does_not_run(shelf, tmp_path) -> None:
    """What was listed, checked and approved is what runs."""
    shelf.tool("inside", of_project=True, name="linked")
    shelf.tool("target", of_project=True, mode=0o644)
    os.rename(shelf.project_tools / "inside", shelf.project_tools / "linked")
    shelf.trust()
    outside = tmp_path / "outside"
    outside.write_text(f"#!/bin/sh\necho outside >> {shelf.log}\n")
    outside.chmod(0o755)

    async def turned(crib: toolcrib.Crib) -> str:
        (shelf.project_tools / "linked").unlink()
        (shelf.project_tools / "linked").symlink_to(outside)
        return (await crib.call("custom_tool_linked")).error.code

    assert shelf.opened(turned) == "TOOL_PIN_MISMATCH"
    assert "outside" not in shelf.started()


# What changes after trust


def offered(shelf) -> tuple[list[str], dict[str, str]]:
    """The names on offer, and the codes of what is not, by file."""
    problems = shelf.problems()
    return shelf.opened(), {file: code for file, (code, _) in problems.items()}


def test_a_changed_tool_is_untrusted_and_the_others_stay(shelf) -> None:
    path = shelf.tool("one", of_project=True)
    shelf.tool("two", of_project=True)
    shelf.tool("mine")
    shelf.trust()
    assert shelf.opened() == ["custom_tool_mine", "custom_tool_one", "custom_tool_two"]
    path.write_text(path.read_text() + "# changed\n")
    shelf.started()
    assert offered(shelf) == (["custom_tool_mine", "custom_tool_two"], {"one": "WORKSPACE_UNTRUSTED"})
    assert shelf.started() == []
    assert f"toolcrib trust {shelf.project}" in shelf.problem("one")[1]
    shelf.trust()
    assert offered(shelf) == (["custom_tool_mine", "custom_tool_one", "custom_tool_two"], {})


def test_an_added_tool_is_untrusted_and_the_others_stay(shelf) -> None:
    shelf.tool("one", of_project=True)
    shelf.trust()
    shelf.opened()
    shelf.tool("added", of_project=True)
    shelf.started()
    assert offered(shelf) == (["custom_tool_one"], {"added": "WORKSPACE_UNTRUSTED"})
    assert shelf.started() == []


def test_a_file_that_was_made_a_program_is_untrusted(shelf) -> None:
    shelf.tool("data", of_project=True, mode=0o644)
    shelf.trust()
    (shelf.project_tools / "data").chmod(0o755)
    assert offered(shelf) == ([], {"data": "WORKSPACE_UNTRUSTED"})
    assert shelf.started() == []


def test_a_removed_tool_is_gone_and_the_others_stay(shelf) -> None:
    shelf.tool("one", of_project=True)
    path = shelf.tool("two", of_project=True)
    shelf.trust()
    shelf.opened()
    path.unlink()
    assert offered(shelf) == (["custom_tool_one"], {})


def test_a_changed_tool_holds_the_name_it_had_and_that_of_its_file(shelf) -> None:
    """Who calls it means the project's, also in a process that never saw it as it was."""
    shelf.tool("deploy", does="echo user")
    shelf.tool("ship", does="echo user")
    path = shelf.tool("deploy", name="ship", of_project=True)
    shelf.trust()
    assert shelf.opened() == ["custom_tool_deploy", "custom_tool_ship"]
    path.write_text("#!/bin/sh\n")
    for _ in range(2):
        for name in ("custom_tool_ship", "custom_tool_deploy"):
            assert shelf.opened(lambda crib, name=name: crib.call(name)).error.code == "WORKSPACE_UNTRUSTED"


def test_a_change_is_seen_by_a_crib_that_is_open(shelf) -> None:
    path = shelf.tool("one", of_project=True)
    shelf.trust()

    async def through(crib: toolcrib.Crib) -> list:
        before = path.read_text()
        said = [await crib.refresh()]
        path.write_text(before + "# changed\n")
        said += [await crib.refresh(), [tool.name for tool in crib.tools()], await crib.refresh()]
        shelf.trust()
        return [*said, await crib.refresh(), [tool.name for tool in crib.tools()]]

    assert shelf.opened(through) == [False, True, [], False, True, ["custom_tool_one"]]


def test_a_trusted_link_within_the_project_is_offered_until_it_or_its_file_changes(shelf) -> None:
    script = shelf.project / "scripts" / "run"
    script.parent.mkdir()
    path = shelf.tool("linked", of_project=True)
    os.rename(path, script)
    path.symlink_to("../../scripts/run")
    shelf.trust()
    assert shelf.opened() == ["custom_tool_linked"]
    (shelf.project / "scripts" / "same").write_bytes(script.read_bytes())
    (shelf.project / "scripts" / "same").chmod(0o755)
    path.unlink()
    path.symlink_to("../../scripts/same")
    assert offered(shelf) == ([], {"linked": "WORKSPACE_UNTRUSTED"})
    path.unlink()
    path.symlink_to("../../scripts/run")
    assert shelf.opened() == ["custom_tool_linked"]
    script.write_text("#!/bin/sh\n")
    assert offered(shelf) == ([], {"linked": "WORKSPACE_UNTRUSTED"})


RULES = ["config.yaml", "policy.yaml", "profiles/ci.yaml"]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("how", ["changed", "added", "removed"])
def test_changed_rules_withhold_all_of_the_project_and_nothing_of_the_user(shelf, rules, how) -> None:
    """A project may only tighten: rules that changed are not left out while its tools stay."""
    path = shelf.project / ".toolcrib" / rules
    path.parent.mkdir(parents=True, exist_ok=True)
    if how != "added":
        path.write_text("# nothing\n")
    shelf.tool("one", of_project=True)
    shelf.tool("mine")
    shelf.trust()
    assert shelf.opened() == ["custom_tool_mine", "custom_tool_one"]
    shelf.started()
    path.unlink() if how == "removed" else path.write_text("# another\n")
    assert shelf.opened() == ["custom_tool_mine"]
    code, message = shelf.problem("tools")
    assert code == "WORKSPACE_UNTRUSTED" and rules in message and "toolcrib trust" in message
    result = shelf.opened(lambda crib: crib.call("custom_tool_one"))
    assert (result.error.code, shelf.started()) == ("WORKSPACE_UNTRUSTED", [])
    shelf.trust()
    assert shelf.opened() == ["custom_tool_mine", "custom_tool_one"]


def test_changed_rules_are_said_also_when_there_are_no_programs(shelf) -> None:
    (shelf.project / ".toolcrib").mkdir()
    config = shelf.project / ".toolcrib" / "config.yaml"
    config.write_text("# nothing\n")
    shelf.trust()
    assert shelf.problems() == {}
    config.unlink()
    assert shelf.problem("tools")[0] == "WORKSPACE_UNTRUSTED"


def test_new_rules_count_only_for_a_crib_that_was_made_with_them(shelf) -> None:
    """Trusted anew while a crib is open: it has the old rules, so it does not offer what the new ones are about."""
    shelf.tool("one", of_project=True)
    shelf.trust()

    async def through(crib: toolcrib.Crib) -> list[list[str]]:
        said = [[tool.name for tool in crib.tools()]]
        (shelf.project / ".toolcrib" / "config.yaml").write_text("approval: {default: blocked}\n")
        shelf.trust()
        await crib.refresh()
        return [*said, [tool.name for tool in crib.tools()]]

    assert shelf.opened(through) == [["custom_tool_one"], []]
    assert shelf.opened(lambda crib: crib.call("custom_tool_one")).error.code == "BLOCKED_BY_POLICY"


def test_a_record_without_digests_asks_for_trust_again(shelf) -> None:
    shelf.tool("one", of_project=True)
    seen = os.stat(shelf.project)
    old = {"version": 1, "projects": {str(shelf.project): {"identity": [seen.st_dev, seen.st_ino], "at": 1.0}}}
    (shelf.home / "trust.json").write_text(json.dumps(old))
    assert (shelf.opened(), shelf.started()) == ([], [])
    code, message = shelf.problem("tools")
    assert code == "WORKSPACE_UNTRUSTED" and "before digests" in message and "toolcrib trust" in message


def test_files_that_come_to_an_untrusted_project_hold_their_names_too(shelf) -> None:
    shelf.tool("late", does="echo user")

    async def through(crib: toolcrib.Crib) -> str:
        shelf.tool("late", of_project=True)
        await crib.refresh()
        return (await crib.call("custom_tool_late")).error.code

    assert shelf.opened(through) == "WORKSPACE_UNTRUSTED"


def test_unchanged_files_of_a_trusted_project_are_neither_read_nor_started_again(shelf, monkeypatch) -> None:
    for number in range(20):
        shelf.tool(f"t{number}", of_project=True)
    shelf.trust()
    shelf.opened()
    shelf.started()
    monkeypatch.setattr("toolcrib.sources.executable.file_digest", lambda path: pytest.fail(f"{path} was read"))
    assert len(shelf.opened()) == 20
    assert shelf.started() == []


def test_a_tools_directory_of_another_name_is_trusted_with_the_project(shelf, run_cli) -> None:
    """`local_dir` is the user's word; what lies there is shown, recorded and vouched for like the rest."""
    (shelf.home / "config.yaml").write_text("toolsets: {}\ncustom_tools: {local_dir: ./bin/tools}\n")
    path = shelf.tool("one", of_project=True)
    (shelf.project / "bin").mkdir()
    os.rename(shelf.project_tools, shelf.project / "bin" / "tools")
    assert shelf.opened() == []
    assert run_cli("trust", "--yes").returncode == 0
    assert shelf.opened() == ["custom_tool_one"]
    (shelf.project / "bin" / "tools" / path.name).write_text("#!/bin/sh\n")
    assert shelf.opened() == []


def test_what_is_withheld_is_recorded_once_and_not_at_every_look(shelf) -> None:
    path = shelf.tool("one", of_project=True)
    shelf.trust()
    shelf.opened()
    path.write_text("#!/bin/sh\n")
    for _ in range(4):
        assert shelf.opened() == []
    records = [
        json.loads(line) for file in (shelf.home / "audit").glob("*.jsonl") for line in file.read_text().splitlines()
    ]
    assert [each["code"] for each in records if each.get("event") == "skipped"] == ["WORKSPACE_UNTRUSTED"]
