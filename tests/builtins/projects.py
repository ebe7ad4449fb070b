"""Small projects, one for each ecosystem, as what lies in them; and the answer of a tool about one."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import toolcrib
from toolcrib.builtins import TOOLS
from toolcrib.core.tool import Tool
from toolcrib.testing import fake_context

PYTHON = {
    "pyproject.toml": """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "greeter"
requires-python = ">=3.11"
dependencies = ["fastapi>=0.110", "Click", "sqlalchemy[asyncio] >= 2"]

[project.scripts]
greet = "greeter.cli:main"
greet-all = "greeter.cli:everybody"

[tool.ruff]
line-length = 100

[tool.ruff.format]
quote-style = "double"

[tool.mypy]
strict = true

[tool.pytest.ini_options]
testpaths = ["tests"]
""",
    "uv.lock": "version = 1\n",
    "src/greeter/__init__.py": "",
    "src/greeter/__main__.py": "from .cli import main\n\nmain()\n",
    "src/greeter/cli.py": 'def main() -> None:\n    print("hello")\n\n\ndef say_it_all() -> str:\n    return "all"\n',
    "tests/test_cli.py": 'def test_it() -> None:\n    assert "a" == "a"\n',
    ".python-version": "3.12.4\n",
}
NODE = {
    "package.json": """{
  // comments are not JSON, and are there all the same
  "name": "shop",
  "private": true,
  "workspaces": ["packages/*"],
  "packageManager": "pnpm@9.1.0",
  "engines": {"node": ">=20"},
  "scripts": {"build": "tsc -b", "test": "vitest run", "lint": "eslint .", "start": "node dist/index.js",},
  "dependencies": {"react": "^18", "express": "4"},
  "devDependencies": {"vitest": "^1", "prettier": "3", "eslint": "9"}
}
""",
    "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
    "tsconfig.json": '{"compilerOptions": {"strict": true, "target": "ES2022"}}\n',
    ".prettierrc": '{"singleQuote": true, "semi": false, "printWidth": 90}\n',
    ".nvmrc": "v20.11.1\n",
    "packages/cart/package.json": '{"name": "@shop/cart", "main": "index.js", "bin": {"cart": "./cli.js"}}\n',
    "packages/cart/index.ts": "import { a } from 'b'\n\nexport const addItem = (x: string) => {\n  const name = 'x'\n"
    "  return name\n}\n\nexport function removeItem() {\n  return 'y'\n}\n",
    "packages/cart/index.test.ts": "import { it } from 'vitest'\n",
}
RUST = {
    "Cargo.toml": """[package]
name = "tool"
edition = "2021"
rust-version = "1.75"

[dependencies]
tokio = { version = "1", features = ["full"] }
clap = "4"

[[bin]]
name = "helper"
path = "src/helper.rs"
""",
    "Cargo.lock": "version = 3\n",
    "src/main.rs": "fn main() {\n    run_all();\n}\n\nfn run_all() {\n    let a = 1;\n}\n",
    "tests/whole.rs": "#[test]\nfn it_works() {}\n",
    "rustfmt.toml": "max_width = 110\n",
    "rust-toolchain.toml": '[toolchain]\nchannel = "1.78.0"\n',
}
GO = {
    "go.mod": "module example.org/svc\n\ngo 1.22\n\nrequire (\n\tgithub.com/gin-gonic/gin v1.9.1\n)\n",
    "go.sum": "",
    "cmd/svc/main.go": "package main\n\nfunc main() {\n\tserveAll()\n}\n\nfunc serveAll() {\n\treturn\n}\n",
    "cmd/svc/main_test.go": "package main\n",
    "Makefile": "build:\n\tgo build ./...\n\ntest: build\n\tgo test ./...\n\n.PHONY: build test\nVERSION := 1\n",
}
MAVEN = {
    "pom.xml": "<project>\n <packaging>pom</packaging>\n <modules>\n  <module>core</module>\n  <module>web</module>\n"
    " </modules>\n <properties><maven.compiler.release>21</maven.compiler.release></properties>\n"
    " <dependency><artifactId>spring-boot-starter</artifactId></dependency>\n</project>\n",
    "core/src/main/java/A.java": "public class A {\n    public int getOne() {\n        return 1;\n    }\n}\n",
    "core/src/test/java/ATest.java": "class ATest {}\n",
}
GRADLE = {
    "settings.gradle.kts": 'rootProject.name = "x"\ninclude(":app", ":lib")\n',
    "app/build.gradle.kts": 'plugins {\n  id("application")\n}\nkotlin { jvmToolchain(17) }\n'
    'dependencies { implementation("io.ktor:ktor-server-core:2") }\n',
    "app/src/main/kotlin/Main.kt": "fun main() {\n    printAll()\n}\n",
}
CMAKE = {
    "CMakeLists.txt": "project(x)\nset(CMAKE_CXX_STANDARD 20)\nadd_executable(player main.cpp)\n"
    "add_library(codec codec.cpp)\nenable_testing()\nfind_package(GTest REQUIRED)\n",
    "main.cpp": "int main() {\n  return 0;\n}\n",
    "codec.cpp": "int decode() {\n  return 1;\n}\n",
    ".clang-format": "BasedOnStyle: Google\nColumnLimit: 100\n",
}
MESON = {
    "meson.build": "project('x', 'c', default_options: ['c_std=c11'])\nexecutable('prog', 'prog.c')\n",
    "prog.c": "int main(void) {\n\treturn 0;\n}\n",
}
DOTNET = {
    "App.sln": "Microsoft Visual Studio Solution File\n",
    "src/Web/Web.csproj": '<Project Sdk="Microsoft.NET.Sdk.Web">\n <PropertyGroup>\n'
    "  <TargetFramework>net8.0</TargetFramework>\n </PropertyGroup>\n</Project>\n",
    "src/Lib/Lib.csproj": '<Project Sdk="Microsoft.NET.Sdk">\n <TargetFramework>net8.0</TargetFramework>\n'
    ' <PackageReference Include="xunit" Version="2" />\n</Project>\n',
    "src/Lib/Thing.cs": "public class Thing {\n    public int GetOne() {\n        return 1;\n    }\n}\n",
}
RUBY = {
    "Gemfile": "source 'https://rubygems.org'\nruby '3.3.0'\ngem 'rails', '~> 7'\ngem 'rspec'\n",
    "Gemfile.lock": "GEM\n",
    "config.ru": "run Rails.application\n",
    ".rubocop.yml": "Layout/LineLength:\n  Max: 110\nStyle/StringLiterals:\n  EnforcedStyle: single_quotes\n",
    "lib/a.rb": "def say_hello\n  puts 'hello'\nend\n",
    "spec/a_spec.rb": "describe 'a' do\nend\n",
}
PHP = {
    "composer.json": '{"name": "a/b", "type": "library", "require": {"php": ">=8.2"},'
    ' "require-dev": {"phpunit/phpunit": "^11"}, "scripts": {"test": "phpunit"}}\n',
    "composer.lock": "{}\n",
    "src/Thing.php": "<?php\nclass Thing {\n    public function getOne() {\n        return 'one';\n    }\n}\n",
    "tests/ThingTest.php": "<?php\n",
}
SWIFT = {
    "Package.swift": "// swift-tools-version:5.9\nimport PackageDescription\nlet package = Package(\n"
    '  dependencies: [.package(url: "https://example.org/vapor.git", from: "4.0.0")],\n'
    '  targets: [\n    .executableTarget(name: "App"),\n  ]\n)\n',
    "Sources/App/main.swift": "func sayHello() {\n    print(1)\n}\n",
}
INFRASTRUCTURE = {
    "Dockerfile": 'FROM python:3.12-slim AS build\nFROM --platform=linux/amd64 node:20\nENTRYPOINT ["node", "x.js"]\n',
    "compose.yaml": "services: {}\n",
    "main.tf": 'terraform {\n  required_version = ">= 1.5"\n}\nprovider "aws" {}\n',
    "deploy.sh": "#!/bin/sh\nsay_hello() {\n  echo hello\n}\n",
    ".github/workflows/ci.yml": "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
    "      - uses: actions/checkout@v4\n      - run: make test\n      - run: |\n          # a comment\n"
    "          ruff check .\n          mypy src\n",
    ".gitlab-ci.yml": ".base: &base\n  before_script: [pip install tox]\ntest:\n  <<: *base\n  script:\n    - tox -e py\n"
    "    - !reference [.other, script]\n",
}
ECOSYSTEMS = {
    "Python": PYTHON,
    "Node": NODE,
    "Rust": RUST,
    "Go": GO,
    "Maven": MAVEN,
    "Gradle": GRADLE,
    "CMake": CMAKE,
    "Meson": MESON,
    ".NET": DOTNET,
    "Ruby": RUBY,
    "PHP": PHP,
    "Swift": SWIFT,
    "infrastructure": INFRASTRUCTURE,
}


def answer(tool: Tool, files: Any, path: str | None = None) -> Any:
    """What the tool says of a project that lies in a dictionary, or wherever a function gives its files."""
    context = fake_context(files)
    return asyncio.run(tool.backend.run({} if path is None else {"path": path}, context))


def through_gate(tool: Tool, place: Path, args: dict[str, Any] | None = None) -> toolcrib.Result:
    """The same by the front door, with nobody to ask."""
    home, beside = place.parent / f"{place.name}-home", [] if tool in TOOLS else [tool]
    return toolcrib.call_sync(tool.name, args or {}, workspace=place, home=home, tools=beside)


def values(found: Any) -> dict[str, Any]:
    """Names and what is said of each."""
    return {each["name"]: each.get("value") for each in found or ()}


def unfounded(found: Any, files: Mapping[str, str]) -> list[Any]:
    """Evidence that is not in the files: a wrong line, or words that do not stand in it."""
    wrong = []
    for each in _evidence(found):
        text = files.get(each["file"], "")
        lines = text.splitlines()
        if each["file"] not in files or "line" in each and each["text"] not in lines[each["line"] - 1]:
            wrong.append(each)
    return wrong


def _evidence(found: Any) -> list[Any]:
    if isinstance(found, dict):
        own = [found["evidence"]] if "file" in found.get("evidence", {}) else []
        return own + [each for key, value in found.items() if key != "evidence" for each in _evidence(value)]
    return [each for value in found for each in _evidence(value)] if isinstance(found, list) else []
