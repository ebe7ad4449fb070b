"""Ruby: what is written as a definition, and the calls that define as well: `attr_accessor`, `define_method`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Grammar, Rule, Sheet, marker

if TYPE_CHECKING:
    from tree_sitter import Node

_LOADERS = frozenset({"require", "require_relative", "load", "autoload"})
_ACCESSORS = frozenset({"attr", "attr_accessor", "attr_reader", "attr_writer", "delegate"})
_DEFINERS = frozenset({"define_method", "define_singleton_method", "alias_method"})
_VISIBILITY = frozenset({"private", "protected", "public"})
_LITERALS = ("simple_symbol", "string", "delimited_symbol")


def _holder(kind: str) -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        scope = None
        if name.type == "scope_resolution":
            outer = sheet.said(name.child_by_field_name("scope")).replace("::", ".")
            scope = ".".join(part for part in (sheet.top.scope, outer) if part)
            name = name.child_by_field_name("name") or name
        sheet.define(node, name, kind, within=scope)
        sheet.marked.pop(sheet.top.scope, None)  # opened again, it begins as public

    return rule


def _method(node: Node, sheet: Sheet) -> None:
    name, top = node.child_by_field_name("name"), sheet.top
    if name is None:
        return
    of_something = top.kind in (*TYPES, "module") or node.type == "singleton_method"
    label = sheet.said(name)
    hidden = node.type == "method" and sheet.marked.get(top.scope) in ("private", "protected")
    kind = "constructor" if label == "initialize" and of_something else "method" if of_something else "function"
    sheet.define(node, name, kind, exported=not hidden and sheet.around("argument_list") is None)


def _assignment(node: Node, sheet: Sheet) -> None:
    left = node.child_by_field_name("left")
    if left is None:
        return
    if left.type == "constant":
        sheet.define(node, left, "constant")
    elif not sheet.top.local and left.type == "class_variable":
        sheet.define(node, left, "field")
    elif not sheet.top.local and not sheet.top.scope and left.type in ("global_variable", "identifier"):
        sheet.define(node, left, "variable", exported=left.type == "global_variable")


def _call(node: Node, sheet: Sheet) -> None:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    called = sheet.said(method)
    if arguments is None or node.child_by_field_name("receiver") is not None:
        return
    literals = [child for child in arguments.named_children if child.type in _LITERALS]
    if called in _LOADERS and literals:
        sheet.take(_bare(literals[-1], sheet), node, alias=_bare(literals[0], sheet) if called == "autoload" else "")
    elif called in _ACCESSORS:
        for literal in literals:
            sheet.define(node, literal, "property", called=_bare(literal, sheet), scoping=False)
    elif called in _DEFINERS and literals:
        sheet.define(node, literals[0], "method", called=_bare(literals[0], sheet))
    elif called in _VISIBILITY:
        sheet.enter(node, exported=called == "public")


def _bare(literal: Node, sheet: Sheet) -> str:
    return sheet.said(literal).strip(":\"'")


def _alias(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None and name.type != "global_variable":
        sheet.define(node, name, "method", called=sheet.said(name).lstrip(":"), scoping=False)


def _word(node: Node, sheet: Sheet) -> None:
    """`private` on a line of its own: it holds for the rest of the class."""
    text = sheet.said(node)
    if text in _VISIBILITY:
        sheet.marked[sheet.top.scope] = text


def _singleton(node: Node, sheet: Sheet) -> None:
    sheet.enter(node, "class")
    sheet.marked.pop(sheet.top.scope, None)


RUBY = Grammar(
    {
        "module": _holder("module"),
        "class": _holder("class"),
        "singleton_class": _singleton,
        "method": _method,
        "singleton_method": _method,
        "assignment": _assignment,
        "call": _call,
        "alias": _alias,
        "identifier": _word,
        "lambda": marker("closure"),
        "do_block": marker(),
    },
    {
        "identifier": "(body_statement (identifier) @node)",
        "call": "(call method: (identifier) arguments: (argument_list))",
    },
)
