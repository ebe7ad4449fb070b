"""Rules from a file: every key known, every value checked, every example tried, every error with its line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Protocol

from ..core.call import Call
from ..core.errors import ConfigError
from ..core.jsontext import dump
from ..core.policy import Decision
from ..core.schema import Schema
from ..core.tool import Capabilities, Hooks, Subject, Tool
from .commands import Pattern
from .names import ArgumentPattern, HostPattern, NamePattern, PathPattern, host_of
from .rule import Origin, Rule
from .subjects import Mentions, Places, subjects

KEYS = (
    "id", "tool", "source", "capabilities", "args", "command", "pattern", "options", "paths", "access", "hosts",
    "approval", "reason", "match", "not_match",
)  # fmt: skip
SOURCES = (
    "builtin", "function", "executable", "manifest", "module", "package", "project_module", "skill", "mcp", "http",
    "openapi",
)  # fmt: skip
CAPABILITIES = tuple(field.name for field in fields(Capabilities))
_CONDITIONS = ("tool", "source", "capabilities", "args", "command", "pattern", "paths", "hosts")
_LOOKS_AT = ("command", "paths", "hosts")
_EXAMPLE_KEYS = ("tool", "args", "command", "argv", "read", "write", "url")


class Document(Protocol):
    """A file's value, and the line that each of its parts stands on."""

    value: Any
    path: str

    def line(self, *keys: str | int) -> int | None: ...

    def error(self, message: str, *keys: str | int) -> ConfigError: ...


class Loader:
    """Reads rules for one workspace."""

    def __init__(self, workspace: str, places: Places) -> None:
        self._workspace, self._places = workspace, places

    def file(self, document: Document, layer: str) -> list[Rule]:
        """The rules of a `policy.yaml`.

        Raises:
            ConfigError: with path and line.
        """
        value = document.value
        if value is None:
            return []
        if not isinstance(value, dict):
            raise document.error("a policy is a mapping with the key rules")
        for key in value:
            if key != "rules":
                raise document.error(f"unknown key {key!r}; a policy has only rules", key)
        return self.rules(document, ("rules",), value.get("rules"), layer)

    def rules(
        self, document: Document, at: tuple[str, ...], value: Any, layer: str, *, tool: str | None = None
    ) -> list[Rule]:
        """The rules in a list, all of them for one `tool` if that is given."""
        if value is None:
            return []
        if not isinstance(value, list):
            raise document.error(f"{'.'.join(at)} must be a list of rules", *at)
        return [self._rule(document, (*at, number), each, layer, tool) for number, each in enumerate(value)]

    def _rule(self, document: Document, at: tuple[str | int, ...], value: Any, layer: str, tool: str | None) -> Rule:
        if not isinstance(value, dict):
            raise document.error("a rule is a mapping, such as {tool: run_command, approval: ask}", *at)
        for key in value:
            if key not in KEYS or (tool is not None and key in ("tool", "source")):
                near = get_close_matches(str(key), KEYS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(KEYS)}"
                raise document.error(f"unknown key {key!r} in a rule; {hint}", *at, key)

        def read(key: str, read_as: Callable[[Any], Any], default: Any = ()) -> Any:
            if value.get(key) is None:
                return default
            try:
                return read_as(value[key])
            except ValueError as exc:
                raise document.error(f"{key}: {exc}", *at, key) from None

        if "approval" not in value:
            raise document.error("a rule says approval: preApproved, ask or blocked", *at)
        if tool is None and not any(value.get(key) is not None for key in _CONDITIONS):
            raise document.error("this rule would match every call; write tool: '*' if that is meant", *at)
        options = read("options", _options, frozenset())
        commands = (*read("command", _patterns(options)), *read("pattern", _patterns(options)))
        given = {"command": commands, "paths": value.get("paths"), "hosts": value.get("hosts")}
        looked_at = [key for key in _LOOKS_AT if given[key]]
        if len(looked_at) > 1:
            raise document.error(
                f"a rule looks at one of {', '.join(_LOOKS_AT)}, not at {' and '.join(looked_at)}", *at
            )
        if tool is not None and not commands:
            raise document.error("a rule here says which commands it is about: pattern or command", *at)
        if options and not commands:
            raise document.error("options belong to a command", *at, "options")
        access = read("access", _one_of(("read", "write")), "")
        if access and not value.get("paths"):
            raise document.error("access belongs to paths", *at, "access")
        rule = Rule(
            read("approval", Decision.parse, Decision.BLOCKED),
            Origin(layer, document.path, document.line(*at), read("id", _text, "")),
            tools=(NamePattern(tool),) if tool else read("tool", _each(NamePattern)),
            sources=frozenset(read("source", _each(_one_of(SOURCES)))),
            capabilities=frozenset(read("capabilities", _each(_one_of(CAPABILITIES)))),
            arguments=read("args", _arguments),
            commands=commands,
            paths=read("paths", _each(lambda text: PathPattern.made(text, self._workspace))),
            access=access,
            hosts=read("hosts", _each(HostPattern)),
            reason=read("reason", _text, ""),
        )
        for key, wanted in (("match", True), ("not_match", False)):
            for number, example in enumerate(read(key, _list)):
                try:
                    found = self._matches(rule, example)
                except ValueError as exc:
                    raise document.error(f"{key}: {exc}", *at, key, number) from None
                if found is not wanted:
                    says = "is not matched by this rule" if wanted else "is matched by this rule"
                    raise document.error(f"{key}: {dump(example).decode()} {says}", *at, key, number)
        return rule

    def _matches(self, rule: Rule, example: Any) -> bool:
        """Whether the rule speaks of an example; one that loosens must speak of all that the example would do."""
        about = _example(rule, example)
        args = about.get("args") or {}
        touched = [Subject(kind, value) for kind, value in _touched(about)]
        name = about.get("tool")
        if rule.tools and name is not None and not any(pattern.matches(name) for pattern in rule.tools):
            return False
        hooks = Hooks(touches=lambda args: touched) if touched else Hooks()
        tool = Tool(name or "example", "", Schema({}), _NO_BACKEND, hooks=hooks)
        call = Call(tool.name, args, "")
        places = self._places
        found = [rule.matches(call, each, Mentions(call, each, places)) for each in subjects(call, tool, places)]
        return all(found) if rule.loosens else any(found)


_NO_BACKEND: Any = None


def _example(rule: Rule, example: Any) -> Mapping[str, Any]:
    """An example as a mapping; a text means what the rule looks at."""
    if isinstance(example, dict):
        for key in example:
            if key not in _EXAMPLE_KEYS:
                raise ValueError(f"unknown key {key!r} in an example; known are {', '.join(_EXAMPLE_KEYS)}")
        return example
    if not isinstance(example, str):
        raise ValueError(f"an example is a text or a mapping, not {example!r}")
    if rule.commands:
        return {"command": example}
    if rule.paths:
        return {rule.access or "read": example}
    if rule.hosts:
        return {"url": example if "://" in example else f"https://{example}/"}
    return {"tool": example}


def _touched(about: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = []
    for key, value in about.items():
        if key == "command":
            found.append(("shell", (_text(value),)))
        elif key == "argv":
            found.append(("command", tuple(_text(word) for word in _list(value))))
        elif key in ("read", "write"):
            found.append((key, (_text(value),)))
        elif key == "url":
            host = host_of(_text(value))
            if host is None:
                raise ValueError(f"{value!r} is not a URL of a host")
            found.append(("host", (host,)))
    return found


def _patterns(options: frozenset[str]) -> Callable[[Any], tuple[Pattern, ...]]:
    def read_as(value: Any) -> tuple[Pattern, ...]:
        found = (Pattern.parse(_text(text)) for text in _as_list(value))
        return tuple(pattern.allowing(options) if options else pattern for pattern in found)

    return read_as


def _options(value: Any) -> frozenset[str]:
    words = [_text(word) for word in _as_list(value)]
    for word in words:
        if word != "*" and not word.startswith("-"):
            raise ValueError(f"{word!r} is not an option; write --all, -a, or '*' for every option that is harmless")
    return frozenset(words)


def _arguments(value: Any) -> tuple[ArgumentPattern, ...]:
    if not isinstance(value, dict):
        raise ValueError("must map JSON pointers to values, as in {/path: notes.txt}")
    return tuple(ArgumentPattern.made(pointer, wanted) for pointer, wanted in value.items())


def _each(read_as: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda value: tuple(read_as(_text(item)) for item in _as_list(value))


def _one_of(known: Sequence[str]) -> Callable[[Any], str]:
    def read_as(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(known)}")
        return str(value)

    return read_as


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("must be a list")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    return value
