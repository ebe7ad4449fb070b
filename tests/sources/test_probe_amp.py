"""Programs of the Amp dialect: asked in the same start, understood from their answer."""

import json

import pytest

AMP = """case "$TOOLBOX_ACTION" in
describe) cat <<'END'
{answer}
END
;;
execute) echo executed; cat;;
*) echo "would execute" >> {canary};;
esac"""


@pytest.fixture
def amp(shelf, tmp_path):
    """Offers an Amp program with this answer to `describe`; gives its tool, or the code and message of its problem."""

    def offer(answer: str):
        shelf.program("amp", AMP.format(answer=answer, canary=tmp_path / "canary"))
        tools, problems = shelf.opened(lambda crib: (crib.tools(), crib.problems()))
        assert not (tmp_path / "canary").exists()
        return tools[0] if tools else (problems[0].code, problems[0].message)

    return offer


def test_json_with_a_schema(amp, shelf) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tool = amp(json.dumps({"name": "counts", "description": "Counts.", "inputSchema": schema}))
    assert (tool.name, tool.description, tool.input_schema) == ("custom_tool_counts", "Counts.", schema)
    result = shelf.opened(lambda crib: crib.call("custom_tool_counts", {"n": 3}))
    assert result.data == 'executed\n{"n":3}'
    assert shelf.opened(lambda crib: crib.call("custom_tool_counts", {})).error.code == "VALIDATION_ERROR"


def test_json_with_a_map_of_arguments(amp, shelf) -> None:
    args = {
        "who": ["string", "Whom."],
        "age": ["integer?", "How old."],
        "tag": ["string", "(optional) A tag."],
        "bare": "number",
    }
    tool = amp(json.dumps({"name": "greet", "description": "Greets.", "args": args}))
    assert tool.input_schema["required"] == ["who", "bare"]
    assert tool.input_schema["properties"]["who"] == {"type": "string", "description": "Whom."}
    assert {key: value["type"] for key, value in tool.input_schema["properties"].items()} == {
        "who": "string",
        "age": "integer",
        "tag": "string",
        "bare": "number",
    }
    result = shelf.opened(lambda crib: crib.call("custom_tool_greet", {"who": "Bob", "bare": 1}))
    assert result.data == 'executed\n{"who":"Bob","bare":1}'


def test_lines(amp, shelf) -> None:
    tool = amp(
        "name: run-tests\ndescription: Runs the tests: all of them.\n\ndir: string the directory\n"
        "verbose: boolean? talk more\nshard: integer (optional) which part\nseed: number optional a seed\nname: string a filter"
    )
    assert (tool.name, tool.description) == ("custom_tool_run-tests", "Runs the tests: all of them.")
    assert tool.input_schema["required"] == ["dir", "name"]
    assert list(tool.input_schema["properties"]) == ["dir", "verbose", "shard", "seed", "name"]
    result = shelf.opened(
        lambda crib: crib.call("custom_tool_run-tests", {"dir": "src: a", "name": "x", "verbose": True})
    )
    assert result.data == "executed\ndir: src: a\nname: x\nverbose: true\n"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("name: x\ndescription: d\nodd: text what", "'text'"),
        ("name: x\ndescription: d\nno colon here", "is not `key: value`"),
        ("name: x", "`description` must say"),
        ('{"name": "x", "description": "d", "args": {"a": ["text"]}}', "'text'"),
        ('{"name": "x", "description": "d", "args": {"a": []}}', "'a'"),
        ('{"name": "x", "description": "d", "args": []}', "`input_schema` is missing"),
    ],
)
def test_a_malformed_answer_is_said(amp, words, answer) -> None:
    code, message = amp(answer)
    assert (code, words in message) == ("VALIDATION_ERROR", True), message


def test_asking_never_executes(shelf, tmp_path) -> None:
    """One start with the word and the variable: without the variable an Amp program would execute."""
    shelf.program("amp", AMP.format(answer="name: x\ndescription: d config", canary=tmp_path / "canary"))
    shelf.opened()
    assert (shelf.started(), (tmp_path / "canary").exists()) == (["amp description"], False)


def test_both_dialects_lie_in_one_directory(shelf, tmp_path) -> None:
    shelf.program("amp", AMP.format(answer="name: lines\ndescription: d", canary=tmp_path / "canary"))
    shelf.tool("plain")
    assert shelf.opened() == ["custom_tool_lines", "custom_tool_plain"]
