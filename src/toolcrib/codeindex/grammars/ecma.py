"""JavaScript, TypeScript and TSX: ES modules and CommonJS, classes, and functions in every disguise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import TYPES, Frame, Grammar, Rule, Sheet, first, marker

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = ("arrow_function", "function_expression", "generator_function")
_SHAPES = frozenset({"interface", "type", "field", "property"})
_HIDING = ("private", "protected")


def _shown(sheet: Sheet) -> bool:
    """A member goes with what it is a member of; anything else is exported by a statement around it."""
    return sheet.top.kind in TYPES or sheet.around("export_statement", "ambient_declaration") is not None


def _declared(kind: str) -> Rule:
    def rule(node: Node, sheet: Sheet) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            sheet.enter(node, kind, scope=_joined(sheet.top, "default"))
            return
        called = _unquoted(name, sheet)
        sheet.define(node, name, kind, called=called, exported=_shown(sheet), once=node.type == "function_signature")

    return rule


def _joined(frame: Frame, name: str) -> str:
    return f"{frame.scope}.{name}" if frame.scope else name


def _unquoted(name: Node, sheet: Sheet) -> str:
    return sheet.said(name)[1:-1] if name.type == "string" else sheet.said(name)


def _class_expression(node: Node, sheet: Sheet) -> None:
    """The class of `const A = class {…}` bears the name that it is given; it adds none of its own."""
    fresh = sheet.top.node_type == "export_statement"
    sheet.enter(node, "class", scope="default" if fresh else None)


def _member(node: Node, sheet: Sheet) -> None:
    """A method or field of a class, or of an object that the whole file can reach."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    if name is None or name.type in ("computed_property_name", "number"):
        sheet.enter(node, "closure" if node.type == "method_definition" else "")
        return
    label = _unquoted(name, sheet)
    top = sheet.top
    if top.kind not in TYPES and top.local and node.type != "method_signature":  # of an object inside a function
        sheet.enter(node, "closure")
        return
    kind = _member_kind(node, label, in_class=top.kind == "class")
    sheet.define(
        node,
        name,
        kind,
        called=label,
        exported=not label.startswith("#") and not any(_is_hiding(child, sheet) for child in node.children),
        once=node.type in ("method_signature", "abstract_method_signature"),
    )
    if kind == "property":  # the body of a getter or setter
        sheet.enter(node, "closure")


def _is_hiding(child: Node, sheet: Sheet) -> bool:
    return child.type == "accessibility_modifier" and sheet.said(child) in _HIDING


def _member_kind(node: Node, label: str, *, in_class: bool) -> str:
    if node.type in ("field_definition", "public_field_definition"):
        value = node.child_by_field_name("value")
        return "method" if value is not None and value.type in _FUNCTIONS else "field"
    if in_class and label == "constructor":
        return "constructor"
    if any(child.type in ("get", "set") for child in node.children):
        return "property"
    return "method"


def _promoted(node: Node, sheet: Sheet) -> None:
    """A parameter of a constructor that is a field as well: `constructor(private width: number)`."""
    name = node.child_by_field_name("pattern")
    if sheet.top.kind != "constructor" or name is None:
        return
    words = {sheet.said(child) for child in node.children if child.type in ("accessibility_modifier", "readonly")}
    if words:
        scope = sheet.top.scope.rpartition(".")[0]
        sheet.define(node, name, "field", exported=not words & set(_HIDING), within=scope, scoping=False)


def _signature(node: Node, sheet: Sheet) -> None:
    """A property of an interface or of a type that has a name."""
    name = node.child_by_field_name("name")
    if name is not None and sheet.top.kind in _SHAPES and name.type != "computed_property_name":
        sheet.define(node, name, "property", called=_unquoted(name, sheet))


def _method_signature(node: Node, sheet: Sheet) -> None:
    if sheet.top.kind in _SHAPES:
        _member(node, sheet)
    else:
        sheet.enter(node, "closure")


def _enum_body(node: Node, sheet: Sheet) -> None:
    for child in node.named_children:
        name = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        if name is not None and name.type in ("property_identifier", "string"):
            sheet.define(child, name, "constant", called=_unquoted(name, sheet), scoping=False)


def _declaration(node: Node, sheet: Sheet) -> None:
    word = next(iter(node.children), None)
    sheet.enter(node, name=word.type if word is not None else "")


def _declarator(node: Node, sheet: Sheet) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    value_type = value.type if value is not None else ""
    if value_type == "await_expression" and value is not None:
        value = first(value)
        value_type = value.type if value is not None else ""
    if value is not None and value_type == "call_expression" and _required(value, name, sheet):
        return
    callable_ = value_type in _FUNCTIONS
    if sheet.top.local and not callable_ and value_type != "class":
        return
    statement = sheet.around("lexical_declaration")
    kind = "constant" if statement is not None and statement.name == "const" else "variable"
    kind = "function" if callable_ else "class" if value_type == "class" else kind
    shown = _shown(sheet)
    if name.type == "identifier":
        sheet.define(node, name, kind, exported=shown)
        return
    for part in _bound(name):
        sheet.define(part, part, kind, exported=shown, scoping=False)


def _bound(pattern: Node) -> list[Node]:
    """The names that a destructuring pattern binds."""
    found, waiting = [], [pattern]
    while waiting:
        node = waiting.pop()
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            found.append(node)
        elif node.type == "pair_pattern":
            waiting += [child for child in (node.child_by_field_name("value"),) if child is not None]
        elif node.type in ("assignment_pattern", "object_assignment_pattern"):
            waiting += [child for child in (node.child_by_field_name("left"), first(node))[:1] if child is not None]
        elif node.type.endswith("_pattern"):
            waiting += node.named_children
    return found


def _required(call: Node, name: Node, sheet: Sheet) -> bool:
    """Whether a variable is an import in the old manner: `const { join, sep: s } = require("path")`."""
    module = _literal_argument(call, sheet)
    function = call.child_by_field_name("function")
    if not module or function is None or sheet.said(function) not in ("require", "import"):
        return False
    if name.type == "identifier":
        sheet.take(module, call, alias=sheet.said(name))
    elif name.type == "object_pattern":
        sheet.take(module, call, tuple(_picked(name, sheet)))
    else:
        return False
    return True


def _picked(pattern: Node, sheet: Sheet) -> list[tuple[str, str]]:
    found = []
    for child in pattern.named_children:
        if child.type == "shorthand_property_identifier_pattern":
            found.append((sheet.said(child), sheet.said(child)))
        elif child.type == "pair_pattern":
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if key is not None and value is not None and value.type == "identifier":
                found.append((sheet.said(key), sheet.said(value)))
    return found


def _literal_argument(call: Node, sheet: Sheet) -> str:
    arguments = call.child_by_field_name("arguments")
    literal = first(arguments) if arguments is not None else None
    return sheet.said(literal)[1:-1] if literal is not None and literal.type == "string" else ""


def _call(node: Node, sheet: Sheet) -> None:
    """`require("x")` and `import("x")`, wherever they stand; those with a name were taken with it."""
    function, module = node.child_by_field_name("function"), _literal_argument(node, sheet)
    if function is None or sheet.said(function) not in ("require", "import") or not module:
        return
    line = node.start_point[0] + 1
    if (module, line) not in {(known[0], known[1]) for known in sheet.imports[-8:]}:
        sheet.take(module, node)


def _import(node: Node, sheet: Sheet) -> None:
    source = node.child_by_field_name("source")
    names: list[tuple[str, str]] = []
    alias = ""
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            source = clause.child_by_field_name("source")
            alias = sheet.said(first(clause))
        elif clause.type == "import_clause":
            for part in clause.named_children:
                if part.type == "identifier":
                    names.append(("default", sheet.said(part)))
                elif part.type == "namespace_import":
                    alias = sheet.said(first(part))
                else:
                    names += _specifiers(part, sheet)
    if source is not None:
        sheet.take(sheet.said(source)[1:-1], node, tuple(names), alias)


def _specifiers(clause: Node, sheet: Sheet) -> list[tuple[str, str]]:
    found = []
    for part in clause.named_children:
        name = part.child_by_field_name("name")
        if name is not None:
            found.append((sheet.said(name), sheet.said(part.child_by_field_name("alias")) or sheet.said(name)))
    return found


def _export(node: Node, sheet: Sheet) -> None:
    source = node.child_by_field_name("source")
    clause = next((child for child in node.named_children if child.type in ("export_clause", "namespace_export")), None)
    default = any(child.type == "default" for child in node.children)
    if clause is None and source is not None:
        sheet.take(sheet.said(source)[1:-1], node, (("*", "*"),))
    elif clause is not None and clause.type == "namespace_export":
        alias = sheet.said(first(clause))
        sheet.export(alias, clause)
        if source is not None:
            sheet.take(sheet.said(source)[1:-1], node, alias=alias)
    elif clause is not None:
        pairs = _specifiers(clause, sheet)
        for name, alias in pairs:
            sheet.export(alias, clause)
            if source is None:
                sheet.shown.add(name)
        if source is not None:
            sheet.take(sheet.said(source)[1:-1], node, tuple(pairs))
    elif default:
        sheet.export("default", node)
        value = node.child_by_field_name("value")
        if value is not None and value.type == "identifier":
            sheet.shown.add(sheet.said(value))
    sheet.enter(node)


def _assignment(node: Node, sheet: Sheet) -> None:
    """What CommonJS exports, and what is hung on a class or its prototype from outside."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    target = left.child_by_field_name("object") if left is not None else None
    name = left.child_by_field_name("property") if left is not None else None
    if left is None or right is None or target is None or name is None or name.type != "property_identifier":
        return
    owner, label = sheet.said(target), sheet.said(name)
    kind = "function" if right.type in _FUNCTIONS else "class" if right.type == "class" else "variable"
    if owner in ("exports", "module.exports"):
        sheet.export(label, name)
        if right.type == "identifier":
            sheet.shown.add(sheet.said(right))
        elif right.type != "assignment_expression":
            sheet.define(node, name, kind, within="")
    elif (owner, label) == ("module", "exports"):
        _whole_export(right, sheet)
    elif sheet.top.local and not owner.endswith(".prototype"):
        return
    elif label == "prototype" and right.type == "object" and target.type == "identifier":
        sheet.enter(node, "class", scope=owner)
    elif kind != "variable" and (owner.endswith(".prototype") or target.type == "identifier"):
        method = owner.endswith(".prototype")
        shown = owner.removesuffix(".prototype") in sheet.shown or sheet.top.kind in TYPES
        sheet.define(node, name, "method" if method else kind, within=owner.removesuffix(".prototype"), exported=shown)


def _whole_export(right: Node, sheet: Sheet) -> None:
    if right.type == "identifier":
        sheet.shown.add(sheet.said(right))
        sheet.export("default", right)
    for part in right.named_children if right.type == "object" else []:
        key = part if part.type == "shorthand_property_identifier" else part.child_by_field_name("key")
        key = key or part.child_by_field_name("name")
        if key is not None:
            sheet.export(_unquoted(key, sheet), key)
            value = part.child_by_field_name("value") or key
            if value.type in ("identifier", "shorthand_property_identifier"):
                sheet.shown.add(sheet.said(value))


def _pair(node: Node, sheet: Sheet) -> None:
    """`name: function () {…}` in an object that the whole file can reach."""
    name = node.child_by_field_name("key")
    if name is None or name.type not in ("property_identifier", "string") or sheet.top.local:
        sheet.enter(node)
        return
    sheet.define(node, name, "method", called=_unquoted(name, sheet), exported=True)


_RULES: dict[str, Rule] = {
    "import_statement": _import,
    "export_statement": _export,
    "call_expression": _call,
    "class_declaration": _declared("class"),
    "class": _class_expression,
    "function_declaration": _declared("function"),
    "generator_function_declaration": _declared("function"),
    "method_definition": _member,
    "lexical_declaration": _declaration,
    "variable_declaration": _declaration,
    "variable_declarator": _declarator,
    "assignment_expression": _assignment,
    "pair": _pair,
    "for_statement": marker("closure"),
    "for_in_statement": marker("closure"),
    "class_static_block": marker("closure"),
    **dict.fromkeys(_FUNCTIONS, marker("closure")),
}
_PATTERNS = {
    "call_expression": "(call_expression function: [(identifier) (import)] arguments: (arguments . (string)))",
    "assignment_expression": "(assignment_expression left: (member_expression))",
    "pair": "(pair value: [(arrow_function) (function_expression)])",
}
JAVASCRIPT = Grammar({**_RULES, "field_definition": _member}, _PATTERNS)
TYPESCRIPT = Grammar(
    {
        **_RULES,
        "public_field_definition": _member,
        "abstract_class_declaration": _declared("class"),
        "abstract_method_signature": _member,
        "method_signature": _method_signature,
        "property_signature": _signature,
        "function_signature": _declared("function"),
        "interface_declaration": _declared("interface"),
        "type_alias_declaration": _declared("type"),
        "enum_declaration": _declared("enum"),
        "enum_body": _enum_body,
        "internal_module": _declared("namespace"),
        "module": _declared("namespace"),
        "ambient_declaration": marker(),
        "function_type": marker("closure"),
        "constructor_type": marker("closure"),
        "call_signature": marker("closure"),
        "required_parameter": _promoted,
    },
    {
        **_PATTERNS,
        "required_parameter": '(required_parameter [(accessibility_modifier) "readonly"])',
    },
)
TSX = TYPESCRIPT
