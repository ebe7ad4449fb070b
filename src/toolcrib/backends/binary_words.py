"""The words of a program's command line: split before any argument is known, so that none becomes two.

An argument that was not given takes its word with it. One that would make its word an option is refused, unless the
author of the template foresaw its values: wrote them down, or asked for a number.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import NamedTuple

from ..core.errors import InvalidJson, ToolError
from ..core.jsontext import JSON
from .arguments import LONGEST_WORD, spelled
from .declared import Unfit
from .template import Pieces, names, words

MOST_TOTAL = 1024 * 1024
"""Bytes of all words together; the variables need room as well."""
_POINTER = "/args_template"
_FORESEEN_TYPES = frozenset(("integer", "number", "boolean"))
_DASHES = ("-", "--")
_END_OF_OPTIONS = "--"


class Template(NamedTuple):
    """What stands in `args_template`, and what the schema says of the arguments in it."""

    words: tuple[Pieces, ...] = ()
    foreseen: frozenset[str] = frozenset()
    """Arguments that may make an option: their values are listed in the schema, or are numbers."""
    defaults: Mapping[str, JSON] = MappingProxyType({})
    """Of arguments that need not be given."""

    def filled(self, args: Mapping[str, JSON]) -> tuple[str, ...]:
        """The words for these arguments.

        Raises:
            ToolError: `VALIDATION_ERROR`, when they cannot be said so; nothing happened.
        """
        given = {**self.defaults, **args}
        found: list[str] = []
        total, free = 0, False
        for word in self.words:
            wanted = names(word).args
            if not all(name in given for name in wanted):
                continue
            text = "".join(piece.text if piece.kind == "text" else _text(piece.name, given) for piece in word)
            if wanted and not free and text.startswith("-") and word[0].kind == "arg":
                self._may_be_option(text, [name for name in wanted if name in args])
            total += _size(text, wanted)
            found.append(os.fsdecode(text.encode()))  # the bytes of UTF-8, whatever the locale is
            free = free or (text == _END_OF_OPTIONS and not wanted)
        if total > MOST_TOTAL:
            raise _wrong(f"the arguments have {total} bytes, and a command line takes at most {MOST_TOTAL}; send less")
        return tuple(found)

    def faults(self, args: Mapping[str, JSON]) -> list[str]:
        """What of these arguments no command line can carry, said before anybody is asked."""
        try:
            self.filled(args)
        except ToolError as exc:
            return [str(exc)]
        return []

    def _may_be_option(self, text: str, wanted: list[str]) -> None:
        if unforeseen := [name for name in wanted if name not in self.foreseen]:
            raise _wrong(
                f"{unforeseen[0]} would make {text[:40]!r} an option of the program, because it begins with a dash; "
                "write a path as ./-name"
            )


def read_template(text: str, parameters: Mapping[str, JSON]) -> Template:
    """Raises: `Unfit`, for what is not well formed, or would let an argument be more than its place."""
    found = words(text, _POINTER)
    properties = parameters.get("properties") or {}
    required = parameters.get("required") or ()
    foreseen = frozenset(name for name, schema in properties.items() if _is_foreseen(schema))
    defaults = {name: each["default"] for name, each in properties.items() if _has_default(each, name, required)}
    for at, word in enumerate(found):
        asked = names(word)
        if asked.envs:
            message = f"${{env:{asked.envs[0]}}} would show a secret to everybody who lists processes"
            raise Unfit(_POINTER, f"{message}; let the program read a variable, and grant it to this tool")
        for name in asked.args:
            if name not in properties:
                raise Unfit(_POINTER, _unknown(name, properties))
        if asked.args and word[0].text in _DASHES and not foreseen.issuperset(asked.args):
            message = f"{''.join(piece.text for piece in word)} lets an argument name the option"
            raise Unfit(_POINTER, f"{message}; list its values with `enum`")
        optional = [name for name in asked.args if name not in required and name not in defaults]
        if optional and len(word) == 1 and at and _takes_next(found[at - 1]):
            option = found[at - 1][0].text
            message = f"{optional[0]} may be left out, and {option} would then take the next word for its own"
            raise Unfit(_POINTER, f"{message}; write {option}=${{{optional[0]}}}, or make it `required`")
    return Template(found, foreseen, MappingProxyType(defaults))


def _takes_next(word: Pieces) -> bool:
    """Whether a word looks like an option whose value comes next."""
    return len(word) == 1 and word[0].kind == "text" and word[0].text.startswith("-") and word[0].text not in _DASHES


def _is_foreseen(schema: JSON) -> bool:
    return isinstance(schema, dict) and (
        "enum" in schema
        or "const" in schema
        or (isinstance(kind := schema.get("type"), str) and kind in _FORESEEN_TYPES)
    )


def _has_default(schema: JSON, name: str, required: JSON) -> bool:
    return isinstance(schema, dict) and "default" in schema and name not in required


def _text(name: str, given: Mapping[str, JSON]) -> str:
    try:
        text = spelled(given[name])
        text.encode()
    except (InvalidJson, UnicodeEncodeError) as exc:
        raise _wrong(f"{name} cannot be written down: {exc}") from None
    if "\0" in text:
        raise _wrong(f"{name} holds a NUL, which ends a word of a command line; leave it out")
    return text


def _size(text: str, wanted: tuple[str, ...]) -> int:
    size = len(text.encode()) + 1
    if size > LONGEST_WORD:
        what = f"{', '.join(wanted)}: a word of {size} bytes, and a command line takes at most {LONGEST_WORD} in one"
        raise _wrong(f"{what}; put it into a file and give the file's path")
    return size


def _unknown(name: str, properties: Mapping[str, JSON]) -> str:
    near = get_close_matches(name, properties, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(properties) or 'none'}"
    return f"${{{name}}} is none of the parameters; {hint}"


def _wrong(message: str) -> ToolError:
    return ToolError(message, code="VALIDATION_ERROR", before_effect=True)
