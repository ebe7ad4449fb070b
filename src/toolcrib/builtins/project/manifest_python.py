"""What a Python project says of itself: pyproject.toml, setup.cfg, setup.py (read, never run), requirements."""

import ast
import re
from collections.abc import Iterator
from typing import Any

from .manifest import (
    APPLICATION,
    BUILD,
    COMMAND,
    ENTRY,
    LIBRARY,
    MONOREPO,
    PACKAGES,
    RUNTIME,
    WORKSPACE,
    first_line,
    frameworks,
)
from .survey import Claim, Survey
from .texts import below, settings_of, table, toml_of, words

_KNOWN = {
    "aiohttp": "aiohttp",
    "celery": "Celery",
    "click": "Click",
    "django": "Django",
    "fastapi": "FastAPI",
    "flask": "Flask",
    "grpcio": "gRPC",
    "hypothesis": "Hypothesis",
    "jax": "JAX",
    "numpy": "NumPy",
    "pandas": "pandas",
    "pydantic": "Pydantic",
    "pyside6": "Qt for Python",
    "pytest": "pytest",
    "scikit-learn": "scikit-learn",
    "sqlalchemy": "SQLAlchemy",
    "starlette": "Starlette",
    "streamlit": "Streamlit",
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "tornado": "Tornado",
    "typer": "Typer",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*+")


def claims(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("pyproject.toml"):
        yield from _pyproject(survey, path)
    for path in survey.named("setup.cfg", most=10):
        yield from _setup_cfg(survey, path)
    for path in survey.named("setup.py", most=10):
        yield from _setup_py(survey, path)
    for path in survey.named("requirements.txt", most=10):
        listed = [line for line in (survey.text(path) or "").splitlines()[:2000] if line[:1].isalnum()]
        yield from frameworks(survey, path, _packages(listed), _KNOWN)
    for path in survey.named("manage.py", most=3):
        if "django" in (survey.text(path) or ""):
            yield Claim("kind", APPLICATION, survey.at(path, "django"))
            yield Claim(ENTRY, "manage.py", survey.at(path))
    for path in survey.named("__main__.py", most=5):
        yield Claim(ENTRY, f"python -m {_module(path)}", survey.at(path))
    for name in (".python-version", "runtime.txt"):
        for path in survey.named(name, most=1):
            if version := first_line(survey, path):
                yield Claim(RUNTIME, "Python", survey.at(path, version), version)


def _pyproject(survey: Survey, path: str) -> Iterator[Claim]:
    document = toml_of(survey, path)
    project, poetry = table(document.get("project")), table(below(document, "tool", "poetry"))
    if backend := below(document, "build-system", "build-backend"):
        yield Claim(BUILD, str(backend).split(".")[0].split(":")[0], survey.at(path, "build-backend"))
    if poetry:
        yield Claim(PACKAGES, "Poetry", survey.at(path, "tool.poetry"))
    named = project.get("name") or poetry.get("name")
    if named and (document.get("build-system") or poetry):
        yield Claim("kind", LIBRARY, survey.at(path, "[build-system]"), str(named))
    for at, scripts in (("project.scripts", project.get("scripts")), ("tool.poetry.scripts", poetry.get("scripts"))):
        for name in table(scripts):
            yield Claim("kind", COMMAND, survey.at(path, at))
            yield Claim(ENTRY, name, survey.at(path, at, f"\n{name}"), str(table(scripts)[name])[:100])
    if wanted := project.get("requires-python"):
        yield Claim(RUNTIME, "Python", survey.at(path, "requires-python"), str(wanted))
    elif wanted := below(poetry, "dependencies", "python"):
        yield Claim(RUNTIME, "Python", survey.at(path, "tool.poetry.dependencies", "python"), str(wanted))
    if below(document, "tool", "uv", "workspace"):
        members = words(below(document, "tool", "uv", "workspace", "members"))
        yield Claim("kind", MONOREPO, survey.at(path, "tool.uv.workspace"))
        yield from (Claim(WORKSPACE, each, survey.at(path, "tool.uv.workspace", each)) for each in members)
    yield from frameworks(survey, path, _dependencies(document, project, poetry), _KNOWN, "dependencies")


def _dependencies(document: dict[str, Any], project: dict[str, Any], poetry: dict[str, Any]) -> Iterator[str]:
    lists = [project.get("dependencies"), *table(project.get("optional-dependencies")).values()]
    lists += table(document.get("dependency-groups")).values()
    yield from _packages(each for held in lists for each in words(held))
    groups = (below(group, "dependencies") for group in table(poetry.get("group")).values())
    for held in (poetry.get("dependencies"), poetry.get("dev-dependencies"), *groups):
        yield from _packages(table(held))


def _packages(listed: Any) -> Iterator[str]:
    """The bare names of requirements, as they are written."""
    for each in listed:
        if found := _NAME.match(each):
            yield found[0]


def _setup_cfg(survey: Survey, path: str) -> Iterator[Claim]:
    for section, key, value, line in settings_of(survey, path):
        here = survey.line(path, line, f"{key} = {value}")
        if (section, key) == ("metadata", "name"):
            yield Claim("kind", LIBRARY, here, value)
            yield Claim(BUILD, "setuptools", here)
        elif (section, key) == ("options", "python_requires"):
            yield Claim(RUNTIME, "Python", here, value)


_DEEPENING = re.compile(r"[-+*/%&|^~@.(\[{<>!]|\b(?:not|lambda|if|elif|for|await|yield|in|is|and|or)\b")
"""Whatever can put one expression into another. What has few of these is not nested deeply."""
_DEEPEST = 2000
"""Python's parser gives up at some 3000 levels, and in some versions fails ever after in the same process."""


def _setup_py(survey: Survey, path: str) -> Iterator[Claim]:
    """The arguments of `setup(...)` that are written out."""
    text = survey.text(path) or ""
    if len(_DEEPENING.findall(text)) > _DEEPEST:
        survey.note(f"{survey.shown(path)} is too intricate to be read")
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        survey.note(f"{survey.shown(path)}: not valid Python: {str(exc)[:100]}")
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != "setup":
            continue
        for keyword in node.keywords:
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            here = survey.at(path, f"{keyword.arg}=") if keyword.arg else survey.at(path)
            if keyword.arg == "name" and isinstance(value, str):
                yield Claim("kind", LIBRARY, here, value)
            elif keyword.arg == "python_requires" and isinstance(value, str):
                yield Claim(RUNTIME, "Python", here, value)
            elif keyword.arg == "install_requires" and isinstance(keyword.value, ast.List):
                listed = [each.value for each in keyword.value.elts if isinstance(each, ast.Constant)]
                strings = [each for each in listed if isinstance(each, str)]
                yield from frameworks(survey, path, _packages(strings), _KNOWN, "install_requires")
            elif keyword.arg == "entry_points":
                yield Claim("kind", COMMAND, here)


def _module(path: str) -> str:
    parts = path.split("/")[:-1]
    return ".".join(parts[1:] if parts[:1] in (["src"], ["lib"]) else parts) or "."
