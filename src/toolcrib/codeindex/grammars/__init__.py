"""What the syntax trees of each language say: one file per language or family, and where each is found."""

from importlib import import_module

from .sheet import Grammar

_HOMES = {
    "bash": "bash",
    "c": "c_family",
    "cpp": "c_family",
    "csharp": "csharp",
    "go": "go",
    "java": "java",
    "javascript": "ecma",
    "kotlin": "kotlin",
    "php": "php",
    "python": "python",
    "ruby": "ruby",
    "rust": "rust",
    "swift": "swift",
    "tsx": "ecma",
    "typescript": "ecma",
}


def grammar_of(language: str) -> Grammar:
    """The rules for a language; only the file that holds them is imported.

    Raises:
        KeyError: no rules for such a language.
    """
    found = getattr(import_module(f".{_HOMES[language]}", __package__), language.upper())
    assert isinstance(found, Grammar)
    return found
