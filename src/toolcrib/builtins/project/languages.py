"""Which languages a project is written in, and how much of it in each."""

from collections import Counter
from posixpath import basename

from ...codeindex.languages import language_of
from ...core.jsontext import JSON
from .survey import Survey

_NAMES = {
    "bash": "Shell",
    "c": "C",
    "cpp": "C++",
    "csharp": "C#",
    "go": "Go",
    "java": "Java",
    "javascript": "JavaScript",
    "kotlin": "Kotlin",
    "php": "PHP",
    "python": "Python",
    "ruby": "Ruby",
    "rust": "Rust",
    "swift": "Swift",
    "tsx": "TypeScript",
    "typescript": "TypeScript",
}
_ENDINGS = {
    "dart": "Dart",
    "ex": "Elixir",
    "exs": "Elixir",
    "fs": "F#",
    "groovy": "Groovy",
    "hs": "Haskell",
    "jl": "Julia",
    "lua": "Lua",
    "m": "Objective-C",
    "ml": "OCaml",
    "pl": "Perl",
    "pm": "Perl",
    "ps1": "PowerShell",
    "r": "R",
    "scala": "Scala",
    "sql": "SQL",
    "svelte": "Svelte",
    "tf": "Terraform",
    "vue": "Vue",
    "zig": "Zig",
    "css": "CSS",
    "scss": "SCSS",
    "html": "HTML",
    "proto": "Protocol Buffers",
}
_FILES = {"Dockerfile": "Dockerfile", "Containerfile": "Dockerfile", "Makefile": "Makefile", "CMakeLists.txt": "CMake"}
_BESIDES = frozenset(("CSS", "SCSS", "HTML", "SQL", "Dockerfile", "Makefile", "CMake", "Protocol Buffers"))
"""Languages that serve another one; a project is seldom written in them."""


def language(path: str) -> str | None:
    """The name of a file's language, as people write it."""
    name = basename(path)
    if known := language_of(name):
        return _NAMES[known]
    return _FILES.get(name) or _ENDINGS.get(name.rpartition(".")[2].lower() if "." in name else "")


def shares(survey: Survey) -> list[dict[str, JSON]]:
    """Of every language how many files and bytes there are, the most bytes first; one of its files as evidence."""
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    largest: dict[str, str] = {}
    for path, size in survey.files.items():
        name = language(path)
        if name is None:
            continue
        files[name] += 1
        sizes[name] += size
        if name not in largest or size > survey.files[largest[name]]:
            largest[name] = path
    total = sum(sizes.values()) or 1
    ranked = sorted(files, key=lambda name: (name in _BESIDES, -sizes[name], name))
    return [
        {
            "name": name,
            "files": files[name],
            "bytes": sizes[name],
            "percent": round(100 * sizes[name] / total, 1),
            "evidence": {"file": survey.shown(largest[name])},
        }
        for name in ranked
    ]
