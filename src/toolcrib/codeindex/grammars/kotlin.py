"""Kotlin: names are children without a field, so they are found by their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Grammar, Rule, Sheet, first, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node


def _child(node: Node, *node_types: str) -> Node | None:
    return next((child for child in node.named_children if child.type in node_types), None)


def _is_public(node: Node, sheet: Sheet) -> bool:
    return "private" not in modifiers(node, sheet, "modifiers")


def _class(node: Node, sheet: Sheet) -> None:
    name = _child(node, "type_identifier", "simple_identifier")
    words = {child.type for child in node.children}
    kind = "interface" if "interface" in words else "enum" if "enum" in words else "class"
    if name is None:
        sheet.enter(node, kind)
    else:
        sheet.define(node, name, kind, exported=_is_public(node, sheet))


def _named(kind: str, method: str = "") -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = _child(node, "simple_identifier", "type_identifier")
        if name is not None:
            here = method if method and sheet.top.kind in TYPES else kind
            sheet.define(node, name, here, exported=_is_public(node, sheet))

    return rule


def _companion(node: Node, sheet: Sheet) -> None:
    """Its members are the class's own; only one with a name has them for itself."""
    name = _child(node, "type_identifier")
    if name is None:
        sheet.enter(node, "class")
    else:
        sheet.define(node, name, "class", exported=_is_public(node, sheet))


def _property(node: Node, sheet: Sheet) -> None:
    if sheet.top.local:
        return
    words = modifiers(node, sheet, "modifiers")
    holders = [
        child for child in node.named_children if child.type in ("variable_declaration", "multi_variable_declaration")
    ]
    kind = "constant" if "const" in words else "property" if sheet.top.kind in TYPES else "variable"
    for holder in holders:
        parts = holder.named_children if holder.type == "multi_variable_declaration" else [holder]
        for part in parts:
            name = _child(part, "simple_identifier")
            if name is not None:
                sheet.define(node, name, kind, exported="private" not in words, scoping=len(parts) == 1)


def _parameter(node: Node, sheet: Sheet) -> None:
    """`class A(val x: Int)`: a property as well."""
    name = _child(node, "simple_identifier")
    if name is not None and _child(node, "binding_pattern_kind") is not None:
        sheet.define(node, name, "property", exported=_is_public(node, sheet), scoping=False)


def _constructor(node: Node, sheet: Sheet) -> None:
    word = next((child for child in node.children if child.type != "modifiers"), None)
    if word is not None:
        sheet.define(node, word, "constructor", called="constructor", exported=_is_public(node, sheet))


def _import(node: Node, sheet: Sheet) -> None:
    path, alias = _child(node, "identifier"), _child(node, "import_alias")
    text = sheet.said(path)
    if _child(node, "wildcard_import") is not None:
        sheet.take(text, node, (("*", "*"),))
        return
    module, _, name = text.rpartition(".")
    label = sheet.said(first(alias)) if alias is not None else name
    sheet.take(module or name, node, ((name, label),) if module else ())


KOTLIN = Grammar(
    {
        "import_header": _import,
        "class_declaration": _class,
        "object_declaration": _named("class"),
        "companion_object": _companion,
        "enum_entry": _named("constant"),
        "type_alias": _named("type"),
        "function_declaration": _named("function", "method"),
        "secondary_constructor": _constructor,
        "class_parameter": _parameter,
        "property_declaration": _property,
        "lambda_literal": marker("closure"),
        "anonymous_function": marker("closure"),
        "object_literal": marker("class"),
        "anonymous_initializer": marker("closure"),
        "getter": marker("closure"),
        "setter": marker("closure"),
    }
)
