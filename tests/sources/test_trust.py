"""A project's programs before and after it is trusted. Each refusal comes with proof that nothing ran."""

import os

import toolcrib


def test_nothing_of_an_untrusted_project_runs(shelf, tmp_path) -> None:
    """TRAPS: "Probing runs code: a cloned repository must not run anything." """
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
