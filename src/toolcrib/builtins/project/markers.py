"""Files whose mere name says something: what builds a project, what fetches its packages, what runs it elsewhere."""

from collections.abc import Iterator
from posixpath import basename

from .survey import Claim, Survey

BUILD = "build_systems"
PACKAGES = "package_managers"
CI = "continuous_integration"
DEPLOYMENT = "deployment"

_BY_NAME: dict[str, tuple[tuple[str, str], ...]] = {
    "setup.py": ((BUILD, "setuptools"),),
    "Makefile": ((BUILD, "make"),),
    "GNUmakefile": ((BUILD, "make"),),
    "justfile": ((BUILD, "just"),),
    "Taskfile.yml": ((BUILD, "task"),),
    "CMakeLists.txt": ((BUILD, "CMake"),),
    "meson.build": ((BUILD, "Meson"),),
    "configure.ac": ((BUILD, "autotools"),),
    "MODULE.bazel": ((BUILD, "Bazel"),),
    "WORKSPACE.bazel": ((BUILD, "Bazel"),),
    "pom.xml": ((BUILD, "Maven"), (PACKAGES, "Maven")),
    "build.gradle": ((BUILD, "Gradle"), (PACKAGES, "Gradle")),
    "build.gradle.kts": ((BUILD, "Gradle"), (PACKAGES, "Gradle")),
    "build.sbt": ((BUILD, "sbt"),),
    "Cargo.toml": ((BUILD, "Cargo"),),
    "go.mod": ((BUILD, "Go modules"),),
    "Package.swift": ((BUILD, "Swift Package Manager"),),
    "Rakefile": ((BUILD, "Rake"),),
    "mix.exs": ((BUILD, "Mix"),),
    "build.zig": ((BUILD, "Zig"),),
    "turbo.json": ((BUILD, "Turborepo"),),
    "nx.json": ((BUILD, "Nx"),),
    "tsconfig.json": ((BUILD, "TypeScript compiler"),),
    "requirements.txt": ((PACKAGES, "pip"),),
    "poetry.lock": ((PACKAGES, "Poetry"),),
    "uv.lock": ((PACKAGES, "uv"),),
    "pdm.lock": ((PACKAGES, "PDM"),),
    "Pipfile": ((PACKAGES, "Pipenv"),),
    "environment.yml": ((PACKAGES, "conda"),),
    "package-lock.json": ((PACKAGES, "npm"),),
    "npm-shrinkwrap.json": ((PACKAGES, "npm"),),
    "yarn.lock": ((PACKAGES, "Yarn"),),
    "pnpm-lock.yaml": ((PACKAGES, "pnpm"),),
    "bun.lock": ((PACKAGES, "Bun"),),
    "bun.lockb": ((PACKAGES, "Bun"),),
    "deno.lock": ((PACKAGES, "Deno"),),
    "Cargo.lock": ((PACKAGES, "Cargo"),),
    "go.sum": ((PACKAGES, "Go modules"),),
    "Gemfile": ((PACKAGES, "Bundler"),),
    "Gemfile.lock": ((PACKAGES, "Bundler"),),
    "composer.json": ((PACKAGES, "Composer"),),
    "composer.lock": ((PACKAGES, "Composer"),),
    "packages.lock.json": ((PACKAGES, "NuGet"),),
    "Package.resolved": ((PACKAGES, "Swift Package Manager"),),
    "Podfile": ((PACKAGES, "CocoaPods"),),
    "conanfile.txt": ((PACKAGES, "Conan"),),
    "conanfile.py": ((PACKAGES, "Conan"),),
    "vcpkg.json": ((PACKAGES, "vcpkg"),),
    ".terraform.lock.hcl": ((PACKAGES, "Terraform"),),
    "flake.nix": ((PACKAGES, "Nix"),),
    ".gitlab-ci.yml": ((CI, "GitLab CI"),),
    "Jenkinsfile": ((CI, "Jenkins"),),
    ".travis.yml": ((CI, "Travis CI"),),
    "azure-pipelines.yml": ((CI, "Azure Pipelines"),),
    "Dockerfile": ((DEPLOYMENT, "Docker"),),
    "Containerfile": ((DEPLOYMENT, "Docker"),),
    "docker-compose.yml": ((DEPLOYMENT, "Docker Compose"),),
    "docker-compose.yaml": ((DEPLOYMENT, "Docker Compose"),),
    "compose.yml": ((DEPLOYMENT, "Docker Compose"),),
    "compose.yaml": ((DEPLOYMENT, "Docker Compose"),),
    "Procfile": ((DEPLOYMENT, "Procfile"),),
    "Chart.yaml": ((DEPLOYMENT, "Helm"),),
    "serverless.yml": ((DEPLOYMENT, "Serverless Framework"),),
}
_BY_ENDING = {
    ".csproj": (BUILD, "MSBuild"),
    ".fsproj": (BUILD, "MSBuild"),
    ".sln": (BUILD, "MSBuild"),
    ".slnx": (BUILD, "MSBuild"),
    ".gemspec": (BUILD, "RubyGems"),
    ".tf": (DEPLOYMENT, "Terraform"),
}
_BY_BEGINNING = {
    "vite.config.": (BUILD, "Vite"),
    "webpack.config.": (BUILD, "webpack"),
    "rollup.config.": (BUILD, "Rollup"),
    "Dockerfile.": (DEPLOYMENT, "Docker"),
}
_BY_PLACE = ((".github/workflows/", CI, "GitHub Actions"), (".circleci/config.yml", CI, "CircleCI"))


def claims(survey: Survey) -> Iterator[Claim]:
    """What the names say, the outermost files first."""
    for path in sorted(survey.files, key=lambda each: (each.count("/"), each)):
        for topic, said in _said_by(path):
            yield Claim(topic, said, survey.at(path))


def _said_by(path: str) -> Iterator[tuple[str, str]]:
    name = basename(path)
    yield from _BY_NAME.get(name, ())
    for ending, said in _BY_ENDING.items():
        if name.endswith(ending):
            yield said
    for beginning, said in _BY_BEGINNING.items():
        if name.startswith(beginning):
            yield said
    for place, topic, words in _BY_PLACE:
        if path.startswith(place) and path.endswith((".yml", ".yaml")):
            yield topic, words
