"""Making tools: a new folder with a manifest and a source, what builds it, and its end.

Nothing is started here. Whoever builds runs the steps, one after the other, in the tool's folder.
"""

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from ..backends.folder import MANIFEST, MOST_BYTES, MOST_FILES, PROGRAM, read_folder
from ..core.errors import ConfigError, ToolcribError
from ..core.tool import NAME
from ..store import yamltext
from ..store.lock import alone_in
from .manifest_file import MOST_BYTES as MANIFEST_BYTES
from .manifest_file import read_manifest
from .manifest_scaffold import LANGUAGES, Parameter, drafts
from .scaffold import INSTALL, Draft, check_free, check_name, write
from .script_block import VENDOR, steps_for

__all__ = ["LANGUAGES", "Parameter", "Plan", "Step", "build_steps", "create", "delete", "fix_entrypoint", "plan"]

_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ASIDE = (".new", ".old", ".yaml")
"""What a folder that is being made, removed or changed is called meanwhile, after its name and a dot."""
_SOURCES = {".go": LANGUAGES["go"], ".rs": LANGUAGES["rust"]}
_ENTRYPOINT = re.compile(r"""(entrypoint[ \t]*:[ \t]*)("[^"\\]*"|'[^']*'|[^\s"'#][^\s#]*)(?=[ \t]*(?:#.*)?\r?\n?\Z)""")


class Plan(NamedTuple):
    """What would be written. Nothing is on disk yet."""

    folder: str
    files: tuple[Draft, ...]
    language: str
    build: tuple[str, ...] = ()
    """The command that builds it, in its folder; none when it can be called as it is."""


class Step(NamedTuple):
    """One command of a build, to be run in the tool's folder."""

    argv: tuple[str, ...]
    """The program by its path, and its words. No shell sees them."""
    why: str


def plan(
    directory: str,
    name: str,
    *,
    description: str,
    language: str = "python",
    parameters: Sequence[Parameter] = (),
    prefix: str,
) -> Plan:
    """A new tool for a tools directory, which need not be there yet. Nothing is touched.

    Raises:
        ToolcribError: `TOOL_NAME_INVALID`, `TOOL_NAME_CONFLICT`, or `VALIDATION_ERROR` for what no manifest can say.
    """
    check_name(name, prefix)
    scaffold = LANGUAGES.get(language)
    if scaffold is None:
        message = f"there is no language {language!r}; there are {', '.join(LANGUAGES)}"
        raise ToolcribError(message, code="VALIDATION_ERROR")
    files = drafts(name, description=description, scaffold=scaffold, parameters=parameters)
    _check_manifest(name, files)
    check_free(directory, name)
    return Plan(os.path.join(directory, name), files, language, scaffold.build_command(name))


def create(plan: Plan, *, mode: int = 0o700) -> list[str]:
    """Write a new folder, whole or not at all, and return the paths of its files.

    It is made beside under a name that no listing looks at, and gets its own by one rename. What a killed process left
    there is removed by the next one.

    Raises:
        ToolcribError: nothing was written.
    """
    directory, name = os.path.split(plan.folder)
    try:
        os.makedirs(directory, mode=mode, exist_ok=True)
        with _alone(directory):
            check_free(directory, name)
            _clear(directory, name)
            made = _aside(directory, name, ".new")
            try:
                os.mkdir(made, mode)
                for draft in plan.files:
                    write(draft, made, mode=mode)
                os.rename(made, plan.folder)
            except BaseException:
                _clear(directory, name)
                raise
    except OSError as exc:
        raise ToolcribError(f"{plan.folder}: {exc.strerror or exc}; nothing was written") from None
    return [os.path.join(plan.folder, draft.file) for draft in plan.files]


def build_steps(folder: str, *, search_path: str) -> list[Step]:
    """What to run, in this folder and in this order, to build the tool. None when there is nothing to build.

    Raises:
        ToolcribError: `ENGINE_NOT_AVAILABLE`, with what to install; or the manifest cannot be understood.
    """
    value = _manifest(folder).value
    name = os.path.basename(folder)
    said = value.get("build") if isinstance(value, dict) else None
    if said is not None:
        return [_step(folder, _command(folder, said), f"{MANIFEST} says so", search_path)]
    entrypoint = value.get("entrypoint") if isinstance(value, dict) else None
    if entrypoint == name and os.path.isfile(f"{folder}/Cargo.toml"):
        return [
            _step(folder, words, "there is a Cargo.toml", search_path)
            for words in (
                ("cargo", "build", "--release", "--bin", name),
                ("cp", f"target/release/{name}", name),
                ("cargo", "clean"),  # it is no part of the tool, and larger than a tool may be
            )
        ]
    for suffix, scaffold in _SOURCES.items():
        if entrypoint in (name, name + suffix) and os.path.isfile(f"{folder}/{name}{suffix}"):
            return [_step(folder, scaffold.build_command(name), f"there is a {name}{suffix}", search_path)]
    if isinstance(entrypoint, str) and (text := _script(folder, entrypoint)):
        return [Step(*each) for each in steps_for(text, f"{folder}/{entrypoint}", search_path=search_path)]
    return []


def fix_entrypoint(folder: str) -> str | None:
    """What is left to do after a good build: the manifest names what was built, and no longer its source.

    One line of the manifest changes, and nothing else. Returns what it says now; None when nothing had to be changed.

    Raises:
        ToolcribError: that line must be changed by hand; or what was built is too much to be a tool.
    """
    document, name = _manifest(folder), os.path.basename(folder)
    _check_size(folder)
    entrypoint = document.value.get("entrypoint") if isinstance(document.value, dict) else None
    if entrypoint not in [name + suffix for suffix in _SOURCES] or not _is_program(f"{folder}/{name}"):
        return None
    line = document.line("entrypoint") or 1
    before = _read(f"{folder}/{MANIFEST}", MANIFEST_BYTES).decode().splitlines(keepends=True)
    after = [*before]
    after[line - 1] = _ENTRYPOINT.sub(lambda found: f'{found[1]}"{name}"', before[line - 1])
    text = "".join(after)
    try:
        changed = yamltext.parse(text.encode(), folder).value
    except ConfigError:
        changed = None
    if changed != {**document.value, "entrypoint": name}:
        message = f"{folder}/{MANIFEST}:{line}: the tool is built; now write `entrypoint: {name}` here"
        raise ToolcribError(message, code="CONFIG_INVALID")
    _replace(folder, text)
    return f'entrypoint: "{name}"'


def delete(directory: str, name: str) -> None:
    """Take a tool's folder away. It is renamed first, so that it is there whole or not at all; no link is followed.

    Raises:
        ToolcribError: there is no such folder, or it is no tool; nothing was touched.
    """
    folder = os.path.join(directory, name)
    if not NAME.fullmatch(name):
        raise ToolcribError(f"{name!r} is not a tool name; use A-Z a-z 0-9 _ -", code="TOOL_NAME_INVALID")
    if os.path.islink(folder):
        raise ToolcribError(f"{folder} is a link; remove it by hand", code="PATH_NOT_REGULAR")
    if not os.path.isdir(folder) or not os.path.lexists(f"{folder}/{MANIFEST}"):
        what = "is a program" if os.path.isfile(folder) else "is no folder"
        what = f"has no {MANIFEST}" if os.path.isdir(folder) else what
        message = f"{folder} {what}; only a folder with a {MANIFEST} is removed"
        raise ToolcribError(message, code="TOOL_NOT_FOUND")
    aside = _aside(directory, name, ".old")
    try:
        with _alone(directory):
            _clear(directory, name)
            os.rename(folder, aside)
            if os.path.islink(aside):  # it came to this place a moment ago
                os.rename(aside, folder)
                raise ToolcribError(f"{folder} is a link; remove it by hand", code="PATH_NOT_REGULAR")
            _remove(aside)
    except OSError as exc:
        left = f"what is left of it is {aside}" if os.path.lexists(aside) else "nothing was removed"
        raise ToolcribError(f"{folder}: {exc.strerror or exc}; {left}") from None


def _check_manifest(name: str, files: Sequence[Draft]) -> None:
    """The manifest is read as it will be, so that no tool is written which would not be offered."""
    listing = [(draft.file, PROGRAM, "") for draft in files]
    (text,) = (draft.text for draft in files if draft.file == MANIFEST)
    _, faults = read_manifest(text.encode(), MANIFEST, folder=name, files=listing)
    if faults:
        message = "; ".join(f"{fault.message}; {fault.fix}" for fault in faults[:8])
        raise ToolcribError(message, code="VALIDATION_ERROR")


def _command(folder: str, said: Any) -> tuple[str, ...]:
    """The words of `build:`: a text is split as a shell splits words, and no shell sees it."""
    try:
        words = shlex.split(said) if isinstance(said, str) else said
    except ValueError as exc:
        raise ToolcribError(f"{folder}/{MANIFEST}: `build`: {exc}", code="CONFIG_INVALID") from None
    good = isinstance(words, list) and words and all(isinstance(word, str) and "\0" not in word for word in words)
    if not good or not words[0]:
        message = f"{folder}/{MANIFEST}: `build` is not a command; write it as text, or as a list of words"
        raise ToolcribError(message, code="CONFIG_INVALID")
    return tuple(words)


def _step(folder: str, words: Sequence[str], why: str, search_path: str) -> Step:
    program = words[0]
    # A path is meant from the folder, where the step runs, and not from where we happen to be.
    found = shutil.which(os.path.join(folder, program) if "/" in program else program, path=search_path)
    if found is None:
        fix = INSTALL.get(program, f"install it, or change `build` in {folder}/{MANIFEST}")
        message = f"{program} builds this tool, and is not installed; {fix}"
        raise ToolcribError(message, code="ENGINE_NOT_AVAILABLE")
    return Step((os.path.abspath(found), *words[1:]), why)


def _manifest(folder: str) -> yamltext.Document:
    path = f"{folder}/{MANIFEST}"
    return yamltext.parse(_read(path, MANIFEST_BYTES), path)


def _script(folder: str, entrypoint: str) -> str:
    """The text of a script of the folder; empty for a program that is none."""
    if entrypoint.startswith("/") or ".." in entrypoint.split("/"):
        return ""
    try:
        raw = _read(f"{folder}/{entrypoint}", MOST_BYTES)
    except ToolcribError:
        return ""
    return raw.decode("utf-8", "replace") if raw.startswith(b"#!") or entrypoint.endswith(".py") else ""


def _read(path: str, most: int) -> bytes:
    """A file that is not too long, and no link."""
    try:
        with open(os.open(path, _OPENING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ToolcribError(f"{path} is no file", code="PATH_NOT_REGULAR")
            raw = file.read(most + 1)
    except FileNotFoundError:
        raise ToolcribError(f"{path} is not there", code="FILE_NOT_FOUND") from None
    except OSError as exc:
        code = "PATH_NOT_REGULAR" if os.path.islink(path) else "READ_ERROR"
        raise ToolcribError(f"{path}: {exc.strerror}", code=code) from None
    if len(raw) > most:
        raise ToolcribError(f"{path} is longer than {most} bytes", code="INPUT_TOO_LARGE")
    return raw


def _check_size(folder: str) -> None:
    try:
        read_folder(folder)
    except ToolcribError as exc:
        if exc.code != "INPUT_TOO_LARGE":  # another fault, which a listing names
            return
        vendor = f"{folder}/{VENDOR}"
        held = sum(len(files) for _, _, files in os.walk(vendor)) if os.path.isdir(vendor) else 0
        fix = (
            f"{held} of its files are in {VENDOR}; name fewer dependencies" if held else "remove what it does not need"
        )
        message = f"{exc}; a tool has at most {MOST_FILES} files and {MOST_BYTES} bytes; {fix}"
        raise ToolcribError(message, code=exc.code) from None


def _replace(folder: str, text: str) -> None:
    """Another manifest in the place of the old one, with the same rights."""
    path, directory = f"{folder}/{MANIFEST}", os.path.dirname(folder)
    aside = _aside(directory, os.path.basename(folder), ".yaml")
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    try:
        with _alone(directory):
            _remove(aside)
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
            with open(fd, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                os.fchmod(fd, mode)
            os.rename(aside, path)
    except OSError as exc:
        _remove(aside)
        raise ToolcribError(f"{path}: {exc.strerror or exc}; it stays as it was") from None


@contextmanager
def _alone(directory: str) -> Iterator[None]:
    """One at a time in this directory."""
    with ExitStack() as held:
        try:
            held.enter_context(alone_in(directory))
        except BlockingIOError as exc:
            raise ToolcribError(f"{directory}: {exc.strerror}; try again", code="RESOURCE_EXHAUSTED") from None
        yield


def _aside(directory: str, name: str, end: str) -> str:
    return os.path.join(directory, f".{name}{end}")


def _clear(directory: str, name: str) -> None:
    for end in _ASIDE:
        _remove(_aside(directory, name, end))


def _remove(path: str) -> None:
    """Remove what has this name, if anything has. A link is removed, and what it leads to stays."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _is_program(path: str) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(seen.st_mode) and bool(seen.st_mode & 0o111)
