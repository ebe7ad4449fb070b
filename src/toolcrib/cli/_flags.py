"""Arguments of a tool from the command line: flags made from its schema.

Read from left to right, by hand: the word after a flag that takes a value *is* its value, whatever it looks like, so
that no argument can turn into an option of ours.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ..core.errors import InvalidJson
from ..core.jsontext import JSON, parse


class UsageError(Exception):
    """The command line is not right; the message says what is."""


class Own:
    """Our own flags: name to whether a value follows."""

    def __init__(self, *switches: str, valued: Sequence[str] = ()) -> None:
        self.takes_value = dict.fromkeys(switches, False) | dict.fromkeys(valued, True)


def split(
    words: Sequence[str], own: Own, schema: Mapping[str, JSON] | None
) -> tuple[dict[str, Any], dict[str, JSON], list[str]]:
    """Our flags, the tool's arguments, and the bare words. Our flags win over the tool's of the same name.

    Without a schema, reading stops at the first bare word: that names the tool.

    Raises:
        UsageError: with the flag and what would be right.
    """
    ours: dict[str, Any] = {}
    theirs: dict[str, JSON] = {}
    bare: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            if word == "-h":
                ours["--help"] = True
                continue
            bare.append(word)
            if schema is None:
                return ours, theirs, [word, *rest]
            continue
        flag, has_value, value = word.partition("=")
        if flag in own.takes_value:
            if own.takes_value[flag]:
                ours[flag] = value if has_value else _next(flag, rest)
            elif has_value:
                raise UsageError(f"{flag} takes no value")
            else:
                ours[flag] = True
        elif schema is None:
            raise UsageError(f"{flag} comes before the tool's name; write: toolcrib call NAME {flag} …")
        else:
            _take(flag, value if has_value else None, rest, schema, theirs)
    return ours, theirs, bare


def _take(flag: str, value: str | None, rest: list[str], schema: Mapping[str, JSON], theirs: dict[str, JSON]) -> None:
    properties = _properties(schema)
    name = _property(flag, properties)
    if name is None:
        negated = _property("--" + flag.removeprefix("--no-"), properties) if flag.startswith("--no-") else None
        if negated is not None and "boolean" in _types(properties[negated]) and value is None:
            theirs[negated] = False
            return
        near = get_close_matches(flag[2:], list(properties), n=1)
        hint = (
            f"did you mean --{near[0]}?"
            if near
            else "it has " + (", ".join(f"--{each}" for each in properties) or "none")
        )
        raise UsageError(f"the tool has no argument {flag}; {hint}")
    types = _types(properties[name])
    if value is None and types == {"boolean"}:
        theirs[name] = True
    elif "array" in types:
        held = theirs.setdefault(name, [])
        held += _items(flag, value if value is not None else _next(flag, rest), properties[name])
    else:
        theirs[name] = _typed(flag, value if value is not None else _next(flag, rest), types)


def _items(flag: str, text: str, schema: JSON) -> list[JSON]:
    """A list is given item by item (`--tag a --tag b`), or whole, as JSON."""
    if text.lstrip().startswith("["):
        value = _json(flag, text)
        if isinstance(value, list):
            return value
    items = schema.get("items") if isinstance(schema, dict) else None
    return [_typed(flag, text, _types(items if isinstance(items, dict) else {}))]


def _typed(flag: str, text: str, types: set[str]) -> JSON:
    """The text as the schema's type. Nothing is guessed: where text is allowed, it stays text."""
    if not types or "string" in types:
        return text
    if text == "null" and "null" in types:
        return None
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if types & {"integer", "number", "object", "array"}:
        return _json(flag, text, hint=f"{flag} is {' or '.join(sorted(types))}")
    raise UsageError(f"{flag} is {' or '.join(sorted(types))}, not {text!r}")


def _json(flag: str, text: str, hint: str = "") -> JSON:
    try:
        return parse(text)
    except InvalidJson as exc:
        raise UsageError(f"{hint or flag}, and {text!r} is {exc}") from None


def _property(flag: str, properties: Mapping[str, JSON]) -> str | None:
    """`--dry-level` also finds `dry_level`."""
    name = flag[2:]
    return name if name in properties else next((each for each in properties if each.replace("_", "-") == name), None)


def _properties(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _types(schema: JSON) -> set[str]:
    """The types a value may have; empty when anything goes."""
    if not isinstance(schema, dict):
        return set()
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return set(kind)
    branches = [_types(each) for key in ("anyOf", "oneOf") for each in schema.get(key) or ()]
    return set().union(*branches) if branches and all(branches) else set()


def _next(flag: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{flag} needs a value")
    return rest.pop(0)


def flag_lines(schema: Mapping[str, JSON]) -> list[str]:
    """The tool's flags, for `--help`."""
    required = schema.get("required")
    lines = []
    for name, about in _properties(schema).items():
        types = _types(about)
        kind = "" if types == {"boolean"} else " " + ("|".join(sorted(types - {"null"})) or "VALUE").upper()
        words = about.get("description", "") if isinstance(about, dict) else ""
        must = " (required)" if isinstance(required, list) and name in required else ""
        lines.append(f"  --{name}{kind}  {words}{must}")
    return lines
