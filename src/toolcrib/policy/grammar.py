"""Every command in a shell text, wherever it stands, by a full grammar of the shell."""

import re
import time
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from .programs import SHELLS
from .shellwords import read

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Tree

FIRST_STAGE = 2048
STAGE_SECONDS = 0.05

Mention = tuple[str | None, ...]
"""A command that is written somewhere; None is a word whose value is not known."""


class Glob(str):
    """A word with `*` or `?` that begins with a plain character: it stands for names it matches, and for no option."""

    __slots__ = ()


_words = str.split
_EXPLAINED = {
    "command_substitution": "holds a command substitution",
    "process_substitution": "holds a process substitution",
    "simple_expansion": "holds a variable",
    "expansion": "holds a variable",
    "arithmetic_expansion": "holds arithmetic",
    "ansi_c_string": "holds an ANSI-C string ($'…')",
    "translated_string": 'holds a translated string ($"…")',
    "variable_assignment": "sets a variable",
    "variable_assignments": "sets a variable",
    "declaration_command": "declares a variable",
    "unset_command": "unsets a variable",
    "heredoc_redirect": "holds a here-document",
    "herestring_redirect": "holds a here-string",
    "subshell": "holds a subshell",
    "compound_statement": "holds a group or arithmetic",
    "function_definition": "defines a function",
    "if_statement": "holds an if",
    "for_statement": "holds a loop",
    "c_style_for_statement": "holds a loop",
    "while_statement": "holds a loop",
    "case_statement": "holds a case",
    "test_command": "holds a test in brackets",
    "negated_command": "holds a negation (!)",
    "brace_expression": "holds a brace",
    "array": "holds an array",
    "extglob_pattern": "holds a file pattern",
    "regex": "holds a file pattern",
    "&": "starts a process in the background",
}
_UNDERSTOOD = frozenset(
    _words(
        """program list pipeline command command_name word string string_content raw_string number concatenation comment
        redirected_statement file_redirect file_descriptor ; && || | |& " $ > >> >& < &> &>>"""
    )
) | {"\n"}
_COMMANDS = frozenset(("command", "declaration_command", "unset_command", "test_command"))
_ASIDE = frozenset(
    ("variable_assignment", "variable_assignments", "file_redirect", "herestring_redirect", "heredoc_redirect")
)
_REDIRECTS = frozenset(("file_redirect", "heredoc_redirect"))
_NOT_ARGUMENTS = (
    _COMMANDS | _ASIDE | frozenset(_words("file_descriptor heredoc_start heredoc_body heredoc_end pipeline list"))
)
_GLOB = re.compile(r"[A-Za-z0-9_./:@%+,=][A-Za-z0-9_./:@%+,=*?^!-]*")
_ESCAPED = re.compile(r"(?:[A-Za-z0-9_./:=@%+,^-]|\\[^\n])+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class Findings:
    """What the grammar finds in a text. Walked without recursion, so that no nesting can exhaust the stack."""

    def __init__(self, text: str) -> None:
        self.refusal = ""
        self.broken = False
        self.doubts: dict[str, None] = {}
        self.mentioned: list[Mention] = []
        self.places: list[list[tuple[int, int]]] = []
        """Where the words of each command stand, in bytes."""
        self.count = 0
        self._bodies: list[str | None] = []
        self._source = text.encode()

    def walk(self, root: "Node", most: int) -> None:
        stack = [root]
        while stack and self.count <= most:
            node = stack.pop()
            self._look_at(node)
            stack.extend(reversed(node.children))
        if any(words[0] is None or words[0].split("/")[-1] in SHELLS for words in self.mentioned):
            self.mentioned += [("sh", "-c", body) for body in self._bodies]

    def _look_at(self, node: "Node") -> None:
        kind = node.type
        if kind not in _UNDERSTOOD:
            self.doubts.setdefault(_EXPLAINED.get(kind, "holds more than plain commands"))
        if kind in _COMMANDS:
            self.count += 1
            words = [child for child in node.children if child.type not in _ASIDE]
            self.places.append([(word.start_byte, word.end_byte) for word in words])
            self.mentioned.append(self._mention(words))
        elif kind == "redirected_statement":
            self._rejoin(node)
        elif kind == "heredoc_body":
            self._bodies.append(self._text(node))
        elif kind == "herestring_redirect":
            self._bodies.append(self._value(node.children[-1]))

    def _rejoin(self, statement: "Node") -> None:
        """The grammar counts words after a redirection to the redirection; the shell counts them to the command."""
        late = [word for child in statement.children for word in _late_words(child)]
        command = statement.children[0]
        while command.type not in _COMMANDS and command.named_children:
            command = command.named_children[-1]
        if late:
            words = [child for child in command.children if child.type not in _ASIDE]
            self.mentioned.append(self._mention([*words, *late]))

    def _mention(self, words: list["Node"]) -> Mention:
        """The words of a command; a file pattern among them is known as far as what it can stand for."""
        if not words:
            return (None,)
        texts = [(self._value(word), self._text(word)) for word in words[1:]]
        later = (Glob(text) if value is None and _GLOB.fullmatch(text) else value for value, text in texts)
        return (self._value(words[0]), *later)

    def _value(self, node: "Node") -> str | None:
        """The word a node stands for, if that can be said without running anything."""
        text = self._text(node)
        if node.type in ("[", "[[", "]", "]]"):
            return text
        reading = read("x " + text.replace("\\\n", ""))
        if not reading.doubt and len(reading.commands) == 1 and len(reading.commands[0]) == 2:
            return reading.commands[0][1].value
        return re.sub(r"\\(.)", r"\1", text) if _ESCAPED.fullmatch(text) else None

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode(errors="replace")


def look_through(text: str, most: int) -> Findings:
    """What the grammar finds, up to a few more than `most` commands."""
    found = Findings(text)
    tree = _parsed(_language(), _NOT_ASCII.sub(_stand_in, text))
    if tree is None:
        found.refusal = "takes too long to analyse; run it in smaller pieces"
        return found
    found.broken = tree.root_node.has_error
    found.walk(tree.root_node, most)
    return found


def _stand_in(found: re.Match[str]) -> str:
    """As many plain characters as these have bytes. All the shell's signs are ASCII, and the grammar's scanner looks
    characters up in a table that ends there: one beyond it can crash the process."""
    return "." * len(found.group().encode())


def _late_words(redirect: "Node") -> Iterator["Node"]:
    if redirect.type in _REDIRECTS:
        words = [child for child in redirect.named_children if child.type not in _NOT_ARGUMENTS]
        yield from words[1:] if redirect.type == "file_redirect" else words


def _parsed(language: "Language", text: str) -> "Tree | None":
    """The tree of a text; None if the grammar loses its way in it.

    On hostile texts its time grows with the square of their length, or worse, and it cannot be stopped. So it is given
    the beginning, then one twice as long, and is given no more once it took longer than any honest text does.
    """
    from tree_sitter import Parser

    parser, size = Parser(language), FIRST_STAGE  # its own for each text: one must not be shared by threads
    while True:
        began = time.thread_time()
        tree = parser.parse(text[:size].encode())
        if time.thread_time() - began > STAGE_SECONDS:
            return None
        if size >= len(text):
            return tree
        size *= 2


@cache
def _language() -> "Language":
    """The grammar; imported on first use, because that takes longer than most commands do."""
    from tree_sitter import Language
    from tree_sitter_bash import language

    return Language(language())
