"""What a Python script says that it needs, in a block of comments at its top (PEP 723), and how it is fetched.

The packages go into the folder of the tool, so that they are a part of it, as every other file there is.
"""

import os
import re
import shutil
import tomllib
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from ..core.errors import ToolcribError
from .scaffold import INSTALL

VENDOR = "vendor"
"""The directory of a tool's folder into which its packages are put."""
_BEGIN = re.compile(r"#[ \t]*///[ \t]*script[ \t]*")
_MOST = 100
_LONGEST = 256
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:~=|==|!=|<=|>=|<|>) *[A-Za-z0-9][A-Za-z0-9.*+!_-]*"
_REQUIREMENT = re.compile(
    rf"{_NAME} *(?:\[ *{_NAME}(?: *, *{_NAME})* *\])?"
    rf" *(?:{_VERSION}(?: *, *{_VERSION})*|\( *{_VERSION}(?: *, *{_VERSION})* *\))?"
    r""" *(?:; *[A-Za-z0-9_"'(][A-Za-z0-9_ .,<>=!~()"'*+-]*)?"""
)
"""A package by its name: no address, no path, no option."""
_CONDITION = re.compile(r"(~=|==|!=|<=|>=|<|>) *([0-9]{1,4}(?:\.[0-9]{1,4}){0,2})(\.\*)?")
_ENV = re.compile(r"#! *\S*/env +(?:-S +|--split-string[= ])?(?:[A-Za-z_][A-Za-z0-9_]*=\S* +)*(\S+)")
_SHEBANG = re.compile(r"#! *(\S+)")
_CHECK = """\
import sys
here = sys.version_info[:3]
for op, text in (word.split(" ") for word in sys.argv[2:]):
    wanted = tuple(int(part) for part in text.split("."))
    whole, begins = wanted + (0,) * (3 - len(wanted)), here[:len(wanted)] == wanted
    if not {"==": here == whole, "!=": here != whole, "<=": here <= whole, ">=": here >= whole, "<": here < whole,
            ">": here > whole, "==*": begins, "!=*": not begins}[op]:
        sys.exit("%s is Python %d.%d.%d, and the tool requires %s" % ((sys.executable,) + here + (sys.argv[1],)))
"""
"""Run by the Python that runs the tool, whichever that is."""


class Block(NamedTuple):
    """What a script needs."""

    requires_python: str = ""
    dependencies: tuple[str, ...] = ()

    def conditions(self) -> Iterator[str]:
        """On the version of Python, each as an operator and a version.

        Raises:
            ToolcribError: it is not a list of conditions.
        """
        for each in self.requires_python.split(",") if self.requires_python else ():
            found = _CONDITION.fullmatch(each.strip())
            if found is None or (found[3] and found[1] not in ("==", "!=")) or (found[1], found[3]) == ("~=", ".*"):
                raise _wrong(f'requires-python is {self.requires_python!r}; write for example ">=3.11"')
            if found[1] == "~=":
                series = found[2].rpartition(".")[0]
                if not series:
                    raise _wrong(f'requires-python is {self.requires_python!r}; ~= needs two numbers, as in "~=3.11"')
                yield f">= {found[2]}"
                yield f"==* {series}"
            else:
                yield f"{found[1]}{'*' if found[3] else ''} {found[2]}"


def read_block(text: str) -> Block | None:
    """The block of a script; None when it has none.

    Raises:
        ToolcribError: there is one, and it does not say what it should.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    begins = [at for at, line in enumerate(lines) if _BEGIN.fullmatch(line)]
    if not begins:
        return None
    if len(begins) > 1:
        raise _wrong("there are two blocks `# /// script`; keep one of them")
    # It goes to the last end that nothing but comments stand before, as all who read such blocks agree.
    comments = list(takewhile(lambda line: line == "#" or line.startswith("# "), lines[begins[0] + 1 :]))
    if lines[begins[0]] != "# /// script" or "# ///" not in comments:
        message = "the block that begins with `# /// script` has no end, or a line without `# `; end it with `# ///`"
        raise _wrong(message)
    end = len(comments) - 1 - comments[::-1].index("# ///")
    try:
        said: dict[str, Any] = tomllib.loads("\n".join(line[2:] for line in comments[:end]))
    except tomllib.TOMLDecodeError as exc:
        raise _wrong(f"the block `# /// script` is not TOML: {exc}") from None
    if unknown := set(said) - {"dependencies", "requires-python", "tool"}:
        raise _wrong(
            f"the block `# /// script` has no key {min(unknown)!r}; there are dependencies and requires-python"
        )
    block = Block(_text(said.get("requires-python", "")), tuple(map(_requirement, _list(said.get("dependencies", [])))))
    list(block.conditions())
    return block


def steps_for(text: str, path: str, *, search_path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Commands and reasons: what is to be run, in the folder of a script, so that it has what it needs.

    Raises:
        ToolcribError: the block is wrong, or what would fetch the packages is not there.
    """
    program = _interpreter(text)
    if not os.path.basename(program).startswith("python"):  # another runner's business, such as `uv run --script`
        return
    try:
        block = read_block(text)
    except ToolcribError as exc:
        raise ToolcribError(f"{path}: {exc}", code=exc.code) from None
    conditions = tuple(block.conditions()) if block else ()
    if block is None or not (conditions or block.dependencies):
        return
    python = shutil.which(program, path=search_path)
    if python is None:
        message = f"{program} runs {path}, and is not installed; {INSTALL['python3']}"
        raise ToolcribError(message, code="ENGINE_NOT_AVAILABLE")
    if conditions:
        yield (python, "-I", "-c", _CHECK, block.requires_python, *conditions), "it says which Python it requires"
    if block.dependencies:
        yield (*_fetch(python, search_path), "--", *block.dependencies), f"its packages are put into {VENDOR}"


def _fetch(python: str, search_path: str) -> tuple[str, ...]:
    if uv := shutil.which("uv", path=search_path):
        # Copied: a link would tie the tool's files to those of uv's cache.
        return uv, "pip", "install", "--python", python, "--link-mode", "copy", "--target", VENDOR
    # Isolated: no file of the tool's folder is taken for a module of pip.
    words = (
        "-I -m pip install --no-user --no-input --no-compile --upgrade --disable-pip-version-check --progress-bar off"
    )
    return python, *words.split(), "--target", VENDOR


def _interpreter(text: str) -> str:
    first = text[:_LONGEST].partition("\n")[0]
    found = _ENV.match(first) or _SHEBANG.match(first)
    return found[1] if found else "python3"


def _requirement(value: object) -> str:
    text = _text(value)
    if len(text) > _LONGEST or not _REQUIREMENT.fullmatch(text):
        shown = ascii(text)[:80]
        raise _wrong(f'the dependency {shown} is not a package by its name; write for example "httpx>=0.28"')
    return text


def _list(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise _wrong(f"dependencies is not a list of at most {_MOST} packages")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(f"{ascii(value)[:80]} in the block `# /// script` is not text; write it in quotes")
    return value.strip()


def _wrong(message: str) -> ToolcribError:
    return ToolcribError(message, code="VALIDATION_ERROR")
