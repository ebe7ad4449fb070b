"""Puts the code of a changed source file into a function that is loaded already."""

import ast
import sys
from types import CodeType, FunctionType
from typing import Any


def patch(path: str, source: str, function: str) -> None:
    """Where a module is loaded, its function gets the new code; whoever imports it later reads the new file anyway."""
    name = path.removeprefix("src/").removesuffix(".py").replace("/", ".")
    module = sys.modules.get(name)
    if module is None or not function:
        return
    holder, _, last = function.rpartition(".")
    found: Any = vars(getattr(module, holder) if holder else module)[last]
    while not isinstance(found, FunctionType):
        found = found.__func__ if hasattr(found, "__func__") else found.__wrapped__
    compiled = compile(source, module.__file__ or path, "exec")
    found.__code__ = next(code for code in _codes(compiled) if code.co_qualname == function)
    fresh = _arguments(source, function)
    if found.__defaults__ and fresh.defaults:
        found.__defaults__ = tuple(map(_value, fresh.defaults, found.__defaults__))
    for argument, default in zip(fresh.kwonlyargs, fresh.kw_defaults, strict=True):
        if default is not None and found.__kwdefaults__:
            found.__kwdefaults__[argument.arg] = _value(default, found.__kwdefaults__[argument.arg])


def _codes(code: CodeType) -> list[CodeType]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return inner + [deeper for each in inner for deeper in _codes(each)]


def _arguments(source: str, function: str) -> ast.arguments:
    body: list[ast.stmt] = ast.parse(source).body
    *holders, last = function.split(".")
    for holder in holders:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == holder)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return next(node.args for node in body if isinstance(node, kinds) and node.name == last)


def _value(default: ast.expr, before: Any) -> Any:
    """Only plain values are ever changed."""
    return default.value if isinstance(default, ast.Constant) else before
