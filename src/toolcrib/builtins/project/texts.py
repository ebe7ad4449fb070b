"""Reading what people write into configuration files. Whatever is wrong with one is a note, and never a failure."""

import re
import tomllib
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import yaml

from ...core.errors import InvalidJson
from ...core.jsontext import JSON, parse
from .survey import Survey

_DEEPEST = 40
_MOST_NODES = 20_000
_JSON_TOKEN = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|,(?=\s*+[\]}])')
"""Whatever begins goes on to its end or to that of the text, so that no text is looked at twice."""
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")
"""The standard library takes a time for these that grows with the square of their length, or faster."""
_SECTION = re.compile(r"\[([^\]\n]++)\]")
_SEPARATOR = re.compile(r"[=:]")
_Parser = getattr(yaml, "CParser", yaml.SafeLoader)
_Value = TypeVar("_Value")


def _once(read: Callable[[Survey, str], _Value]) -> Callable[[Survey, str], _Value]:
    """Read each file once, however many ask for it."""

    @wraps(read)
    def kept(survey: Survey, path: str) -> _Value:
        key = (read.__name__, path)
        if key not in survey.kept:
            survey.kept[key] = read(survey, path)
        value: _Value = survey.kept[key]
        return value

    return kept


@_once
def json_of(survey: Survey, path: str) -> dict[str, JSON]:
    """An object; comments and commas before a closing bracket are allowed, as many tools do."""
    text = survey.text(path)
    if text is None:
        return {}
    try:
        value = parse(text)
    except InvalidJson:
        try:
            value = parse(_JSON_TOKEN.sub(lambda token: token[1] or "", text))
        except InvalidJson as exc:
            survey.note(f"{survey.shown(path)}: {str(exc)[:120]}")
            return {}
    return value if isinstance(value, dict) else {}


@_once
def toml_of(survey: Survey, path: str) -> dict[str, Any]:
    text = survey.text(path)
    if text is None:
        return {}
    if _LONG_KEY.search(text):
        survey.note(f"{survey.shown(path)}: a key of more than {_DEEPEST} parts")
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as exc:
        survey.note(f"{survey.shown(path)}: not valid TOML: {str(exc)[:120]}")
        return {}


@_once
def yaml_of(survey: Survey, path: str) -> Any:
    """A value of maps, lists and words; None where there is none. No tag means anything."""
    text = survey.text(path)
    if text is None:
        return None
    try:
        return _yaml(text)
    except (yaml.YAMLError, ValueError) as exc:
        survey.note(f"{survey.shown(path)}: not read as YAML: {str(exc).splitlines()[0][:120]}")
        return None


def _yaml(text: str) -> Any:
    """Built from events: an alias is left out instead of standing for what could be a bomb."""
    parser = _Parser(text)
    outer: list[tuple[Any, Any]] = []
    within: Any = None
    key: Any = None
    nodes = 0
    try:
        while True:
            event: Any = parser.get_event()
            kind = type(event)
            if kind in (yaml.StreamEndEvent, yaml.DocumentEndEvent):
                return None
            if kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent):
                if len(outer) >= _DEEPEST:
                    raise ValueError(f"nested deeper than {_DEEPEST} levels")
                outer.append((within, key))
                within, key = {} if kind is yaml.MappingStartEvent else [], None
                continue
            if kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent):
                value = within
                within, key = outer.pop()
            elif kind is yaml.ScalarEvent:
                value = event.value
            elif kind is yaml.AliasEvent:
                value = None
            else:
                continue
            nodes += 1
            if nodes > _MOST_NODES:
                raise ValueError(f"more than {_MOST_NODES} values")
            if within is None:
                return value
            if isinstance(within, list):
                within.append(value)
            elif key is None:
                key = value if isinstance(value, str) else ""
            else:
                within[key] = value
                key = None
    finally:
        parser.dispose()


class Setting(NamedTuple):
    """One line of a file of sections."""

    section: str
    key: str
    value: str
    line: int


def settings_of(survey: Survey, path: str) -> Iterator[Setting]:
    """Of setup.cfg, tox.ini, .editorconfig and their like. A value of several lines has its first one."""
    section = ""
    for number, line in enumerate((survey.text(path) or "").splitlines(), 1):
        if line[:1].isspace() or line[:1] in "#;":
            continue
        if found := _SECTION.match(line):
            section = found[1].strip()
        elif found := _SEPARATOR.search(line):
            key, value = line[: found.start()], line[found.end() :]
            yield Setting(section, key.strip(), value.split(" #")[0].strip(), number)


def below(value: Any, *keys: str) -> Any:
    """What stands below keys; None where something else does."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def words(value: Any) -> list[str]:
    """The texts of a list, or the one text."""
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
