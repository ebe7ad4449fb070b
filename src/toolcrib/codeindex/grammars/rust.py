"""Rust: `impl` blocks say what a function belongs to, `pub` what others see, and `use` trees are taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Grammar, Rule, Sheet, first, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_LEAVES = 1000
"""Of one `use` tree."""


def _is_public(node: Node) -> bool:
    return any(child.type == "visibility_modifier" for child in node.children)


def _item(kind: str) -> Rule:
    """In a trait, an enum or an `impl` of a trait the members are as public as that is; elsewhere `pub` decides."""

    def rule(node: Node, sheet: Sheet) -> None:
        name, top = node.child_by_field_name("name"), sheet.top
        if name is None or sheet.said(name) == "_":
            sheet.enter(node)
            return
        inherits = top.kind in ("trait", "enum") or top.name == "impl for"
        here = "method" if kind == "function" and top.kind in TYPES else kind
        weak = node.type == "function_signature_item"
        sheet.define(node, name, here, exported=inherits or _is_public(node), weak=weak)

    return rule


def _impl(node: Node, sheet: Sheet) -> None:
    kind = node.child_by_field_name("type")
    while kind is not None and kind.type in ("generic_type", "reference_type", "scoped_type_identifier"):
        kind = kind.child_by_field_name("name") or kind.child_by_field_name("type")
    owner = sheet.said(kind)
    scope = f"{sheet.top.scope}.{owner}" if sheet.top.scope else owner
    of_trait = node.child_by_field_name("trait") is not None
    sheet.enter(node, "class", scope=scope, exported=True, name="impl for" if of_trait else "")


def _macro(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        sheet.define(node, name, "macro", within=sheet.top.scope)


def _module(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    sheet.define(node, name, "module", exported=_is_public(node))
    if node.child_by_field_name("body") is None:  # in a file of its own
        sheet.take(sheet.said(name), node, alias=sheet.said(name))


def _use(node: Node, sheet: Sheet) -> None:
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    shown = _is_public(node)
    grouped: dict[str, list[tuple[str, str]]] = {}
    for module, name, alias in _leaves(argument, sheet):
        grouped.setdefault(module, []).append((name, alias))
        if shown:
            sheet.export(alias, node)
    for module, names in grouped.items():
        whole = [alias for name, alias in names if not name]
        parts = tuple(pair for pair in names if pair[0])
        if parts:
            sheet.take(module, node, parts)
        for alias in whole:
            sheet.take(module, node, alias="" if alias == module.rpartition("::")[2] else alias)


def _leaves(tree: Node, sheet: Sheet) -> list[tuple[str, str, str]]:
    """Each name of a `use` tree: the path before it, the name (empty: the path itself), and what it is called here."""
    found: list[tuple[str, str, str]] = []
    waiting = [(tree, "", "")]
    while waiting and len(found) < _MAX_LEAVES:
        node, before, alias = waiting.pop()
        if node.type == "use_as_clause":
            path, label = node.child_by_field_name("path"), node.child_by_field_name("alias")
            if path is not None:
                waiting.append((path, before, sheet.said(label)))
        elif node.type in ("scoped_use_list", "use_list"):
            inner = _path(before, sheet.said(node.child_by_field_name("path")))
            listed = node.child_by_field_name("list") if node.type == "scoped_use_list" else node
            waiting += [(child, inner, "") for child in reversed(listed.named_children if listed is not None else [])]
        elif node.type == "use_wildcard":
            found.append((_path(before, sheet.said(first(node))), "*", "*"))
        elif node.type == "self":
            found.append((before, "", alias or before.rpartition("::")[2]))
        elif node.type in ("identifier", "scoped_identifier", "crate", "super"):
            module, _, name = _path(before, sheet.said(node)).rpartition("::")
            found.append((module, name, alias or name) if module else (name, "", alias or name))
    return found


def _path(before: str, after: str) -> str:
    return f"{before}::{after}" if before and after else before or after


def _extern_crate(node: Node, sheet: Sheet) -> None:
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    sheet.take(sheet.said(name), node, alias=sheet.said(alias))


def _variable(node: Node, sheet: Sheet) -> None:
    mutable = modifiers(node, sheet, "mutable_specifier")
    _item("variable" if mutable else "constant")(node, sheet)


RUST = Grammar(
    {
        "use_declaration": _use,
        "extern_crate_declaration": _extern_crate,
        "mod_item": _module,
        "function_item": _item("function"),
        "function_signature_item": _item("function"),
        "struct_item": _item("struct"),
        "enum_item": _item("enum"),
        "enum_variant": _item("constant"),
        "union_item": _item("union"),
        "trait_item": _item("trait"),
        "type_item": _item("type"),
        "associated_type": _item("type"),
        "const_item": _item("constant"),
        "static_item": _variable,
        "field_declaration": _item("field"),
        "macro_definition": _macro,
        "impl_item": _impl,
        "closure_expression": marker("closure"),
    }
)
