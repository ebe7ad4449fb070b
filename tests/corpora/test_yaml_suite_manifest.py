"""yaml-test-suite at the entrance of manifests: a manifest or a refusal with its place, never a crash or a hang."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import yaml

from toolcrib.sources.executable import Settings
from toolcrib.sources.form import Fault
from toolcrib.sources.manifest import ManifestSource
from toolcrib.sources.manifest_file import read_manifest

MARKS = {"␣": " ", "»": "\t", "—": "", "←": "\r", "⇔": "\ufeff", "↵": "", "∎": ""}
"""How the suite writes what would not be seen."""
SECONDS = 10.0
"""For one document, which takes a thousandth of that."""
HEAD = 'name: one\ndescription: d\nversion: "1.0.0"\nentrypoint: run\nusage:\n'
FILES = [("run", "program", "sha256:0")]


@pytest.fixture
def documents(corpus) -> dict[str, str]:
    found = {}
    for file in sorted((corpus("yaml-test-suite") / "src").glob("*.yaml")):
        for number, case in enumerate(yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)):
            text = case.get("yaml", "")
            for mark, meant in MARKS.items():
                text = text.replace(mark, meant)
            found[f"{file.stem}-{number}"] = text
    return found


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """What is not done by then is interrupted, wherever it is."""

    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def placed(text: str, fault: Fault) -> bool:
    """Whether it stands in the text, or right after its end."""
    lines = text.splitlines()
    longest = max(map(len, lines), default=0)
    return 1 <= fault.line <= len(lines) + 1 and 1 <= fault.column <= longest + 1


def test_there_are_hundreds(documents) -> None:
    assert len(documents) > 300


def test_each_is_refused_with_its_place(documents) -> None:
    """None of them is a manifest, so each is refused, and says where."""
    for name, text in documents.items():
        with alarm(SECONDS):
            found, faults = read_manifest(text.encode("utf-8", "surrogatepass"), "tool.yaml", folder="one", files=[])
        assert found is None and faults, name
        assert all(placed(text, fault) for fault in faults), (name, faults)


def test_beside_what_a_manifest_needs(documents) -> None:
    """As the value of a key that takes text: it is read, or refused with its place."""
    read = 0
    for name, text in documents.items():
        whole = HEAD + "".join(f"  {line}" for line in text.splitlines(keepends=True)) + "\n"
        with alarm(SECONDS):
            found, faults = read_manifest(whole.encode(), "tool.yaml", folder="one", files=FILES)
        read += found is not None
        assert (found is None) == bool(faults), name
        assert all(placed(whole, fault) for fault in faults), (name, faults)
    assert read > 20


def test_as_folders_of_a_tools_directory(documents, tmp_path) -> None:
    """F29, F30: all beside a good one, which is offered; each of the others is a problem with its place, twice."""
    for name, text in {**documents, "good": HEAD.replace("one", "good") + "  Well."}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        (tmp_path / name / "run").write_text("#!/bin/sh\n")
        (tmp_path / name / "run").chmod(0o755)
    kept: dict[str, bytes] = {}
    for _ in range(2):  # read, and then from the cache
        source = ManifestSource(str(tmp_path), Settings(), (kept.get, kept.__setitem__), "/bin", rank=10)
        with alarm(6 * SECONDS):
            loaded = asyncio.run(source.load())
        assert [tool.name for tool in loaded.tools] == ["custom_tool_good"]
        assert len(loaded.problems) == len(documents)
        for problem in (each.to_dict() for each in loaded.problems):
            assert problem["message"].startswith(f"line {problem['line']}, column {problem['column']}: ")
