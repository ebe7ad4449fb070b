"""What projects in JavaScript, TypeScript, PHP and Ruby say of themselves."""

import re
from collections.abc import Iterator

from .manifest import (
    APPLICATION,
    COMMAND,
    ENTRY,
    FRAMEWORK,
    KIND,
    LIBRARY,
    MONOREPO,
    PACKAGES,
    RUNTIME,
    WORKSPACE,
    first_line,
    frameworks,
    matching,
)
from .survey import Claim, Survey
from .texts import below, json_of, table, words, yaml_of

_NODE = {
    "@angular/core": "Angular",
    "@nestjs/core": "NestJS",
    "@playwright/test": "Playwright",
    "@remix-run/react": "Remix",
    "@sveltejs/kit": "SvelteKit",
    "astro": "Astro",
    "cypress": "Cypress",
    "electron": "Electron",
    "expo": "Expo",
    "express": "Express",
    "fastify": "Fastify",
    "gatsby": "Gatsby",
    "hono": "Hono",
    "jest": "Jest",
    "koa": "Koa",
    "mocha": "Mocha",
    "next": "Next.js",
    "nuxt": "Nuxt",
    "preact": "Preact",
    "react": "React",
    "react-native": "React Native",
    "solid-js": "Solid",
    "svelte": "Svelte",
    "tailwindcss": "Tailwind CSS",
    "three": "three.js",
    "vite": "Vite",
    "vitest": "Vitest",
    "vue": "Vue",
}
_PHP = {
    "cakephp/cakephp": "CakePHP",
    "laravel/framework": "Laravel",
    "pestphp/pest": "Pest",
    "phpunit/phpunit": "PHPUnit",
    "slim/slim": "Slim",
    "symfony/framework-bundle": "Symfony",
}
_RUBY = {"hanami": "Hanami", "minitest": "Minitest", "rails": "Rails", "rspec": "RSpec", "sinatra": "Sinatra"}
_RUBY |= {"rspec-rails": "RSpec", "sidekiq": "Sidekiq"}
_GEM = re.compile(r"""^\s*gem\s*\(?\s*["']([\w-]++)["']""")
_RUBY_VERSION = re.compile(r"""^\s*ruby\s++["']([^"'\n]++)["']""")
_GEM_NAME = re.compile(r"""\.name\s*=\s*["']([\w-]++)["']""")
_GEM_PROGRAM = re.compile(r"\.executables\s*(?:=|<<)\s*(.++)")
_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")


def claims(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("package.json"):
        yield from _package_json(survey, path)
    for path in survey.named("pnpm-workspace.yaml", most=1):
        yield Claim(KIND, MONOREPO, survey.at(path, "packages"))
        members = words(below(yaml_of(survey, path), "packages"))
        yield from (Claim(WORKSPACE, each, survey.at(path, each)) for each in members)
    for path in survey.named("lerna.json", most=1):
        yield Claim(KIND, MONOREPO, survey.at(path))
    for path in survey.named("deno.json", "deno.jsonc", most=3):
        yield Claim(RUNTIME, "Deno", survey.at(path))
    for path in survey.named(".nvmrc", ".node-version", most=1):
        if version := first_line(survey, path):
            yield Claim(RUNTIME, "Node.js", survey.at(path, version), version)
    for path in survey.named("composer.json", most=10):
        yield from _composer(survey, path)
    yield from _ruby(survey)


def _package_json(survey: Survey, path: str) -> Iterator[Claim]:
    package = json_of(survey, path)
    workspaces = package.get("workspaces")
    members = words(below(workspaces, "packages") if isinstance(workspaces, dict) else workspaces)
    if members:
        yield Claim(KIND, MONOREPO, survey.at(path, '"workspaces"'))
        yield from (Claim(WORKSPACE, each, survey.at(path, '"workspaces"', each)) for each in members)
    programs = package.get("bin")
    named = {str(package.get("name", "")): programs} if isinstance(programs, str) else table(programs)
    if named:
        yield Claim(KIND, COMMAND, survey.at(path, '"bin"'))
        for name, target in named.items():
            yield Claim(ENTRY, name, survey.at(path, '"bin"', name), str(target)[:100])
    main = next((key for key in ("exports", "module", "main") if package.get(key)), "")
    if main and not package.get("private"):
        yield Claim(KIND, LIBRARY, survey.at(path, f'"{main}"'), package.get("name"))
    elif starts := next((key for key in ("start", "dev", "serve") if key in table(package.get("scripts"))), ""):
        yield Claim(KIND, APPLICATION, survey.at(path, '"scripts"', f'"{starts}"'), package.get("name"))
    if isinstance(package.get("main"), str):
        yield Claim(ENTRY, str(package["main"])[:100], survey.at(path, '"main"'))
    if node := below(package, "engines", "node"):
        yield Claim(RUNTIME, "Node.js", survey.at(path, '"engines"', '"node"'), str(node))
    if isinstance(manager := package.get("packageManager"), str):
        yield Claim(PACKAGES, manager.split("@")[0], survey.at(path, '"packageManager"'), manager[:60])
    for key in _DEPENDENCIES:
        quoted = {f'"{name}"': name for name in table(package.get(key))}
        known = {mark: _NODE[name] for mark, name in quoted.items() if name in _NODE}
        yield from frameworks(survey, path, quoted, known, f'"{key}"')


def _composer(survey: Survey, path: str) -> Iterator[Claim]:
    package = json_of(survey, path)
    kind = package.get("type")
    if kind in ("library", "project"):
        said = LIBRARY if kind == "library" else APPLICATION
        yield Claim(KIND, said, survey.at(path, '"type"'), package.get("name"))
    if version := below(package, "require", "php"):
        yield Claim(RUNTIME, "PHP", survey.at(path, '"require"', '"php"'), str(version))
    for each in words(package.get("bin")):
        yield Claim(ENTRY, each, survey.at(path, '"bin"', each))
    for key in ("require", "require-dev"):
        yield from frameworks(survey, path, table(package.get(key)), _PHP, f'"{key}"')


def _ruby(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("Gemfile", "gems.rb", most=10):
        for found, here in matching(survey, path, _GEM):
            if name := _RUBY.get(found[1]):
                yield Claim(FRAMEWORK, name, here)
        for found, here in matching(survey, path, _RUBY_VERSION):
            yield Claim(RUNTIME, "Ruby", here, found[1])
    for path in survey.ending(".gemspec", most=10):
        for found, here in matching(survey, path, _GEM_NAME):
            yield Claim(KIND, LIBRARY, here, found[1])
        for _, here in matching(survey, path, _GEM_PROGRAM):
            yield Claim(KIND, COMMAND, here)
    for path in survey.named("config.ru", most=3):
        yield Claim(KIND, APPLICATION, survey.at(path, "run"))
        yield Claim(ENTRY, "config.ru", survey.at(path))
    for path in survey.named(".ruby-version", most=1):
        if version := first_line(survey, path):
            yield Claim(RUNTIME, "Ruby", survey.at(path, version), version)
