"""Everything that can be wrong with a `tool.yaml`, each with its line and what puts it right (F11 to F17, F46)."""

import time

import pytest

from toolcrib import __version__
from toolcrib.sources.form import Fault
from toolcrib.sources.manifest_file import MOST_BYTES, read_manifest

FILES = [("lib.sh", "file", "sha256:0"), ("link", "link", "run.sh"), ("run.sh", "program", "sha256:1")]
GOOD = """name: one
description: Is one.
version: "1.2.3"
entrypoint: run.sh
"""


def read(text: str | bytes):
    data = text if isinstance(text, bytes) else text.encode()
    return read_manifest(data, "tool.yaml", folder="one", files=FILES)


def faults(text: str | bytes) -> tuple[Fault, ...]:
    found, wrong = read(text)
    assert (found is None) == bool(wrong)
    return wrong


def test_the_least_that_is_needed() -> None:
    found, wrong = read(GOOD)
    assert wrong == ()
    assert (found.name, found.version, found.entrypoint, found.schema["properties"]) == ("one", "1.2.3", "run.sh", {})


def test_all_keys_together() -> None:
    more = """usage: Well.
parameters: [{name: a, type: string, required: true, description: A}, {name: b, type: number}]
build: [make, all]
env: [LANG]
secrets: {API_KEY: what it opens}
network: [api.example.com, "127.0.0.1:8080"]
files: {ro: [./data], rw: [~/models/cache]}
limits: {timeout: 90s, output: 64k}
capabilities: {writes_files: true, idempotent: false}
examples: [{name: first, input: {a: x}, exit: 0, output: y}]
requires: [git, python3, jq >= 1.6, g++]
replaces: [old, older]
min_toolcrib: "0.0.1"
warm: true
"""
    found, wrong = read(GOOD + more)
    assert wrong == ()
    assert (found.seconds, found.output_bytes, found.claims) == (90, 65536, ("writes_files",))
    assert (found.replaces, found.warm) == (("old", "older"), True)
    assert found.wishes == (
        ("LANG",), ("API_KEY",), ("api.example.com", "127.0.0.1:8080"), ("git", "python3", "jq >= 1.6", "g++"),
        ("data",), ("~/models/cache",),
    )  # fmt: skip


@pytest.mark.parametrize("version", ["1.0.0", "0.0.1", "10.20.30", "1.0.0-rc.1", "1.0.0+build.5", "1.0.0-a-b.0"])
def test_semantic_versions(version) -> None:
    assert faults(GOOD.replace("1.2.3", version)) == ()


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0 ", "latest", "१.0.0"])
def test_what_is_no_semantic_version(version) -> None:
    (fault,) = faults(GOOD.replace("1.2.3", version))
    assert (fault.line, fault.pointer) == (3, "/version")


@pytest.mark.parametrize("lines", range(4))
def test_each_of_the_four_is_needed(lines) -> None:
    text = GOOD.splitlines(keepends=True)
    key = text.pop(lines).split(":")[0]
    (fault,) = faults("".join(text))
    assert f"`{key}` is missing" in fault.message and f"add `{key}:" in fault.fix


WRONG = [
    ("name: two", 1, "TOOL_NAME_INVALID", "the folder is called 'one'"),
    ("name: ../x", 1, "TOOL_NAME_INVALID", "1 to 64"),
    ("name: 'a b'", 1, "TOOL_NAME_INVALID", "1 to 64"),
    ("name: [one]", 1, "CONFIG_INVALID", "a list, not words"),
    ("description: '  '", 2, "CONFIG_INVALID", "not words"),
    ("version: 1.0", 3, "CONFIG_INVALID", "in quotes"),
    ("entrypoint: ../run.sh", 4, "PATH_OUTSIDE_WORKSPACE", "no path of a file below"),
    ("entrypoint: /bin/sh", 4, "PATH_OUTSIDE_WORKSPACE", "no path of a file below"),
    ("entrypoint: x/../run.sh", 4, "PATH_OUTSIDE_WORKSPACE", "no path of a file below"),
    ("entrypoint: ./run.sh", 4, "PATH_OUTSIDE_WORKSPACE", "no path of a file below"),
    ('entrypoint: "run.sh\\0"', 4, "PATH_OUTSIDE_WORKSPACE", "no path of a file below"),
    ("entrypoint: rum.sh", 4, "FILE_NOT_FOUND", "did you mean 'run.sh'"),
    ("entrypoint: lib.sh", 4, "EXECUTION_ERROR", "chmod +x"),
    ("entrypoint: link", 4, "PATH_NOT_REGULAR", "is a link"),
    ("usage: 5", 5, "CONFIG_INVALID", "not words"),
    ("usge: x", 5, "CONFIG_INVALID", "did you mean usage?"),
    ("zzz: x", 5, "CONFIG_INVALID", "the keys here are"),
    ("parameters: x", 5, "CONFIG_INVALID", "not a list"),
    ("parameters: [x]", 5, "CONFIG_INVALID", "a parameter is a map"),
    ("parameters:\n  - {type: string}", 6, "CONFIG_INVALID", "`name` is missing"),
    ("parameters:\n  - name: a\n    type: integer", 7, "CONFIG_INVALID", "string, number, boolean"),
    ("parameters:\n  - name: a", 6, "CONFIG_INVALID", "`type` is missing"),
    ("parameters:\n  - {name: a, type: string, required: yes}", 6, "CONFIG_INVALID", "true or false"),
    ("parameters:\n  - {name: a, typ: string, type: string}", 6, "CONFIG_INVALID", "did you mean type?"),
    ("parameters:\n  - {name: --a, type: string}", 6, "CONFIG_INVALID", "cannot be written as --name"),
    ("parameters:\n  - {name: a=b, type: string}", 6, "CONFIG_INVALID", "cannot be written as --name"),
    ("parameters: [{name: a, type: string}, {name: a, type: string}]", 5, "CONFIG_INVALID", "second time"),
    ("input_schema: 5", 5, "SCHEMA_REJECTED", "JSON object"),
    ("input_schema:\n  type: array", 6, "SCHEMA_REJECTED", "always an object"),
    ("input_schema: {properties: {a: {$ref: 'http://example.com/x'}}}", 5, "SCHEMA_REJECTED", "not followed"),
    ("input_schema: {properties: {'a b': {}}}", 5, "CONFIG_INVALID", "cannot be written as --name"),
    ("input_schema: {}\nparameters: []", 5, "CONFIG_INVALID", "keep one"),
    ("limits: 5", 5, "CONFIG_INVALID", "not a map"),
    ("limits: {time: 5}", 5, "CONFIG_INVALID", "did you mean timeout?"),
    ("limits: {timeout: 0}", 5, "CONFIG_INVALID", "not a duration"),
    ("limits: {output: much}", 5, "CONFIG_INVALID", "not a size"),
    ("env: LANG", 5, "CONFIG_INVALID", "not a list"),
    ("env: ['A=B']", 5, "CONFIG_INVALID", "names of variables"),
    ("secrets: [5]", 5, "CONFIG_INVALID", "names of secrets"),
    ("network: sometimes", 5, "CONFIG_INVALID", "it is not true, false, or a list of hosts"),
    ("network: [a b]", 5, "CONFIG_INVALID", "'a b' is not a host"),
    ("files: [data]", 5, "CONFIG_INVALID", "it is not {ro: [paths], rw: [paths]}"),
    ("files: {read: [data]}", 5, "CONFIG_INVALID", "unknown key 'read'"),
    ("files: {rw: data}", 5, "CONFIG_INVALID", "rw is not a list of paths"),
    ("files: {rw: ['~']}", 5, "CONFIG_INVALID", "'~' cannot be asked for"),
    ("files: {rw: ['~/']}", 5, "CONFIG_INVALID", "'~/' cannot be asked for"),
    ("files: {ro: [/]}", 5, "CONFIG_INVALID", "'/' cannot be asked for"),
    ("files: {ro: [/etc/shadow]}", 5, "CONFIG_INVALID", "'/etc/shadow' cannot be asked for"),
    ("files: {ro: ['~root/x']}", 5, "CONFIG_INVALID", "'~root/x' cannot be asked for"),
    ("files: {ro: [../x]}", 5, "CONFIG_INVALID", "'../x' cannot be asked for"),
    ("files: {ro: ['~/x/../.ssh']}", 5, "CONFIG_INVALID", "cannot be asked for"),
    ("files: {ro: ['~/.ssh']}", 5, "CONFIG_INVALID", "'~/.ssh' cannot be asked for"),
    ("files: {ro: ['~/.SSH/id_ed25519']}", 5, "CONFIG_INVALID", "cannot be asked for"),
    ("files: {ro: ['~/.config']}", 5, "CONFIG_INVALID", "where people keep their keys"),
    ("files: {ro: ['~/.aws']}", 5, "CONFIG_INVALID", "where people keep their keys"),
    ("files: {ro: ['~/.toolcrib/trust.json']}", 5, "CONFIG_INVALID", "cannot be asked for"),
    ("files: {rw: [.git/hooks]}", 5, "CONFIG_INVALID", "git's own files"),
    ("files: {rw: [.vscode/tasks.json]}", 5, "CONFIG_INVALID", "an editor's settings"),
    ("capabilities: [write_files]", 5, "CONFIG_INVALID", "did you mean writes_files?"),
    ("capabilities: {idempotent: maybe}", 5, "CONFIG_INVALID", "true or false"),
    ("capabilities: all", 5, "CONFIG_INVALID", "not a list"),
    ("requires: ['git; rm']", 5, "CONFIG_INVALID", "programs, such as"),
    ("requires: ['../git']", 5, "CONFIG_INVALID", "programs, such as"),
    ("requires: [jq ~ 1.6]", 5, "CONFIG_INVALID", "programs, such as"),
    ("replaces: 5", 5, "CONFIG_INVALID", "not a list"),
    ("replaces: ['a b']", 5, "CONFIG_INVALID", "names of tools beside this one"),
    ("replaces: one", 5, "CONFIG_INVALID", "the tool itself"),
    ("min_toolcrib: 0.1", 5, "CONFIG_INVALID", 'write it in quotes: min_toolcrib: "0.1"'),
    ("min_toolcrib: new", 5, "CONFIG_INVALID", "not a version"),
    ("min_toolcrib: '99.1'", 5, "ENGINE_NOT_AVAILABLE", f"it needs toolcrib ≥ 99.1, and this is {__version__}"),
    ("warm: yes", 5, "CONFIG_INVALID", "true or false"),
    ("build: 5", 5, "CONFIG_INVALID", "not a command"),
    ("build: []", 5, "CONFIG_INVALID", "not a command"),
    ("examples: {}", 5, "CONFIG_INVALID", "not a list"),
    ("examples: [{input: 5}]", 5, "CONFIG_INVALID", "not a map"),
    ("examples: [{exit: x}]", 5, "CONFIG_INVALID", "a number"),
    ("examples: [{input: {a: 1}}]", 5, "CONFIG_INVALID", "does not fit"),
    ("examples: [{inputs: {}}]", 5, "CONFIG_INVALID", "did you mean input?"),
]


@pytest.mark.parametrize(("line", "number", "code", "words"), WRONG, ids=[each[0] for each in WRONG])
def test_one_thing_wrong(line, number, code, words) -> None:
    key = line.split(":")[0] + ":"
    kept = [each for each in GOOD.splitlines() if not each.startswith(key)]
    at = next((place for place, each in enumerate(GOOD.splitlines()) if each.startswith(key)), len(kept))
    (fault,) = faults("\n".join((*kept[:at], line, *kept[at:])) + "\n")
    assert (fault.line, fault.code) == (number, code)
    assert words in f"{fault.message}; {fault.fix}"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (GOOD + "zzz: 1\n", 5, 1),
        (GOOD + "parameters:\n  - {name: a, typ: string, type: string}\n", 6, 15),
        (GOOD + "parameters:\n  - name: a\n    type: integer\n", 7, 5),
        (GOOD + "env: [LANG, 'A=B']\n", 5, 13),
        (GOOD + "input_schema:\n  properties: {a: {type: strin}}\n", 6, 20),
        (GOOD + "limits: {timeout: 5s, output: much}\n", 5, 23),
        ("name: one\nname: one\n", 2, 1),
        ("a: 1\nb: é é &x 1\nc: [*x]\n", 3, 5),
        ("a: {b: !!python/name:os.system x}\n", 1, 8),
        ("a: 'x\n", 2, 1),
        ("é: [1, 2\nb: 3\n", 2, 2),
        ("name: é\x07\n", 1, 8),
        (b"name: \xc3\xa9\nversion: \xc3\xa9\xff\n", 2, 11),
    ],
)
def test_a_fault_has_its_column(text, line, column) -> None:
    """Characters count, not bytes."""
    assert [(fault.line, fault.column) for fault in faults(text)][0] == (line, column)


def test_faults_without_end_are_not_all_looked_at() -> None:
    began = time.monotonic()
    assert len(faults("".join(f"key{number}: 1\n" for number in range(20_000)))) == 100
    assert time.monotonic() - began < 5


def test_every_fault_is_found_in_the_order_of_the_lines() -> None:
    wrong = faults("name: two\nversion: 1\nentrypoint: ../x\nparameters: [{name: a, type: b}]\ncolour: red\n")
    assert [fault.line for fault in wrong] == [1, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1), ("- a\n", 1), ("just words\n", 1), ("name: one\nname: one\n", 2), ("a: &x 1\nb: *x\n", 1),
        ("name: !!python/object:os.system one\n", 1), ("a: 1\n---\nb: 2\n", 2), ("a:\n\t- b\n", 2), ("a: 1\nb: \xff", 1),
    ],
)  # fmt: skip
def test_what_is_no_map_of_plain_yaml(text, line) -> None:
    (fault, *_) = faults(text)
    assert fault.line == line


def test_a_newer_version_is_needed_whatever_else_is_written() -> None:
    """K71: what only a newer version knows is no fault of the manifest."""
    (fault,) = faults(GOOD + 'min_toolcrib: "99.0.0"\nhologram: {x: 1}\nparameters: 5\n')
    assert (fault.code, fault.line, fault.pointer) == ("ENGINE_NOT_AVAILABLE", 5, "/min_toolcrib")


@pytest.mark.parametrize("version", [__version__, "0", "0.0", "0.0.9", "0.0.0.1"])
def test_a_version_that_this_one_satisfies(version) -> None:
    assert faults(GOOD + f'min_toolcrib: "{version}"\n') == ()


def test_bytes_that_are_no_text() -> None:
    (fault,) = faults(b"name: one\nversion: \xff\n")
    assert fault.line == 2


def test_a_manifest_that_is_too_long() -> None:
    (fault,) = faults(GOOD + "#" * MOST_BYTES)
    assert (fault.code, fault.line) == ("INPUT_TOO_LARGE", 1)


def test_what_a_model_is_shown_is_bounded() -> None:
    (fault,) = faults(GOOD + f"usage: {'x' * 17_000}\n")
    assert fault.line == 5 and "at most 16384" in fault.message
