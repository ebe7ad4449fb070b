"""Where the tests of a project lie, how they are named, and what runs them."""

import re
from collections import Counter
from collections.abc import Iterator
from posixpath import basename, dirname

from ...core.jsontext import JSON
from .survey import Claim, Survey
from .texts import below, json_of, settings_of, table, toml_of

_NAMES = (
    ("test_*.py", re.compile(r"test_\w++\.py")),
    ("tests.py", re.compile(r"tests\.py")),
    ("*_test.py", re.compile(r"\w+_test\.py")),
    ("*_test.go", re.compile(r"\w+_test\.go")),
    ("*.test.*", re.compile(r"[\w.-]+\.test\.[cm]?[jt]sx?")),
    ("*.spec.*", re.compile(r"[\w.-]+\.spec\.[cm]?[jt]sx?")),
    ("*_spec.rb", re.compile(r"\w+_spec\.rb")),
    ("*_test.rb", re.compile(r"\w+_test\.rb")),
    ("*Test.java", re.compile(r"\w+Tests?\.java")),
    ("*Test.kt", re.compile(r"\w+Tests?\.kt")),
    ("*Test.php", re.compile(r"\w+Test\.php")),
    ("*Tests.cs", re.compile(r"\w+Tests?\.cs")),
    ("*Tests.swift", re.compile(r"\w+Tests?\.swift")),
    ("*_test.cpp", re.compile(r"\w*_?[tT]ests?\.(?:cc|cpp|cxx|c)|test_\w+\.(?:cc|cpp|cxx|c)")),
    ("*.bats", re.compile(r"[\w.-]+\.bats")),
    ("tests/*.rs", re.compile(r"(?!)")),
)
_BY_FILE = {
    "pytest.ini": "pytest",
    "conftest.py": "pytest",
    "noxfile.py": "nox",
    "tox.ini": "tox",
    "phpunit.xml": "PHPUnit",
    "phpunit.xml.dist": "PHPUnit",
    ".rspec": "RSpec",
    "karma.conf.js": "Karma",
}
_BY_BEGINNING = {"jest.config.": "Jest", "vitest.config.": "Vitest", "playwright.config.": "Playwright"}
_BY_BEGINNING |= {"cypress.config.": "Cypress", ".mocharc": "Mocha"}
_BY_PACKAGE = {"jest": "Jest", "vitest": "Vitest", "mocha": "Mocha", "ava": "AVA", "@playwright/test": "Playwright"}
_BY_NAME = {"*_test.go": "go test", "*.bats": "Bats", "*_spec.rb": "RSpec", "tests/*.rs": "cargo test"}


def tests(survey: Survey) -> dict[str, JSON]:
    """Frameworks, directories and names, each with evidence; empty where nothing looks like a test."""
    names: Counter[str] = Counter()
    places: Counter[str] = Counter()
    first: dict[str, str] = {}
    for path in sorted(survey.files):
        if kind := _named(path):
            names[kind] += 1
            first.setdefault(kind, path)
            places[_place(path)] += 1
    frameworks = [*_frameworks(survey)]
    frameworks += [Claim("tests", _BY_NAME[kind], survey.at(first[kind])) for kind in names if kind in _BY_NAME]
    unique = {claim.name: claim for claim in reversed(frameworks)}
    found: dict[str, JSON] = {
        "frameworks": [{"name": name, "evidence": unique[name].evidence.to_dict()} for name in sorted(unique)],
        "names": [
            {"name": kind, "files": count, "evidence": survey.at(first[kind]).to_dict()}
            for kind, count in names.most_common(4)
        ],
        "directories": [{"name": place, "files": count} for place, count in places.most_common(4)],
    }
    return {key: value for key, value in found.items() if value}


def _named(path: str) -> str | None:
    name = basename(path)
    if name.endswith(".rs") and dirname(path).rpartition("/")[2] == "tests":
        return "tests/*.rs"
    return next((kind for kind, pattern in _NAMES if pattern.fullmatch(name[:200])), None)


def _place(path: str) -> str:
    """The directory of tests that a file is in; else it stands beside what it tests."""
    parts = path.split("/")[:-1]
    for at, part in enumerate(parts):
        if part.lower() in ("test", "tests", "spec", "specs", "__tests__", "e2e"):
            return "/".join(parts[: at + 1]) if part != "__tests__" else "__tests__ beside the code"
    return "beside the code" if parts else "."


def _frameworks(survey: Survey) -> Iterator[Claim]:
    for name, said in _BY_FILE.items():
        for path in survey.named(name, most=1):
            yield Claim("tests", said, survey.at(path))
    for path in sorted(survey.files, key=lambda each: (each.count("/"), each)):
        for beginning, said in _BY_BEGINNING.items():
            if basename(path).startswith(beginning):
                yield Claim("tests", said, survey.at(path))
    for path in survey.named("pyproject.toml", most=3):
        if below(toml_of(survey, path), "tool", "pytest") is not None:
            yield Claim("tests", "pytest", survey.at(path, "tool.pytest"))
    for path in survey.named("setup.cfg", "tox.ini", most=3):
        for section, key, value, line in settings_of(survey, path):
            if section in ("tool:pytest", "pytest"):
                yield Claim("tests", "pytest", survey.line(path, line, f"{key} = {value}"))
    for path in survey.named("package.json", most=5):
        package = json_of(survey, path)
        for key in ("devDependencies", "dependencies"):
            for each in table(package.get(key)):
                if each in _BY_PACKAGE:
                    yield Claim("tests", _BY_PACKAGE[each], survey.at(path, f'"{key}"', f'"{each}"'))
    for path in survey.named("CMakeLists.txt", most=3):
        if (seen := survey.at(path, "enable_testing")).line:
            yield Claim("tests", "CTest", seen)
