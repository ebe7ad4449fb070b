"""C and C++: a name stands deep inside its declarator, and a prototype is a definition only where there is no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .sheet import TYPES, Grammar, Rule, Sheet, first, marker, modifiers

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name", "operator_cast"}
)


class _Declared(NamedTuple):
    """What a declarator declares."""

    name: Node
    is_function: bool
    owner: str = ""
    """`Shape` of `Shape::area`."""


def _dig(declarator: Node, sheet: Sheet) -> _Declared | None:
    """Down through `*`, `&`, `[]` and `()` to the name."""
    node: Node | None = declarator
    is_function, owner = False, ""
    while node is not None:
        if node.type in _NAMES:
            return _Declared(node, is_function, owner)
        if node.type == "function_declarator":
            is_function = True
        elif node.type == "parenthesized_declarator":  # a pointer to a function is no function
            is_function = is_function and not any(child.type == "pointer_declarator" for child in node.named_children)
        elif node.type == "qualified_identifier":
            part = _bare(sheet.said(node.child_by_field_name("scope")))
            owner = f"{owner}.{part}" if owner and part else owner or part
            node = node.child_by_field_name("name")
            continue
        elif node.type in ("template_function", "template_type", "template_method"):
            node = node.child_by_field_name("name")
            continue
        node = node.child_by_field_name("declarator") or _last(node)
    return None


def _last(node: Node) -> Node | None:
    return next(
        (child for child in reversed(node.named_children) if child.type.endswith(("declarator", "identifier"))), None
    )


def _bare(text: str) -> str:
    return text.partition("<")[0].strip()


def _is_hidden(node: Node, sheet: Sheet) -> bool:
    """`static` at the top of a file, `private` in a class, anything in a nameless namespace."""
    top = sheet.top
    if top.kind in TYPES:
        return sheet.marked.get(top.scope, "private" if top.node_type == "class_specifier" else "") == "private"
    words = modifiers(node, sheet, "storage_class_specifier")
    return "static" in words and "inline" not in words


def _function(node: Node, sheet: Sheet) -> None:
    declarator = node.child_by_field_name("declarator")
    found = _dig(declarator, sheet) if declarator is not None else None
    if found is None or not found.is_function:
        sheet.enter(node, "closure")
        return
    _define_function(node, found, sheet)


def _define_function(node: Node, found: _Declared, sheet: Sheet, *, weak: bool = False) -> None:
    top = sheet.top
    scope = ".".join(part for part in (top.scope, found.owner) if part)
    owner = scope.rpartition(".")[2] if found.owner or top.kind in TYPES else ""
    label = sheet.said(found.name)
    kind = "constructor" if owner and label == owner else "method" if owner else "function"
    hidden = _is_hidden(node, sheet) and not found.owner
    sheet.define(node, found.name, kind, exported=not hidden, within=scope if found.owner else None, weak=weak)


def _declaration(node: Node, sheet: Sheet) -> None:
    words = modifiers(node, sheet, "storage_class_specifier", "type_qualifier")
    constant = not words.isdisjoint({"const", "constexpr", "constinit"})
    for declarator in node.children_by_field_name("declarator"):
        found = _dig(declarator, sheet)
        if found is None:
            continue
        if found.is_function:
            if not sheet.top.local:
                _define_function(node, found, sheet, weak=True)
                sheet.stack.pop()
            continue
        in_type = sheet.top.kind in TYPES
        if sheet.top.local:
            continue
        kind = "field" if in_type else "constant" if constant else "variable"
        scope = ".".join(part for part in (sheet.top.scope, found.owner) if part)
        sheet.define(
            node,
            found.name,
            kind,
            exported=not _is_hidden(node, sheet),
            within=scope if found.owner else None,
            weak="extern" in words,
            scoping=False,
        )


def _typedef(node: Node, sheet: Sheet) -> None:
    shape = node.child_by_field_name("type")
    nameless = shape is not None and shape.child_by_field_name("name") is None and shape.type.endswith("_specifier")
    label = ""
    for declarator in node.children_by_field_name("declarator"):
        found = _dig(declarator, sheet)
        if found is not None:
            sheet.define(node, found.name, "type", scoping=False)
            label = label or sheet.said(found.name)
    if nameless and label:
        sheet.enter(node, scope=f"{sheet.top.scope}.{label}" if sheet.top.scope else label)


def _type(kind: str) -> Rule:
    """A struct, class, union or enum with a body; one without a name bears its typedef's or its field's."""

    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            sheet.enter(node, kind)
            return
        called = _bare(sheet.said(name))
        if name.type == "qualified_identifier":
            called = called.rpartition("::")[2]
        sheet.define(
            node, name, kind, called=called, exported=sheet.top.kind not in TYPES or not _is_hidden(node, sheet)
        )

    return rule


def _enumerator(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        sheet.define(node, name, "constant", scoping=False)


def _namespace(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        sheet.enter(node, "namespace", exported=False)
        return
    waiting = [name]
    while waiting:  # `a::b` is `b` in `a`
        part = waiting.pop()
        if part.type == "nested_namespace_specifier":
            waiting += reversed(part.named_children)
        else:
            sheet.define(node, part, "namespace")


def _alias(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None and not sheet.top.local:
        sheet.define(node, name, "type", exported=not _is_hidden(node, sheet), scoping=False)


def _access(node: Node, sheet: Sheet) -> None:
    sheet.marked[sheet.top.scope] = sheet.said(node)


def _macro(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        sheet.define(node, name, "macro", within="", scoping=False)


def _include(node: Node, sheet: Sheet) -> None:
    path = node.child_by_field_name("path")
    if path is not None and path.type in ("system_lib_string", "string_literal"):
        sheet.take(sheet.said(path)[1:-1], node)


def _using(node: Node, sheet: Sheet) -> None:
    path = first(node)
    text = sheet.said(path)
    if any(child.type == "namespace" for child in node.children):
        sheet.take(text, node, (("*", "*"),))
        return
    module, _, name = text.rpartition("::")
    if module:
        sheet.take(module, node, ((name, name),))


_RULES: dict[str, Rule] = {
    "preproc_include": _include,
    "preproc_def": _macro,
    "preproc_function_def": _macro,
    "type_definition": _typedef,
    "struct_specifier": _type("struct"),
    "union_specifier": _type("union"),
    "enum_specifier": _type("enum"),
    "enumerator": _enumerator,
    "function_definition": _function,
    "declaration": _declaration,
    "field_declaration": _declaration,
}
_PATTERNS = {
    "struct_specifier": "(struct_specifier body: (_))",
    "union_specifier": "(union_specifier body: (_))",
    "enum_specifier": "(enum_specifier body: (_))",
    "class_specifier": "(class_specifier body: (_))",
    "access_specifier": "(field_declaration_list (access_specifier) @node)",
}
C = Grammar(_RULES, {name: _PATTERNS[name] for name in _PATTERNS if name in _RULES})
CPP = Grammar(
    {
        **_RULES,
        "class_specifier": _type("class"),
        "access_specifier": _access,
        "namespace_definition": _namespace,
        "namespace_alias_definition": _alias,
        "alias_declaration": _alias,
        "concept_definition": _alias,
        "using_declaration": _using,
        "lambda_expression": marker("closure"),
    },
    _PATTERNS,
)
