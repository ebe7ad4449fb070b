"""The question as data: all that a person is shown before they answer, whoever asks and wherever they sit."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from ..core.errors import ConfigError
from ..core.jsontext import JSON, canonical, parse
from ..core.policy import Question
from ..core.tool import Subject, Tool
from . import difference, remember
from .remember import Remembered

TTL_SECONDS = 300.0
"""How long a question waits for its answer; and, after a yes, how long the call may take to come back."""
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class Shown(NamedTuple):
    """What there is to say of the sandbox that a tool runs in."""

    sandbox: str = "process"
    """The name of the one in force."""
    words: str = ""
    """What it lets the tool do."""
    declared: tuple[str, ...] = ()
    """What the tool itself says that it needs."""


class Surroundings(NamedTuple):
    """What the runtime knows, and a question alone does not say."""

    workspace: str
    sandbox: str
    """The name of the one in force where nothing more is known."""
    conceal: Callable[[JSON], JSON] = lambda value: value
    """Takes secret values out."""
    variables: Callable[[Tool], tuple[str, ...]] = lambda tool: ()
    """The names of the environment's variables a tool would see."""
    secrets: Callable[[Tool], tuple[str, ...]] = lambda tool: ()
    previous: Callable[[Tool], str | None] = lambda tool: None
    """The digest of the version that was last approved."""
    content: Callable[[str], bytes | None] = lambda digest: None
    """What an earlier version looked like, by its digest."""
    folder: difference.Kept = lambda digest: None
    """The same of one that is a folder."""
    confinement: Callable[[Tool], Shown] | None = None
    """What a tool would run in."""


class Asked(NamedTuple):
    """One thing a person is asked about, and what a lasting yes would cover."""

    kind: str
    value: tuple[str, ...]
    wide: Remembered | None
    exact: Remembered

    @property
    def shown_wide(self) -> str | None:
        return None if self.wide is None else remember.shown(self.wide)

    @property
    def shown_exact(self) -> str:
        return remember.shown(self.exact)

    def kept(self, *, exactly: bool) -> Remembered:
        """The pattern that a lasting yes stores; where there is no wide one it is the exact one."""
        return self.exact if exactly or self.wide is None else self.wide


@dataclass(frozen=True, slots=True)
class Request:
    """Everything about one call that waits for a person. Plain data: it is stored, and read by another process."""

    id: str
    session: str
    project: str
    """Names the very directory the call works in (`remember.project_key`)."""
    asker: str
    tool: str
    tool_id: str
    source: str
    origin: str
    program: str
    """The resolved path of what would run; empty where that is a shell, or our own process."""
    digest: str
    previous: str | None
    """The digest that was last approved: None for a tool that is new here."""
    version: str
    description: str
    reason: str
    message: str | None
    """What the running tool itself asks; None when the call is what is asked about."""
    arguments: Mapping[str, JSON]
    subjects: tuple[Asked, ...]
    cwd: str
    files: tuple[tuple[str, str], ...]
    """Access and path."""
    hosts: tuple[str, ...]
    variables: tuple[str, ...]
    secrets: tuple[str, ...]
    sandbox: str
    claims: tuple[str, ...]
    """What the tool says it does."""
    difference: str
    """From the version last approved to this one, where both are text and known."""
    created: float
    expires: float
    call_digest: str
    confinement: str = ""
    """What the sandbox lets the tool do, in words."""
    declared: tuple[str, ...] = ()
    """What the tool says that it needs."""

    @property
    def changed(self) -> bool:
        return self.previous is not None and self.previous != self.digest

    def to_dict(self) -> dict[str, JSON]:
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        subjects = [{**each._asdict(), "value": list(each.value)} for each in self.subjects]
        listed = {name: list(plain[name]) for name in _LISTS}
        return {**plain, **listed, "subjects": subjects, "files": [list(each) for each in self.files]}

    @classmethod
    def from_dict(cls, given: Mapping[str, JSON]) -> "Request":
        """Raises: `ValueError`, for anything but what `to_dict` makes."""
        names = {field.name for field in fields(cls)}
        if not isinstance(given, dict) or set(given) != names:
            odd = sorted(set(given) ^ names) if isinstance(given, dict) else "it is no object"
            raise ValueError(f"not a request: {odd}")
        for name in names:
            if not _FORMS.get(name, _is_text)(given[name]):
                raise ValueError(f"not a request: {name} is {given[name]!r}")
        subjects = tuple(Asked(**{**each, "value": tuple(each["value"])}) for each in given["subjects"])
        listed = {name: tuple(given[name]) for name in _LISTS}
        files = tuple((access, path) for access, path in given["files"])
        return cls(**{**given, **listed, "subjects": subjects, "files": files})


@dataclass(frozen=True, slots=True, kw_only=True)
class FullQuestion(Question):
    """A question with all there is to show of it; its subjects are those that no remembered answer covers."""

    request: Request


def short_id() -> str:
    """Short enough to type, and nobody guesses it."""
    return "".join(_ALPHABET[byte % 32] for byte in os.urandom(8))


def call_digest(question: Question) -> str:
    """Binds an answer to this tool as it is now, these arguments and this session."""
    call, tool = question.call, question.tool
    bound: dict[str, JSON] = {"tool": tool.id, "digest": tool.digest, "arguments": call.args, "session": call.session}
    if question.message is not None:
        bound["message"] = question.message
    if call.dry_run:
        bound["dry_run"] = True
    if built := [list(each.value) for each in question.subjects if each.kind == "build"]:
        bound["build"] = built
    return "sha256:" + hashlib.sha256(canonical(bound)).hexdigest()


def describe(question: Question, subjects: tuple[Subject, ...], around: Surroundings) -> Request:
    """All there is to show of a question, with the secrets taken out. `subjects` are those still to be answered."""
    call, tool, now = question.call, question.tool, time.time()
    workspace = os.path.realpath(around.workspace)
    conceal = around.conceal
    previous = _previous(tool, around)
    program = _program(tool, question.subjects)
    shown = around.confinement(tool) if around.confinement else Shown(around.sandbox)
    concealed = [Subject(each.kind, tuple(conceal(list(each.value)))) for each in question.subjects]
    return Request(
        id=short_id(),
        session=call.session,
        project=remember.project_key(workspace),
        asker=call.asker,
        tool=tool.name,
        tool_id=tool.id,
        source=tool.source,
        origin=tool.origin,
        program=program,
        digest=tool.digest,
        previous=previous,
        version=tool.version,
        description=(tool.description.strip().splitlines() or [""])[0],
        reason=conceal(question.reason),
        message=None if question.message is None else conceal(question.message),
        arguments=conceal(dict(call.args)),
        subjects=tuple(_asked(each, question, workspace, conceal) for each in subjects),
        cwd=workspace,
        files=tuple((each.kind, each.value[0]) for each in concealed if each.kind in ("read", "write")),
        hosts=tuple(each.value[0] for each in concealed if each.kind == "host"),
        variables=tuple(around.variables(tool)),
        secrets=tuple(around.secrets(tool)),
        sandbox=shown.sandbox,
        claims=tuple(
            each.name.replace("_", " ") for each in fields(tool.capabilities) if getattr(tool.capabilities, each.name)
        ),
        difference=conceal(_difference(tool, previous, program, around)),
        created=now,
        expires=now + TTL_SECONDS,
        call_digest=call_digest(question),
        confinement=conceal(shown.words),
        declared=tuple(conceal(list(shown.declared))),
    )


def _previous(tool: Tool, around: Surroundings) -> str | None:
    try:
        return around.previous(tool)
    except ConfigError:  # whoever asks says that the memory cannot be read
        return None


def _program(tool: Tool, subjects: tuple[Subject, ...]) -> str:
    """Where what would run really lies: the tool's own program, or those that its commands name."""
    own = getattr(tool.backend, "program", "")
    if isinstance(own, str) and own:
        return os.path.realpath(own)
    import shutil  # late: it brings all compressors, and most calls are not asked about

    named = dict.fromkeys(each.value[0] for each in subjects if each.kind == "command" and each.value)
    found = {name: shutil.which(name) for name in named}
    return ", ".join(os.path.realpath(path) if path else f"{name} (not found)" for name, path in found.items())


def _asked(subject: Subject, question: Question, workspace: str, conceal: Callable[[JSON], JSON]) -> Asked:
    """What holds a secret is not stored: then only the digest of the arguments is."""
    broad: Remembered | None = remember.wide(subject, question, workspace)
    if broad is not None and conceal(broad) != broad:
        broad = None
    narrow = remember.exact(subject, question)
    if conceal(narrow) != narrow:
        narrow = {"arguments": remember.arguments_digest(question.call.args)}
    return Asked(subject.kind, tuple(conceal(list(subject.value))), broad, narrow)


def _difference(tool: Tool, previous: str | None, program: str, around: Surroundings) -> str:
    """From the version last approved to this one, where both are known."""
    if previous is None or previous == tool.digest:
        return ""
    listing = getattr(tool.backend, "listing", "")  # of a tool that is a folder
    if not listing:
        new = around.content(tool.digest) or difference.read(program, tool.digest)
        return difference.of_programs(around.content(previous), new)
    kept = around.folder(previous)
    now = difference.Folder(getattr(tool.backend, "folder", ""), parse(listing))
    return "" if kept is None else difference.of_folders(difference.Folder(*kept), now)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_files(value: Any) -> bool:
    return isinstance(value, list) and all(_is_texts(each) and len(each) == 2 for each in value)


def _is_subjects(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict)
        and set(each) == set(Asked._fields)
        and isinstance(each["kind"], str)
        and _is_texts(each["value"])
        and isinstance(each["wide"], dict | None)
        and isinstance(each["exact"], dict)
        for each in value
    )


_LISTS = ("hosts", "variables", "secrets", "claims", "declared")
_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_LISTS, _is_texts),
    **dict.fromkeys(("created", "expires"), _is_time),
    **dict.fromkeys(("previous", "message"), lambda value: value is None or isinstance(value, str)),
    "arguments": lambda value: isinstance(value, dict),
    "subjects": _is_subjects,
    "files": _is_files,
}
"""What each field holds; text, where nothing stands here."""
