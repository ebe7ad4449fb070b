"""From an import to the files of the tree that it means. By the rules of each language as far as names tell."""

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .facts import Import
from .modules_script import script_module
from .tree import Tree, folder_of, joined, nearest

MOST = 200
"""Files that one import leads to, where it means a whole package."""


class Lead(NamedTuple):
    """Where an import leads. Nothing at all: out of the tree."""

    files: tuple[str, ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    """Those of the names taken that are files themselves (`from package import module`)."""

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.files, *(path for _, path in self.members))))


OUT = Lead()


def lead(tree: Tree, path: str, what: Import) -> Lead:
    """Where an import in `path` leads."""
    find = _RULES.get(tree.view.language(path))
    return OUT if find is None or not what.module or len(what.module) > 4096 else find(tree, path, what)


# --- Python


def _python(tree: Tree, path: str, what: Import) -> Lead:
    dots = len(what.module) - len(what.module.lstrip("."))
    place = what.module[dots:].replace(".", "/")
    if dots:
        base = joined(folder_of(path), "../" * (dots - 1) + place)
        return OUT if base is None else _python_at(tree, base, what)
    own = _python_root(tree, path)
    first = what.module.split(".")[0]
    roots = [own] if first in sys.stdlib_module_names else [own, *_above(own)]
    for root in roots:
        base = f"{root}/{place}" if root else place
        if (found := _python_at(tree, base, what)) != OUT:
            return found
    if first in sys.stdlib_module_names:
        return OUT
    return _python_elsewhere(tree, path, place, what)


def _python_at(tree: Tree, base: str, what: Import) -> Lead:
    stem = f"{base}/" if base else ""
    own = _python_file(tree, base)
    members = [(name, file) for name, _ in what.names if (file := _python_file(tree, stem + name.replace(".", "/")))]
    return Lead((own,) if own else (), tuple(members))


def _python_file(tree: Tree, base: str) -> str | None:
    stem = f"{base}/" if base else ""
    tries = (f"{base}.py", f"{stem}__init__.py", f"{base}.pyi", f"{stem}__init__.pyi")
    return next((each for each in tries if each in tree.paths), None)


def python_roots(tree: Tree, paths: Iterable[str]) -> list[str]:
    """The folders in which the names of imports begin, for some files: their own first, then the usual ones."""
    own = dict.fromkeys(_python_root(tree, path) for path in paths)
    usual = [each for each in ("", "src", "lib") if not each or tree.folders_ending(each)]
    return list(dict.fromkeys((*own, *usual)))[:20]


def _python_root(tree: Tree, path: str) -> str:
    """Where the names of a file's imports begin: the first folder above it that is not a package."""
    folder = folder_of(path)
    while folder and f"{folder}/__init__.py" in tree.paths:
        folder = folder_of(folder)
    return folder


def _python_elsewhere(tree: Tree, path: str, place: str, what: Import) -> Lead:
    """In another folder where names begin, such as `src` or a neighbouring project."""
    top = place.split("/")[0]
    starts = {folder_of(each) for each in tree.folders_ending(top)}
    starts |= {folder_of(each) for tail in (f"{top}.py", f"{top}.pyi") for each in tree.ending(tail)}
    found = {}
    for start in starts:
        if f"{start}/__init__.py" not in tree.paths:
            there = _python_at(tree, f"{start}/{place}" if start else place, what)
            if there != OUT:
                found[f"{start}/{top}"] = there
    best = nearest(found, path)
    return OUT if best is None else found[best]


def _above(folder: str) -> list[str]:
    above = []
    while folder:
        folder = folder_of(folder)
        above.append(folder)
    return above


# --- C and C++, Ruby, Bash: by path


def _include(tree: Tree, path: str, what: Import) -> Lead:
    name = what.module.strip("\"<>' ")
    beside = joined(folder_of(path), name)
    if beside in tree.paths:
        return Lead((str(beside),))
    tail = joined("", name.lstrip("./"))
    best = nearest(tree.ending(tail), path) if tail else None
    return Lead((best,)) if best else OUT


def _ruby(tree: Tree, path: str, what: Import) -> Lead:
    name = what.module.strip("'\" ")
    tail = name if name.endswith(".rb") else f"{name}.rb"
    beside = joined(folder_of(path), tail)
    if beside in tree.paths and (name.startswith(".") or "/" not in name or f"lib/{tail}" not in tree.paths):
        return Lead((str(beside),))
    best = nearest((each for each in tree.ending(tail) if _is_load_path(each, tail)), path)
    return Lead((best,)) if best else OUT


def _is_load_path(path: str, tail: str) -> bool:
    start = path[: -len(tail)].rstrip("/")
    return start == "" or start.rpartition("/")[2] in ("lib", "app", "test", "spec", "src") or "/app/" in f"/{start}/"


def _bash(tree: Tree, path: str, what: Import) -> Lead:
    name = what.module.strip("'\" ")
    variable, slash, rest = name.partition("/")
    if slash and "$" in variable:  # "$(dirname "$0")/lib.sh", "${HERE}/lib.sh"
        name = rest
    for start in (folder_of(path), ""):
        there = joined(start, name)
        if there in tree.paths:
            return Lead((str(there),))
    return OUT


# --- Go: a package is a folder


def _go(tree: Tree, path: str, what: Import) -> Lead:
    name = what.module.strip('"` ')
    last = name.rpartition("/")[2]
    tails = [last, *([name.split("/")[-2]] if "/" in name else ())]  # the second where the last is a version: /v2
    candidates = [folder for tail in tails for folder in tree.folders_ending(tail)] + [""]
    exact = [folder for folder in candidates if _go_name(tree, folder) == name]
    if not exact and name.count("/") >= 1 and "." in name.split("/")[0]:
        tail = "/".join(name.split("/")[-2:])  # no go.mod says so: two folders of the same names
        exact = [folder for folder in tree.folders_ending(tail) if _go_name(tree, folder) is None]
    folder = nearest(exact, path)
    return OUT if folder is None else Lead(package_files(tree, folder, ".go"))


def _go_name(tree: Tree, folder: str) -> str | None:
    """What a folder is imported as, by the go.mod above it."""
    found = tree.manifest(folder, "go.mod")
    if found is None:
        return None
    place, text = found
    lines = (line.split() for line in text.splitlines()[:200])
    module = next((words[1].strip('"') for words in lines if len(words) > 1 and words[0] == "module"), None)
    below = folder[len(place) :].strip("/")
    return module if module is None or not below else f"{module}/{below}"


def package_files(tree: Tree, folder: str, ending: str) -> tuple[str, ...]:
    """The files of a package that is a folder, without its tests."""
    held = (each for each in tree.folders.get(folder, ()) if each.endswith(ending))
    return tuple(each for each in held if not each.endswith(f"_test{ending}"))[:MOST]


# --- Java, Kotlin, PHP, C#: packages and namespaces


def _package(tree: Tree, path: str, what: Import) -> Lead:
    names = [f"{what.module}.{name}" for name, _ in what.names if name != "*"] or [what.module]
    files: dict[str, None] = {}
    for name in names:
        files.update(dict.fromkeys(_classes(tree, path, name.replace("\\", ".").strip(". ;"))))
    if not files and (not what.names or any(name == "*" for name, _ in what.names)):
        place = what.module.removesuffix(".*").replace(".", "/")
        folder = nearest((each for each in tree.folders_ending(place) if each in tree.folders), path)
        if folder is not None:
            files.update(dict.fromkeys(tree.folders[folder][:MOST]))
    return Lead(tuple(files))


def _classes(tree: Tree, path: str, name: str) -> list[str]:
    """The file of a class, or of the class that a member's name begins with."""
    parts = name.split(".")
    for length in (len(parts), len(parts) - 1):
        if length < 1:
            break
        place = "/".join(parts[:length])
        found = [each for ending in (".java", ".kt") for each in tree.ending(place + ending)]
        if best := nearest(found, path):
            return [best]
    return []


def _php(tree: Tree, path: str, what: Import) -> Lead:
    """Which folder has which namespace only composer knows: the longest end of the name that is a file."""
    if "/" in what.module or what.module.endswith(".php"):
        return _bash(tree, path, Import(what.module.lstrip("/"), what.line))
    files = []
    for name in [f"{what.module}\\{name}" for name, _ in what.names] or [what.module]:
        parts = name.strip("\\").split("\\")
        for start in range(len(parts)):
            found = [each for each in tree.ending("/".join(parts[start:]) + ".php") if _declares(tree, each, parts)]
            if best := nearest(found, path):
                files.append(best)
                break
    return Lead(tuple(dict.fromkeys(files)))


def _declares(tree: Tree, path: str, parts: list[str]) -> bool:
    """Whether a file says that it is of the namespace, or says nothing."""
    said = [each for each in tree.view.definitions(path) if each.kind in ("namespace", "module")]
    return not said or any(each.name.replace("\\", ".").split(".") == parts[:-1] for each in said)


def _csharp(tree: Tree, path: str, what: Import) -> Lead:
    name = what.module.removeprefix("global::").removeprefix("static ").strip(" ;")
    found = tree.namespaces.get(name) or tree.namespaces.get(name.rpartition(".")[0], [])
    same = (each for each in found if each != path and tree.view.language(each) == "csharp")
    return Lead(tuple(dict.fromkeys(same))[:MOST])


# --- Rust


def _rust(tree: Tree, path: str, what: Import) -> Lead:
    parts = what.module.replace("r#", "").split("::")
    folder, name = folder_of(path), path.rpartition("/")[2]
    own = folder if name in ("mod.rs", "lib.rs", "main.rs") else path.removesuffix(".rs")
    crate = _rust_crate(tree, path)
    start: str | None = own
    if parts[0] == "crate":
        start, parts = crate, parts[1:]
    elif parts[0] in ("self", "super"):
        while parts and parts[0] in ("self", "super"):
            start = folder_of(str(start)) if parts.pop(0) == "super" else start
    else:
        if not _rust_file(tree, f"{own}/{parts[0]}") and (other := _other_crate(tree, path, parts[0])) is not None:
            start, parts = other, parts[1:]
        elif not _rust_file(tree, f"{own}/{parts[0]}"):
            return OUT
    return OUT if start is None else _rust_at(tree, start, parts, what)


def _rust_at(tree: Tree, start: str, parts: list[str], what: Import) -> Lead:
    """The longest part of the path that is a file; what is left of it is defined therein."""
    members = []
    for name, _ in what.names:
        if file := _rust_file(tree, "/".join([start, *parts, name])):
            members.append((name, file))
    if what.names and len(members) == len(what.names):
        return Lead((), tuple(members))
    for length in range(len(parts), -1, -1):
        base = "/".join([each for each in (start, *parts[:length]) if each])
        found = _rust_file(tree, base) if length else _rust_start(tree, start)
        if found:
            return Lead((found,), tuple(members))
    return Lead((), tuple(members))


def _rust_file(tree: Tree, base: str) -> str | None:
    base = base.strip("/")
    return next((each for each in (f"{base}.rs", f"{base}/mod.rs") if each in tree.paths), None)


def _rust_start(tree: Tree, folder: str) -> str | None:
    stem = f"{folder}/" if folder else ""
    own = (f"{folder}.rs",) if folder else ()
    tries = (f"{stem}lib.rs", f"{stem}main.rs", f"{stem}mod.rs", *own)
    return next((each for each in tries if each in tree.paths), None)


def _rust_crate(tree: Tree, path: str) -> str | None:
    folder = folder_of(path)
    while True:
        stem = f"{folder}/" if folder else ""
        if f"{stem}lib.rs" in tree.paths or f"{stem}main.rs" in tree.paths:
            return folder
        if not folder:
            return None
        folder = folder_of(folder)


def _other_crate(tree: Tree, path: str, name: str) -> str | None:
    """The source folder of another crate of the same workspace, known by the name of its folder."""
    found = []
    for spelled in (name, name.replace("_", "-")):
        found += [each for each in tree.folders_ending(f"{spelled}/src") if f"{each}/lib.rs" in tree.paths]
    return nearest(found, path)


_RULES: dict[str, Callable[[Tree, str, Import], Lead]] = {
    "python": _python,
    "javascript": lambda tree, path, what: Lead(script_module(tree, path, what.module)),
    "typescript": lambda tree, path, what: Lead(script_module(tree, path, what.module)),
    "tsx": lambda tree, path, what: Lead(script_module(tree, path, what.module)),
    "c": _include,
    "cpp": _include,
    "ruby": _ruby,
    "bash": _bash,
    "go": _go,
    "java": _package,
    "kotlin": _package,
    "php": _php,
    "csharp": _csharp,
    "rust": _rust,
}
