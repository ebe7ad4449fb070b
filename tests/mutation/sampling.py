"""The mutants of a source file, made by mutmut, and a sample of them."""

import ast
import hashlib
import json
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import libcst as cst
from mutmut.mutation.file_mutation import Mutation, create_mutations

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("policy", "sandbox")


@dataclass(frozen=True)
class Mutant:
    """One change of one source file."""

    path: str  # from the root of the repository
    source: str  # the whole file as changed
    line: int  # the first line that differs
    function: str  # the function or method it is in
    was: str
    now: str

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.path}\0{self.source}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Sample:
    """Some mutants of a module, or all when there are few."""

    path: str
    of: int
    mutants: tuple[Mutant, ...]


def modules(wanted: list[str]) -> list[str]:
    """The source files of the packages under test, or those of them whose path holds a wanted word."""
    found = [
        f"src/toolcrib/{name}/{file.name}" for name in PACKAGES for file in (ROOT / "src/toolcrib" / name).glob("*.py")
    ]
    return sorted(path for path in found if not wanted or any(word in path for word in wanted))


def sample(path: str, *, size: int, seed: int) -> Sample:
    """`size` mutants of a module, the same for the same seed and source. They are kept, for they take long to make."""
    before = (ROOT / path).read_text()
    key = hashlib.sha256(f"{path} {size} {seed} {before}".encode()).hexdigest()[:24]
    kept = Path(sys.prefix) / "samples" / f"{key}.json"
    if kept.exists():
        known = json.loads(kept.read_text())
        return Sample(path, known["of"], tuple(Mutant(**one) for one in known["mutants"]))
    made = _made(path, before, size=size, seed=seed)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps({"of": made.of, "mutants": [asdict(one) for one in made.mutants]}))
    return made


def _made(path: str, before: str, *, size: int, seed: int) -> Sample:
    module, made, _, _ = create_mutations(path, before)
    inside = [mutation for mutation in made if mutation.contained_by_top_level_function is not None]
    random.Random(f"{seed}:{path}").shuffle(inside)
    texts = _Texts(module)
    functions, same, seen, chosen = _functions(before), ast.dump(ast.parse(before)), set(), []
    for mutation in inside:
        if len(chosen) == size:
            break
        after = texts.replaced(mutation)
        if after not in seen and _differs(after, same):
            seen.add(after)
            chosen.append(_mutant(path, before, after, functions))
    of = len(inside) if len(chosen) == size else len(chosen)
    return Sample(path, of, tuple(chosen))


class _Texts:
    """The text of each statement of a module, so that a change has only one of them to be written anew."""

    def __init__(self, module: cst.Module) -> None:
        self._module = module
        self._before = [module.code_for_node(statement) for statement in module.body]
        whole, body = module.code, "".join(self._before)
        self._head, _, self._foot = whole.partition(body)
        self._at: dict[cst.CSTNode, int] = {}
        for at, statement in enumerate(module.body):
            inner = statement.body.body if isinstance(statement, cst.ClassDef) else ()
            self._at |= dict.fromkeys([statement, *inner], at)

    def replaced(self, mutation: Mutation) -> str:
        """The module's text with one node replaced."""
        at = self._at[mutation.contained_by_top_level_function]
        changed = self._module.body[at].deep_replace(mutation.original_node, mutation.mutated_node)
        pieces = [*self._before[:at], self._module.code_for_node(changed), *self._before[at + 1 :]]
        return self._head + "".join(pieces) + self._foot


def _differs(after: str, same: str) -> bool:
    """Whether a text is Python and means something else; some mutants are neither."""
    try:
        compile(after, "mutant", "exec")
        return ast.dump(ast.parse(after)) != same
    except (SyntaxError, ValueError):
        return False


def _mutant(path: str, before: str, after: str, functions: dict[str, range]) -> Mutant:
    old, new = before.splitlines(), after.splitlines()
    first = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)) - 1)
    tail = 0
    while tail < min(len(old), len(new)) - first - 1 and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    function = next((name for name, lines in functions.items() if first + 1 in lines), "")
    was, now = (" ".join(line.strip() for line in text[first : len(text) - tail]) for text in (old, new))
    return Mutant(path, after, first + 1, function, was, now)


def _functions(text: str) -> dict[str, range]:
    """The lines of each function and method."""
    found = {}
    for node in ast.parse(text).body:
        for part in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{node.name}.{part.name}" if isinstance(node, ast.ClassDef) else part.name
                found[name] = range(part.lineno, (part.end_lineno or part.lineno) + 1)
    return found
