"""What a new folder says: exactly what was given, in every language, and nothing of it is ever run (F6, F23)."""

import os
import subprocess
from pathlib import Path

import pytest

from toolcrib.sources import manifest_file, workshop
from toolcrib.sources.manifest_scaffold import LANGUAGES, Parameter, quoted
from toolcrib.store import yamltext

from .languages import need

HOSTILE = [
    "plain words",
    "quotes \" and ' and \"\"\" and '''",
    "*/ -->  //",
    "#{`touch x`} ${x} $(touch x) `touch x`",
    "line\nline\r\nline\n\n",
    "# comment: {a: b} [c] & * ! | > %",
    "---\n...\nname: other\n",
    "\\ \\n \\u0000 \\",
    "😀 é e\u0301 日本語 \u202e\u200b",
    "\t tab \x07 \x1b[2J \x7f \x85 \u2028 \u2029 \ufeff \xa0",
    " begins and ends with a space ",
    "@NAME@ @PARAMETERS@ {name} %s",
    "null",
    "true",
    "007",
    "x" * 10_240,
    "ß😀" * 2_000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_words_are_read_back_as_they_were_given(text: str) -> None:
    """F12, F16."""
    assert yamltext.parse(f"a: {quoted(text)}\nb: 1\n".encode(), "x").value == {"a": text, "b": 1}
    assert "\n" not in quoted(text)


@pytest.mark.parametrize("language", list(LANGUAGES))
@pytest.mark.parametrize("text", HOSTILE)
def test_no_word_of_a_description_gets_into_a_source(tmp_path: Path, language: str, text: str) -> None:
    """The sources are the same, whatever is said of the tool and of its parameters."""

    def files(words: str) -> dict[str, str]:
        parameters = [Parameter("since", "string", True, words), Parameter("max-count.x", "number", False, words)]
        made = workshop.plan(
            str(tmp_path), "one", description=words, language=language, parameters=parameters, prefix="custom_tool_"
        )
        return {draft.file: draft.text for draft in made.files}

    said, plain = files(text), files("x")
    manifest = yamltext.parse(said.pop("tool.yaml").encode(), "tool.yaml").value
    plain.pop("tool.yaml")
    assert said == plain
    assert manifest["description"] == text
    assert [each["description"] for each in manifest["parameters"]] == [text, text]


def test_a_manifest_says_all_that_it_should() -> None:
    """F11, F12, F13, F14, F15, F16, F17, F25: name, description, version, entrypoint, usage, parameters, and an example."""
    parameters = [
        Parameter("since", "string", True, "From when"),
        Parameter("loud", "boolean"),
        Parameter("n", "number"),
    ]
    made = workshop.plan("/tools", "one", description="Is one.", language="go", parameters=parameters, prefix="")
    (text,) = (draft.text for draft in made.files if draft.file == "tool.yaml")
    value = yamltext.parse(text.encode(), "tool.yaml").value
    about = {"name": "one", "description": "Is one.", "version": "0.1.0", "entrypoint": "one.go"}
    assert value | about == value and set(value) <= set(manifest_file.KEYS)
    assert "TODO" in value["usage"]
    assert value["parameters"] == [
        {"name": "since", "type": "string", "required": True, "description": "From when"},
        {"name": "loud", "type": "boolean", "required": False, "description": "TODO: say what it is for"},
        {"name": "n", "type": "number", "required": False, "description": "TODO: say what it is for"},
    ]
    assert value["build"] == "go build -o one one.go"
    assert [example["input"] for example in value["examples"]] == [{"since": "some text", "loud": True, "n": 1}]


def test_without_parameters_none_are_made_up() -> None:
    made = workshop.plan("/tools", "one", description="Is one.", prefix="")
    value = yamltext.parse(made.files[0].text.encode(), "tool.yaml").value
    assert (value["parameters"], value["examples"][0]["input"]) == ([], {})


@pytest.mark.parametrize("name", ["007", "true", "null", "1", "n", "a-b", "_", "x" * 52])
def test_names_that_look_like_something_else(tmp_path: Path, name: str) -> None:
    made = workshop.plan(str(tmp_path), name, description="Is one.", language="go", prefix="custom_tool_")
    value = yamltext.parse(made.files[0].text.encode(), "tool.yaml").value
    assert (value["name"], value["entrypoint"]) == (name, f"{name}.go")


@pytest.fixture(scope="module", params=list(LANGUAGES))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A new tool in each language, with hostile words, and the program that it is."""
    language = request.param
    need(language)
    directory = tmp_path_factory.mktemp(language)
    words = "\n".join(HOSTILE[:-2])
    parameters = [Parameter("text", "string", True, words), Parameter("a-b.c", "number"), Parameter("loud", "boolean")]
    made = workshop.plan(
        str(directory), "try-1", description=words, language=language, parameters=parameters, prefix="custom_tool_"
    )
    workshop.create(made)
    folder = Path(made.folder)
    for step in workshop.build_steps(made.folder, search_path=os.environ["PATH"]):
        done = subprocess.run(step.argv, cwd=folder, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    workshop.fix_entrypoint(made.folder)
    entrypoint = yamltext.parse((folder / "tool.yaml").read_bytes(), "tool.yaml").value["entrypoint"]
    return folder, folder / entrypoint


def started(built: tuple[Path, Path], *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    folder, program = built
    where = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", ""), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        [program, *words], cwd=folder.parent, env=where | env, capture_output=True, text=True, timeout=60
    )


def test_a_source_reads_its_arguments(built) -> None:
    """F18, F23, F45: typed as the manifest says, each exact, and printed to standard output."""
    odd = "-- 'a' \"b\" $(touch x) `touch x` \\ \n é😀"
    done = started(built, f"--text={odd}", "--a-b.c=-0.5", "--loud=false")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"try-1 works.\ntext: {odd}\na-b.c: -0.5\nloud: false\n"
    assert started(built, "--text=").stdout == "try-1 works.\ntext: \n"
    assert not (built[0].parent / "x").exists()


@pytest.mark.parametrize(
    "words",
    [
        [], ["--text"], ["text=x"], ["x"], ["--"], ["--text=x", "--nope=1"], ["--text=x", "--loud=yes"], ["--text=x", "--loud="],
        ["--text=x", "--a-b.c=one"], ["--text=x", "--a-b.c=NaN"], ["--text=x", "--a-b.c=null"], ["--text=x", "--a-b.c=1 2"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_source_refuses_what_it_does_not_know(built, words: list[str]) -> None:
    """F23: exit status 2, words on standard error, and no answer."""
    done = started(built, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("try-1: ") and "Traceback" not in done.stderr


def test_a_source_takes_a_long_argument(built) -> None:
    assert len(started(built, "--text=" + "x" * 100_000).stdout) > 100_000


@pytest.mark.parametrize("language", list(LANGUAGES))
def test_a_source_shows_where_to_go_on(language: str) -> None:
    """F22, F23: the workspace, a helper that writes the answer, and where the work is to be put."""
    template = LANGUAGES[language].template
    for word in ("TODO", "TOOLCRIB_WORKSPACE", "FORGE_WORKSPACE"):
        assert word in template
    assert "write_output" in template or "writeOutput" in template


@pytest.mark.parametrize("variable", ["TOOLCRIB_WORKSPACE", "FORGE_WORKSPACE"])
def test_a_python_source_is_given_the_workspace(tmp_path: Path, variable: str) -> None:
    """F22: by either name."""
    made = workshop.plan(str(tmp_path), "one", description="Is one.", prefix="")
    workshop.create(made)
    source = tmp_path / "one" / "one.py"
    source.write_text(source.read_text().replace('["one works."]', "[str(workspace)]"))
    assert started((tmp_path / "one", source), **{variable: "/some/place"}).stdout == "/some/place\n"
