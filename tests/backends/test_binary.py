"""Programs as tools: words are split before any argument is known, and what was listed is what runs."""

import asyncio
import json
import os
import shutil
import stat
import uuid
from pathlib import Path

import pytest

import toolcrib
from toolcrib.backends.binary import make
from toolcrib.backends.binary_words import Template, read_template
from toolcrib.backends.declared import Unfit
from toolcrib.core.errors import Refused, ToolError
from toolcrib.core.limits import Limits
from toolcrib.core.policy import Answer
from toolcrib.core.tool import Subject
from toolcrib.testing import ScriptedSandbox, fake_context

from .declaring import hostile_texts
from .programs import TEXT, Bench, leftovers

SHA = "ab" * 32
URL = "https://tools.example.com/pdf-extract"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def properties(*names: str, required: bool = True, **more: object) -> dict[str, object]:
    return {"properties": dict.fromkeys(names, TEXT) | more, "required": list(names) if required else []}


def argv(bench: Bench, template: str, parameters: dict[str, object], args: dict[str, object]) -> list[str]:
    """What the program is given in the end."""
    tool = bench.tool(make, {"path": bench.program(), "args_template": template}, parameters)
    result = bench.call(tool, args)
    assert result.error is None, result.error
    return json.loads(result.data)["argv"]


def filled(template: str, parameters: dict[str, object], args: dict[str, object]) -> tuple[str, ...]:
    return read_template(template, parameters).filled(args)


def refused(template: str, parameters: dict[str, object], args: dict[str, object]) -> str:
    with pytest.raises(ToolError) as raised:
        filled(template, parameters, args)
    assert raised.value.code == "VALIDATION_ERROR"
    return str(raised.value)


def unfit(template: str, parameters: dict[str, object]) -> str:
    with pytest.raises(Unfit) as raised:
        read_template(template, parameters)
    assert raised.value.pointer == "/args_template"
    return str(raised.value)


def test_a_local_program_with_a_template(bench) -> None:
    """A4, A5: the example of the design, with a program by its path."""
    parameters = properties("input_file", "output_file")
    found = argv(
        bench, "--input ${input_file} --output ${output_file}", parameters,
        {"input_file": "a b.pdf", "output_file": "$(id);`x`"},
    )  # fmt: skip
    assert found == ["--input", "a b.pdf", "--output", "$(id);`x`"]


def test_a_program_without_a_template_has_no_words(bench) -> None:
    tool = bench.tool(make, {"path": bench.program()}, properties("a"))
    assert json.loads(bench.call(tool, {"a": "x"}).data)["argv"] == []


def test_what_else_a_program_finds(bench, monkeypatch) -> None:
    """A44: no input, the workspace, and of the environment what is listed."""
    monkeypatch.setenv("SECRET", "sesame")
    found = json.loads(bench.call(bench.tool(make, {"path": bench.program()})).data)
    assert (found["stdin"], found["cwd"]) == ("", str(bench.workspace))
    assert "SECRET" not in found["env"] and found["env"]["TOOLCRIB_TOOL_DIR"] == str(bench.folder)


TYPED = {
    "properties": {"s": TEXT, "n": {"type": "integer"}, "b": {"type": "boolean"}, "l": {"type": "array"}, "z": {}},
    "required": ["s", "n", "b", "l", "z"],
}


def test_what_is_no_text_is_json() -> None:
    found = filled("${s} ${n} ${b} ${l} ${z}", TYPED, {"s": "007", "n": -7, "b": True, "l": ["a", "b"], "z": None})
    assert found == ("007", "-7", "true", '["a","b"]', "null")


def test_words_of_a_template() -> None:
    template = "run '${a} x' \"--out=${a}\" pre${a}post \\${a} $${a} '' ${a}${b}"
    assert filled(template, properties("a", "b"), {"a": "1 2", "b": "'\""}) == (
        "run", "1 2 x", "--out=1 2", "pre1 2post", "${a}", "${a}", "", "1 2'\"",
    )  # fmt: skip


def test_a_value_is_not_looked_into() -> None:
    assert filled("${a} ${b}", properties("a", "b"), {"a": "${b}", "b": "${env:HOME}"}) == ("${b}", "${env:HOME}")


def test_an_empty_value_is_a_word() -> None:
    assert filled("a ${a} b", properties("a"), {"a": ""}) == ("a", "", "b")


def test_an_argument_that_is_not_given_takes_its_word_with_it() -> None:
    parameters = properties("a", "b", required=False)
    assert filled("x ${a} --b=${b} y", parameters, {}) == ("x", "y")
    assert filled("x ${a} --b=${b} y", parameters, {"b": "1"}) == ("x", "--b=1", "y")


def test_a_default_stands_for_what_is_not_given() -> None:
    parameters = {"properties": {"size": {"type": "integer", "default": 10}, "to": {"type": "string", "default": "-"}}}
    assert filled("--size ${size} ${to}", parameters, {}) == ("--size", "10", "-")
    assert filled("--size ${size} ${to}", parameters, {"size": 3, "to": "x"}) == ("--size", "3", "x")


def test_an_option_is_not_left_without_its_value() -> None:
    """It would take the next word for its own."""
    assert "write --out=${out}" in unfit("--out ${out} ${file}", properties("out", "file", required=False))
    assert filled("--out ${out}", properties("out"), {"out": "x"}) == ("--out", "x")


OPTIONS = ["-rf", "--exec=evil", "-", "--", "-1"]


@pytest.mark.parametrize("value", OPTIONS)
@pytest.mark.parametrize("template", ["${a}", "--input ${a}", "x ${a}.txt", "${a}${b}", "${b}${a}"])
def test_no_value_becomes_an_option(template, value) -> None:
    """TRAPS: "A value beginning with `-` is an option to the program"."""
    message = refused(template, properties("a", "b"), {"a": value, "b": ""})
    assert "option" in message and "./-name" in message


def test_an_empty_value_does_not_make_an_option_of_what_follows() -> None:
    refused("${a}-x", properties("a"), {"a": ""})


@pytest.mark.parametrize("value", OPTIONS)
def test_where_no_option_can_be_any_value_may(value) -> None:
    assert filled("-- ${a}", properties("a"), {"a": value}) == ("--", value)
    assert filled("--input=${a}", properties("a"), {"a": value}) == (f"--input={value}",)
    assert filled("./${a}", properties("a"), {"a": value}) == (f"./{value}",)


def test_two_dashes_from_an_argument_end_no_options() -> None:
    parameters = {"properties": {"a": {"enum": ["--", "x"]}, "b": TEXT}, "required": ["a", "b"]}
    refused("${a} ${b}", parameters, {"a": "--", "b": "-rf"})


def test_an_option_that_the_author_wrote_down_is_one() -> None:
    parameters = {"properties": {"mode": {"enum": ["-v", "-q"]}, "n": {"type": "integer"}}, "required": ["mode", "n"]}
    assert filled("${mode} ${n}", parameters, {"mode": "-v", "n": -3}) == ("-v", "-3")


def test_a_pattern_does_not_allow_options() -> None:
    """Few who write one think of the dash."""
    parameters = {"properties": {"a": {"type": "string", "pattern": "^[a-z-]+$"}}, "required": ["a"]}
    refused("${a}", parameters, {"a": "-rf"})


def test_an_argument_does_not_name_the_option() -> None:
    assert "enum" in unfit("-${a}", properties("a"))
    assert "enum" in unfit("--${a}=1", properties("a"))
    parameters = {"properties": {"a": {"enum": ["v", "q"]}}, "required": ["a"]}
    assert filled("-${a}", parameters, {"a": "v"}) == ("-v",)


def test_a_secret_is_no_word() -> None:
    """Everybody sees the command lines of all processes."""
    assert "secret" in unfit("--key=${env:API_KEY}", {})


def test_a_name_that_is_no_parameter() -> None:
    assert "did you mean input_file?" in unfit("${input_fil}", properties("input_file"))
    assert "there are none" in unfit("${x}", {})


@pytest.mark.parametrize("template", ["${", "${}", "${a", "'${a}", '"', "x\\", "${env:}", "${a b}"])
def test_a_template_that_is_not_well_formed(template) -> None:
    unfit(template, properties("a"))


def test_what_no_command_line_carries() -> None:
    assert "NUL" in refused("${a}", properties("a"), {"a": "x\0y"})
    assert "cannot be written down" in refused("${a}", properties("a"), {"a": "\ud800"})
    assert "file" in refused("${a}", properties("a"), {"a": "x" * 140_000})
    many = [f"a{at}" for at in range(20)]
    template = " ".join(f"${{{name}}}" for name in many)
    assert "send less" in refused(template, properties(*many), dict.fromkeys(many, "x" * 100_000))


def test_faults_are_found_before_anybody_is_asked(bench) -> None:
    ran = bench.workspace / "ran"
    path = bench.program(f"#!/bin/sh\n: > {ran}\n")
    tool = bench.tool(make, {"path": path, "args_template": "${a}"}, properties("a"))
    asked = []

    class Asked:
        async def approve(self, question):
            asked.append(question)
            raise AssertionError("somebody was asked")

    async def once():
        async with toolcrib.open(workspace=bench.workspace, home=bench.home, tools=[tool], approver=Asked()) as crib:
            return await crib.call("tool", {"a": "-rf"})

    result = asyncio.run(once())
    assert (result.error.code, asked, ran.exists()) == ("VALIDATION_ERROR", [], False)


def test_a_thousand_hostile_values_are_a_thousand_words(bench) -> None:
    """Each stays in its place, to the character, and none becomes one more word or variable."""
    texts = list(hostile_texts(1000, seed=5, without="\0"))
    whole = [f"a{at}" for at in range(500)]
    inside = [f"b{at}" for at in range(500)]
    template = " ".join(["-- ", *(f"${{{name}}}" for name in whole), *(f"'--{name}=${{{name}}} x'" for name in inside)])
    args = dict(zip(whole + inside, texts, strict=True))
    path = bench.program()
    fields = {"path": path, "args_template": template, "max_output": 10_000_000}
    tool = bench.tool(make, fields, properties(*whole, *inside))
    found = json.loads(bench.call(tool, args).data)
    expected = ["--", *texts[:500], *(f"--{name}={args[name]} x" for name in inside)]
    assert found["argv"] == expected
    plain = json.loads(bench.call(bench.tool(make, {"path": path})).data)
    assert set(found["env"]) == set(plain["env"])


def test_hostile_values_without_an_end_of_options() -> None:
    """1,000 values: each is one word that is no option, or refused."""
    template = read_template("run ${a}", properties("a"))
    outcomes = {"taken": 0, "refused": 0}
    for text in hostile_texts(1000, seed=8):
        try:
            words = template.filled({"a": text})
        except ToolError:
            assert text.startswith("-") or "\0" in text
            outcomes["refused"] += 1
        else:
            assert words == ("run", text) and not text.startswith("-")
            outcomes["taken"] += 1
    assert min(outcomes.values()) > 10


@pytest.mark.parametrize("absolute", [False, True])
def test_a_path_runs_from_a_copy_of_what_was_listed(bench, absolute) -> None:
    path = bench.program('#!/bin/sh\necho "$0"\n', "bin/tells")
    result = bench.call(bench.tool(make, {"path": path if absolute else "bin/tells"}))
    copy = Path(result.data.strip())
    assert copy.is_relative_to(bench.home / "cache" / "programs") and copy.name == "tells"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o500


@pytest.mark.parametrize("fields", [{"path": "./tells"}, {"path": "ABSOLUTE"}])
def test_people_are_shown_the_program_they_know(bench, fields) -> None:
    path = bench.program()
    asked = []

    class Asked:
        async def approve(self, question):
            asked.append(question.request.program)
            return Answer(allowed=False, by="test")

    tool = bench.tool(make, {"path": fields["path"].replace("ABSOLUTE", path)})

    async def once():
        async with toolcrib.open(workspace=bench.workspace, home=bench.home, tools=[tool], approver=Asked()) as crib:
            return await crib.call("tool", {})

    assert (asyncio.run(once()).error.code, asked) == ("APPROVAL_DENIED", [os.path.realpath(path)])


def test_a_program_of_the_folder_has_its_files_beside_it(bench) -> None:
    bench.program('#!/bin/sh\ncat "$(dirname "$0")/../words" "$TOOLCRIB_TOOL_DIR/words"\n', "bin/tells")
    words = bench.folder / "words"
    words.write_text("hello\n")
    tool = bench.tool(make, {"path": "bin/tells"})
    assert bench.call(tool).data == "hello\nhello\n"
    words.write_text("evil\n")
    assert bench.call(tool).error.code == "TOOL_PIN_MISMATCH"


def test_a_changed_program_does_not_run(bench) -> None:
    ran = bench.workspace / "ran"
    path = Path(bench.program())
    tool = bench.tool(make, {"path": "./tells"})
    path.write_text(f"#!/bin/sh\n: > {ran}\n")
    result = bench.call(tool)
    assert result.error.code == "TOOL_PIN_MISMATCH" and not ran.exists()
    assert bench.tool(make, {"path": "./tells"}).digest != tool.digest


def test_a_path_may_be_held_to_a_digest(bench) -> None:
    path = bench.program()
    with pytest.raises(Unfit) as raised:
        bench.tool(make, {"path": path, "sha256": SHA})
    digest = str(raised.value).partition("sha256:")[2][:64]
    for written in (digest, f"sha256:{digest}", digest.upper()):
        assert bench.tool(make, {"path": path, "sha256": written}).digest


def test_a_program_by_its_name_is_the_machines(bench) -> None:
    """A44: and where it is missing, that is said."""
    if shutil.which("printf") is None:
        pytest.skip("there is no printf on this machine")
    tool = bench.tool(make, {"path": "printf", "args_template": "'<%s>\\n' ${a}"}, properties("a"))
    assert bench.call(tool, {"a": "x y"}).data == "<x y>\n"
    result = bench.call(bench.tool(make, {"path": "no-such-program-here"}))
    assert result.error.code == "ENGINE_NOT_AVAILABLE" and "install it" in result.error.message


def test_how_a_program_fails(bench) -> None:
    bench.program("#!/bin/sh\necho out; echo no >&2; exit 3\n")
    result = bench.call(bench.tool(make, {"path": "./tells"}))
    assert (result.error.code, result.error.details["exit_code"], result.exit_code) == ("EXECUTION_ERROR", 3, 3)
    assert (result.error.details["stdout"], result.error.details["stderr"]) == ("out\n", "no\n")


def test_sixty_seconds_unless_it_says_otherwise(bench) -> None:
    """A7, A38"""
    assert bench.tool(make, {"path": "x"}).limits == Limits(60.0, 102_400)
    assert bench.tool(make, {"path": "x", "timeout_ms": 5000, "max_output": 7}).limits == Limits(5.0, 7)


def test_time_that_is_over_leaves_no_process(bench) -> None:
    """A38"""
    mark = uuid.uuid4().hex
    bench.program('#!/bin/sh\nsh -c "sleep 60" "$1" & sleep 60\n')
    fields = {"path": "./tells", "args_template": "${mark}", "timeout_ms": 300}
    result = bench.call(bench.tool(make, fields, properties("mark")), {"mark": mark})
    assert result.error.code == "TIMEOUT"
    assert leftovers(mark) == []


def test_output_past_its_limit_is_an_artifact(bench) -> None:
    """A8"""
    bench.program("#!/bin/sh\nhead -c 500000 /dev/zero | tr '\\0' x\n")
    result = bench.call(bench.tool(make, {"path": "./tells"}))
    assert result.metadata["truncated"] and result.metadata["artifacts"][0]["bytes"] == 500_000


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({}, "/path"),
        ({"path": "x", "url": URL}, "/path"),
        ({"path": ""}, "/path"),
        ({"path": 5}, "/path"),
        ({"path": "a b"}, "/path"),
        ({"path": "-x"}, "/path"),
        ({"path": "x", "sha256": SHA}, "/sha256"),
        ({"path": "./none"}, "/path"),
        ({"path": "/no/such/program"}, "/path"),
        ({"path": "../out"}, "/path"),
        ({"path": "./plain"}, "/path"),
        ({"path": "./link"}, "/path"),
        ({"path": "x", "member": "bin/x"}, "/member"),
        ({"path": "x", "command": "x"}, "/command"),
        ({"path": "x", "args_template": ["a"]}, "/args_template"),
        ({"path": "x", "timeout_ms": -5}, "/timeout_ms"),
        ({"url": "tools.example.com/x"}, "/url"),
        ({"url": "file:///bin/sh"}, "/url"),
        ({"url": "https://user:pw@example.com/x"}, "/url"),
        ({"url": "https://${host}/x"}, "/url"),
        ({"url": "https://example.com/x.tar.gz"}, "/url"),
        ({"url": "https://example.com/x.ZIP", "member": "../x"}, "/member"),
        ({"url": "https://example.com/x.zip", "member": "/bin/x"}, "/member"),
        ({"url": URL, "sha256": "abc"}, "/sha256"),
        ({"url": URL, "sha256": 5}, "/sha256"),
    ],
)
def test_a_declaration_that_is_wrong(bench, fields, pointer) -> None:
    (bench.root / "out").write_text("#!/bin/sh\n")
    (bench.root / "out").chmod(0o755)
    (bench.folder / "link").symlink_to(bench.root / "out")
    (bench.folder / "plain").write_text("not executable")
    with pytest.raises(Unfit) as raised:
        bench.tool(make, fields)
    assert raised.value.pointer == pointer


class Given:
    """Downloads that were made already."""

    def __init__(self, path: str = "", refusal: Refused | None = None) -> None:
        self.path, self.refusal = path, refusal
        self.asked: list[tuple[str, str, str]] = []

    async def obtained(self, url, sha256, member, ctx) -> str:
        self.asked.append((url, sha256, member))
        if self.refusal is not None:
            raise self.refusal
        return self.path


def test_a_downloaded_program(bench) -> None:
    """A4, A6: by its URL; the digest is checked by whoever fetches it."""
    downloads = Given(bench.program())
    fields = {"url": URL, "sha256": SHA.upper(), "args_template": "${file_path}"}
    tool = bench.tool(make, fields, properties("file_path"), downloads=downloads)
    assert json.loads(bench.call(tool, {"file_path": "a.pdf"}).data)["argv"] == ["a.pdf"]
    assert downloads.asked == [(URL, f"sha256:{SHA}", "")]


def test_a_download_is_shown_to_the_rules(bench) -> None:
    """As the call, and as a host that it reaches."""
    tool = bench.tool(make, {"url": URL, "sha256": SHA})
    assert list(tool.hooks.touches({})) == [Subject(), Subject("host", ("tools.example.com:443",))]
    assert tool.capabilities.accesses_network and tool.capabilities.executes_commands
    assert not bench.tool(make, {"path": "x"}).capabilities.accesses_network


def test_an_unverified_download_says_where_to_write_the_digest(bench) -> None:
    """A23: the example by URL alone is made, and not run."""
    (bench.folder / "SKILL.md").write_text(f"---\ntools:\n  - backend: {{type: binary, url: {URL}}}\n---\n")
    refusal = Refused("it was not downloaded; add the line `sha256: …`", code="DOWNLOAD_UNVERIFIED")
    tool = bench.tool(make, {"url": URL}, name="pdf-extract", downloads=Given(refusal=refusal))
    result = bench.call(tool)
    assert result.error.code == "DOWNLOAD_UNVERIFIED"
    assert result.error.message.endswith(
        f"add the line `sha256: …`, in the `backend:` of pdf-extract in {bench.folder / 'SKILL.md'}"
    )


def test_alone_without_a_gate(bench) -> None:
    """A46: with a context of one's own, and nothing started."""
    sandbox = ScriptedSandbox(b"said\n")
    ctx = fake_context(sandbox=sandbox, environ={"PATH": os.environ["PATH"]})
    tool = bench.tool(make, {"path": bench.program(), "args_template": "-- ${a}"}, properties("a"))
    assert asyncio.run(tool.backend.run({"a": "$(evil)"}, ctx)) == "said\n"
    assert sandbox.commands[0].argv == (str(bench.folder / "tells"), "--", "$(evil)")


def test_no_template_is_the_empty_one() -> None:
    assert Template().filled({"a": "x"}) == ()
