"""`delete_custom_tool`: one of the user's own folders, and nothing else."""

import os

import pytest


def test_the_folder_goes(shop) -> None:
    """F36."""
    folder = shop.create()
    shop.create("other")
    done = shop.call("delete_custom_tool", {"name": "shout"})
    assert done.success and not folder.exists()
    assert sorted(path.name for path in shop.tools.iterdir()) == ["other"]


def test_the_person_is_shown_what_goes(shop) -> None:
    folder = shop.create()
    shop.call("delete_custom_tool", {"name": "custom_tool_shout"})
    (subject,) = shop.person.asked[-1].request.subjects
    assert (subject.kind, subject.value[0], subject.wide) == ("remove", str(folder), None)
    assert not folder.exists()


@pytest.mark.parametrize("refusal", ["no", "nobody"])
def test_without_a_yes_all_stays(shop, refusal) -> None:
    shop.create()
    before = shop.tree()
    if refusal == "no":
        shop.person.refuses = ("delete_custom_tool",)
    else:
        shop.person = None
    assert not shop.call("delete_custom_tool", {"name": "shout"}).success
    assert shop.tree() == before


def test_a_dry_run_says_what_would_go(shop) -> None:
    folder = shop.create()
    before = shop.tree()
    shown = shop.call("delete_custom_tool", {"name": "shout"}, dry_run=True)
    assert shown.data == {"folder": str(folder), "would_remove": [f"{folder}/shout.py", f"{folder}/tool.yaml"]}
    assert shop.tree() == before


@pytest.mark.parametrize("what", ["program", "plain folder", "link", "project", "untrusted project"])
def test_what_is_not_the_user_s_own_folder_is_refused_with_words(shop, make_tool, run_cli, what) -> None:
    shop.tools.mkdir()
    if what == "program":
        make_tool("shout", '#!/bin/sh\necho \'{"name": "shout"}\'\n')
    elif what == "plain folder":
        (shop.tools / "shout").mkdir()
    elif what == "link":
        real = shop.workspace / "shout"
        real.mkdir()
        (real / "tool.yaml").write_text("name: shout\n")
        os.symlink(real, shop.tools / "shout")
    else:
        assert run_cli("new", "executable", "shout", "--lang", "bash", "--project").returncode == 0
        if what == "project":
            assert run_cli("trust", "--yes").returncode == 0
    before = shop.tree()
    refused = shop.call("delete_custom_tool", {"name": "shout"})
    assert (refused.error.code, "ask the user" in refused.error.message) == ("PATH_PROTECTED", True)
    assert shop.person.asked == []
    assert shop.tree() == before


@pytest.mark.parametrize("name", ["nothing", "custom_tool_nothing"])
def test_what_is_not_there_is_not_there(shop, name) -> None:
    shop.create("nothings")
    refused = shop.call("delete_custom_tool", {"name": name})
    assert (refused.error.code, refused.error.details) == ("TOOL_NOT_FOUND", {"nearest": ["nothings"]})


@pytest.mark.parametrize("name", ["../tools/shout", ".", "..", "shout/..", "", "shout/"])
def test_a_trick_with_the_name_removes_nothing(shop, name) -> None:
    """K47."""
    shop.create()
    before, asked = shop.tree(), len(shop.person.asked)
    assert shop.call("delete_custom_tool", {"name": name}).error.code == "VALIDATION_ERROR"
    assert (shop.tree(), len(shop.person.asked)) == (before, asked)
