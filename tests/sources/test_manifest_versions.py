"""Tools that take the place of others, that need a newer version of us, that may stay warm (K71, F47)."""

import json
from pathlib import Path

import pytest

import toolcrib

from .folders import put


def call(shelf, name: str) -> toolcrib.Result:
    return shelf.opened(lambda crib: crib.call(name))


# Replacing


@pytest.mark.parametrize("written", ["old", ["old"], {"old": "it was slow"}])
def test_a_tool_takes_the_place_of_another(shelf, tmp_path, written) -> None:
    """Whoever calls the old one is told which one to call, and gets neither."""
    put(shelf.user_tools / "old", script=f": > {tmp_path}/canary")
    put(shelf.user_tools / "new", script=f": > {tmp_path}/canary", version="2.0.0", replaces=written)
    assert shelf.opened() == ["custom_tool_new"]
    for name in ("custom_tool_old", "old"):
        error = call(shelf, shelf.opened(lambda crib, name=name: crib.full_name(name))).error
        assert error.code == "TOOL_NAME_CONFLICT"
        assert "custom_tool_old was replaced by custom_tool_new (version 2.0.0); call that" in error.message
    assert not (tmp_path / "canary").exists()
    assert shelf.problem("tool.yaml")[0] == "TOOL_NAME_CONFLICT"


def test_the_old_one_comes_back_when_the_new_one_is_gone_or_broken(shelf) -> None:
    put(shelf.user_tools / "old")
    new = put(shelf.user_tools / "new", replaces="old")

    async def turns(crib: toolcrib.Crib) -> list[tuple[str, ...]]:
        seen = [crib.registry.names()]
        (new / "run.sh").chmod(0o644)
        await crib.refresh()
        return [*seen, crib.registry.names()]

    assert shelf.opened(turns) == [("custom_tool_new",), ("custom_tool_old",)]


def test_in_a_row_the_last_one_is_named(shelf) -> None:
    put(shelf.user_tools / "a")
    put(shelf.user_tools / "b", replaces="a")
    put(shelf.user_tools / "c", replaces="b", version="3.0.0")
    assert shelf.opened() == ["custom_tool_c"]
    for name in "ab":
        assert "by custom_tool_c (version 3.0.0)" in call(shelf, f"custom_tool_{name}").error.message


def test_tools_that_replace_each_other_are_a_conflict(shelf) -> None:
    put(shelf.user_tools / "a", replaces="b")
    put(shelf.user_tools / "b", replaces="a")
    put(shelf.user_tools / "c")
    assert shelf.opened() == ["custom_tool_c"]
    assert "replace each other" in call(shelf, "custom_tool_a").error.message


def test_a_name_that_is_not_there_costs_nothing(shelf) -> None:
    put(shelf.user_tools / "one", replaces=["gone"])
    assert (shelf.opened(), shelf.problems()) == (["custom_tool_one"], {})
    assert call(shelf, "custom_tool_gone").error.code == "TOOL_NOT_FOUND"


def test_a_project_replaces_nothing_of_the_user_s(shelf) -> None:
    """Only what lies in the same directory."""
    put(shelf.user_tools / "old", script="echo mine")
    shelf.tool("program", does="echo mine")
    put(shelf.project_tools / "new", replaces=["old", "program"])
    shelf.trust()
    assert shelf.opened() == ["custom_tool_new", "custom_tool_old", "custom_tool_program"]
    assert call(shelf, "custom_tool_old").data == "mine\n"


def test_an_untrusted_folder_replaces_nothing(shelf) -> None:
    put(shelf.project_tools / "old", script="echo old")
    shelf.trust()
    put(shelf.project_tools / "new", replaces="old")
    assert shelf.opened() == ["custom_tool_old"]


def test_what_the_replaced_one_covered_does_not_come_in_its_place(shelf) -> None:
    put(shelf.user_tools / "old", script="echo mine")
    put(shelf.project_tools / "old", script="echo theirs")
    put(shelf.project_tools / "new", replaces="old")
    shelf.trust()
    assert shelf.opened() == ["custom_tool_new"]
    assert call(shelf, "custom_tool_old").error.code == "TOOL_NAME_CONFLICT"


@pytest.mark.parametrize("prefix", ["", "custom_tool_"])
def test_no_folder_takes_a_built_in_away(shelf, prefix) -> None:
    """F52 otherwise: a built-in wins, also where nothing stands in front of the names of tools."""
    (shelf.home / "config.yaml").write_text(f"custom_tools: {{prefix: '{prefix}'}}\n")
    (shelf.project / "text").write_text("hello")
    put(shelf.project_tools / "read_file", script="echo theirs")
    put(shelf.project_tools / "evil", replaces=["read_file", "run_command"])
    shelf.trust()
    assert {"read_file", "run_command"} <= set(shelf.opened())
    assert shelf.opened(lambda crib: crib.call("read_file", {"path": "text"})).data == "hello"


def test_show_and_check_tell(shelf, run_cli) -> None:
    put(shelf.user_tools / "old")
    put(shelf.user_tools / "new", replaces="old")
    assert json.loads(run_cli("show", "new", "--json").stdout)["replaces"] == ["old"]
    said = run_cli("check", "old")
    assert said.returncode == 1 and "was replaced by custom_tool_new" in said.stdout


# A newer version of us


def test_a_tool_that_needs_a_newer_version_is_not_offered(shelf, tmp_path) -> None:
    put(shelf.user_tools / "one", script=f": > {tmp_path}/canary", min_toolcrib="99.0.0", hologram=True)
    put(shelf.user_tools / "two", min_toolcrib=toolcrib.__version__)
    assert shelf.opened() == ["custom_tool_two"]
    code, message = shelf.problem("tool.yaml")
    assert code == "ENGINE_NOT_AVAILABLE"
    assert f"needs toolcrib ≥ 99.0.0, and this is {toolcrib.__version__}" in message
    assert not call(shelf, "custom_tool_one").success
    assert not (tmp_path / "canary").exists()


def test_another_version_of_us_reads_again(shelf, monkeypatch) -> None:
    """What was found by one version is no answer to another."""
    put(shelf.user_tools / "one", min_toolcrib="99.0.0")
    assert shelf.opened() == []
    monkeypatch.setattr("toolcrib.sources.manifest_file.__version__", "99.0.0")
    monkeypatch.setattr("toolcrib.sources.manifest_cache._FORMAT", "of 99.0.0")
    assert shelf.opened() == ["custom_tool_one"]


# Warm


def config(shelf, text: str) -> None:
    (shelf.home / "config.yaml").write_text(f"toolsets: {{}}\n{text}")


@pytest.mark.parametrize(
    ("wish", "told", "is_warm"),
    [(None, None, False), (True, None, True), (True, "false", False), (False, "true", True), (None, "true", True)],
)
def test_the_user_s_word_on_warmth_wins(shelf, wish, told, is_warm) -> None:
    put(shelf.user_tools / "one", warm=wish)
    if told:
        config(shelf, f"tools: {{custom_tool_one: {{warm: {told}}}}}\n")
    assert shelf.one().backend.warm is is_warm


def test_a_problem_of_a_manifest_has_line_and_column(shelf, run_cli) -> None:
    put(shelf.user_tools / "one", parameters=[{"name": "a", "type": "integer"}])
    (problem,) = json.loads(run_cli("list", "--json").stdout)["problems"]
    assert (problem["line"], problem["column"]) == (5, 28)
    assert problem["message"].startswith("line 5, column 28: `type` is 'integer'")
    assert Path(problem["origin"]) == shelf.user_tools / "one" / "tool.yaml"
    assert "line 5, column 28: " in run_cli("list").stderr
