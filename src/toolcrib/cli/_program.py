"""A program file as the system sees it before it starts: what would keep it from starting, and what is unwise."""

import os
import shlex
import shutil
import stat
from dataclasses import dataclass

from ._text import readable

NO_EXECUTE_BIT = "it has no execute bit, so it is not seen as a tool"
_BINARY = (b"\x7fELF", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_FIRST_BYTES = 4096
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, and what puts it right."""

    code: str
    message: str
    fix: str
    pointer: str = ""
    """Into what the program says of itself, as a JSON pointer."""
    warning: bool = False
    """It works all the same."""

    def to_dict(self) -> dict[str, str]:
        about = {"severity": "warning" if self.warning else "fault", "code": self.code}
        about |= {"message": readable(self.message), "fix": readable(self.fix)}
        return about | ({"pointer": self.pointer} if self.pointer else {})


def file_findings(path: str, search_path: str) -> list[Finding]:
    """What is wrong with the file itself. It is read, not run. `search_path` is the PATH that a tool gets."""
    try:
        seen = os.stat(path)
    except OSError as exc:
        return [Finding("FILE_NOT_FOUND", f"it cannot be looked at: {exc.strerror}", "give the path of a program")]
    if not stat.S_ISREG(seen.st_mode):
        return [Finding("PATH_NOT_REGULAR", "it is not a file", "give the path of a program")]
    if readable(path) != path:
        message = "its name or a directory above it is not UTF-8, so it is not seen as a tool"
        return [Finding("TOOL_NAME_INVALID", message, "rename it")]
    found = []
    if not seen.st_mode & 0o111:
        found.append(_unstartable(NO_EXECUTE_BIT, _typed("chmod +x", path)))
    try:
        with open(path, "rb") as file:
            first = file.read(_FIRST_BYTES)
    except OSError as exc:
        return [*found, Finding("READ_ERROR", f"it cannot be read: {exc.strerror}", _typed("chmod u+r", path))]
    found += _start_findings(path, first, search_path)
    return found + _place_findings(path, seen)


def _start_findings(path: str, first: bytes, search_path: str) -> list[Finding]:
    line = first.split(b"\n", 1)[0]
    give = "begin the file with a line such as #!/usr/bin/env python3"
    if first.startswith(_BINARY):
        return []
    if first.startswith(_BOM + b"#!"):
        return [_unstartable("a byte order mark stands before its #! line, so the system does not see the line",
                             _typed("sed -i '1s/^\\xEF\\xBB\\xBF//'", path))]  # fmt: skip
    if not first.startswith(b"#!"):
        return [] if b"\0" in first else [_unstartable("it has no #! line, so the system cannot start it", give)]
    found = []
    if line.endswith(b"\r"):
        message = "its #! line ends in CR LF, so the system looks for an interpreter with a CR in its name"
        found.append(_unstartable(message, _typed("sed -i 's/\\r$//'", path)))
    words = line[2:].decode("utf-8", "replace").split()
    if not words:
        return [*found, _unstartable("its #! line names no interpreter", give)]
    missing = _missing(words, search_path)
    if missing:
        found.append(_unstartable(missing, f"install it, or {give}"))
    return found


def _missing(words: list[str], search_path: str) -> str:
    """What the #! line names and is not there."""
    interpreter = words[0]
    if not os.path.isabs(interpreter):
        return f"its #! line names {interpreter}, which is not a full path"
    if not os.access(interpreter, os.X_OK) or os.path.isdir(interpreter):
        return f"its interpreter {interpreter} is not there"
    if os.path.basename(interpreter) != "env":
        return ""
    programs = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not programs:
        return "its #! line starts env and names no interpreter"
    return "" if shutil.which(programs[0], path=search_path) else f"its interpreter {programs[0]} is not in the PATH"


def _place_findings(path: str, seen: os.stat_result) -> list[Finding]:
    """What lets others change the program. It runs with the rights of whoever calls it."""
    found = []
    name = os.path.basename(path)
    if name.startswith(".") or name.endswith("~"):
        message = f"files named like {name} are not looked at"
        found.append(Finding("TOOL_NAME_INVALID", message, "rename it, without the dot or the ~", warning=True))
    directory = os.path.dirname(os.path.abspath(path))
    for what, place, mode in (
        ("it", path, seen.st_mode),
        (f"its directory {directory}", directory, os.stat(directory).st_mode),
    ):
        if mode & 0o022 and not mode & stat.S_ISVTX:
            who = "everybody" if mode & 0o002 else "its group"
            message = f"{what} can be changed by {who}, and runs with your rights"
            found.append(Finding("PATH_PROTECTED", message, _typed("chmod go-w", place), warning=True))
    return found


def _unstartable(message: str, fix: str) -> Finding:
    return Finding("EXECUTION_ERROR", message, fix)


def _typed(command: str, path: str) -> str:
    return f"{command} {shlex.quote(path)}"
