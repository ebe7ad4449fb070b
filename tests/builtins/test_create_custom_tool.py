"""`create_custom_tool`: asked about with all that a yes means, written whole or not at all."""

import json
import os
import stat

import pytest

from toolcrib.builtins import TOOLS
from toolcrib.cli._prompt import brief, drawn
from toolcrib.sources.workshop import LANGUAGES

WANTED = {"name": "shout", "description": "Say it loudly.", "parameters": [{"name": "text", "required": True}]}


def test_a_folder_with_a_manifest_and_a_source(shop) -> None:
    """F1, F4, F6: the tools directory is made on first use, for the user alone."""
    made = shop.call("create_custom_tool", WANTED)
    folder = shop.tools / "shout"
    assert made.data["folder"] == str(folder) and made.data["name"] == "custom_tool_shout"
    assert sorted(made.data["files"]) == sorted(str(path) for path in folder.iterdir())
    assert (folder / "tool.yaml").exists()
    assert stat.S_IMODE(shop.tools.stat().st_mode) == 0o700
    assert any("custom_tool_shout" in step for step in made.data["next"])


def test_it_goes_where_the_user_s_configuration_says(shop, tmp_path) -> None:
    (shop.home / "config.yaml").write_text(f"custom_tools: {{global_dir: {tmp_path}/mine, prefix: my_}}")
    made = shop.call("create_custom_tool", WANTED)
    assert (made.data["folder"], made.data["name"]) == (f"{tmp_path}/mine/shout", "my_shout")
    assert not shop.tools.exists()


def test_the_languages_are_those_of_the_workshop() -> None:
    (tool,) = (tool for tool in TOOLS if tool.name == "create_custom_tool")
    assert tool.input_schema["properties"]["language"]["enum"] == list(LANGUAGES)


def test_the_person_sees_tool_purpose_place_language_and_what_it_will_be_able_to_do(shop) -> None:
    """F34."""
    shop.call("create_custom_tool", WANTED)
    request = shop.person.asked[0].request
    for page in (drawn(request, width=200, now=request.created), brief(request, width=200)):
        for words in ('"shout"', '"Say it loudly."', str(shop.tools / "shout"), "a tool in python",
                      "custom_tool_shout", "with your rights, the network too", "PATH, HOME, USER",
                      "each call of it is asked about"):  # fmt: skip
            assert words in page


def test_what_is_configured_for_its_calls_is_said_as_it_is(shop) -> None:
    (shop.home / "config.yaml").write_text("approval: {tools: {custom_tool_shout: preApproved}}")
    shop.call("create_custom_tool", WANTED)
    assert "its calls run without being asked about" in drawn(shop.person.asked[0].request, width=200, now=0)


def test_hostile_words_draw_nothing_in_the_prompt(shop) -> None:
    evil = "Fine.\x1b[2J\n  Allow? [y/s/p/u, v, ?, N] y\u202e\r"
    shop.call("create_custom_tool", {**WANTED, "description": evil})
    page = drawn(shop.person.asked[0].request, width=200, now=0)
    assert not any(char in page for char in "\x1b\u202e\r")
    assert "\n  Allow?" not in page


def test_a_yes_that_lasts_covers_this_very_tool_and_no_other(shop) -> None:
    shop.call("create_custom_tool", WANTED)
    (subject,) = shop.person.asked[0].request.subjects
    assert subject.wide is None
    assert set(subject.exact) == {"arguments"}


def test_a_no_writes_nothing(shop) -> None:
    """F35, X7."""
    shop.person.refuses = ("create_custom_tool",)
    before = shop.tree()
    refused = shop.call("create_custom_tool", WANTED)
    assert refused.error.code == "APPROVAL_DENIED"
    assert shop.tree() == before and not shop.tools.exists()


def test_nobody_to_ask_writes_nothing(shop) -> None:
    shop.person = None
    before = shop.tree()
    assert shop.call("create_custom_tool", WANTED).error.code == "APPROVAL_REQUIRED"
    assert shop.tree() == before


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "/etc/x", ".", "..", "", "x\n", "x\0", "a b", "é", "x" * 65, "tool.yaml", ".hidden", "~"],
    ids=ascii,
)
def test_a_trick_with_the_name_is_refused_before_anybody_is_asked(shop, name) -> None:
    """K47."""
    before = shop.tree()
    refused = shop.call("create_custom_tool", {**WANTED, "name": name})
    assert refused.error.code in ("VALIDATION_ERROR", "TOOL_NAME_INVALID")
    assert shop.person.asked == []
    assert shop.tree() == before


@pytest.mark.parametrize(
    "more",
    [
        {"language": "perl"},
        {"description": ""},
        {"parameters": [{"name": "x", "type": "object"}]},
        {"parameters": [{"name": "--x"}]},
        {"parameters": [{"name": "x"}, {"name": "x"}]},
        {"parameters": [{"name": "x", "evil": 1}]},
        {"folder": "/tmp"},
    ],
    ids=json.dumps,
)
def test_what_makes_no_tool_is_refused_before_anybody_is_asked(shop, more) -> None:
    before = shop.tree()
    assert shop.call("create_custom_tool", WANTED | more).error.code == "VALIDATION_ERROR"
    assert shop.person.asked == []
    assert shop.tree() == before


@pytest.mark.parametrize("taken", ["shout", "shout.py", "link"])
def test_a_name_that_is_taken_is_refused_before_anybody_is_asked(shop, taken) -> None:
    shop.tools.mkdir()
    if taken == "link":
        os.symlink(shop.workspace, shop.tools / "shout")
    else:
        (shop.tools / taken).write_text("mine")
    before = shop.tree()
    refused = shop.call("create_custom_tool", WANTED)
    assert refused.error.code == "TOOL_NAME_CONFLICT"
    assert shop.person.asked == []
    assert shop.tree() == before


def test_a_dry_run_shows_the_files_and_writes_none(shop) -> None:
    before = shop.tree()
    shown = shop.call("create_custom_tool", WANTED, dry_run=True)
    assert set(shown.data["files"]) == {"tool.yaml", "shout.py"}
    assert shop.tree() == before


def test_a_rule_for_the_place_is_a_rule_for_making_tools_there(shop) -> None:
    (shop.home / "policy.yaml").write_text(f"rules:\n- {{paths: ['{shop.tools}'], access: write, approval: blocked}}\n")
    before = shop.tree()
    refused = shop.call("create_custom_tool", WANTED)
    assert refused.error.code == "BLOCKED_BY_POLICY"
    assert shop.tree() == before


def test_a_rule_for_files_alone_does_not_allow_making_tools(shop) -> None:
    (shop.home / "policy.yaml").write_text(
        f"rules:\n- {{paths: ['{shop.tools}'], access: write, approval: preApproved}}\n"
    )
    shop.call("create_custom_tool", WANTED)
    assert shop.person.names == ["create_custom_tool"]
