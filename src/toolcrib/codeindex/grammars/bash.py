"""Bash: functions in both forms, variables and aliases of the script itself, and what it sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sheet import Grammar, Sheet, marker, named

if TYPE_CHECKING:
    from tree_sitter import Node


def _assignment(node: Node, sheet: Sheet) -> None:
    name = node.child_by_field_name("name")
    if name is None or name.type != "variable_name" or sheet.top.local:
        return
    statement = sheet.around("declaration_command")
    kind = "constant" if statement is not None and statement.name == "readonly" else "variable"
    known = any(item[0] == sheet.said(name) for item in sheet.definitions[-50:])
    if not known:
        sheet.define(node, name, kind, scoping=False)


def _declaration(node: Node, sheet: Sheet) -> None:
    word = next(iter(node.children), None)
    said = word.type if word is not None else ""
    options = "".join(sheet.said(child) for child in node.named_children if child.type == "word")
    sheet.enter(node, name="readonly" if said == "readonly" or "r" in options.partition("-")[2] else said)


def _command(node: Node, sheet: Sheet) -> None:
    called = sheet.said(node.child_by_field_name("name"))
    argument = node.child_by_field_name("argument")
    if argument is None:
        return
    if called in ("source", "."):
        sheet.take(sheet.said(argument).strip("\"'"), node)
    elif called == "alias":
        label, equals, _ = sheet.said(argument).partition("=")
        if equals and label.isidentifier():
            sheet.define(node, argument, "macro", called=label, scoping=False)


BASH = Grammar(
    {
        "function_definition": named("function"),
        "declaration_command": _declaration,
        "variable_assignment": _assignment,
        "command": _command,
        "subshell": marker("closure"),
        "command_substitution": marker("closure"),
    },
    {"command": "(command name: (command_name (word)))"},
)
