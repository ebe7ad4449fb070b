"""yaml-test-suite at the entrance of manifests: a manifest or a refusal with its line, never a crash or a hang."""

import time

import pytest
import yaml

from toolcrib.sources.manifest_file import read_manifest

MARKS = {"␣": " ", "»": "\t", "—": "", "←": "\r", "⇔": "\ufeff", "↵": "", "∎": ""}
"""How the suite writes what would not be seen."""


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


def test_there_are_hundreds(documents) -> None:
    assert len(documents) > 300


def test_each_is_refused_with_a_line(documents) -> None:
    """None of them is a manifest, so each is refused, and says where."""
    began = time.monotonic()
    for name, text in documents.items():
        found, faults = read_manifest(text.encode("utf-8", "surrogatepass"), "tool.yaml", folder="one", files=[])
        assert found is None and faults, name
        assert all(fault.line and fault.line <= text.count("\n") + 2 for fault in faults), (name, faults)
    assert time.monotonic() - began < 20


def test_beside_what_a_manifest_needs(documents) -> None:
    """As the value of a key that takes text: it is read, or refused with its line."""
    head = 'name: one\ndescription: d\nversion: "1.0.0"\nentrypoint: run\nusage:\n'
    files = [["run", "program", "sha256:0"]]
    read = 0
    for text in documents.values():
        inner = "".join(f"  {line}" for line in text.splitlines(keepends=True))
        found, faults = read_manifest((head + inner + "\n").encode(), "tool.yaml", folder="one", files=files)
        read += found is not None
        assert (found is None) == bool(faults)
        assert all(fault.line for fault in faults)
    assert read > 20
