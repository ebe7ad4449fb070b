"""Whether a git directory is as git itself makes one: nothing in it names a program, or leads elsewhere.

Only what is known to be harmless passes: a name, a setting or a form of value that is not listed here does not.
"""

import os
import re
import stat
from collections.abc import Iterator

from ._beneath import FOLDER, holding, reading_in

_FILES = frozenset(
    ("HEAD", "config", "description", "index", "packed-refs", "shallow", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG")
)
_DIRECTORIES = frozenset(("branches", "hooks", "info", "logs", "objects", "refs"))
_STRATEGIES = frozenset(("ort", "recursive", "resolve", "octopus", "ours", "subtree"))
_STEP = re.compile(
    r"(?:#.*)?|(?:p|pick|r|reword|e|edit|s|squash|f|fixup|d|drop|l|label|t|reset|m|merge|u|update-ref|revert|b|break|noop)"
    r"(?:\s.*)?"
)
"""What git may have to do in a rebase, but `exec`: that runs whatever stands behind it."""
_MOST_NAMES = 64
_MOST_WRITTEN = 2000
"""Of logs and of references, in one directory, and so many directories: one for each branch."""
_MOST_BYTES = 64 * 1024

_SECTION = re.compile(r'\[(core|user)\]|\[(remote|branch) "[A-Za-z0-9][A-Za-z0-9._/+-]*"\]')
_SETTING = re.compile(r'[ \t]*([A-Za-z]+) = ([^\x00-\x1f\x7f"\\;#]*)')
_HOST = r"(?:[A-Za-z0-9][\w.~%+-]*@)?[A-Za-z0-9][\w.-]*"
_PATH = r"[\w.~@%/+,=-]+"
_ADDRESS = rf"(?:https?|ssh|git)://{_HOST}(?::\d+)?/{_PATH}|file:///{_PATH}|{_HOST}:(?!//){_PATH}|/{_PATH}"
"""None begins with a dash, which a program would take for an option, and none has the `::` of a helper."""
_SETTINGS = {
    ("core", "repositoryformatversion"): re.compile("0"),
    ("core", "bare"): re.compile("false"),
    **{
        ("core", key): re.compile("true|false")
        for key in ("filemode", "logallrefupdates", "ignorecase", "symlinks", "precomposeunicode")
    },
    ("user", "name"): re.compile(".*"),
    ("user", "email"): re.compile(".*"),
    ("remote", "url"): re.compile(_ADDRESS, re.ASCII),
    ("remote", "fetch"): re.compile(r"\+?refs/heads/\S+:refs/remotes/\S+"),
    ("branch", "remote"): re.compile(r"\.|[A-Za-z0-9][\w./+-]*", re.ASCII),
    ("branch", "merge"): re.compile(r"refs/heads/\S+"),
    ("branch", "rebase"): re.compile("true|false"),
}


def is_plain(workspace: str, path: str) -> bool:
    """Of the directory that is at this path, which no link leads to. Nobody may be changing it."""
    try:
        with holding(workspace, path) as (above, name):
            top = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=above)
            try:
                return _names_are_plain(top) and _is_plain_config(_content(top, "config"))
            finally:
                os.close(top)
    except (OSError, UnicodeDecodeError):
        return False


def are_plain_steps(workspace: str, path: str) -> bool:
    """Whether what git is in the middle of, at this path, runs nothing and leads nowhere else when git goes on."""
    try:
        with holding(workspace, path) as (above, name):
            kinds = _kinds(above, name, _MOST_NAMES)
            if any(kind != stat.S_IFREG for kind in kinds.values()):
                return False
            todo = [each for each in kinds if each.startswith("git-rebase-todo") or each in ("todo", "done")]
            steps = [line for each in todo for line in _content(above, f"{name}/{each}").split("\n")]
            strategy = _content(above, f"{name}/strategy").strip() if "strategy" in kinds else "ort"
    except (OSError, UnicodeDecodeError):
        return False
    return strategy in _STRATEGIES and all(_STEP.fullmatch(step) for step in steps)


def adds_nothing(workspace: str, path: str, was: bytes) -> bool:
    """Whether a file of settings says only what it said before, and what is known to be harmless."""
    try:
        with holding(workspace, path) as (above, name):
            text = _content(above, name)
        said = set(_said(was.decode()))
    except (OSError, UnicodeDecodeError):
        return False
    return all(each in said or _is_plain_setting(*each) for each in _said(text))


def _said(text: str) -> Iterator[tuple[str, str]]:
    """Each line, with the one that begins its section."""
    section = ""
    for line in text.split("\n"):
        if line.lstrip().startswith("["):
            section = line
        if line:
            yield section, line


def _names_are_plain(top: int) -> bool:
    kinds = _kinds(top, ".", _MOST_NAMES)
    known = dict.fromkeys(_FILES, stat.S_IFREG) | dict.fromkeys(_DIRECTORIES, stat.S_IFDIR)
    if any(known.get(name) != kind for name, kind in kinds.items()):
        return False
    inside = {name: _kinds(top, name, _MOST_NAMES) for name in ("branches", "hooks", "info") if name in kinds}
    return (
        not inside.get("branches")  # an old form of remotes
        and all(name.endswith(".sample") and kind == stat.S_IFREG for name, kind in inside.get("hooks", {}).items())
        and inside.get("info", {}).items() <= {("exclude", stat.S_IFREG), ("refs", stat.S_IFREG)}
        and all(name not in kinds or _has_no_link(top, name) for name in ("logs", "refs"))
    )


def _has_no_link(top: int, path: str) -> bool:
    """Git appends to logs, and writes references, also through a link."""
    queue = [path]
    for each in queue:
        for name, kind in _kinds(top, each, _MOST_WRITTEN).items():
            if kind == stat.S_IFDIR and len(queue) < _MOST_WRITTEN:
                queue.append(f"{each}/{name}")
            elif kind != stat.S_IFREG:
                return False
    return True


def _kinds(top: int, path: str, most: int) -> dict[str, int]:
    """What lies there, and which kind of file each is. Raises: `OSError`, also when that is very much."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    try:
        names = os.listdir(folder)
        if len(names) > most:
            raise OSError(f"{path} holds {len(names)} names")
        return {name: stat.S_IFMT(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode) for name in names}
    finally:
        os.close(folder)


def _content(top: int, name: str) -> str:
    with open(name, "rb", opener=reading_in(top)) as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(f"{name} is longer than {_MOST_BYTES} bytes")
    return data.decode()


def _is_plain_config(text: str) -> bool:
    return all(_is_plain_setting(section, line) for section, line in _said(text))


def _is_plain_setting(section: str, line: str) -> bool:
    begun = _SECTION.fullmatch(section)
    if begun is None or line == section:
        return begun is not None
    setting = _SETTING.fullmatch(line)
    form = _SETTINGS.get((begun[1] or begun[2], setting[1].lower())) if setting else None
    return setting is not None and form is not None and form.fullmatch(setting[2]) is not None
