"""Arguments of a tool from the command line: flags made from its schema.

Read from left to right, by hand: the word after a flag that takes a value *is* its value, whatever it looks like, so
that no argument can turn into an option of ours.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from ..core.errors import InvalidJson
from ..core.jsontext import JSON, parse
from ._failure import UsageError
from ._schema import properties, types
from ._text import visible


class Own:
    """Our own flags: name to whether a value follows."""

    def __init__(self, *switches: str, valued: Sequence[str] = ()) -> None:
        self.takes_value = dict.fromkeys(switches, False) | dict.fromkeys(valued, True)


class Words(NamedTuple):
    """A command line, read."""

    ours: dict[str, Any]
    """Our flags, with their values, or True."""
    theirs: dict[str, JSON]
    """The tool's arguments."""
    bare: list[str]
    """What belongs to no flag. Without a schema: everything from the tool's name on."""


def split(words: Sequence[str], own: Own, schema: Mapping[str, JSON] | None) -> Words:
    """Tell our flags from the tool's arguments. Our flags win over the tool's of the same name.

    Without a schema, reading stops at the first bare word: that names the tool.

    Raises:
        UsageError: with the flag and what would be right.
    """
    read = Words({}, {}, [])
    rest = list(words)
    while rest:
        word = rest.pop(0)
        flag, has_value, value = word.partition("=")
        if word == "-h":
            read.ours["--help"] = True
        elif not word.startswith("--"):
            if schema is None:
                return read._replace(bare=[word, *rest])
            read.bare.append(word)
        elif flag in own.takes_value:
            if own.takes_value[flag]:
                if flag in read.ours:
                    raise UsageError(f"{flag} is given twice, and takes one value")
                read.ours[flag] = value if has_value else _next(flag, rest)
            elif has_value:
                raise UsageError(f"{flag} takes no value")
            else:
                read.ours[flag] = True
        elif schema is None:
            raise UsageError(f"{flag} comes before the tool's name; write: toolcrib call NAME {flag} …")
        else:
            _take(flag, value if has_value else None, rest, schema, read.theirs)
    return read


def _take(flag: str, value: str | None, rest: list[str], schema: Mapping[str, JSON], theirs: dict[str, JSON]) -> None:
    known = properties(schema)
    name = _property(flag[2:], known)
    if name is None:
        negated = _property(flag.removeprefix("--no-"), known) if flag.startswith("--no-") else None
        if negated is None or "boolean" not in types(known[negated], schema):
            raise UsageError(_unknown(flag, known))
        if value is not None:
            raise UsageError(f"{flag} takes no value; write --{negated}=true or --{negated}=false")
        _set(theirs, negated, False, flag)
        return
    kinds = types(known[name], schema)
    if value is None and kinds - {"null"} == {"boolean"}:
        # No other bare word may follow, so `--flag false` can only mean one thing.
        _set(theirs, name, rest.pop(0) == "true" if rest[:1] in (["true"], ["false"]) else True, flag)
        return
    text = value if value is not None else _next(flag, rest)
    if "array" in kinds and "string" not in kinds:
        theirs.setdefault(name, []).extend(_items(flag, text, known[name], schema))
    else:
        _set(theirs, name, _typed(flag, text, kinds), flag)


def _set(theirs: dict[str, JSON], name: str, value: JSON, flag: str) -> None:
    if name in theirs:
        raise UsageError(f"{flag} is given twice, and takes one value")
    theirs[name] = value


def _unknown(flag: str, known: Mapping[str, JSON]) -> str:
    near = get_close_matches(flag[2:], list(known), n=1)
    if near:
        return f"the tool has no argument {flag}; did you mean --{near[0]}?"
    return f"the tool has no argument {flag}; it has {', '.join(f'--{each}' for each in known) or 'none'}"


def _items(flag: str, text: str, schema: JSON, root: Mapping[str, JSON]) -> list[JSON]:
    """A list is given item by item (`--tag a --tag b`), or whole, as JSON."""
    if text.lstrip().startswith("["):
        value = _json(flag, text, hint=f"{flag} is a list, and one that begins with [ is given as JSON")
        if isinstance(value, list):
            return value
    items = schema.get("items") if isinstance(schema, dict) else None
    return [_typed(flag, text, types(items, root))]


def _typed(flag: str, text: str, kinds: set[str]) -> JSON:
    """The text as the schema's type. Nothing is guessed: where text is allowed, it stays text."""
    if not kinds or "string" in kinds:
        return text
    if text == "null" and "null" in kinds:
        return None
    if "boolean" in kinds and text in ("true", "false"):
        return text == "true"
    if kinds & {"integer", "number", "object", "array"}:
        return _json(flag, text, hint=f"{flag} is {_either(kinds)}")
    raise UsageError(f"{flag} is {_either(kinds)}, not {text!r}" + ("; write true or false" * ("boolean" in kinds)))


def _either(kinds: set[str]) -> str:
    return " or ".join(sorted(kinds))


def _json(flag: str, text: str, *, hint: str) -> JSON:
    try:
        return parse(text)
    except InvalidJson as exc:
        shown = text if len(text) <= 80 else text[:80] + "…"
        raise UsageError(f"{hint}, and {shown!r} is {exc}") from None


def _property(name: str, known: Mapping[str, JSON]) -> str | None:
    """`--dry-level` also finds `dry_level`, and the other way round."""
    if name in known:
        return name
    folded = name.replace("-", "_")
    return next((each for each in known if each.replace("-", "_") == folded), None)


def _next(flag: str, rest: list[str]) -> str:
    if not rest:
        raise UsageError(f"{flag} needs a value")
    return rest.pop(0)


def flag_lines(schema: Mapping[str, JSON], own: Own) -> list[str]:
    """The tool's flags, for `--help`. The words come from the tool, so none reaches the terminal as it is."""
    required = schema.get("required")
    lines = []
    for name, about in properties(schema).items():
        kinds = types(about, schema) - {"null"}
        kind = "" if kinds == {"boolean"} else " " + ("|".join(sorted(kinds)) or "VALUE").upper()
        words = about.get("description") if isinstance(about, dict) else None
        notes = [
            *([words] if isinstance(words, str) and words else []),
            *(["(required)"] if isinstance(required, list) and name in required else []),
            *([f"(only in --input: --{name} is our own)"] if f"--{name}" in own.takes_value else []),
            *(["(only in --input)"] if "=" in name or not name.isprintable() or " " in name else []),
        ]
        lines.append(visible(f"  --{name}{kind}  {' '.join(notes)}").rstrip())
    return lines
