"""The official JSON-Schema-Test-Suite, 2020-12, required files, through the validator that checks arguments."""

from pathlib import Path

import jsonschema_rs

from toolcrib.core.errors import ToolcribError
from toolcrib.core.jsontext import parse
from toolcrib.core.validator import _compile

DISAGREE: dict[tuple[str, str, str], str] = {}
"""(file, group, test): why we answer otherwise. None, with the library as it is."""


def registry(suite: Path) -> jsonschema_rs.Registry:
    """`remotes/` of the suite, in memory, under the address its tests use. Nothing is fetched."""
    remotes = suite / "remotes"
    found = [
        (f"http://localhost:1234/{file.relative_to(remotes).as_posix()}", parse(file.read_bytes()))
        for file in sorted(remotes.rglob("*.json"))
    ]
    return jsonschema_rs.Registry(found, draft=jsonschema_rs.Draft202012)


def test_every_verdict_agrees(corpus) -> None:
    """K26: schemas are JSON Schema 2020-12, all of it."""
    suite = corpus("JSON-Schema-Test-Suite")
    known, wrong, count = registry(suite), {}, 0
    for file in sorted((suite / "tests" / "draft2020-12").glob("*.json")):
        for group in parse(file.read_bytes()):
            validator = _compile(group["schema"], known)
            for test in group["tests"]:
                count += 1
                if validator.is_valid(test["data"]) != test["valid"]:
                    wrong[file.name, group["description"], test["description"]] = test["valid"]
    assert count > 1200
    assert sorted(wrong) == sorted(DISAGREE)


def test_without_the_registry_no_remote_reference_is_followed(corpus) -> None:
    """The same schemas from a tool: what refers to the outside is refused when it is compiled."""
    suite = corpus("JSON-Schema-Test-Suite")
    followed = []
    for group in parse((suite / "tests" / "draft2020-12" / "refRemote.json").read_bytes()):
        try:
            _compile(group["schema"])
        except ToolcribError as exc:
            assert exc.code == "SCHEMA_REJECTED"
            assert "http://localhost:1234/" in str(exc)
        else:
            followed.append(group["description"])
    assert followed == []
