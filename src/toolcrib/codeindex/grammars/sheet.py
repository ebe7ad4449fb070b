"""The sheet on which one file's definitions and imports are noted while its syntax tree is read from the top."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, int, int, int, str, bool]
"""A `Definition`, as the plain tuple that travels."""
Taken = tuple[str, int, tuple[tuple[str, str], ...], str]
"""An `Import`, likewise."""

CALLABLE = frozenset({"function", "method", "constructor", "macro", "closure"})
"""Frames in which a variable is local."""
TYPES = frozenset({"class", "enum", "interface", "struct", "trait", "union"})
"""Frames whose functions are methods."""
MAX_NAME = 500
"""A longer name is no name: it is what a broken file looks like."""
MAX_SCOPE = 1000
"""What is nested deeper belongs to what is around that."""


class Frame(NamedTuple):
    """Something that is still open at this place of the file, so that what follows is inside of it."""

    end: int
    node_type: str
    kind: str
    """Of the definition; `closure` for a function without a name, empty for what is only a marker."""
    scope: str
    """What the things inside belong to."""
    exported: bool
    local: bool
    """Whether a variable inside is nobody else's business."""
    name: str = ""


FILE = Frame(1 << 62, "", "", "", exported=True, local=False)


class Sheet:
    """Definitions, imports and exports of one file. The rules of a grammar write on it, node by node, outer first."""

    __slots__ = ("definitions", "exports", "imports", "marked", "shown", "solid", "stack", "text", "weak", "withheld")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.stack: list[Frame] = [FILE]
        self.definitions: list[Found] = []
        self.imports: list[Taken] = []
        self.exports: list[tuple[str, int]] = []
        self.weak: dict[int, int] = {}
        """Which definitions only announce. A prototype (0) gives way to the real one, wherever that is; an overload
        gives way to anything of its name in the same block, which is told by where that ends."""
        self.solid: set[tuple[int, str]] = set()
        """What is defined in a block, by its end and the name."""
        self.withheld: set[int] = set()
        """Which definitions are not exported by what stands at themselves."""
        self.shown: set[str] = set()
        """Names of the file that a later statement exports, under whatever name."""
        self.marked: dict[str, str] = {}
        """What a rule wants a later rule to know, by scope: Ruby's `private` on a line of its own."""

    @property
    def top(self) -> Frame:
        return self.stack[-1]

    def said(self, node: Node | None) -> str:
        """The text of a node; nothing for no node. (`node.text` would read the file again.)"""
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""

    def reach(self, start: int) -> None:
        """Leave everything that ended before this byte."""
        stack = self.stack
        while stack[-1].end <= start:
            stack.pop()

    def around(self, *node_types: str) -> Frame | None:
        """The innermost open frame of one of these types, if that is where we are (markers in between do not count)."""
        for frame in reversed(self.stack):
            if frame.node_type in node_types:
                return frame
            if frame.kind:
                return None
        return None

    def enter(
        self, node: Node, kind: str = "", *, scope: str | None = None, exported: bool | None = None, name: str = ""
    ) -> None:
        """Note that the following lies inside of this node, which is itself no definition."""
        top = self.stack[-1]
        self.stack.append(
            Frame(
                node.end_byte,
                node.type,
                kind,
                top.scope if scope is None else scope,
                top.exported if exported is None else exported,
                kind in CALLABLE or (top.local and kind not in TYPES),
                name,
            )
        )

    def define(
        self,
        node: Node,
        name: Node,
        kind: str,
        *,
        called: str = "",
        exported: bool = True,
        within: str | None = None,
        weak: bool = False,
        once: bool = False,
        scoping: bool = True,
    ) -> None:
        """Note a definition: `node` is the whole of it, `name` where its name stands, `called` what it is called if not
        by that text, `within` the scope if not the one we are in; `weak` if it only announces, `once` if it is one of
        several announcements of the same thing."""
        top = self.stack[-1]
        label = called or self.said(name)
        if not label or len(label) > MAX_NAME:
            return
        scope = top.scope if within is None else within
        shown = exported and (top.exported or within is not None)
        row, column = name.start_point
        last, ends_at = node.end_point
        block = next(frame.end for frame in reversed(self.stack) if frame.kind or frame is FILE)
        if weak or once:
            self.weak[len(self.definitions)] = block if once else 0
        else:
            self.solid.add((block, label))
        if not exported:
            self.withheld.add(len(self.definitions))
        self.definitions.append(
            (label, kind, row + 1, column, last + 1 if ends_at else max(last, row + 1), scope, shown)
        )
        if scoping:
            inside = (f"{scope}.{label}" if scope else label) if len(scope) <= MAX_SCOPE else scope
            local = kind in CALLABLE or (top.local and kind not in TYPES)
            self.stack.append(
                Frame(node.end_byte, node.type, kind, inside, shown and kind not in CALLABLE, local, label)
            )

    def take(self, module: str, node: Node, names: tuple[tuple[str, str], ...] = (), alias: str = "") -> None:
        """Note an import."""
        if module and len(module) <= 2 * MAX_NAME:
            self.imports.append((module, node.start_point[0] + 1, names, alias))

    def export(self, name: str, node: Node) -> None:
        """Note a name that a statement of its own exports."""
        if name and len(name) <= MAX_NAME:
            self.exports.append((name, node.start_point[0] + 1))

    def settled(self) -> tuple[Found, ...]:
        """The definitions in the order of the file, each announcement only where nothing else has its name."""
        if self.shown:
            self.definitions = [
                (*item[:6], True)
                if (item[0] in self.shown if not item[5] else item[5] in self.shown and at not in self.withheld)
                else item
                for at, item in enumerate(self.definitions)
            ]
        if self.weak:
            known = {(item[5], item[0]) for at, item in enumerate(self.definitions) if at not in self.weak}
            kept = []
            for at, item in enumerate(self.definitions):
                holder = self.weak.get(at)
                if holder == 0 and (item[5], item[0]) in known:
                    continue
                if holder:
                    if (holder, item[0]) in self.solid:
                        continue
                    self.solid.add((holder, item[0]))
                kept.append(item)
            self.definitions = kept
        return tuple(sorted(self.definitions, key=_place))


def _place(item: Found) -> tuple[int, int]:
    return item[2], item[3]


Rule = Callable[["Node", Sheet], None]


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a language's syntax tree is read."""

    rules: Mapping[str, Rule]
    """By node type: what to note when one is met."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Where only some nodes of a type matter: the query that picks them, as `@node` where that is not the whole.
    Without predicates: they would ask the parser for the text, which it does not keep."""

    def query(self) -> str:
        """One query for every node that a rule wants to see."""
        patterns = [self.patterns.get(node_type, f"({node_type})") for node_type in self.rules]
        return "\n".join(pattern if "@node" in pattern else f"{pattern} @node" for pattern in patterns)


def first(node: Node) -> Node | None:
    """The first child that is more than a sign; None where there is none (to ask by number is an error then)."""
    return next(iter(node.named_children), None)


def named(kind: str, method: str = "") -> Rule:
    """A rule for nodes with a field `name`: `kind`, or `method` directly inside of a type."""

    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            sheet.define(node, name, method if method and sheet.top.kind in TYPES else kind)

    return rule


def marker(kind: str = "") -> Rule:
    """A rule for nodes that are no definitions, but matter for what is inside of them."""

    def rule(node: Node, sheet: Sheet) -> None:
        sheet.enter(node, kind)

    return rule


def modifiers(node: Node, sheet: Sheet, *node_types: str) -> set[str]:
    """The words of the children of these types (`public static`), which stand before the name."""
    words: set[str] = set()
    for child in node.children:
        if child.type in node_types:
            words.update(sheet.said(child).split())
    return words
