"""Go: what begins with a capital is exported, and a receiver says what a method belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import Grammar, Rule, Sheet, first, marker

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPE_KINDS = {"struct_type": "struct", "interface_type": "interface"}


def _is_public(name: str) -> bool:
    return name[:1].isupper()


def _function(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        sheet.define(node, name, "function", exported=_is_public(sheet.said(name)))


def _method(node: Node, sheet: Sheet) -> None:
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    if name is None:
        return
    owner = _owner(receiver, sheet) if receiver is not None else ""
    sheet.define(node, name, "method", exported=_is_public(sheet.said(name)), within=owner)


def _owner(receiver: Node, sheet: Sheet) -> str:
    """`Point` of `(p *Point)`, `List` of `(l List[T])`."""
    parameter = first(receiver)
    kind = parameter.child_by_field_name("type") if parameter is not None else None
    while kind is not None and kind.type != "type_identifier":
        kind = kind.child_by_field_name("type") or first(kind)
    return sheet.said(kind)


def _type(node: Node, sheet: Sheet) -> None:
    name, shape = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is not None:
        kind = _TYPE_KINDS.get(shape.type if shape is not None else "", "type")
        sheet.define(node, name, kind, exported=_is_public(sheet.said(name)))


def _names(kind: str) -> Rule:
    """`a, B = 1, 2`: every name of one line; inside a function they are nobody else's business."""

    def rule(node: Node, sheet: Sheet) -> None:
        if sheet.top.local:
            return
        for name in node.children_by_field_name("name"):
            if name.is_named and name.type != "blank_identifier" and sheet.said(name) != "_":
                sheet.define(node, name, kind, exported=_is_public(sheet.said(name)), scoping=False)

    return rule


def _field(node: Node, sheet: Sheet) -> None:
    if sheet.top.kind in ("struct", "type", "field"):
        names = [name for name in node.children_by_field_name("name") if name.is_named and sheet.said(name) != "_"]
        for name in names:
            sheet.define(node, name, "field", exported=_is_public(sheet.said(name)), scoping=name is names[-1])
        if not names:
            _embedded(node, sheet)


def _embedded(node: Node, sheet: Sheet) -> None:
    """`*pkg.Type` among the fields: a field with the name of its type."""
    kind = node.child_by_field_name("type")
    while kind is not None and kind.type != "type_identifier":
        kind = kind.child_by_field_name("name") or kind.child_by_field_name("type") or first(kind)
    if kind is not None:
        sheet.define(node, kind, "field", exported=_is_public(sheet.said(kind)), scoping=False)


def _interface_method(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None and sheet.top.kind == "interface":
        sheet.define(node, name, "method", exported=_is_public(sheet.said(name)))


def _import(node: Node, sheet: Sheet) -> None:
    path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
    alias = sheet.said(name)
    names = (("*", "*"),) if alias == "." else ()
    sheet.take(sheet.said(path)[1:-1], node, names, "" if alias == "." else alias)


GO = Grammar(
    {
        "import_spec": _import,
        "function_declaration": _function,
        "method_declaration": _method,
        "func_literal": marker("closure"),
        "type_spec": _type,
        "type_alias": _type,
        "field_declaration": _field,
        "method_elem": _interface_method,
        "const_spec": _names("constant"),
        "var_spec": _names("variable"),
    }
)
