"""Which language a file is written in, by its name or its first bytes. Every quick worker imports it: keep it light."""

import re

LANGUAGES = (
    "bash",
    "c",
    "cpp",
    "csharp",
    "go",
    "java",
    "javascript",
    "kotlin",
    "php",
    "python",
    "ruby",
    "rust",
    "swift",
    "tsx",
    "typescript",
)

_ENDINGS = {
    "bash": "sh bash zsh ksh",
    "c": "c h",
    "cpp": "cc cpp cxx c++ cppm hh hpp hxx h++ ipp tpp inl",
    "csharp": "cs csx",
    "go": "go",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "kotlin": "kt kts",
    "php": "php phtml",
    "python": "py pyi pyw",
    "ruby": "rb rake gemspec ru podspec",
    "rust": "rs",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "ts mts cts",
}
_BY_ENDING = {ending: language for language, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME = {
    **dict.fromkeys((".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", "PKGBUILD"), "bash"),
    **dict.fromkeys(("Gemfile", "Rakefile", "Vagrantfile", "Podfile", "Brewfile", "Guardfile"), "ruby"),
    **dict.fromkeys(("SConstruct", "SConscript", "wscript"), "python"),
}
_INTERPRETERS = (
    ("python", "python"),
    ("pypy", "python"),
    ("node", "javascript"),
    ("deno", "typescript"),
    ("bun", "typescript"),
    ("ts-node", "typescript"),
    ("ruby", "ruby"),
    ("php", "php"),
    ("bash", "bash"),
    ("dash", "bash"),
    ("zsh", "bash"),
    ("ksh", "bash"),
    ("sh", "bash"),
    ("kotlin", "kotlin"),
    ("swift", "swift"),
)
_SHEBANG = re.compile(rb"#![ \t]*+(?:\S*/env[ \t]++(?:-\S*+[ \t]++|\w++=\S*+[ \t]++)*+)?(?:\S*/)?([A-Za-z-]++)")
_LOOKS_CPP = re.compile(
    rb"^[ \t]*+(?:class\s++\w++(?:\s++\w++)?+\s*+[:{]|namespace\s++\w|template\s*+<|using\s++(?:namespace\s|\w++\s*+=)"
    rb"|(?:public|private|protected)\s*+:|#\s*+include\s*+<[a-z_]++>|constexpr\s|inline\s++namespace\s)|\bstd::",
    re.MULTILINE,
)
_HEAD = 65536
"""How much of a header is looked at."""


def language_of(name: str, head: bytes = b"") -> str | None:
    """The language of a file of that name (a path is fine), one of `LANGUAGES`; None when it is none that is known.

    `head` is the start of the file, as much as is at hand: the `#!` line of a script without an ending, and what tells
    a header of C++ from one of C.
    """
    name = name.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if dot and stem:
        language = _BY_ENDING.get(ending.lower())
        if language == "c":
            return "cpp" if ending in ("C", "H") or _is_cpp_header(ending, head) else "c"
        if language == "typescript" and head.startswith((b"<?xml", b"\xef\xbb\xbf<?xml", b"<!DOCTYPE TS")):
            return None  # a translation of Qt
        if language is not None:
            return language
    if name in _BY_NAME:
        return _BY_NAME[name]
    return _by_interpreter(head) if head.startswith(b"#!") else None


def _is_cpp_header(ending: str, head: bytes) -> bool:
    return ending.lower() == "h" and _LOOKS_CPP.search(head, 0, _HEAD) is not None


def _by_interpreter(head: bytes) -> str | None:
    found = _SHEBANG.match(head, 0, 512)
    if found is None:
        return None
    program = found[1].decode("ascii")
    return next((language for start, language in _INTERPRETERS if program.startswith(start)), None)
