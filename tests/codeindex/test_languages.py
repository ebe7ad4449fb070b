"""Which language a file is in."""

import subprocess
import sys

import pytest

from toolcrib.codeindex.languages import LANGUAGES, language_of

NAMES = {
    "a.py": "python",
    "a.pyi": "python",
    "src/deep/b.js": "javascript",
    "b.jsx": "javascript",
    "b.mjs": "javascript",
    "b.cjs": "javascript",
    "c.ts": "typescript",
    "c.d.ts": "typescript",
    "c.mts": "typescript",
    "d.tsx": "tsx",
    "e.go": "go",
    "f.rs": "rust",
    "G.java": "java",
    "h.c": "c",
    "h.h": "c",
    "i.cpp": "cpp",
    "i.cc": "cpp",
    "i.hpp": "cpp",
    "i.C": "cpp",
    "i.H": "cpp",
    "j.cs": "csharp",
    "k.rb": "ruby",
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "l.php": "php",
    "m.sh": "bash",
    ".bashrc": "bash",
    "n.kt": "kotlin",
    "n.kts": "kotlin",
    "o.swift": "swift",
    "P.PY": "python",
    "Makefile": None,
    "README.md": None,
    "py": None,
    ".py": None,
    "": None,
    "a.py/": None,
}
SHEBANGS = {
    b"#!/usr/bin/python3\n": "python",
    b"#!/usr/bin/env python\n": "python",
    b"#!/usr/bin/env -S python3.11 -u\n": "python",
    b"#!/usr/bin/env LANG=C python3\n": "python",
    b"#! /bin/sh -e\n": "bash",
    b"#!/bin/bash": "bash",
    b"#!/usr/bin/env node\r\n": "javascript",
    b"#!/usr/bin/ruby -w\n": "ruby",
    b"#!/usr/bin/perl\n": None,
    b"#!\n": None,
    b"#!/usr/bin/env\n": None,
    b"text\n#!/bin/sh\n": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_by_the_name(name: str) -> None:
    assert language_of(name) == NAMES[name]


@pytest.mark.parametrize("head", SHEBANGS)
def test_by_the_first_line_where_the_name_says_nothing(head: bytes) -> None:
    assert language_of("bin/run", head) == SHEBANGS[head]


def test_the_name_counts_more_than_the_first_line() -> None:
    assert language_of("tool.rb", b"#!/bin/sh\n") == "ruby"


@pytest.mark.parametrize(
    "head",
    [b"class Shape {\n", b"#include <vector>\n", b"  namespace a {", b"template <class T>\n", b"x = std::move(y);"],
)
def test_a_header_of_cpp(head: bytes) -> None:
    assert language_of("a.h", b"#pragma once\n" + head) == "cpp"


@pytest.mark.parametrize(
    "head", [b"", b"struct class_info { int x; };", b"#include <stdio.h>\nint class;", b"/* std */ int f(void);"]
)
def test_a_header_of_c(head: bytes) -> None:
    assert language_of("a.h", head) == "c"


def test_a_translation_of_qt_is_no_program() -> None:
    assert language_of("app_de.ts", b'<?xml version="1.0"?>') is None


def test_every_language_is_reached_by_some_name() -> None:
    assert {language for language in NAMES.values() if language} == set(LANGUAGES)


def test_it_brings_no_parser() -> None:
    """A worker imports it for every run."""
    program = (
        "import sys, toolcrib.codeindex.languages as _; print(sorted(m for m in sys.modules if 'tree_sitter' in m))"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
