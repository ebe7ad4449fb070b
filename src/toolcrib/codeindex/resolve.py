"""From a name to what it stands for: what is defined beside it, what its file imports, else whatever has that name."""

from typing import NamedTuple

from .facts import Definition, Import
from .modules import Lead, lead, package_files
from .tree import Tree, folder_of
from .view import View

MOST_STEPS = 2000
"""Files that are looked into for one name. None is looked into twice, so that circles end."""
DEEPEST = 100
"""Files that one after another pass a name on."""
MOST = 200
"""Definitions that are considered for one name."""
_FOLDER_SCOPED = {"go": ".go", "java": ".java", "kotlin": ".kt", "csharp": ".cs"}
"""Languages in which the files of one folder see each other's names."""
_WHOLE = ("class", "interface", "struct", "enum", "trait", "type", "union", "namespace", "module")


class Target(NamedTuple):
    """What a name stands for: a definition, a file as a whole, or something outside the tree."""

    path: str
    """Empty: outside."""
    definition: Definition | None = None
    confidence: str = "syntactic"
    """`exact`, `syntactic` or `text`."""
    module: str = ""
    """Of what is outside, as the import writes it."""
    name: str = ""
    """Of what is outside, within its module."""
    via: tuple[str, ...] = ()
    """The files that the name came through."""


class Names:
    """Follows names through one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.view = tree, tree.view

    def resolve(self, symbol: str, path: str, *, line: int = 0) -> list[Target]:
        """What a name means in a file, the likeliest first. `symbol` may have dots: `module.Class.method`."""
        parts = split(symbol)
        found = self._dotted(parts, path, line)
        if found:
            return found[:MOST]
        known = defined(self.view, parts)
        near = sorted(known, key=lambda each: _distance(each[0], path))
        return [Target(where, what, "text") for where, what in near[:MOST]]

    def _dotted(self, parts: list[str], path: str, line: int) -> list[Target]:
        heads = self._scoped(parts[0], path, line) if line else []
        heads = heads or self.named(parts[0], path)
        for part in parts[1:]:
            heads = [target for head in heads for target in self._member(head, part)]
        return list(dict.fromkeys(heads))

    def _scoped(self, name: str, path: str, line: int) -> list[Target]:
        """A definition inside of what surrounds a line, the innermost first; members of a class need their object."""
        around = {
            f"{each.scope}.{each.name}".lstrip("."): each.kind
            for each in self.view.definitions(path)
            if each.line <= line <= each.end_line
        }
        inner = [
            each
            for each in self.view.definitions(path)
            if each.name == name and each.scope and around.get(each.scope) in ("function", "method", "constructor")
        ]
        return [Target(path, each) for each in sorted(inner, key=lambda each: -len(each.scope))][:1]

    def named(self, name: str, path: str) -> list[Target]:
        """What a plain name stands for in a file."""
        return self._look(name, path, set(), ())

    def _look(self, name: str, path: str, seen: set[tuple[str, str]], via: tuple[str, ...]) -> list[Target]:
        if (path, name) in seen or len(seen) >= MOST_STEPS or len(via) >= DEEPEST:
            return []
        seen.add((path, name))
        if own := self._own(name, path):
            return [Target(path, each, via=via) for each in own]
        for what in self.view.imports(path):
            if found := self._through(name, path, what, seen, via):
                return found
        if found := self._beside(name, path, via):
            return found
        for what in self.view.imports(path):
            if any(taken == "*" for taken, _ in what.names) or (not what.names and _spreads(self.view.language(path))):
                for file in lead(self.tree, path, what).files:
                    if found := self._look(name, file, seen, (*via, path)):
                        return found
        return []

    def _own(self, name: str, path: str) -> list[Definition]:
        """Defined in the file: at its top, or in a namespace, else anywhere in it."""
        same = [each for each in self.view.definitions(path) if each.name == name]
        top = [each for each in same if not each.scope]
        if top or not same:
            return top[:MOST]
        spaces = {full_name(each) for each in self.view.definitions(path) if each.kind in ("namespace", "module")}
        return [each for each in same if each.scope in spaces][:MOST]

    def _through(
        self, name: str, path: str, what: Import, seen: set[tuple[str, str]], via: tuple[str, ...]
    ) -> list[Target]:
        """By an import that gives a file this very name."""
        for taken, alias in what.names:
            if (alias or taken) == name and taken != "*":
                there = lead(self.tree, path, what)
                return self._taken(taken, path, what, there, seen, via)
        if what.names or name not in (what.alias, bound(self.view.language(path), what)):
            return []
        there = lead(self.tree, path, what)
        last = _last(what.module)
        for file in there.files:  # Java, PHP, Rust: the import names the class itself
            if own := self._own(last, file):
                return [Target(file, each, via=(*via, path)) for each in own]
        return self._file(what, path, there.files, via)

    def _taken(
        self, taken: str, path: str, what: Import, there: Lead, seen: set[tuple[str, str]], via: tuple[str, ...]
    ) -> list[Target]:
        wanted = "default" if taken == "default" else taken
        for file in there.files:
            if wanted == "default" and (whole := self._default(file)):
                return [Target(file, whole, via=(*via, path))]
            if found := self._look(wanted, file, seen, (*via, path)):
                return found
        for member, file in there.members:
            if member == taken:
                return [Target(file, via=(*via, path))]
        if not there.all:
            return [Target("", module=what.module, name=taken, via=via)]
        return self._file(what, path, there.files, via) if wanted == "default" else []

    def _file(self, what: Import, path: str, files: tuple[str, ...], via: tuple[str, ...]) -> list[Target]:
        if not files:
            return [Target("", module=what.module, via=via)]
        return [Target(file, via=(*via, path)) for file in files[:MOST]]

    def _default(self, path: str) -> Definition | None:
        """What a module exports as its default, where a statement says so of a definition; else its only export."""
        lines = {line for name, line in self.view.exports(path) if name == "default"}
        top = [each for each in self.view.definitions(path) if not each.scope]
        marked = [each for each in top if each.line in lines]
        exported = [each for each in top if each.exported]
        return marked[0] if marked else exported[0] if len(exported) == 1 else None

    def _beside(self, name: str, path: str, via: tuple[str, ...]) -> list[Target]:
        ending = _FOLDER_SCOPED.get(self.view.language(path))
        if ending is None:
            return []
        files = (each for each in package_files(self.tree, folder_of(path), ending) if each != path)
        return [Target(file, each, via=via) for file in files for each in self._own(name, file)][:MOST]

    def _member(self, head: Target, name: str) -> list[Target]:
        if not head.path:
            return [head._replace(name=f"{head.name}.{name}".lstrip("."))]
        if head.definition is None:
            return self._look(name, head.path, set(), head.via) or self._submodule(head.path, name)
        scope = full_name(head.definition)
        if head.definition.kind not in _WHOLE:
            return []
        found = [
            Target(head.path, each, via=head.via)
            for each in self.view.definitions(head.path)
            if each.name == name and each.scope == scope
        ]
        return found or self._elsewhere(head, name)

    def _elsewhere(self, head: Target, name: str) -> list[Target]:
        """A member that is written in another file than its class is: Go, Rust, C++, partial classes."""
        if head.definition is None or self.view.language(head.path) not in ("go", "rust", "cpp", "csharp", "swift"):
            return []
        scope = head.definition.name
        return [
            Target(path, each, via=head.via)
            for path, each in self.view.defined(name)[: MOST * 10]
            if each.scope.rpartition(".")[2] == scope
        ][:MOST]

    def _submodule(self, path: str, name: str) -> list[Target]:
        """`package.module`, where only the package was imported."""
        if not path.endswith("/__init__.py"):
            return []
        there = lead(self.tree, path, Import(".", 0, ((name, ""),)))
        return [Target(file) for _, file in there.members]


def split(symbol: str) -> list[str]:
    """The parts of a name that is written with the dots of any language."""
    text = symbol.replace("::", ".").replace("->", ".").replace("\\", ".").replace("#", ".").strip(". ()")
    return [part for part in text.split(".") if part] or [symbol]


def defined(view: View, parts: list[str]) -> list[tuple[str, Definition]]:
    """Everything of a name, anywhere; with more parts what is defined in such a scope, or in a file of such a name."""
    found = list(view.defined(parts[-1]))
    for count in range(len(parts) - 1, 0, -1):
        scope = ".".join(parts[-1 - count : -1])
        inner = [each for each in found if f".{_place(*each)}".endswith(f".{scope}")]
        if inner:
            return inner
    return found if len(parts) == 1 else []


def bound(language: str, what: Import) -> str:
    """The name by which a file knows a module that it imports as a whole."""
    if what.alias:
        return what.alias
    return what.module.split(".")[0] if language == "python" else _last(what.module)


def _last(module: str) -> str:
    text = module.strip("\"'<> ;").replace("::", ".").replace("\\", ".").replace("/", ".")
    return text.rstrip(".*").rpartition(".")[2]


def full_name(each: Definition) -> str:
    """A name with what it is defined in: `Outer.Inner.name`."""
    return f"{each.scope}.{each.name}" if each.scope else each.name


def _place(path: str, each: Definition) -> str:
    stem = path.rsplit(".", 1)[0].removesuffix("/__init__").replace("/", ".")
    return f"{stem}.{each.scope}" if each.scope else stem


def _spreads(language: str) -> bool:
    """Whether an import of a whole brings all its names: `#include`, `using`, `source`, `require`."""
    return language in ("c", "cpp", "csharp", "bash", "ruby", "php")


def _distance(path: str, other: str) -> tuple[int, str]:
    shared = 0
    for mine, theirs in zip(path.split("/"), other.split("/"), strict=False):
        if mine != theirs:
            break
        shared += 1
    return -shared, path
