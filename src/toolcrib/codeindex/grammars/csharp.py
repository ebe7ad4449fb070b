"""C#: types in namespaces, members of every sort, and modifiers that say who may use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import Grammar, Rule, Sheet, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node

_HOLDERS = ("class", "struct")
"""Inside of these, a member without a modifier is private."""


def _is_public(node: Node, sheet: Sheet) -> bool:
    words = modifiers(node, sheet, "modifier")
    if words.isdisjoint({"public", "internal", "protected", "private"}):
        return sheet.top.kind not in _HOLDERS
    return "private" not in words or "protected" in words


def _member(kind: str, *, before: str = "") -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            sheet.enter(node, kind)
            return
        sheet.define(node, name, kind, called=before + sheet.said(name), exported=_is_public(node, sheet))

    return rule


def _fields(kind: str) -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        constant = "const" in modifiers(node, sheet, "modifier")
        shown = _is_public(node, sheet)
        for holder in node.named_children:
            for part in holder.named_children if holder.type == "variable_declaration" else []:
                name = part.child_by_field_name("name")
                if name is not None:
                    here = "constant" if constant else kind
                    sheet.define(node, name, here, exported=shown, scoping=False)

    return rule


def _record(node: Node, sheet: Sheet) -> None:
    kind = "struct" if any(child.type == "struct" for child in node.children) else "class"
    _member(kind)(node, sheet)
    for holder in node.named_children:
        for part in holder.named_children if holder.type == "parameter_list" else []:
            name = part.child_by_field_name("name")
            if name is not None:
                sheet.define(part, name, "property", scoping=False)


def _odd(kind: str, called: str) -> Rule:
    """An indexer or operator, which has no name of its own: it stands where its parameters or its sign stand."""

    def rule(node: Node, sheet: Sheet) -> None:
        sign = node.child_by_field_name("operator")
        place = sign or node.child_by_field_name("parameters")
        if place is not None:
            label = f"operator {sheet.said(sign)}" if sign is not None else called
            sheet.define(node, place, kind, called=label, exported=_is_public(node, sheet))

    return rule


def _namespace(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    sheet.define(node, name, "namespace")
    if node.type == "file_scoped_namespace_declaration":  # the rest of the file is in it
        frame = sheet.stack.pop()
        sheet.stack[-1:] = [sheet.top._replace(scope=frame.scope, kind="namespace")]


def _using(node: Node, sheet: Sheet) -> None:
    alias = node.child_by_field_name("name")
    path = next((child for child in reversed(node.named_children) if child != alias), None)
    everything = any(child.type == "static" for child in node.children)
    sheet.take(sheet.said(path), node, (("*", "*"),) if everything else (), sheet.said(alias))


CSHARP = Grammar(
    {
        "using_directive": _using,
        "namespace_declaration": _namespace,
        "file_scoped_namespace_declaration": _namespace,
        "class_declaration": _member("class"),
        "interface_declaration": _member("interface"),
        "struct_declaration": _member("struct"),
        "record_declaration": _record,
        "enum_declaration": _member("enum"),
        "enum_member_declaration": _member("constant"),
        "delegate_declaration": _member("type"),
        "constructor_declaration": _member("constructor"),
        "destructor_declaration": _member("method", before="~"),
        "method_declaration": _member("method"),
        "local_function_statement": _member("function"),
        "property_declaration": _member("property"),
        "event_declaration": _member("field"),
        "indexer_declaration": _odd("property", "this"),
        "operator_declaration": _odd("method", ""),
        "field_declaration": _fields("field"),
        "event_field_declaration": _fields("field"),
        "lambda_expression": marker("closure"),
    }
)
