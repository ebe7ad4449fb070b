"""JSONTestSuite at the stdin entrance of `toolcrib call NAME --input -` (K48)."""

import sys
from io import BytesIO, TextIOWrapper

import pytest

from toolcrib.cli import call
from toolcrib.core.errors import InvalidJson
from toolcrib.core.jsontext import parse

ECHO = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "echo", "description": "Say it back.", "input_schema": {"type": "object"}}'; exit
fi
cat
"""


@pytest.fixture
def cases(corpus):
    """`cases("y_")`: the documents that every parser must accept; `n_`: refuse; `i_`: may do either."""
    folder = corpus("JSONTestSuite") / "test_parsing"
    return lambda kind: {file.name: file.read_bytes() for file in sorted(folder.glob(f"{kind}*.json"))}


def accepted(document: bytes) -> bool:
    try:
        parse(document)
    except InvalidJson as exc:
        assert str(exc)
        return False
    return True


def test_what_is_json_is_accepted(cases) -> None:
    found = cases("y_")
    assert len(found) == 95
    assert [name for name, document in found.items() if not accepted(document)] == []


def test_what_is_not_json_is_refused(cases) -> None:
    found = cases("n_")
    assert len(found) == 188
    assert [name for name, document in found.items() if accepted(document)] == []


def test_what_is_undecided_ends_in_a_value_or_a_refusal(cases) -> None:
    """No crash, no hang; and what is accepted can be written again."""
    from toolcrib.core.jsontext import canonical, dump, dump_ascii

    for document in cases("i_").values():
        if accepted(document):
            value = parse(document)
            assert parse(dump(value)) == parse(dump_ascii(value)) == parse(canonical(value)) == value


def test_the_entrance_is_that_function(cases, monkeypatch) -> None:
    """What `--input -` reads goes through `core.jsontext.parse`, byte for byte."""
    seen: list[bytes] = []
    monkeypatch.setattr(call, "parse", lambda raw: seen.append(raw) or {})
    documents = [document for kind in ("y_", "n_", "i_") for document in cases(kind).values()]
    for document in documents:
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(document)))
        call._arguments({"--input": "-"}, {})
    assert seen == documents


@pytest.mark.parametrize(
    "name", ["n_structure_100000_opening_arrays", "n_object_trailing_comma", "n_string_unescaped_tab"]
)
def test_a_real_process_refuses_and_runs_nothing(cases, home, make_tool, run_cli, name) -> None:
    make_tool("echo", ECHO + f"touch {home}/ran\n")
    document = cases("n_")[f"{name}.json"].decode("utf-8", "surrogateescape")
    done = run_cli("call", "echo", "--yes", "--input", "-", input=document)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not valid JSON" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (home / "ran").exists()


def test_a_real_process_accepts(cases, make_tool, run_cli) -> None:
    make_tool("echo", ECHO)
    document = cases("y_")["y_object_extreme_numbers.json"]
    done = run_cli("call", "echo", "--yes", "--input", "-", input=document.decode())
    assert (done.returncode, parse(done.stdout)) == (0, parse(document))


@pytest.mark.parametrize(
    "name", ["y_structure_lonely_string", "y_array_empty", "y_structure_lonely_null", "y_structure_lonely_int"]
)
def test_json_that_is_no_object_is_a_validation_error(cases, make_tool, run_cli, name) -> None:
    """It is JSON, so the gate says what it expected, and records it."""
    make_tool("echo", ECHO)
    done = run_cli("call", "echo", "--yes", "--json", "--input", "-", input=cases("y_")[f"{name}.json"].decode())
    answer = parse(done.stdout)
    assert done.returncode == 2
    assert answer["error"]["code"] == "VALIDATION_ERROR"
    assert "object" in answer["error"]["message"] + str(answer["error"]["details"])
