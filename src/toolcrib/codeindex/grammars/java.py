"""Java: everything is in a class, and says itself who may use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import Grammar, Rule, Sheet, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node


def _words(node: Node, sheet: Sheet) -> set[str]:
    return modifiers(node, sheet, "modifiers")


def _member(kind: str) -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            sheet.define(node, name, kind, exported="private" not in _words(node, sheet))

    return rule


def _field(node: Node, sheet: Sheet) -> None:
    words = _words(node, sheet)
    constant = node.type == "constant_declaration" or {"static", "final"} <= words
    declared = node.children_by_field_name("declarator")
    for part in declared:
        name = part.child_by_field_name("name")
        if name is not None:
            kind = "constant" if constant else "field"
            sheet.define(node, name, kind, exported="private" not in words, scoping=part == declared[-1])


def _record(node: Node, sheet: Sheet) -> None:
    _member("class")(node, sheet)
    parameters = node.child_by_field_name("parameters")
    for part in parameters.named_children if parameters is not None else []:
        name = part.child_by_field_name("name")
        if name is not None:
            sheet.define(part, name, "field", scoping=False)


def _import(node: Node, sheet: Sheet) -> None:
    path = next((child for child in node.named_children if child.type in ("scoped_identifier", "identifier")), None)
    text = sheet.said(path)
    if any(child.type == "asterisk" for child in node.named_children):
        sheet.take(text, node, (("*", "*"),))
        return
    module, _, name = text.rpartition(".")
    sheet.take(module or name, node, ((name, name),) if module else ())


JAVA = Grammar(
    {
        "import_declaration": _import,
        "class_declaration": _member("class"),
        "interface_declaration": _member("interface"),
        "annotation_type_declaration": _member("interface"),
        "enum_declaration": _member("enum"),
        "record_declaration": _record,
        "enum_constant": _member("constant"),
        "constructor_declaration": _member("constructor"),
        "compact_constructor_declaration": _member("constructor"),
        "method_declaration": _member("method"),
        "annotation_type_element_declaration": _member("method"),
        "field_declaration": _field,
        "constant_declaration": _field,
        "lambda_expression": marker("closure"),
    }
)
