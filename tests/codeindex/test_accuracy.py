"""Definitions beside engines that are not ours, on a small scale; `python -m bench.accuracy` does it on a large one."""

import argparse
import dataclasses
import enum
import fractions
import json
import logging
import queue
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("tree_sitter_language_pack", reason="needs the extra [code]: pip install 'toolcrib[code]'")

from toolcrib.codeindex.extract import extract
from toolcrib.codeindex.languages import language_of
from toolcrib.codeindex.python_scan import scan

SAMPLES = Path(__file__).parent / "samples"
CTAGS = {
    "bash": "Sh",
    "c": "C",
    "cpp": "C++",
    "csharp": "C#",
    "go": "Go",
    "java": "Java",
    "javascript": "JavaScript",
    "php": "PHP",
    "python": "Python",
    "ruby": "Ruby",
    "rust": "Rust",
    "tsx": "TypeScript",
    "typescript": "TypeScript",
}
NO_DEFINITIONS = {"accessor", "alias", "heredoc", "implementation", "namespace", "package", "packageName", "unknown"}
"""Kinds of ctags: what only names, imports or repeats something. (Namespaces are imports in its Python.)"""
MODULES = [argparse, dataclasses, enum, fractions, json.decoder, logging, queue, textwrap]

Key = tuple[str, int]


def ctags_of(file: Path, language: str) -> set[Key]:
    command = [
        "ctags",
        "--output-format=json",
        "--fields=+n",
        f"--language-force={CTAGS[language]}",
        "-f",
        "-",
        str(file),
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    tags = [json.loads(line) for line in said.splitlines()]
    return {
        (tag["name"].replace(" ", "").removeprefix("#"), tag["line"])
        for tag in tags
        if tag["_type"] == "tag" and tag["kind"] not in NO_DEFINITIONS and not tag["name"].startswith("__anon")
    }


def ours(file: Path, language: str) -> set[Key]:
    found = extract(language, file.read_bytes())[1]
    return {(name.rpartition(".")[2].replace(" ", "").removeprefix("#"), line) for name, _, line, *_ in found}


@pytest.mark.skipif(shutil.which("ctags") is None, reason="needs universal-ctags")
def test_what_ctags_finds_in_the_samples_is_found() -> None:
    if "json" not in subprocess.run(["ctags", "--list-features"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("needs a universal-ctags that writes JSON")
    theirs: set[tuple[str, Key]] = set()
    mine: set[tuple[str, Key]] = set()
    for file in SAMPLES.iterdir():
        language = language_of(file.name, file.read_bytes())
        if language in CTAGS:
            theirs |= {(file.name, key) for key in ctags_of(file, language)}
            mine |= {(file.name, key) for key in ours(file, language)}
    assert len(theirs) > 200
    assert len(theirs & mine) / len(theirs) >= 0.95, sorted(theirs - mine)


def jedi_of(file: Path) -> set[Key]:
    """Functions and classes anywhere, and variables of the module and of classes."""
    jedi = pytest.importorskip("jedi", reason="needs the extra [code]: pip install 'toolcrib[code]'")
    found = set()
    for name in jedi.Script(path=file).get_names(all_scopes=True, definitions=True):
        leaf = name._name.tree_name
        definition = leaf.get_definition() if leaf is not None else None
        if definition is None or definition.type not in ("funcdef", "classdef", "expr_stmt"):
            continue
        holder = definition.parent
        while holder is not None and holder.type not in ("funcdef", "lambdef", "classdef"):
            holder = holder.parent
        local = holder is not None and holder.type != "classdef"
        if definition.type != "expr_stmt" or not (local or leaf.parent.type == "trailer"):
            found.add((name.name, name.line))
    return found


def by_scan(data: bytes) -> set[Key]:
    return {(item[0], item[2]) for item in scan(data)[0]}


def by_tree(data: bytes) -> set[Key]:
    return {(item[0], item[2]) for item in extract("python", data)[1]}


@pytest.mark.parametrize("way", [by_scan, by_tree])
def test_python_modules_as_jedi_sees_them(
    way: Callable[[bytes], set[Key]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = pytest.importorskip("jedi.settings", reason="needs the extra [code]: pip install 'toolcrib[code]'")
    monkeypatch.setattr(settings, "cache_directory", str(tmp_path))  # the user's own is not made for two at once
    both = theirs = mine = 0
    for module in MODULES:
        file = source_of(module)
        other, own = jedi_of(file), way(file.read_bytes())
        both, theirs, mine = both + len(other & own), theirs + len(other), mine + len(own)
    assert theirs > 500
    assert both / theirs >= 0.95
    assert both / mine >= 0.95


def source_of(module: ModuleType) -> Path:
    assert module.__file__ is not None
    return Path(module.__file__)
