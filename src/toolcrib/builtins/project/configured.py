"""What formatters and linters of a project are told: their configuration files, and the settings that matter when one
writes code."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.jsontext import JSON
from .survey import Evidence, Survey
from .texts import below, json_of, settings_of, table, toml_of, words, yaml_of

Row = dict[str, JSON]

_PRETTIER = {
    "printWidth": "line length",
    "tabWidth": "indentation",
    "useTabs": "tabs",
    "singleQuote": "single quotes",
    "semi": "semicolons",
    "trailingComma": "trailing commas",
    "endOfLine": "newlines",
}
_BIOME = {"lineWidth": "line length", "indentStyle": "indentation style", "indentWidth": "indentation"}
_RUSTFMT = {"max_width": "line length", "hard_tabs": "tabs", "tab_spaces": "indentation", "edition": "edition"}
_CLANG = {
    "BasedOnStyle": "based on",
    "ColumnLimit": "line length",
    "IndentWidth": "indentation",
    "UseTab": "tabs",
    "BreakBeforeBraces": "braces",
    "PointerAlignment": "pointers",
}
_EDITORCONFIG = {
    "indent_style": "indentation style",
    "indent_size": "indentation",
    "max_line_length": "line length",
    "end_of_line": "newlines",
    "insert_final_newline": "final newline",
    "trim_trailing_whitespace": "trailing whitespace is removed",
    "charset": "encoding",
}
_PYTHON = {
    "ruff": {"line-length": "line length", "target-version": "target", "indent-width": "indentation"},
    "ruff.format": {"quote-style": "quotes", "indent-style": "indentation style"},
    "ruff.lint": {"select": "rules", "ignore": "rules left out", "extend-select": "more rules"},
    "black": {
        "line-length": "line length",
        "target-version": "target",
        "skip-string-normalization": "quotes as written",
    },
    "isort": {"profile": "profile", "line_length": "line length"},
    "mypy": {"strict": "strict", "python_version": "target", "disallow_untyped_defs": "types everywhere"},
    "pyright": {"typeCheckingMode": "mode"},
    "pylint": {"max-line-length": "line length"},
    "yapf": {"based_on_style": "based on", "column_limit": "line length"},
}
_SECTIONS = {
    "flake8": {"max-line-length": "line length", "ignore": "rules left out", "extend-ignore": "rules left out"},
    "pycodestyle": {"max-line-length": "line length"},
    "isort": {"profile": "profile", "line_length": "line length"},
    "mypy": {"strict": "strict", "python_version": "target"},
    "yapf": {"based_on_style": "based on", "column_limit": "line length"},
}
_ALONE = {
    ".golangci.yml": "golangci-lint",
    ".golangci.yaml": "golangci-lint",
    "clippy.toml": "Clippy",
    ".shellcheckrc": "ShellCheck",
    ".pre-commit-config.yaml": "pre-commit",
    ".stylelintrc": "stylelint",
    ".stylelintrc.json": "stylelint",
    ".markdownlint.json": "markdownlint",
    "checkstyle.xml": "Checkstyle",
    "detekt.yml": "detekt",
    "phpcs.xml": "PHP_CodeSniffer",
    "phpcs.xml.dist": "PHP_CodeSniffer",
    "phpstan.neon": "PHPStan",
    ".php-cs-fixer.dist.php": "PHP CS Fixer",
    ".clang-tidy": "clang-tidy",
    ".swiftlint.yml": "SwiftLint",
    ".swift-format": "swift-format",
    ".tflint.hcl": "TFLint",
    ".hadolint.yaml": "hadolint",
    "eslint.config.js": "ESLint",
    "eslint.config.mjs": "ESLint",
    "eslint.config.cjs": "ESLint",
    "eslint.config.ts": "ESLint",
    ".eslintrc.js": "ESLint",
    ".eslintrc.cjs": "ESLint",
    "prettier.config.js": "Prettier",
    "prettier.config.mjs": "Prettier",
    ".prettierrc.js": "Prettier",
}
"""Files that say which tool is used; what they say to it is a program, or too much to tell."""
_ESLINT_RULES = ("quotes", "semi", "indent", "max-len", "camelcase")
_YAML_LINE = re.compile(r"^([A-Za-z]\w*+):\s*+(\S.*)")


def rows(survey: Survey) -> Iterator[Row]:
    """Tool, setting, value and evidence of each thing that is configured."""
    for reader in (_editorconfig, _pyproject, _ini, _prettier, _eslint, _biome, _typescript, _plain, _rubocop, _alone):
        yield from reader(survey)


def _row(tool: str, evidence: Evidence, setting: str = "", value: JSON = None) -> Row:
    said: Row = {"setting": setting, "value": _short(value)} if setting else {}
    return {"tool": tool, **said, "evidence": evidence.to_dict()}


def _short(value: JSON) -> JSON:
    if isinstance(value, list | dict):
        return [str(each)[:40] for each in list(value)[:12]]
    return value[:80] if isinstance(value, str) else value


def _chosen(survey: Survey, path: str, tool: str, said: Any, known: Mapping[str, str], *after: str) -> Iterator[Row]:
    for key, setting in known.items():
        if (value := below(said, key)) is not None:
            yield _row(tool, survey.at(path, *after, key), setting, value)


def _editorconfig(survey: Survey) -> Iterator[Row]:
    for path in survey.named(".editorconfig", most=3):
        for section, key, value, line in settings_of(survey, path):
            if setting := _EDITORCONFIG.get(key):
                about = setting if section in ("", "*") else f"{setting} in {section}"
                yield _row("EditorConfig", survey.line(path, line, f"{key} = {value}"), about, value)


def _pyproject(survey: Survey) -> Iterator[Row]:
    for path in survey.named("pyproject.toml", most=5):
        tools = table(toml_of(survey, path).get("tool"))
        for place, known in _PYTHON.items():
            said = below(tools, *place.split("."))
            if isinstance(said, dict):
                if "." not in place:
                    yield _row(place, survey.at(path, f"tool.{place}"))
                yield from _chosen(survey, path, place.split(".")[0], said, known, f"tool.{place}")
    for path in survey.named("ruff.toml", ".ruff.toml", most=3):
        said = toml_of(survey, path)
        yield _row("ruff", survey.at(path))
        yield from _chosen(survey, path, "ruff", said, _PYTHON["ruff"])
        yield from _chosen(survey, path, "ruff", said.get("format"), _PYTHON["ruff.format"], "[format]")
        yield from _chosen(survey, path, "ruff", said.get("lint"), _PYTHON["ruff.lint"], "[lint]")


def _ini(survey: Survey) -> Iterator[Row]:
    for path in survey.named("setup.cfg", "tox.ini", ".flake8", "mypy.ini", ".pylintrc", ".isort.cfg", most=8):
        for section, key, value, line in settings_of(survey, path):
            name = "isort" if section == "settings" else section.split(":")[-1]
            if setting := _SECTIONS.get(name, {}).get(key):
                yield _row(name, survey.line(path, line, f"{key} = {value}"), setting, value)
            elif path.endswith(".pylintrc") and key == "max-line-length":
                yield _row("pylint", survey.line(path, line, f"{key} = {value}"), "line length", value)


def _prettier(survey: Survey) -> Iterator[Row]:
    for path in survey.named(".prettierrc", ".prettierrc.json", ".prettierrc.json5", most=3):
        text = survey.text(path)
        said = json_of(survey, path) if text is not None and text.lstrip().startswith("{") else yaml_of(survey, path)
        yield _row("Prettier", survey.at(path))
        yield from _chosen(survey, path, "Prettier", said, _PRETTIER)
    for path in survey.named(".prettierrc.yaml", ".prettierrc.yml", most=3):
        yield _row("Prettier", survey.at(path))
        yield from _chosen(survey, path, "Prettier", yaml_of(survey, path), _PRETTIER)
    for path in survey.named("package.json", most=5):
        if isinstance(said := json_of(survey, path).get("prettier"), dict):
            yield from _chosen(survey, path, "Prettier", said, _PRETTIER, '"prettier"')


def _eslint(survey: Survey) -> Iterator[Row]:
    for path in survey.named(".eslintrc", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml", "package.json", most=6):
        if path.endswith("package.json"):
            said = json_of(survey, path).get("eslintConfig")
        else:
            text = survey.text(path)
            is_json = text is not None and text.lstrip().startswith(("{", "/"))
            said = json_of(survey, path) if is_json else yaml_of(survey, path)
        if not isinstance(said, dict):
            continue
        yield _row("ESLint", survey.at(path, "extends"), "extends", words(said.get("extends")))
        for rule in _ESLINT_RULES:
            if (value := below(said, "rules", rule)) is not None:
                yield _row("ESLint", survey.at(path, "rules", rule), rule, value)


def _biome(survey: Survey) -> Iterator[Row]:
    for path in survey.named("biome.json", "biome.jsonc", most=3):
        said = json_of(survey, path)
        yield _row("Biome", survey.at(path))
        yield from _chosen(survey, path, "Biome", said.get("formatter"), _BIOME, "formatter")
        style = below(said, "javascript", "formatter")
        yield from _chosen(survey, path, "Biome", style, {"quoteStyle": "quotes", "semicolons": "semicolons"})


def _typescript(survey: Survey) -> Iterator[Row]:
    known = {"strict": "strict", "target": "target", "module": "modules"}
    for path in survey.named("tsconfig.json", most=1):
        said = json_of(survey, path).get("compilerOptions")
        yield from _chosen(survey, path, "TypeScript", said, known, "compilerOptions")


def _plain(survey: Survey) -> Iterator[Row]:
    """Flat files of `key = value` or `key: value`."""
    for path in survey.named("rustfmt.toml", ".rustfmt.toml", most=3):
        yield _row("rustfmt", survey.at(path))
        yield from _chosen(survey, path, "rustfmt", toml_of(survey, path), _RUSTFMT)
    for path in survey.named(".clang-format", "_clang-format", most=3):
        yield _row("clang-format", survey.at(path))
        for number, line in enumerate((survey.text(path) or "").splitlines(), 1):
            found = _YAML_LINE.match(line[:200])
            if found and (setting := _CLANG.get(found[1])):
                yield _row("clang-format", survey.line(path, number, line), setting, found[2].strip())
    for path in survey.named("go.mod", most=1):  # there is one way to format Go, and nothing to configure
        yield _row("gofmt", survey.at(path, "module"), "indentation", "tab")


def _rubocop(survey: Survey) -> Iterator[Row]:
    for path in survey.named(".rubocop.yml", most=3):
        said = yaml_of(survey, path)
        yield _row("RuboCop", survey.at(path))
        for cop, key, setting in (
            ("Layout/LineLength", "Max", "line length"),
            ("Style/StringLiterals", "EnforcedStyle", "quotes"),
            ("Layout/IndentationWidth", "Width", "indentation"),
        ):
            if (value := below(said, cop, key)) is not None:
                yield _row("RuboCop", survey.at(path, cop, key), setting, value)


def _alone(survey: Survey) -> Iterator[Row]:
    for name, tool in _ALONE.items():
        for path in survey.named(name, most=1):
            yield _row(tool, survey.at(path))
    for path in survey.named("package.json", most=1):
        for tool, package in (("ESLint", '"eslint"'), ("Prettier", '"prettier"')):
            if (seen := survey.at(path, "ependencies", package)).line:
                yield _row(tool, seen)
