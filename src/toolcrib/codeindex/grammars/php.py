"""PHP: namespaces, classes, traits and enums, and `define()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Grammar, Rule, Sheet, first, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node

_LOADERS = ("require_expression", "require_once_expression", "include_expression", "include_once_expression")


def _is_public(node: Node, sheet: Sheet) -> bool:
    return "private" not in modifiers(node, sheet, "visibility_modifier")


def _member(kind: str) -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            here = "constructor" if kind == "method" and sheet.said(name) == "__construct" else kind
            sheet.define(node, name, here, exported=_is_public(node, sheet))

    return rule


def _constants(node: Node, sheet: Sheet) -> None:
    for part in node.named_children:
        name = first(part) if part.type == "const_element" else None
        if name is not None:
            sheet.define(node, name, "constant", exported=_is_public(node, sheet), scoping=False)


def _properties(node: Node, sheet: Sheet) -> None:
    for part in node.named_children:
        name = part.child_by_field_name("name") if part.type == "property_element" else None
        name = first(name) if name is not None else None
        if name is not None:
            sheet.define(node, name, "field", exported=_is_public(node, sheet), scoping=False)


def _promoted(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    name = first(name) if name is not None else None
    if name is not None and sheet.top.kind == "constructor":
        scope = sheet.top.scope.rpartition(".")[0]
        sheet.define(node, name, "field", exported=_is_public(node, sheet), within=scope, scoping=False)


def _define(node: Node, sheet: Sheet) -> None:
    """`define('NAME', …)`: a constant of the whole program."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if sheet.said(function).lower() != "define" or arguments is None or arguments.named_child_count < 2:
        return
    argument = first(arguments)
    literal = first(argument) if argument is not None else None
    if literal is not None and literal.type in ("string", "encapsed_string"):
        sheet.define(node, literal, "constant", called=sheet.said(literal).strip("'\""), within="", scoping=False)


def _namespace(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    label = sheet.said(name).replace("\\", ".")
    sheet.define(node, name, "namespace", called=sheet.said(name), scoping=False)
    if node.child_by_field_name("body") is not None:
        sheet.enter(node, "namespace", scope=label)
    else:  # the rest of the file is in it
        sheet.stack[-1:] = [sheet.top._replace(scope=label, kind="namespace")]


def _use(node: Node, sheet: Sheet) -> None:
    before = next((sheet.said(child) for child in node.named_children if child.type == "namespace_name"), "")
    holder = node.child_by_field_name("body") or node
    for clause in holder.named_children:
        if clause.type != "namespace_use_clause":
            continue
        alias = clause.child_by_field_name("alias")
        path = next((child for child in clause.named_children if child != alias), None)
        whole = f"{before}\\{sheet.said(path)}" if before else sheet.said(path)
        module, _, name = whole.strip("\\").rpartition("\\")
        if module:
            sheet.take(module, clause, ((name, sheet.said(alias) or name),))
        else:
            sheet.take(name, clause, alias=sheet.said(alias))


def _load(node: Node, sheet: Sheet) -> None:
    """`require 'x.php'`, also with `__DIR__ .` before it."""
    value = first(node)
    while value is not None and value.type in ("parenthesized_expression", "binary_expression"):
        value = value.child_by_field_name("right") or first(value)
    if value is not None and value.type in ("string", "encapsed_string"):
        sheet.take(sheet.said(value).strip("'\"").lstrip("/"), node)


def _function(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        sheet.define(node, name, "method" if sheet.top.kind in TYPES else "function")


PHP = Grammar(
    {
        "namespace_definition": _namespace,
        "namespace_use_declaration": _use,
        **dict.fromkeys(_LOADERS, _load),
        "const_declaration": _constants,
        "function_call_expression": _define,
        "interface_declaration": _member("interface"),
        "trait_declaration": _member("trait"),
        "class_declaration": _member("class"),
        "enum_declaration": _member("enum"),
        "enum_case": _member("constant"),
        "property_declaration": _properties,
        "property_promotion_parameter": _promoted,
        "method_declaration": _member("method"),
        "function_definition": _function,
        "anonymous_function": marker("closure"),
        "arrow_function": marker("closure"),
        "anonymous_class": marker("class"),
    },
    {"function_call_expression": "(function_call_expression function: (name))"},
)
