"""YAML that people write by hand, without the surprises.

The subset that means the same to everybody: no anchors and aliases, no tags, no merge keys, no key twice, `true` and
`false` only (`on`, `off`, `yes` and `no` are words), plain decimal numbers. Every refusal says where.
"""

import re
from typing import Any, NamedTuple, cast

import yaml

from ..core.errors import ConfigError
from ..core.schema import pointer
from .regular import MAX_BYTES

MAX_DEPTH = 32
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}
_Parser = getattr(getattr(yaml, "cyaml", None), "CParser", yaml.SafeLoader)
_Scalar, _Alias = yaml.ScalarEvent, yaml.AliasEvent
_Mapping, _Sequence = yaml.MappingStartEvent, yaml.SequenceStartEvent
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_StreamEnd, _DocumentStart = yaml.StreamEndEvent, yaml.DocumentStartEvent
_NO_KEY: Any = object()


class Mark(NamedTuple):
    """Where something stands; both count from 1."""

    line: int
    column: int


class NotPlain(ConfigError):
    """Text that is not YAML of this kind."""

    def __init__(self, message: str, *, path: str, mark: Mark | None = None) -> None:
        super().__init__(message, path=path, line=mark.line if mark else None)
        self.message, self.mark = message, mark


class Document:
    """A value, and where each of its parts stands."""

    def __init__(self, value: Any, text: str, path: str) -> None:
        self.value, self.path = value, path
        self._text = text
        self._marks: dict[str, Mark] | None = None

    def mark(self, *keys: str | int) -> Mark | None:
        """Of a key, or of an entry of a list."""
        if self._marks is None:  # few ask, so they are found when somebody does
            self._marks = {}
            _read(self._text, self.path, self._marks)
        return self._marks.get(pointer(keys))

    def line(self, *keys: str | int) -> int | None:
        mark = self.mark(*keys)
        return mark.line if mark else None

    def error(self, message: str, *keys: str | int) -> ConfigError:
        return ConfigError(message, path=self.path, line=self.line(*keys))


def parse(text: bytes, path: str) -> Document:
    """Raises: `NotPlain`, with path, line and column."""
    if len(text) > MAX_BYTES:
        raise NotPlain(f"longer than {MAX_BYTES} bytes", path=path)
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = text[: exc.start].decode("utf-8-sig").split("\n")
        raise NotPlain(f"not UTF-8: {exc}", path=path, mark=Mark(len(before), len(before[-1]) + 1)) from None
    try:
        return Document(_read(decoded, path), decoded, path)
    except yaml.MarkedYAMLError as exc:
        mark = cast(Any, exc.problem_mark or exc.context_mark)
        at = Mark(mark.line + 1, mark.column + 1) if mark else None
        raise NotPlain(exc.problem or str(exc), path=path, mark=at) from None
    except yaml.YAMLError as exc:
        raise NotPlain(str(exc).partition("\n")[0], path=path, mark=_unprintable(decoded, exc)) from None


def _read(text: str, path: str, marks: dict[str, Mark] | None = None) -> Any:
    """The value, built from the parser's events, so that a bomb is refused before it is in memory.

    One loop over all events, because every manifest of a directory passes here. With `marks`, it is noted where
    everything stands, which costs more than all the rest.
    """
    parser = _Parser(text)
    next_event = parser.get_event
    value: Any = None  # the last one that was complete
    within: Any = None  # the map or list it goes into
    key: Any = _NO_KEY
    outer: list[tuple[Any, Any]] = []
    documents = 0
    event: Any
    try:
        while True:
            event = next_event()
            kind = type(event)
            if kind is _Scalar:
                if event.anchor is not None or event.tag is not None:
                    raise _refusal(_unwanted(event), event, path)
                value = event.value
                if type(within) is dict and key is _NO_KEY:
                    if value in within:
                        raise _refusal(f"the key {value!r} stands here for the second time", event, path)
                    if value == "<<" and not event.style:
                        raise _refusal("merge keys are not used here; write the values out", event, path)
                    key = value
                    if marks is not None:
                        marks[_pointer(outer, within, key)] = _mark(event)
                    continue
                if not event.style:
                    value = _plain(value)
            elif kind is _Mapping or kind is _Sequence:
                if event.anchor is not None or event.tag is not None:
                    raise _refusal(_unwanted(event), event, path)
                if type(within) is dict and key is _NO_KEY:
                    raise _refusal("a key is a word", event, path)
                if len(outer) > MAX_DEPTH:
                    raise _refusal(f"nested deeper than {MAX_DEPTH} levels", event, path)
                if marks is not None:
                    marks.setdefault(_pointer(outer, within, key), _mark(event))
                outer.append((within, key))
                within, key = {} if kind is _Mapping else [], _NO_KEY
                continue
            elif kind in _ENDS:
                value = within
                within, key = outer.pop()
            elif kind is _DocumentStart:
                documents += 1
                if documents > 1:
                    raise _refusal("one document only; a second begins here", event, path)
                continue
            elif kind is _StreamEnd:
                return value
            elif kind is _Alias:
                raise _refusal(_unwanted(event), event, path)
            else:
                continue
            if type(within) is dict:
                within[key] = value
                key = _NO_KEY
            elif within is not None:
                if marks is not None:
                    marks.setdefault(_pointer(outer, within, key), _mark(event))
                within.append(value)
            elif marks is not None:
                marks.setdefault("", _mark(event))
    finally:
        parser.dispose()


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0].isalpha():  # most values are words
        return text
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 400 else text
    return float(text) if _NUMBER.fullmatch(text) else text


def _unwanted(event: Any) -> str:
    if type(event) is _Alias or event.anchor is not None:
        return "anchors and aliases are not used here; write the value out"
    return f"tags such as {event.tag} are not used here"


def _pointer(outer: list[tuple[Any, Any]], within: Any, key: Any) -> str:
    """Of what comes next: a key of the map, or the next entry of the list, that is being filled."""
    inside = [*outer[1:], (within, key)] if outer else []
    return pointer([len(each) if type(each) is list else at for each, at in inside])


def _refusal(message: str, event: Any, path: str) -> NotPlain:
    return NotPlain(message, path=path, mark=_mark(event))


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _unprintable(text: str, exc: yaml.YAMLError) -> Mark | None:
    """Where the character stands that YAML does not take."""
    character = getattr(exc, "character", None)
    if not isinstance(character, int):
        return None
    before = text.partition(chr(character))[0].split("\n")
    return Mark(len(before), len(before[-1]) + 1)
