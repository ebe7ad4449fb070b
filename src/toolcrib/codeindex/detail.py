"""All that the source says about one definition: how it is used, what it is for, what it derives from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .extract import parsed, reader
from .grammars.sheet import first

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SIGNATURE = 300
MAX_DOCUMENTATION = 600
MAX_LISTED = 50
_MAX_CLIMB = 16
_MAX_COMMENTS = 200

_WRAPPERS = frozenset(
    """
    lexical_declaration variable_declaration export_statement decorated_definition template_declaration type_declaration
    const_declaration var_declaration expression_statement ambient_declaration assignment_expression
    """.split()  # noqa: SIM905
)
"""What only stands around a definition: the comment above it is the definition's."""
_BODIES = frozenset(
    """
    block body_statement class_body compound_statement declaration_list enum_body enum_class_body field_declaration_list
    function_body interface_body statement_block enum_variant_list enumerator_list enum_declaration_list protocol_body
    annotation_type_body enum_member_declaration_list accessor_list constructor_body computed_property
    """.split()  # noqa: SIM905
)
_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
_PARENTS = frozenset(
    """
    argument_list class_heritage extends_type_clause extends_clause superclass super_interfaces extends_interfaces
    base_list base_class_clause delegation_specifier inheritance_specifier base_clause class_interface_clause
    trait_bounds
    """.split()  # noqa: SIM905
)
_CLASSES = ("class", "interface", "struct", "trait", "protocol", "object", "record", "enum")
_ANNOTATIONS = frozenset(
    {"decorator", "attribute_item", "attribute_list", "annotation", "marker_annotation", "attribute", "attribute_group"}
)
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "multiline_comment"})
_MODIFIERS = frozenset(
    """
    abstract actual async const constexpr data default explicit export extern external final friend get inline inner
    internal lateinit mutable open operator override partial private protected pub public readonly required sealed set
    static suspend synchronized tailrec transient unsafe virtual volatile weak
    """.split()  # noqa: SIM905
)
_MARKERS = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|\*(?!/)|//+!?|#+!?)?[ \t]?|[ \t]*\*+/[ \t]*$")
_ACCESS = re.compile(r"^(?:(?:public|private|protected|virtual)\s+)+")


class Detail(NamedTuple):
    """One definition, in full."""

    end_line: int = 0
    signature: str = ""
    """Up to where its body begins, on one line."""
    documentation: str = ""
    """The first paragraph of its docstring, or of the comment above it."""
    decorators: tuple[str, ...] = ()
    """Decorators, annotations and attributes, as they are written."""
    modifiers: tuple[str, ...] = ()
    """`public`, `static`, `async` and the like."""
    parents: tuple[str, ...] = ()
    """Classes, interfaces and traits that it extends or implements."""


def detail(language: str, data: bytes, line: int, column: int) -> Detail:
    """What stands about the definition whose name begins at this line (from 1) and column (bytes); empty for none.

    Raises:
        KeyError: no rules for such a language.
    """
    tree = parsed(language, data)
    node = _definition(language, tree.root_node, line, column) if tree is not None else None
    if node is None:
        return Detail()
    whole = _statement(node)
    signature = _signature(node, whole, data)
    last, ends_at = node.end_point
    return Detail(
        last + 1 if ends_at else max(last, line),
        signature,
        _documentation(language, node, whole, data),
        tuple(dict.fromkeys(_decorators(node, whole, data)))[:MAX_LISTED],
        tuple(word for word in dict.fromkeys(_before_name(node, whole, data, line, column)) if word in _MODIFIERS),
        tuple(_parents(language, node, data))[:MAX_LISTED],
    )


def _definition(language: str, root: Node, line: int, column: int) -> Node | None:
    """The definition around a name: the next node outwards that the rules of the language know."""
    place = (line - 1, column)
    node = root.descendant_for_point_range(place, (line - 1, column + 1))
    if node is None or node.start_point != place:
        return None
    rules = reader(language).rules
    for _ in range(_MAX_CLIMB):
        if node is None or node.type in rules and node.start_point <= place and node.named_child_count:
            break
        node = node.parent
    if node is not None and node.type == "enum_body":  # its members are no nodes of their own rule
        node = next((child for child in node.named_children if child.end_point > place), None)
    return node


def _statement(node: Node) -> Node:
    """The definition with what only stands around it."""
    for _ in range(_MAX_CLIMB):
        parent = node.parent
        if parent is None or parent.type not in _WRAPPERS:
            break
        node = parent
    return node


def _text(data: bytes, start: int, end: int) -> str:
    return data[start : max(end, start)].decode("utf-8", "replace")


def _one_line(text: str, most: int) -> str:
    flat = " ".join(text[: 4 * most].split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _body(node: Node) -> Node | None:
    """Where the inside of a definition begins."""
    for value in (node.child_by_field_name("value"), node.child_by_field_name("right")):
        if value is not None and value.type in _VALUES:
            node = value
    body = node.child_by_field_name("body")
    shape = node.child_by_field_name("type")
    if body is None and shape is not None and shape.type in ("struct_type", "interface_type"):
        body = next((child for child in shape.children if child.type in ("{", "field_declaration_list")), None)
    return body or next((child for child in node.named_children if child.type in _BODIES), None)


def _signature(node: Node, whole: Node, data: bytes) -> str:
    body = _body(node)
    siblings = sum(child.type == node.type for child in whole.named_children) if whole != node else 0
    start = node.start_byte if siblings > 1 else whole.start_byte
    for part in (whole, node):  # after the decorators
        for child in part.children:
            for one in child.children if child.type == "modifiers" else (child,):
                if one.type in _ANNOTATIONS and not data[start : one.start_byte].strip():
                    start = one.end_byte
    end = body.start_byte if body is not None and body.start_byte > start else node.end_byte
    text = _one_line(_text(data, start, min(end, start + 8 * MAX_SIGNATURE)), MAX_SIGNATURE)
    return text.rstrip(" {;").removesuffix("=>").removesuffix(":").removesuffix("=").rstrip()


def _before_name(node: Node, whole: Node, data: bytes, line: int, column: int) -> list[str]:
    """The words between the beginning of the statement and the name."""
    start = min(whole.start_byte, node.start_byte)
    lines = line - 1 - whole.start_point[0]
    position = start - whole.start_point[1] if lines == 0 else start
    for _ in range(lines):
        position = data.find(b"\n", position) + 1
    return re.findall(r"\w+", _text(data, start, min(position + column, start + 4000)))


def _documentation(language: str, node: Node, whole: Node, data: bytes) -> str:
    if language == "python":
        return _docstring(node, data)
    comments: list[str] = []
    below, row = whole.prev_sibling, whole.start_point[0]
    for _ in range(_MAX_COMMENTS):
        if below is None or below.end_point[0] + (below.end_point[1] != 0) < row:
            break
        if below.type in _COMMENTS:
            if _ends_a_line_of_code(below):
                break
            end = min(below.end_byte, below.start_byte + 8 * MAX_DOCUMENTATION)
            comments.append(_text(data, below.start_byte, end))
        elif below.type not in _ANNOTATIONS:
            break
        row, below = below.start_point[0], below.prev_sibling
    return _paragraph("\n".join(comment.rstrip("\n") for comment in reversed(comments)))


def _ends_a_line_of_code(comment: Node) -> bool:
    before = comment.prev_sibling
    if before is None or before.type in _COMMENTS or not before.end_point[1]:
        return False
    return before.end_point[0] == comment.start_point[0]


def _docstring(node: Node, data: bytes) -> str:
    body = node.child_by_field_name("body")
    inside = body.named_children if body is not None else []
    statement = next((child for child in inside if child.type != "comment"), None)
    inner = first(statement) if statement is not None and statement.type == "expression_statement" else statement
    if inner is None or inner.type != "string":
        return ""
    content = next((child for child in inner.named_children if child.type == "string_content"), None)
    if content is None:
        return ""
    text = _text(data, content.start_byte, min(content.end_byte, content.start_byte + 8 * MAX_DOCUMENTATION))
    return _shortened(text.strip().split("\n\n")[0])


def _paragraph(comment: str) -> str:
    """The first paragraph of a comment, without what makes it a comment."""
    found: list[str] = []
    for line in comment.split("\n"):
        bare = _MARKERS.sub("", line).strip()
        if bare.startswith("@") or (not bare and found):
            break
        if bare:
            found.append(bare)
    return _shortened(" ".join(found))


def _shortened(text: str) -> str:
    return _one_line(text, MAX_DOCUMENTATION)


def _decorators(node: Node, whole: Node, data: bytes) -> list[str]:
    found: list[Node] = []
    for part in (whole, node):
        for child in part.children:
            if child.type in _ANNOTATIONS:
                found.append(child)
            elif child.type == "modifiers":
                found += [inner for inner in child.named_children if inner.type in _ANNOTATIONS]
    above = whole.prev_sibling
    before: list[Node] = []
    while above is not None and above.type in _ANNOTATIONS and len(before) < MAX_LISTED:
        before.append(above)
        above = above.prev_sibling
    return [_one_line(_text(data, one.start_byte, one.end_byte), MAX_SIGNATURE) for one in (*reversed(before), *found)]


def _parents(language: str, node: Node, data: bytes) -> list[str]:
    value = node.child_by_field_name("value")
    node = value if value is not None and value.type == "class" else node
    if not any(word in node.type for word in _CLASSES):
        return []
    found: list[str] = []
    for child in node.named_children:
        if child.type not in _PARENTS or (child.type == "argument_list" and language != "python"):
            continue
        text = " ".join(_text(data, child.start_byte, child.end_byte).split())
        if language == "python":
            text = text.removeprefix("(").removesuffix(")")
        for part in _split(re.sub(r"^\s*(?:[:<]|extends\b|implements\b)|\b(?:extends|implements)\b", ",", text)):
            name = _ACCESS.sub("", part.strip())
            if name and not (language == "python" and re.match(r"\w+\s*=|\*", name)):
                found.append(_one_line(name, 100))
    return found


def _split(text: str) -> list[str]:
    """At the commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
