"""Which file of the tree a module of JavaScript or TypeScript is: relative paths, `paths` of tsconfig, own packages."""

import re
from typing import Any

from ..core.errors import InvalidJson
from ..core.jsontext import parse
from .tree import Tree, folder_of, joined, nearest

_ENDINGS = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_WRITTEN_AS = {".js": (".ts", ".tsx", ".d.ts"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""TypeScript names the file that will be there."""
_COMMENT = re.compile(r'("(?:[^"\\]++|\\.)*+"?+)|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+|,(?=\s*+[}\]])', re.DOTALL)
"""What has no end goes to the end of the text, so that nothing is looked at twice."""
_LONGEST_MANIFEST = 256 * 1024
_MOST_ALIASES = 200


def script_module(tree: Tree, path: str, module: str) -> tuple[str, ...]:
    """The file that `module` means in `path`; nothing where it lies outside the tree."""
    if module.startswith((".", "/")):
        base = joined(folder_of(path), module)
        found = None if base is None else _file(tree, base) or (_entry(tree, base) if _package(tree, base) else None)
    else:
        found = _by_alias(tree, path, module) or _own_package(tree, path, module)
    return (found,) if found and found != path else ()


def _file(tree: Tree, base: str) -> str | None:
    if base in tree.paths:
        return base
    for ending, others in _WRITTEN_AS.items():
        if base.endswith(ending):
            stem = base.removesuffix(ending)
            if found := next((stem + other for other in others if stem + other in tree.paths), None):
                return found
    stem = f"{base}/index" if base else "index"
    tries = (start + ending for start in (base, stem) for ending in _ENDINGS)
    return next((each for each in tries if each in tree.paths), None)


def _by_alias(tree: Tree, path: str, module: str) -> str | None:
    """By `compilerOptions` of the nearest tsconfig.json or jsconfig.json; and `@/` and `~/`, which mean the sources."""
    for name in ("tsconfig.json", "jsconfig.json"):
        held = tree.manifest(folder_of(path), name)
        if held is None:
            continue
        folder, text = held
        for pattern, targets in _aliases(tree, f"{folder}/{name}", text):
            start, star, end = pattern.partition("*")
            fits = module.startswith(start) and module.endswith(end) and len(module) >= len(start) + len(end)
            if fits if star else module == pattern:
                middle = module[len(start) : len(module) - len(end)] if star else ""
                for target in targets:
                    base = joined(folder, target.replace("*", middle))
                    if base is not None and (found := _file(tree, base)):
                        return found
    if module.startswith(("@/", "~/")):
        place = folder_of(path)
        while True:
            for start in (f"{place}/src" if place else "src", place):
                if found := _file(tree, f"{start}/{module[2:]}".strip("/")):
                    return found
            if not place:
                return None
            place = folder_of(place)
    return None


def _aliases(tree: Tree, path: str, text: str) -> list[tuple[str, list[str]]]:
    key = ("tsconfig", path)
    if key not in tree.parsed:
        tree.parsed[key] = list(_read_aliases(text))[:_MOST_ALIASES]
    held: Any = tree.parsed[key]
    return held  # type: ignore[no-any-return]  # what was put there under this kind of key


def _read_aliases(text: str) -> list[tuple[str, list[str]]]:
    options = _object(_object(_loose(text)).get("compilerOptions"))
    base = options.get("baseUrl")
    start = base if isinstance(base, str) else "."
    found = []
    for pattern, targets in _object(options.get("paths")).items():
        if isinstance(targets, list):
            found.append((pattern, [f"{start}/{each}" for each in targets if isinstance(each, str)]))
    if isinstance(base, str):
        found.append(("*", [f"{start}/*"]))
    return found


def _own_package(tree: Tree, path: str, module: str) -> str | None:
    """A package that lies in the same tree, the file's own among them: its package.json has that name."""
    parts = module.split("/")
    length = 2 if module.startswith("@") and len(parts) > 1 else 1
    package, rest = "/".join(parts[:length]), "/".join(parts[length:])
    folders = tree.folders_ending(parts[length - 1])[:20]
    above = folder_of(path)
    while own := tree.manifest(above, "package.json"):
        folders.append(own[0])
        if not own[0]:
            break
        above = folder_of(own[0])
    folder = nearest((each for each in folders if _package(tree, each).get("name") == package), path)
    if folder is None:
        return None
    inside = joined(folder, rest)
    if inside is None:
        return None
    beside = joined(folder, f"src/{rest}")
    return (rest and (_file(tree, inside) or _file(tree, str(beside)))) or _entry(tree, inside)


def _entry(tree: Tree, folder: str) -> str | None:
    """The file that a folder with a package is known by; its sources rather than what is built of them."""
    about = _package(tree, folder)
    named = [
        joined(folder, each) for key in ("source", "types", "module", "main") if isinstance(each := about.get(key), str)
    ]
    tries = [*named, joined(folder, "src/index"), joined(folder, "index"), joined(folder, "src")]
    return next((found for each in tries if each is not None and (found := _file(tree, each))), None)


def _package(tree: Tree, folder: str) -> dict[str, Any]:
    text = tree.text(f"{folder}/package.json" if folder else "package.json")
    return {} if text is None else _object(_loose(text))


def _loose(text: str) -> Any:
    """JSON that may have comments and commas too many, as these files do; None for anything else."""
    if len(text) > _LONGEST_MANIFEST:
        return None
    try:
        return parse(_COMMENT.sub(lambda found: found[1] or "", text).encode())
    except InvalidJson:
        return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
