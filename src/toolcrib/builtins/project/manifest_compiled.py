"""What projects in Rust, Go, Java, Kotlin, C, C++, C# and Swift say of themselves; and containers and Terraform."""

import re
from collections.abc import Iterator
from posixpath import basename, dirname

from .manifest import (
    APPLICATION,
    COMMAND,
    ENTRY,
    FRAMEWORK,
    KIND,
    LIBRARY,
    MONOREPO,
    RUNTIME,
    WORKSPACE,
    beside,
    first_line,
    frameworks,
    matching,
)
from .survey import Claim, Survey
from .texts import below, table, toml_of, words

_RUST = {"actix-web": "Actix Web", "axum": "axum", "bevy": "Bevy", "clap": "clap", "diesel": "Diesel"}
_RUST |= {"leptos": "Leptos", "pyo3": "PyO3", "rocket": "Rocket", "serde": "Serde", "sqlx": "SQLx"}
_RUST |= {"tauri": "Tauri", "tokio": "Tokio", "tonic": "tonic", "wasm-bindgen": "wasm-bindgen"}
_GO = {"gin-gonic/gin": "Gin", "labstack/echo": "Echo", "gofiber/fiber": "Fiber", "go-chi/chi": "chi"}
_GO |= {"spf13/cobra": "Cobra", "stretchr/testify": "Testify", "google.golang.org/grpc": "gRPC", "gorm.io/gorm": "GORM"}
_JVM = {"spring-boot": "Spring Boot", "quarkus": "Quarkus", "micronaut": "Micronaut", "ktor": "Ktor"}
_JVM |= {
    "junit": "JUnit",
    "kotest": "Kotest",
    "hibernate": "Hibernate",
    "com.android.": "Android",
    "mockito": "Mockito",
}
_DOTNET = {"xunit": "xUnit.net", "NUnit": "NUnit", "MSTest": "MSTest", "Microsoft.EntityFrameworkCore": "EF Core"}
_SWIFT = {"vapor": "Vapor", "swift-nio": "SwiftNIO", "swift-argument-parser": "ArgumentParser"}
_C = {"GTest": "GoogleTest", "Catch2": "Catch2", "Qt5": "Qt", "Qt6": "Qt", "Boost": "Boost", "doctest": "doctest"}

_GO_REQUIRE = re.compile(r"^\s*(?:require\s++)?([\w.-]++/[\w./~-]++)\s++v")
_GO_VERSION = re.compile(r"^go\s++([\d.]++)")
_GO_USE = re.compile(r"^\s*(?:use\s++)?(\.[\w./-]*+)\s*$")
_XML = re.compile(r"<(maven\.compiler\.(?:release|source)|java\.version|module|packaging)>([^<]{1,80})<")
_GRADLE_JAVA = re.compile(r"(?:sourceCompatibility|JavaLanguageVersion\.of|jvmToolchain)\s*[=(]?\s*[\"']?([\w.]++)")
_GRADLE_MODULE = re.compile(r"[\"'](:?[\w.:/-]++)[\"']")
_GRADLE_KIND = re.compile(
    r"[\"'`(](java-library|application|com\.android\.application|org\.springframework\.boot)[\"'`)]"
)
_TARGET = re.compile(r"^\s*(add_executable|add_library|executable|library|shared_library)\s*\(\s*['\"]?([\w.+-]++)")
_STANDARD = re.compile(r"CMAKE_(C|CXX)_STANDARD\s++(\d++)|(c|cpp)_std=(?:gnu\+\+|c\+\+|gnu|c)(\w++)")
_FIND = re.compile(r"(?:find_package\s*\(\s*|dependency\s*\(\s*['\"])(\w++)", re.IGNORECASE)
_DOTNET_SAYS = re.compile(r"<(TargetFrameworks?|OutputType)>([^<]{1,80})<|Sdk=\"(Microsoft\.NET\.Sdk\.Web)\"")
_DOTNET_USES = re.compile(r"<PackageReference\s[^>]{0,200}?Include=\"([\w.]++)\"")
_SWIFT_SAYS = re.compile(r"swift-tools-version:\s*([\d.]++)|\.(executableTarget|library|executable)\s*\(")
_SWIFT_USES = re.compile(r"\.package\s*\([^)]{0,300}?/([\w.-]+?)(?:\.git)?\"")
_FROM = re.compile(r"^FROM\s++(?:--\S++\s++)?(\S++)", re.IGNORECASE)
_STARTS = re.compile(r"^(?:ENTRYPOINT|CMD)\s++(.++)", re.IGNORECASE)
_TERRAFORM = re.compile(r"required_version\s*=\s*\"([^\"\n]++)\"")
_PROVIDER = re.compile(r"^\s*provider\s++\"([\w-]++)\"")
_IMAGES = {"python": "Python", "node": "Node.js", "golang": "Go", "rust": "Rust", "ruby": "Ruby", "php": "PHP"}


def claims(survey: Survey) -> Iterator[Claim]:
    for reader in (_rust, _go, _maven, _gradle, _c, _dotnet, _swift, _containers):
        yield from reader(survey)


def _rust(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("Cargo.toml"):
        document = toml_of(survey, path)
        if isinstance(document.get("workspace"), dict):
            yield Claim(KIND, MONOREPO, survey.at(path, "[workspace"))
            members = words(below(document, "workspace", "members"))
            yield from (Claim(WORKSPACE, each, survey.at(path, "members", each)) for each in members)
        name = below(document, "package", "name")
        for file, kind in (("src/main.rs", COMMAND), ("src/lib.rs", LIBRARY)):
            if name and beside(path, file) in survey.files:
                yield Claim(KIND, kind, survey.at(beside(path, file)), str(name))
                if kind == COMMAND:
                    yield Claim(ENTRY, survey.shown(beside(path, file)), survey.at(beside(path, file), "fn main"))
        for each in document.get("bin", ()) if isinstance(document.get("bin"), list) else ():
            if isinstance(named := below(each, "name"), str):
                yield Claim(ENTRY, named, survey.at(path, "[[bin]]", named))
        for key, what in (("rust-version", "Rust"), ("edition", "Rust edition")):
            if isinstance(version := below(document, "package", key), str):
                yield Claim(RUNTIME, what, survey.at(path, "[package]", key), version)
        used = [*table(document.get("dependencies")), *table(below(document, "workspace", "dependencies"))]
        yield from frameworks(survey, path, used, _RUST, "dependencies]")
    for path in survey.named("rust-toolchain.toml", "rust-toolchain", most=1):
        said = toml_of(survey, path) if path.endswith(".toml") else {}
        version = below(said, "toolchain", "channel") or ("" if said else first_line(survey, path))
        if version:
            yield Claim(RUNTIME, "Rust", survey.at(path, str(version)), str(version))


def _go(survey: Survey) -> Iterator[Claim]:
    modules = survey.named("go.mod")
    for path in modules:
        for found, here in matching(survey, path, _GO_VERSION):
            yield Claim(RUNTIME, "Go", here, found[1])
        for found, here in matching(survey, path, _GO_REQUIRE):
            module = found[1].removeprefix("github.com/")
            if name := next((name for start, name in _GO.items() if module.startswith(start)), None):
                yield Claim(FRAMEWORK, name, here)
    for path in survey.named("go.work", most=1):
        yield Claim(KIND, MONOREPO, survey.at(path, "use"))
        for found, here in matching(survey, path, _GO_USE):
            yield Claim(WORKSPACE, found[1], here)
    if not modules:
        return
    programs = [path for path in survey.named("main.go") if "package main" in (survey.text(path) or "")]
    for path in programs:
        yield Claim(KIND, COMMAND, survey.at(path, "package main"))
        yield Claim(ENTRY, survey.shown(dirname(path) or "."), survey.at(path, "func main"))
    if not programs:
        yield Claim(KIND, LIBRARY, survey.at(modules[0], "module"))


def _maven(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("pom.xml"):
        for found, here in matching(survey, path, _XML):
            key, value = found[1], found[2].strip()
            if key == "module":
                yield Claim(KIND, MONOREPO, here)
                yield Claim(WORKSPACE, value, here)
            elif key == "packaging":
                if value in ("jar", "war"):
                    yield Claim(KIND, LIBRARY if value == "jar" else APPLICATION, here)
            elif not value.startswith("${"):
                yield Claim(RUNTIME, "Java", here, value)
        yield from _jvm(survey, path)


def _gradle(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("build.gradle", "build.gradle.kts"):
        for found, here in matching(survey, path, _GRADLE_KIND):
            yield Claim(KIND, LIBRARY if found[1] == "java-library" else APPLICATION, here)
        for found, here in matching(survey, path, _GRADLE_JAVA):
            yield Claim(RUNTIME, "Java", here, found[1].removeprefix("JavaVersion.VERSION_"))
        yield from _jvm(survey, path)
    for path in survey.named("settings.gradle", "settings.gradle.kts", most=3):
        for number, line in enumerate((survey.text(path) or "").splitlines()[:500], 1):
            if line.lstrip().startswith("include"):
                yield Claim(KIND, MONOREPO, survey.line(path, number, line))
                for name in _GRADLE_MODULE.findall(line[:2000]):
                    yield Claim(WORKSPACE, name, survey.line(path, number, line))


def _jvm(survey: Survey, path: str) -> Iterator[Claim]:
    text = survey.text(path) or ""
    yield from (Claim(FRAMEWORK, name, survey.at(path, mark)) for mark, name in _JVM.items() if mark in text)


def _c(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("CMakeLists.txt", "meson.build"):
        for found, here in matching(survey, path, _TARGET):
            program = found[1] in ("add_executable", "executable")
            if found[2] not in ("ALIAS", "IMPORTED"):
                yield Claim(KIND, APPLICATION if program else LIBRARY, here)
                if program:
                    yield Claim(ENTRY, found[2], here)
        for found, here in matching(survey, path, _STANDARD):
            language = "C" if (found[1] or found[3]) in ("C", "c") else "C++"
            yield Claim(RUNTIME, f"{language} standard", here, found[2] or found[4])
        for found, here in matching(survey, path, _FIND):
            if name := _C.get(found[1]) or next((_C[each] for each in _C if each.lower() == found[1].lower()), None):
                yield Claim(FRAMEWORK, name, here)


def _dotnet(survey: Survey) -> Iterator[Claim]:
    projects = survey.ending(".csproj", ".fsproj")
    for path in projects:
        said = list(matching(survey, path, _DOTNET_SAYS))
        program = [here for found, here in said if found[3] or (found[1] == "OutputType" and "exe" in found[2].lower())]
        for found, here in said:
            if found[3]:
                yield Claim(FRAMEWORK, "ASP.NET Core", here)
            elif found[1].startswith("Target"):
                yield Claim(RUNTIME, ".NET", here, found[2])
        yield Claim(KIND, APPLICATION if program else LIBRARY, program[0] if program else survey.at(path, "<Project"))
        for found, here in matching(survey, path, _DOTNET_USES):
            if name := next((name for start, name in _DOTNET.items() if found[1].startswith(start)), None):
                yield Claim(FRAMEWORK, name, here)
    if len(projects) > 1 and (solutions := survey.ending(".sln", ".slnx", most=1)):
        yield Claim(KIND, MONOREPO, survey.at(solutions[0]))
        yield from (Claim(WORKSPACE, survey.shown(dirname(path) or "."), survey.at(path)) for path in projects)


def _swift(survey: Survey) -> Iterator[Claim]:
    for path in survey.named("Package.swift", most=10):
        for found, here in matching(survey, path, _SWIFT_SAYS):
            if found[1]:
                yield Claim(RUNTIME, "Swift", here, found[1])
            else:
                yield Claim(KIND, LIBRARY if found[2] == "library" else COMMAND, here)
        for found, here in matching(survey, path, _SWIFT_USES):
            if name := _SWIFT.get(found[1]):
                yield Claim(FRAMEWORK, name, here)


def _containers(survey: Survey) -> Iterator[Claim]:
    files = [path for path in survey.files if basename(path).partition(".")[0] in ("Dockerfile", "Containerfile")]
    for path in sorted(files, key=lambda each: (each.count("/"), each))[:10]:
        for found, here in matching(survey, path, _FROM):
            image, _, tag = found[1].rpartition("/")[2].partition(":")
            if image in _IMAGES and tag[:1].isdigit():
                yield Claim(RUNTIME, _IMAGES[image], here, tag.split("-")[0])
        for found, here in matching(survey, path, _STARTS):
            yield Claim(ENTRY, found[1].strip()[:100], here)
    for path in survey.ending(".tf"):
        for found, here in matching(survey, path, _TERRAFORM):
            yield Claim(RUNTIME, "Terraform", here, found[1])
        for found, here in matching(survey, path, _PROVIDER):
            yield Claim(FRAMEWORK, f"Terraform provider {found[1]}", here)
