"""YAML that people write by hand, without the surprises.

The subset that means the same to everybody: no anchors and aliases, no tags, no merge keys, no key twice, `true` and
`false` only (`on`, `off`, `yes` and `no` are words), plain decimal numbers. Every refusal says where.
"""

import re
from collections.abc import Callable
from typing import Any, cast

import yaml

from ..core.errors import ConfigError
from ..core.schema import pointer

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Alias, _Scalar = yaml.AliasEvent, yaml.ScalarEvent
_Sequence, _SequenceEnd, _MappingEnd = yaml.SequenceStartEvent, yaml.SequenceEndEvent, yaml.MappingEndEvent


class Document:
    """A value, and the line that each of its parts stands on."""

    def __init__(self, value: Any, text: str, path: str) -> None:
        self.value, self.path = value, path
        self._text = text
        self._lines: dict[str, int] | None = None

    def line(self, *keys: str | int) -> int | None:
        if self._lines is None:  # few ask, so they are found when somebody does
            self._lines = {}
            _Builder(self.path, self._lines).build(self._text)
        return self._lines.get(pointer(keys))

    def error(self, message: str, *keys: str | int) -> ConfigError:
        return ConfigError(message, path=self.path, line=self.line(*keys))


def load(path: str) -> Document:
    """Read one file.

    Raises:
        ConfigError: with path and line.
        OSError: the file is not there or cannot be read.
    """
    with open(path, "rb") as file:
        return parse(file.read(MAX_BYTES + 1), path)


def parse(text: bytes, path: str) -> Document:
    """Raises: `ConfigError`, with path and line."""
    if len(text) > MAX_BYTES:
        raise ConfigError(f"longer than {MAX_BYTES} bytes", path=path)
    try:
        return _Builder(path).build(text.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise ConfigError(f"not UTF-8: {exc}", path=path, line=text[: exc.start].count(b"\n") + 1) from None
    except yaml.MarkedYAMLError as exc:
        mark = cast(Any, exc.problem_mark or exc.context_mark)
        raise ConfigError(exc.problem or str(exc), path=path, line=mark.line + 1 if mark else None) from None
    except yaml.YAMLError as exc:
        raise ConfigError(str(exc), path=path) from None


class _Builder:
    """Builds the value from the parser's events, so that a bomb is refused before it is in memory."""

    def __init__(self, path: str, lines: dict[str, int] | None = None) -> None:
        self._path, self._lines = path, lines

    def build(self, text: str) -> Document:
        loader = _Loader(text)
        self._next: Callable[[], Any] = loader.get_event
        try:
            return Document(self._document(), text, self._path)
        finally:
            loader.dispose()

    def _document(self) -> Any:
        value: Any = None
        documents = 0
        while type(event := self._next()) is not yaml.StreamEndEvent:
            if type(event) is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._error("one document only; a second begins here", event)
                value = self._value(self._next(), ())
        return value

    def _value(self, event: Any, at: tuple[str | int, ...]) -> Any:
        kind = type(event)
        if kind is _Alias or event.anchor is not None:
            raise self._error("anchors and aliases are not used here; write the value out", event)
        if event.tag is not None:
            raise self._error(f"tags such as {event.tag} are not used here", event)
        if len(at) > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", event)
        if self._lines is not None:
            self._lines.setdefault(pointer(at), event.start_mark.line + 1)
        if kind is _Scalar:
            return event.value if event.style else self._plain(event)
        if kind is _Sequence:
            items: list[Any] = []
            while type(event := self._next()) is not _SequenceEnd:
                items.append(self._value(event, (*at, len(items))))
            return items
        return self._mapping(at)

    def _mapping(self, at: tuple[str | int, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        event: Any
        while type(event := self._next()) is not _MappingEnd:
            if type(event) is not _Scalar:
                raise self._error("a key is a word", event)
            key = event.value
            if key in found:
                raise self._error(f"the key {key!r} stands here for the second time", event)
            if key == "<<" and not event.style:
                raise self._error("merge keys are not used here; write the values out", event)
            if self._lines is not None:
                mark: Any = event.start_mark
                self._lines[pointer((*at, key))] = mark.line + 1
            found[key] = self._value(self._next(), (*at, key))
        return found

    def _plain(self, event: Any) -> Any:
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        if text[0].isalpha():  # most values are words
            return text
        if _INTEGER.fullmatch(text):
            return int(text) if len(text) < 400 else text
        return float(text) if _NUMBER.fullmatch(text) else text

    def _error(self, message: str, event: Any) -> ConfigError:
        return ConfigError(message, path=self._path, line=event.start_mark.line + 1)
