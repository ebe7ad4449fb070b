"""Swift: one node for classes, structs, enums, actors and extensions, told apart by their first word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Grammar, Rule, Sheet, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"class": "class", "actor": "class", "struct": "struct", "enum": "enum"}


def _is_public(node: Node, sheet: Sheet) -> bool:
    words = modifiers(node, sheet, "modifiers")
    return words.isdisjoint({"private", "fileprivate"})


def _class(node: Node, sheet: Sheet) -> None:
    name, word = node.child_by_field_name("name"), sheet.said(node.child_by_field_name("declaration_kind"))
    if name is None:
        return
    if word == "extension":
        owner = sheet.said(name).partition("<")[0].strip()
        sheet.enter(node, "class", scope=f"{sheet.top.scope}.{owner}" if sheet.top.scope else owner)
        return
    sheet.define(node, name, _KINDS.get(word, "class"), exported=_is_public(node, sheet))


def _named(kind: str, method: str = "") -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            here = method if method and sheet.top.kind in TYPES else kind
            sheet.define(node, name, here, exported=_is_public(node, sheet))

    return rule


def _property(node: Node, sheet: Sheet) -> None:
    if sheet.top.local:
        return
    words = {child.type for child in node.children}
    in_type = sheet.top.kind in TYPES
    constant = any(sheet.said(child) == "let" for child in node.named_children if child.type == "value_binding_pattern")
    kind = (
        ("property" if "computed_property" in words or node.type.startswith("protocol") else "field") if in_type else ""
    )
    kind = kind or ("constant" if constant else "variable")
    names = [name for pattern in node.children_by_field_name("name") for name in _bound(pattern)]
    for name in names:
        sheet.define(node, name, kind, exported=_is_public(node, sheet), scoping=len(names) == 1)


def _bound(pattern: Node) -> list[Node]:
    name = pattern.child_by_field_name("bound_identifier")
    if name is not None:
        return [name]
    return [inner for child in pattern.named_children if child.type == "pattern" for inner in _bound(child)]


def _word(kind: str, word: str) -> Rule:
    """`init`, `deinit`, `subscript`: the keyword is the name."""

    def rule(node: Node, sheet: Sheet) -> None:
        place = next((child for child in node.children if child.type == word), None)
        if place is not None:
            sheet.define(node, place, kind, called=word, exported=_is_public(node, sheet))

    return rule


def _cases(node: Node, sheet: Sheet) -> None:
    for name in node.children_by_field_name("name"):
        if name.type == "simple_identifier":
            sheet.define(node, name, "constant", scoping=False)


def _import(node: Node, sheet: Sheet) -> None:
    path = next((child for child in node.named_children if child.type == "identifier"), None)
    text = sheet.said(path)
    one = any(
        child.type in ("struct", "class", "enum", "func", "let", "var", "protocol", "typealias")
        for child in node.children
    )
    module, _, name = text.rpartition(".")
    if one and module:
        sheet.take(module, node, ((name, name),))
    else:
        sheet.take(text, node)


SWIFT = Grammar(
    {
        "import_declaration": _import,
        "class_declaration": _class,
        "protocol_declaration": _named("interface"),
        "associatedtype_declaration": _named("type"),
        "typealias_declaration": _named("type"),
        "function_declaration": _named("function", "method"),
        "protocol_function_declaration": _named("function", "method"),
        "property_declaration": _property,
        "protocol_property_declaration": _property,
        "init_declaration": _word("constructor", "init"),
        "deinit_declaration": _word("method", "deinit"),
        "subscript_declaration": _word("method", "subscript"),
        "enum_entry": _cases,
        "lambda_literal": marker("closure"),
        "computed_property": marker("closure"),
    }
)
