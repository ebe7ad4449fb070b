"""Where skills are found, and which of them count: the user's own, and those of a project that the user trusts.

Of a project, nothing is interpreted that is not, byte for byte, what the user trusted. Until then its skills are known
by the names of their folders, and hold these.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import NamedTuple

from ..backends.declared import Surroundings
from ..backends.folder import LEFT_OUT, LINK, Content, content_of
from ..core.errors import ToolcribError
from ..core.source import Problem
from ..core.tool import NAME
from ..policy.project_files import PROJECT_DIR, SKILL_DIRS, key
from ..policy.trust import Trust
from ..store.home import Home
from .executable import Settings
from .manifest_offer import Misread
from .skill import FILES, Skill, SkillError, read_skill, read_text
from .skill_file import read_front
from .skill_head import Head, read_head

OWN_DIR = "skills"
USER, PROJECT = "user", "project"
MOST_SKILLS = 1000
"""In one directory."""
_MOST_ENTRIES = 10 * MOST_SKILLS
_ROOTS = (f"{PROJECT_DIR}/{OWN_DIR}", *SKILL_DIRS)
"""Directories of a project, as paths below it."""
_MESSAGE = 600


class Entry(NamedTuple):
    """What is known of a skill before it is used."""

    name: str
    description: str
    version: str
    origin: str
    """Path of its SKILL.md."""
    folder: str
    scope: str
    """`user` or `project`. A project's is only here if the user trusts it as it is."""

    def to_dict(self) -> dict[str, str | bool]:
        return {**self._asdict(), "trusted": True}


class Directory(NamedTuple):
    """A place where skills lie, each in a folder."""

    path: str
    scope: str


class Listed(NamedTuple):
    """All skills that can be used, by name, and what cannot be and why."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]


def skill_directories(workspace: str, home: Home, user: str) -> tuple[Directory, ...]:
    """Where skills lie. `user` is the directory that `~` means; what is the user's there is not the project's."""
    own = [home.file(OWN_DIR), *(os.path.join(user, each) for each in SKILL_DIRS)]
    known = {os.path.realpath(each) for each in own}
    theirs = [os.path.join(workspace, each) for each in _ROOTS]
    found = [Directory(each, USER) for each in dict.fromkeys(own)]
    return (*found, *(Directory(each, PROJECT) for each in theirs if os.path.realpath(each) not in known))


class Catalogue:
    """The skills that can be used from a workspace."""

    def __init__(
        self,
        workspace: str,
        home: Home,
        *,
        trust: Trust,
        around: Surroundings,
        settings: Settings | None = None,
        user: str | None = None,
    ) -> None:
        """`user`: what `~` means; None: as the system says."""
        self._workspace, self._home, self._trust = os.path.abspath(workspace), home, trust
        self._around, self._settings = around, settings
        self._user = os.path.expanduser("~") if user is None else user
        self._heads: dict[str, tuple[tuple[int, ...], Head]] = {}
        """What a SKILL.md said, for as long as it is the same file."""

    def directories(self) -> tuple[Directory, ...]:
        return skill_directories(self._workspace, self._home, self._user)

    def all(self) -> Listed:
        """What there is now. A project's skill covers the user's; of two of one rank neither is offered."""
        found: dict[str, list[Entry]] = {}
        problems: list[Problem] = []
        seen: set[str] = set()
        for directory in self.directories():
            for folder in _folders(directory, problems):
                real = os.path.realpath(folder)
                if real not in seen:
                    seen.add(real)
                    self._look(folder, directory.scope, found, problems)
        held = {name for problem in problems for name in problem.holds}
        entries = []
        for name in sorted(found):
            top = [each for each in found[name] if each.scope == PROJECT] or found[name]
            if name in held:
                continue
            if len(top) > 1 and not _are_copies(top):
                both = " and ".join(each.origin for each in top)
                message = f"{name} is both {both}; rename or remove one of them"
                problems.append(Problem(top[0].origin, "TOOL_NAME_CONFLICT", message, (name,)))
            else:
                entries.append(top[0])
        return Listed(tuple(entries), tuple(problems))

    def find(self, name: str) -> Skill:
        """The skill of that name; or at that path, if it is one (with a `/` in it, or `.`).

        Raises:
            SkillError: there is none, it may not be used, or nothing of it can be.
        """
        if "/" in name or name in (".", "..", *FILES):
            return self.at(name)
        listed = self.all()
        for problem in listed.problems:
            if name in problem.holds:
                raise SkillError(f"{problem.origin}: {problem.message}", code=problem.code)
        entry = next((each for each in listed.entries if each.name == name), None)
        if entry is None:
            near = get_close_matches(name[:100], [each.name for each in listed.entries], n=3)
            hint = f"did you mean {', '.join(near)}?" if near else "see: toolcrib skill list"
            if NAME.fullmatch(name) and os.path.isdir(self.folder_at(name)):
                hint = f"if you mean the folder here, write ./{name}"
            raise SkillError(f"there is no skill {name[:100]!r}; {hint}", code="TOOL_NOT_FOUND")
        return self._read(entry.folder, entry.scope == PROJECT)

    def at(self, path: str) -> Skill:
        """The skill in a folder, or of a SKILL.md. Where it is a project's, the user must trust it as it is.

        Raises:
            SkillError: as `find` does.
        """
        folder = self.folder_at(path)
        return self._read(folder, bool(self._owners(folder)))

    def folder_at(self, path: str) -> str:
        """The folder that a path means. Relative ones count from the workspace."""
        full = os.path.normpath(os.path.join(self._workspace, os.path.expanduser(path)))
        return os.path.dirname(full) if os.path.basename(full) in FILES else full

    def vouch(self, folder: str) -> None:
        """That a folder is the user's own, or as the user trusted it. Raises: `SkillError`."""
        if owners := self._owners(folder):
            try:
                content = content_of(folder)
            except ToolcribError as exc:
                raise SkillError(str(exc), code=exc.code) from None
            for project, below in owners:
                self._vouch(project, below, content)

    def _read(self, folder: str, of_project: bool) -> Skill:
        owners = self._owners(folder)

        def vouch(content: Content) -> None:
            for project, below in owners:
                self._vouch(project, below, content)

        # A project's is called what its folder is called, so that its name is known before it is read.
        named = os.path.basename(folder) if of_project else ""
        return read_skill(folder, self._around, settings=self._settings, vouch=vouch if owners else None, named=named)

    def _look(self, folder: str, scope: str, found: dict[str, list[Entry]], problems: list[Problem]) -> None:
        """Note what one folder holds."""
        name = os.path.basename(folder)
        origin = _file_in(folder)
        try:
            if scope == PROJECT:
                self.vouch(folder)
            head = self._head(folder, name if scope == PROJECT else "")
        except SkillError as exc:
            holds = (name,) if scope == PROJECT else ()
            problems.append(Problem(origin, exc.code, str(exc)[:_MESSAGE], holds))
            return
        for fault in head.faults:
            problems.append(Misread(origin, fault.code, str(fault)[:_MESSAGE], (), fault.line, fault.column))
        entry = Entry(head.name, head.description, head.version, origin, folder, scope)
        found.setdefault(head.name, []).append(entry)

    def _head(self, folder: str, named: str) -> Head:
        """What a SKILL.md says of itself, read again only when it is another file."""
        state = _state(_file_in(folder))
        held = self._heads.get(folder)
        if held is not None and state and held[0] == state and not named:
            return held[1]
        file, data = read_text(folder)
        if named:  # a project's: what is parsed is what was vouched for
            self._same(folder, file, data)
        head = read_head(read_front(data, f"{folder}/{file}"), folder=os.path.basename(folder), named=named)
        if state and not named:
            self._heads[folder] = (state, head)
        return head

    def _same(self, folder: str, file: str, data: bytes) -> None:
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        for project, below in self._owners(folder):
            record = self._trust.record(project)
            if record is None or not record.vouches(f"{below}/{file}", digest):
                raise _changed(file, project)

    def _owners(self, folder: str) -> list[tuple[str, str]]:
        """The projects that a folder is a skill of, and where in each: by its path, and by where that really is."""
        own = {os.path.realpath(each.path) for each in self.directories() if each.scope == USER}
        found: dict[tuple[str, str], None] = {}
        if os.path.realpath(os.path.dirname(folder)) in own:  # be it a link, which the user made
            return []
        for path in (folder, os.path.realpath(folder)):
            parts = path.split("/")
            for root in _ROOTS:
                steps = root.split("/")
                for at in range(len(parts) - len(steps)):
                    above = "/".join(parts[: at + len(steps)])
                    if parts[at : at + len(steps)] == steps and os.path.realpath(above) not in own:
                        found["/".join(parts[:at]) or "/", "/".join(parts[at:])] = None
        return list(found)

    def _vouch(self, project: str, below: str, content: Content) -> None:
        """Raises: `SkillError`, if a folder is not what the user trusted."""
        record = self._trust.record(project)
        fix = f"look at it, then type: toolcrib trust {project}"
        if record is None:
            message = f"a skill of an untrusted project; {fix}"
            raise SkillError(message, code="WORKSPACE_UNTRUSTED")
        if unsettled := self._trust.unsettled(project):
            message = f"a skill of a project that is no longer as it was trusted: {unsettled[0]} changed; {fix}"
            raise SkillError(message, code="WORKSPACE_UNTRUSTED")
        start = f"{key(below)}/"
        trusted = {path[len(start) :]: seen for path, seen in record.files.items() if path.startswith(start)}
        real = os.path.join(os.path.realpath(project), below)
        if not trusted and os.path.realpath(real) != real:
            message = "it is a link, or lies behind one; put the folder itself into the project"
            raise SkillError(message, code="PATH_NOT_REGULAR")
        if not trusted:
            message = f"it is new since the project was trusted; {fix}"
            raise SkillError(message, code="WORKSPACE_UNTRUSTED")
        if path := _different(content, trusted):
            raise _changed(path, project)


def _folders(directory: Directory, problems: list[Problem]) -> list[str]:
    """The folders of a directory that have a SKILL.md. Nothing in them is opened."""
    try:
        with os.scandir(directory.path) as entries:
            some = islice(entries, _MOST_ENTRIES)
            names = sorted(each.name for each in some if not each.name.startswith(".") and _is_folder(each))
    except FileNotFoundError:
        return []
    except OSError as exc:
        problems.append(Problem(directory.path, "READ_ERROR", f"it cannot be looked into: {exc.strerror}"))
        return []
    found = []
    for name in names:
        folder = f"{directory.path}/{name}"
        if not any(os.path.lexists(f"{folder}/{file}") for file in FILES):
            continue
        if not NAME.fullmatch(name) and not name.isprintable():
            message = f"the folder {ascii(name)} has a name that cannot be shown; rename it"
            problems.append(Problem(directory.path, "TOOL_NAME_INVALID", message))
        else:
            found.append(folder)
    if len(found) > MOST_SKILLS:
        message = f"it has {len(found)} skills, of which the first {MOST_SKILLS} are looked at; remove some"
        problems.append(Problem(directory.path, "INPUT_TOO_LARGE", message))
    return found[:MOST_SKILLS]


def _file_in(folder: str) -> str:
    """The path of its SKILL.md, which may be gone by now."""
    return f"{folder}/{next((each for each in FILES if os.path.lexists(f'{folder}/{each}')), FILES[0])}"


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _different(content: Content, trusted: Mapping[str, Mapping[str, str]]) -> str | None:
    """The first file that is not as it was trusted, or was not there, or is there no more."""
    here = set()
    for path, kind, what in content.files:
        seen = trusted.get(key(path), {})
        here.add(key(path))
        if seen.get("kind") != kind or seen.get("target" if kind == LINK else "digest") != (
            key(what) if kind == LINK else what
        ):
            return path
    gone = (path for path in trusted if path not in here and LEFT_OUT.isdisjoint(path.split("/")[:-1]))
    return next(gone, None)


def _changed(path: str, project: str) -> SkillError:
    message = f"{path} changed since the project was trusted; look at it, then type: toolcrib trust {project}"
    return SkillError(message, code="TOOL_PIN_MISMATCH")


def _are_copies(entries: Iterable[Entry]) -> bool:
    """Whether it makes no difference which of these is taken."""
    try:
        return len({content_of(each.folder).digest for each in entries}) == 1
    except ToolcribError:
        return False


def _state(path: str) -> tuple[int, ...]:
    try:
        seen = os.lstat(path)
    except OSError:
        return ()
    return seen.st_dev, seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size
