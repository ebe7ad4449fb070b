"""Python, by its syntax tree: for the details of one definition, and to check the quick scan that the index uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Grammar, Rule, Sheet, first, marker

if TYPE_CHECKING:
    from tree_sitter import Node


def _is_public(label: str) -> bool:
    return not label.startswith("_") or (label.startswith("__") and label.endswith("__"))


def _definition(kind: str) -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        label = sheet.said(name)
        here = "method" if kind == "function" and sheet.top.kind in TYPES else kind
        here = "constructor" if here == "method" and label == "__init__" else here
        sheet.define(node, name, here, exported=_is_public(label))

    return rule


def _assignment(node: Node, sheet: Sheet) -> None:
    if sheet.top.local:
        return
    left = node.child_by_field_name("left")
    in_type = sheet.top.kind in TYPES
    for name in _targets(left) if left is not None else []:
        label = sheet.said(name)
        kind = "constant" if label.isupper() else "field" if in_type else "variable"
        sheet.define(node, name, kind, exported=_is_public(label), scoping=False)
    if left is not None and not sheet.top.scope and sheet.said(left) == "__all__":
        _listed(node.child_by_field_name("right"), sheet)


def _targets(left: Node) -> list[Node]:
    found, waiting = [], [left]
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            found.append(node)
        elif node.type in ("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"):
            waiting += reversed(node.named_children)
    return found


def _augmented(node: Node, sheet: Sheet) -> None:
    if not sheet.top.scope and sheet.said(node.child_by_field_name("left")) == "__all__":
        _listed(node.child_by_field_name("right"), sheet)


def _listed(value: Node | None, sheet: Sheet) -> None:
    for part in value.named_children if value is not None else []:
        if part.type == "string":
            sheet.export(sheet.said(part).strip("\"'"), part)


def _alias(node: Node, sheet: Sheet) -> None:
    left = node.child_by_field_name("left")
    name = first(left) if left is not None else None
    if name is not None and name.type == "generic_type":
        name = first(name)
    if name is not None:
        sheet.define(node, name, "type", exported=_is_public(sheet.said(name)), scoping=False)


def _import(node: Node, sheet: Sheet) -> None:
    for part in node.children_by_field_name("name"):
        name, alias = part.child_by_field_name("name"), part.child_by_field_name("alias")
        sheet.take(sheet.said(name if name is not None else part), node, alias=sheet.said(alias))


def _import_from(node: Node, sheet: Sheet) -> None:
    module = node.child_by_field_name("module_name")
    names = []
    for part in node.children_by_field_name("name"):
        name, alias = part.child_by_field_name("name"), part.child_by_field_name("alias")
        label = sheet.said(name if name is not None else part)
        names.append((label, sheet.said(alias) or label))
    if any(child.type == "wildcard_import" for child in node.named_children):
        names.append(("*", "*"))
    sheet.take(sheet.said(module) or "__future__", node, tuple(names))


PYTHON = Grammar(
    {
        "import_statement": _import,
        "import_from_statement": _import_from,
        "future_import_statement": _import_from,
        "class_definition": _definition("class"),
        "function_definition": _definition("function"),
        "assignment": _assignment,
        "augmented_assignment": _augmented,
        "type_alias_statement": _alias,
        "lambda": marker("closure"),
    }
)
