"""Skills: a SKILL.md that tells an agent how something is done, and the tools that come with it."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..backends.declared import Surroundings
from ..backends.folder import LINK, Content, content_of, states_of
from ..core.errors import ToolcribError
from ..core.source import Problem
from ..core.tool import NAME, Tool
from ..policy.project_files import open_below
from ..store.yamltext import Document
from .declared import Stand, declared_tool
from .executable import Settings
from .form import Fault, kind, shown
from .manifest_offer import Misread
from .skill_file import MOST_BYTES, MOST_TOOLS, Front, read_front, read_mending
from .skill_head import Head, SkillError, read_head, unnamed

__all__ = ["FILES", "SIDECAR", "Skill", "SkillError", "SkillFile", "read_skill", "skill_file", "skill_from_text"]

FILES = ("SKILL.md", "skill.md")
SIDECAR = "toolcrib-tools"
"""The key of `metadata` that names a file with tools."""
MOST_BODY = 100 * 1024
"""Of what an agent is shown; the whole is a file of the skill."""
_MESSAGE = 600
_MOST_PROBLEMS = 100


class SkillFile(NamedTuple):
    """A file that came with a skill."""

    path: str
    """Below the skill's folder."""
    digest: str


class Skill(NamedTuple):
    """What a SKILL.md came to, and the tools of it that can be offered."""

    name: str
    description: str
    version: str
    body: str
    tools: tuple[Tool, ...]
    problems: tuple[Problem, ...]
    """What of it does not count, each with its file and line."""
    origin: str
    """Path of the SKILL.md; empty for what was handed over as text."""
    folder: str
    digest: str
    """Of everything in the folder, or of the text."""
    allowed_tools: tuple[str, ...] | None = None
    """The tools it says it needs, as it names them (`Read`, `Bash(git:*)`); None when it says nothing of that."""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = {}
    files: tuple[SkillFile, ...] = ()
    declares: int = 0
    """How many tools it declares, right or wrong. A skill may be nothing but words."""


Vouch = Callable[[Content], None]
"""Looks at a folder's content before any of it is interpreted. Raises: `SkillError`."""


def read_skill(
    folder: str,
    around: Surroundings,
    *,
    settings: Settings | None = None,
    vouch: Vouch | None = None,
    named: str = "",
) -> Skill:
    """The skill in a folder. Nothing of it is started, and no link is followed.

    `named`: what it is called, whatever it calls itself. What cannot be used of it stands in its `problems`.

    Raises:
        SkillError: there is none, it cannot be read, or `vouch` does not vouch for it.
    """
    folder = os.path.abspath(folder)
    content, lacking = _content(folder)
    if vouch is not None:
        if content is None:
            raise SkillError(str(lacking), code=lacking.code if lacking else None)
        vouch(content)
    file, data = read_text(folder)
    _as_hashed(content, file, data, folder)
    path = f"{folder}/{file}"
    front = read_front(data, path)
    head = read_head(front, folder=os.path.basename(folder), named=named)
    problems = [_problem(path, fault) for fault in head.faults]
    digest = content.digest if content else _digest(data)
    reader = _Tools(Stand(path, folder, digest, head.version, _about(head)), around, settings)
    if content is None:
        reader.count = int("tools" in front.document.value or SIDECAR in head.metadata)
        message = f"{lacking}; without all of its files looked at, none of its tools is offered"
        problems.append(Problem(path, lacking.code if lacking else "READ_ERROR", message[:_MESSAGE]))
    else:
        reader.listed(front.document, path, mended=bool(front.faults))
        if SIDECAR in head.metadata:
            reader.beside(head.metadata[SIDECAR], front, content)
    body, cut = _bounded(front.body, path)
    files = tuple(SkillFile(each, what) for each, sort, what in (content.files if content else ()) if sort != LINK)
    tools = reader.offered()
    if content is not None and states_of(content.paths) != content.states:  # a backend may have read another file
        raise _unsteady(folder)
    problems += reader.problems
    return _skill(head, body, tools, (*problems, *cut), path, folder, digest, files, reader.count)


def skill_from_text(content: str, around: Surroundings, *, name: str = "", settings: Settings | None = None) -> Skill:
    """The skill that a text is. It has no folder, so no files; `name` is what it is called, whatever it calls itself.

    Raises:
        SkillError: it is too long, or nobody says what it is called.
    """
    data = content.encode("utf-8", "surrogatepass")
    if len(data) > MOST_BYTES:
        raise SkillError(f"the skill is longer than {MOST_BYTES} bytes", code="INPUT_TOO_LARGE")
    if name and not NAME.fullmatch(name):
        raise unnamed(name)
    front = read_front(data, "SKILL.md")
    head = read_head(front, named=name)
    origin = f"skill {head.name}"
    digest = _digest(data)
    reader = _Tools(Stand(origin, "", digest, head.version, _about(head)), around, settings)
    reader.listed(front.document, origin, mended=bool(front.faults))
    if SIDECAR in head.metadata:
        message = "it names a file with tools, and was handed over without its folder"
        reader.note(origin, Fault("FILE_NOT_FOUND", message, "put the tools below `tools:`", "/metadata"))
    body, cut = _bounded(front.body, origin)
    problems = [_problem(origin, fault) for fault in head.faults]
    tools = reader.offered()
    return _skill(head, body, tools, (*problems, *reader.problems, *cut), "", "", digest, (), reader.count)


def skill_file(skill: Skill, relative: str, *, most: int = MOST_BYTES) -> bytes:
    """A file of a skill, if it is the one that came with the skill.

    Raises:
        SkillError: there is none, it is too long, or it is another one by now.
    """
    known = {each.path: each.digest for each in skill.files}
    if relative not in known:
        message = (
            f"the skill {skill.name} has no file {relative[:200]!r}; it has {', '.join(list(known)[:50]) or 'none'}"
        )
        raise SkillError(message, code="FILE_NOT_FOUND")
    data = _read_below(skill.folder, relative, most)
    if _digest(data) != known[relative]:
        message = f"{relative} of the skill {skill.name} changed since the skill was read; read the skill again"
        raise SkillError(message, code="TOOL_PIN_MISMATCH")
    return data


def read_text(folder: str) -> tuple[str, bytes]:
    """The name of the SKILL.md in a folder, and what stands in it. Raises: `SkillError`."""
    file = next((each for each in FILES if os.path.lexists(f"{folder}/{each}")), None)
    if file is None:
        message = f"there is no {FILES[0]} in {folder}; name a folder that has one"
        raise SkillError(message, code="FILE_NOT_FOUND")
    return file, _read_below(folder, file, MOST_BYTES)


class _Tools:
    """Makes the tools of one skill."""

    def __init__(self, stand: Stand, around: Surroundings, settings: Settings | None) -> None:
        self._stand, self._around, self._settings = stand, around, settings
        self._made: list[Tool] = []
        self.count = 0
        """How many are declared, right or wrong."""
        self.problems: list[Problem] = []

    def note(self, path: str, fault: Fault) -> None:
        self.problems.append(_problem(path, fault))

    def listed(self, document: Document, path: str, *, whole: bool = False, mended: bool = False) -> None:
        """The tools below `tools:`; with `whole`, the document may be the list itself; `mended`: some may be lost."""
        value = document.value
        if isinstance(value, dict):
            if whole and (other := [key for key in value if key != "tools"]):
                message = f"unknown key {shown(other[0])}"
                self.note(
                    path, Fault("CONFIG_INVALID", message, "there is only `tools:`", "", document.line(other[0]) or 1)
                )
            root: tuple[str, ...] = ("tools",)
            value = value.get("tools")
        else:
            root = ()
        if value is None:
            return
        line = document.line(*root) or 1
        if not isinstance(value, list):
            fix = "begin each with `- name: …`"
            self.note(path, Fault("CONFIG_INVALID", f"`tools` is {kind(value)}, not a list", fix, "/tools", line))
            return
        self.count += max(len(value), int(mended))
        if self.count > MOST_TOOLS:
            message = f"there are {self.count} tools, and a skill has at most {MOST_TOOLS}; none of these is offered"
            self.note(path, Fault("INPUT_TOO_LARGE", message, "split the skill", "/tools", line))
            return
        for index in range(len(value)):
            made = declared_tool(
                document, (*root, index), stand=self._stand, around=self._around, settings=self._settings
            )
            self.problems += [_problem(path, fault) for fault in made.faults]
            if made.tool is not None:
                self._made.append(made.tool)

    def beside(self, relative: str, front: Front, content: Content) -> None:
        """The tools in a file that the front matter names."""
        try:
            data = _read_below(self._stand.folder, relative, MOST_BYTES)
            _as_hashed(content, relative, data, self._stand.folder)
        except SkillError as exc:
            line = front.document.line("metadata", SIDECAR) or 1
            fix = f"name a file of the skill's folder: `{SIDECAR}: tools.yaml`"
            self.note(self._stand.origin, Fault(exc.code, str(exc), fix, f"/metadata/{SIDECAR}", line))
            self.count += 1
            return
        path = f"{self._stand.folder}/{relative}"
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        read = read_mending(text, path)
        self.problems += [_problem(path, fault) for fault in read.faults]
        self.listed(read.document, path, whole=True, mended=bool(read.faults))

    def offered(self) -> tuple[Tool, ...]:
        """All but those that share a name, which would be either."""
        by_name: dict[str, list[Tool]] = {}
        for tool in self._made:
            by_name.setdefault(tool.name.lower().replace("-", "_"), []).append(tool)
        for several in by_name.values():
            if len(several) > 1:
                message = f"{len(several)} tools of this skill are called {several[0].name}; none of them is offered"
                self.note(self._stand.origin, Fault("TOOL_NAME_CONFLICT", message, "rename them", "/tools"))
        return tuple(several[0] for several in by_name.values() if len(several) == 1)


def _skill(
    head: Head,
    body: str,
    tools: tuple[Tool, ...],
    problems: Sequence[Problem],
    origin: str,
    folder: str,
    digest: str,
    files: tuple[SkillFile, ...],
    declares: int,
) -> Skill:
    return Skill(
        head.name,
        head.description,
        head.version,
        body,
        tools,
        _few(problems, origin or f"skill {head.name}"),
        origin,
        folder,
        digest,
        head.allowed_tools,
        head.license,
        head.compatibility,
        head.metadata,
        files,
        declares,
    )


def _few(problems: Sequence[Problem], origin: str) -> tuple[Problem, ...]:
    """As many as anybody reads."""
    if len(problems) <= _MOST_PROBLEMS:
        return tuple(problems)
    rest = Problem(origin, "CONFIG_INVALID", f"there are {len(problems) - _MOST_PROBLEMS} more problems; see to these")
    return (*problems[:_MOST_PROBLEMS], rest)


def _about(head: Head) -> str:
    return f"A tool of the skill {head.name}."


def _content(folder: str) -> tuple[Content | None, ToolcribError | None]:
    """All that lies in a folder; or why that cannot be said."""
    try:
        return content_of(folder), None
    except ToolcribError as exc:
        return None, exc


def _as_hashed(content: Content | None, relative: str, data: bytes, folder: str) -> None:
    """What is parsed is what was hashed, and vouched for. Raises: `SkillError`."""
    if content is not None and (relative, _digest(data)) not in {(path, what) for path, _, what in content.files}:
        raise _unsteady(f"{folder}/{relative}")


def _unsteady(path: str) -> SkillError:
    return SkillError(f"{path} changes while it is read; try again", code="TOOL_PIN_MISMATCH")


def _read_below(folder: str, relative: str, most: int) -> bytes:
    """A file of a folder, reached through no link. Raises: `SkillError`."""
    try:
        fd = open_below(folder, relative)
    except (OSError, ValueError) as exc:
        said = getattr(exc, "strerror", None) or str(exc)
        missing = isinstance(exc, FileNotFoundError)
        raise SkillError(
            f"{shown(relative)} of {folder} cannot be read: {said}; only files of its own folder count, and no links",
            code="FILE_NOT_FOUND" if missing else "PATH_NOT_REGULAR",
        ) from None
    with open(fd, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise SkillError(f"{folder}/{relative} is longer than {most} bytes", code="INPUT_TOO_LARGE")
    return data


def _bounded(body: str, path: str) -> tuple[str, tuple[Problem, ...]]:
    data = body.encode("utf-8", "replace")
    if len(data) <= MOST_BODY:
        return body, ()
    message = f"the body has {len(data)} bytes; the first {MOST_BODY} are shown, so put the rest into files beside it"
    cut = data[:MOST_BODY].decode("utf-8", "ignore")
    return f"{cut}\n\n[cut here: the body has {len(data)} bytes]", (Problem(path, "INPUT_TOO_LARGE", message),)


def _problem(path: str, fault: Fault) -> Problem:
    return Misread(path, fault.code, str(fault)[:_MESSAGE], (), fault.line, fault.column)


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
