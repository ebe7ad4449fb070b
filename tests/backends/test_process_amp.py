"""The Amp dialect: the action is in a variable, the arguments are JSON or lines."""

import json

import pytest


def test_json_goes_in_and_the_action_is_execute(shop) -> None:
    result = shop.run('echo "$TOOLBOX_ACTION $#"; cat', {"a": 1, "b": "x: y"}, dialect="amp-json")
    action, args = result.data.split("\n")
    assert (action, json.loads(args)) == ("execute 0", {"a": 1, "b": "x: y"})


def test_lines_go_in_where_it_described_itself_with_lines(shop) -> None:
    args = {"name": "Zoë: the first", "count": 3, "deep": {"a": [1, None]}, "yes": True, "empty": "", "spaces": "  x "}
    result = shop.run('echo "$TOOLBOX_ACTION $#"; cat', args, dialect="amp-text")
    assert result.data.split("\n") == [
        "execute 0",
        "name: Zoë: the first",
        "count: 3",
        'deep: {"a":[1,null]}',
        "yes: true",
        "empty: ",
        "spaces:   x ",
        "",
    ]


@pytest.mark.parametrize("value", ["a\nforged: value", "a\rforged: value", "a\r\nb"])
def test_no_value_becomes_two_lines(shop, tmp_path, value) -> None:
    """ "Substitute-then-split lets an argument become several" """
    result = shop.run(f": > {tmp_path}/ran", {"name": value}, dialect="amp-text")
    assert (result.error.code, (tmp_path / "ran").exists()) == ("VALIDATION_ERROR", False)
    assert "name holds a line break" in result.error.message


@pytest.mark.parametrize("key", ["a\nforged", "a: b", "", "a\r"])
def test_no_name_becomes_two_lines(shop, tmp_path, key) -> None:
    result = shop.run(f"cat; : > {tmp_path}/ran", {key: "value"}, dialect="amp-text")
    assert (result.success, (tmp_path / "ran").exists()) == (False, False)


def test_the_plain_dialect_knows_no_action(shop) -> None:
    assert shop.run('echo "[$TOOLBOX_ACTION]"').data == "[]\n"
