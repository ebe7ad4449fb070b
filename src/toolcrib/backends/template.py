"""Placeholders in what a declared tool sends: `${name}` is an argument, `${env:NAME}` a secret, `$${` is the text `${`.

A template is taken apart once, before any value is known, and a value is put in as one whole thing, fit for its place:
it is never looked into for more placeholders, and never ends the part of a URL, header or document it stands in.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote

from ..core.errors import InvalidJson, Refused, ToolError
from ..core.jsontext import JSON
from .arguments import spelled
from .declared import Unfit

_PLACEHOLDER = re.compile(r"\$\{(?:env:(?P<env>[A-Za-z_][A-Za-z0-9_]{0,127})|(?P<arg>[^\W\d][\w.-]{0,127}))\}")
_UNFIT_IN_HEADER = re.compile(r"[^\t\x20-\x7e\x80-\xff]|[\x80-\x9f]")
_BLANKS = " \t\r\n"
_LONGEST = 1024 * 1024
"""Of a template, in characters."""


class Piece(NamedTuple):
    """A part of a template."""

    text: str
    """What stands there: plain text, or the placeholder as it is written."""
    kind: str = "text"
    """`text`, `arg` or `env`."""
    name: str = ""
    """Of the argument or the secret."""


Pieces = tuple[Piece, ...]
SecretOf = Callable[[str], str]
"""The value of a secret. Raises: `Refused`."""
Fit = Callable[[str, str], str]
"""Makes a value fit for its place, or raises; the second is what the value is of, for the message."""


class Named(NamedTuple):
    """What a template asks for, each name once, in the order of the template."""

    args: tuple[str, ...]
    envs: tuple[str, ...]


class Missing(ToolError):
    """An argument was not given that a template needs."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is needed here; give it", code="VALIDATION_ERROR", before_effect=True)
        self.name = name


def pieces(template: str, pointer: str = "") -> Pieces:
    """A template taken apart.

    Raises:
        Unfit: for a placeholder that is not well formed.
    """
    found, text, at = [], "", 0
    _within_reason(template, pointer)
    while (dollar := template.find("$", at)) >= 0:
        text += template[at:dollar]
        piece, at = _at_dollar(template, dollar, pointer)
        if piece.kind == "text":
            text += piece.text
            continue
        found += [Piece(text), piece] if text else [piece]
        text = ""
    text += template[at:]
    return (*found, Piece(text)) if text else tuple(found)


def words(template: str, pointer: str = "") -> tuple[Pieces, ...]:
    """A template split into words, as a shell would, before any value is known: each placeholder fills in one word.

    `"…"` and `'…'` hold a word together and a backslash takes the meaning from the next character; nothing else is
    special. A placeholder is one inside quotes of both kinds; after a backslash it is text.

    Raises:
        Unfit: for a quote that does not end, and for a placeholder that is not well formed.
    """
    found: list[Pieces] = []
    word: list[Piece] | None = None
    quoted, at = "", 0
    _within_reason(template, pointer)
    while at < len(template):
        char = template[at]
        if not quoted and char in _BLANKS:
            if word is not None:
                found.append(_joined(word))
                word = None
            at += 1
            continue
        word = [] if word is None else word
        if char == "$":
            piece, at = _at_dollar(template, at, pointer)
            word.append(piece)
        elif char == quoted or (not quoted and char in "\"'"):
            quoted, at = ("" if quoted else char), at + 1
        elif char == "\\" and quoted != "'":
            char, at = _after_backslash(template, at, quoted, pointer)
            word.append(Piece(char))
        else:
            word.append(Piece(char))
            at += 1
    if quoted:
        raise Unfit(pointer, f"a {quoted} is opened and not closed; close it, or write \\{quoted} for the character")
    return (*found, _joined(word)) if word is not None else tuple(found)


def names(template: Iterable[Piece]) -> Named:
    """What these pieces ask for."""
    both = [piece for piece in template if piece.kind != "text"]
    return Named(*(tuple(dict.fromkeys(each.name for each in both if each.kind == kind)) for kind in ("arg", "env")))


def document_names(document: JSON, pointer: str = "") -> Named:
    """What a JSON document with placeholders in its texts asks for. Its keys hold none.

    Raises:
        Unfit: for a placeholder that is not well formed, or that stands in a key.
    """
    return names(_in_document(document, pointer))


def filled(template: Pieces, args: Mapping[str, JSON], secret: SecretOf, fit: Fit) -> str:
    """The text of a template with its values. What `fit` makes of each value stands in its place.

    Raises:
        Missing: an argument was not given.
        ToolError: `VALIDATION_ERROR`, when a value cannot stand there.
    """
    return "".join(piece.text if piece.kind == "text" else _value(piece, args, secret, fit) for piece in template)


def filled_json(document: JSON, args: Mapping[str, JSON], secret: SecretOf) -> JSON:
    """A JSON document, parsed before any value is known, with its values.

    A text that is exactly one placeholder becomes the argument with its type; inside longer text its text stands. A
    member or item that is exactly the placeholder of an argument which was not given falls away.

    Raises:
        Missing: an argument was not given that stands inside longer text, or is the whole document.
    """
    if isinstance(document, dict):
        return {key: filled_json(each, args, secret) for key, each in document.items() if not _absent(each, args)}
    if isinstance(document, list):
        return [filled_json(each, args, secret) for each in document if not _absent(each, args)]
    if not isinstance(document, str) or "$" not in document:
        return document
    template = pieces(document)
    if len(template) == 1 and template[0].kind == "arg":
        return _given(template[0].name, args)
    return filled(template, args, secret, as_text)


def as_text(value: str, what: str) -> str:
    """A value where any text may stand."""
    return value


def as_url_part(value: str, what: str) -> str:
    """A value as one part of a URL's path or query: percent-encoded whole, so that it stays that part."""
    try:
        return quote(value, safe="")
    except UnicodeEncodeError:
        raise _wrong(f"{what} holds half of a character, which no URL can carry; send whole ones") from None


def as_header(value: str, what: str) -> str:
    """A value inside a header's: one line of characters that HTTP carries."""
    if _UNFIT_IN_HEADER.search(value):
        raise _wrong(
            f"{what} holds a line end, another control character or one beyond Latin-1, which a header cannot carry; "
            "leave it out"
        )
    return value


def _value(piece: Piece, args: Mapping[str, JSON], secret: SecretOf, fit: Fit) -> str:
    if piece.kind == "env":
        try:
            return fit(secret(piece.name), f"the secret {piece.name}")
        except Refused:
            raise
        except ToolError as exc:  # about what the user set, not about what the model sent
            raise Refused(f"{exc}; set {piece.name} to another value", code="ENV_NOT_ALLOWED") from None
    try:
        return fit(spelled(_given(piece.name, args)), piece.name)
    except InvalidJson as exc:
        raise _wrong(f"{piece.name} cannot be written down: {exc}") from None


def _given(name: str, args: Mapping[str, JSON]) -> JSON:
    if name not in args:
        raise Missing(name)
    return args[name]


def _absent(each: JSON, args: Mapping[str, JSON]) -> bool:
    if not isinstance(each, str) or not each.startswith("${"):
        return False
    template = pieces(each)
    return len(template) == 1 and template[0].kind == "arg" and template[0].name not in args


def _in_document(document: JSON, pointer: str) -> Iterable[Piece]:
    if isinstance(document, dict):
        for key, each in document.items():
            below = f"{pointer}/{key}"
            if "${" in key:
                raise Unfit(below, "a key holds no placeholder; put the placeholder into a value")
            yield from _in_document(each, below)
    elif isinstance(document, list):
        for index, each in enumerate(document):
            yield from _in_document(each, f"{pointer}/{index}")
    elif isinstance(document, str):
        yield from pieces(document, pointer)


def _at_dollar(template: str, at: int, pointer: str) -> tuple[Piece, int]:
    """What begins at a `$`, and where it ends."""
    if template.startswith("$${", at):
        return Piece("${"), at + 3
    if not template.startswith("${", at):
        return Piece("$"), at + 1
    placeholder = _PLACEHOLDER.match(template, at)
    if placeholder is None:
        shown = template[at : at + 40]
        raise Unfit(
            pointer,
            f"the placeholder at character {at + 1}, {shown!r}, is not well formed; write ${{name}} for an argument, "
            "${env:NAME} for a secret, or $${ for the text ${",
        )
    kind = "env" if placeholder["env"] else "arg"
    return Piece(placeholder[0], kind, placeholder["env"] or placeholder["arg"]), placeholder.end()


def _after_backslash(template: str, at: int, quoted: str, pointer: str) -> tuple[str, int]:
    """The character that a backslash stands before; in double quotes it is itself, but before `"`, `$` and another."""
    if at + 1 == len(template):
        raise Unfit(pointer, "a backslash stands at the very end; write \\\\ for the character")
    following = template[at + 1]
    return ("\\", at + 1) if quoted and following not in '"$\\' else (following, at + 2)


def _joined(word: list[Piece]) -> Pieces:
    """Neighbouring pieces of plain text as one."""
    found: list[Piece] = []
    for piece in word:
        if piece.kind == "text" and found and found[-1].kind == "text":
            found[-1] = Piece(found[-1].text + piece.text)
        else:
            found.append(piece)
    return tuple(found)


def _within_reason(template: str, pointer: str) -> None:
    if len(template) > _LONGEST:
        raise Unfit(pointer, f"a template of {len(template)} characters is too long; at most {_LONGEST}")


def _wrong(message: str) -> ToolError:
    return ToolError(message, code="VALIDATION_ERROR", before_effect=True)
