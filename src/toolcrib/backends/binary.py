"""A program as a tool: one of the machine, one beside the declaration, or one that is downloaded.

A program that is named by a path, or downloaded, runs from a verified copy: what was listed and approved is what runs.
One that is named by its name alone is whatever the machine has installed under it, as an interpreter is.
"""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from .archive_member import is_member
from .binary_words import Template, read_template
from .declared import Declared, Downloads, Place, Surroundings, Unfit, only, text_of
from .declared_program import (
    CAPABILITIES,
    FOLDER,
    Beside,
    beside,
    joined_digest,
    on_path,
    program_limits,
    search_path,
)  # fmt: skip
from .process import file_digest, in_terms_of, plain_answer, readable, run_program
from .url import BadUrl, Url, parse_url
from .wishes import NO_WISHES, Wishes

ARCHIVES = (".tar.gz", ".tgz", ".zip")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
_LONG = 8 * 1024**2
"""A program that is longer is copied in a thread."""
_DECLARING = ("SKILL.md", "tools.yaml", "tool.yaml")
_LONGEST_DECLARATION = 1024 * 1024


class Fetched(NamedTuple):
    """Where a program comes from that is not on the machine."""

    url: Url
    written: str
    """The URL as the declaration has it."""
    sha256: str
    """Of the file at the URL; empty where the declaration does not say."""
    member: str
    downloads: Downloads
    folder: str

    async def program(self, ctx: Context) -> str:
        try:
            return await self.downloads.obtained(self.written, self.sha256, self.member, ctx)
        except Refused as exc:
            if exc.code != "DOWNLOAD_UNVERIFIED":
                raise
            message = f"{exc}, in the `backend:` of {ctx.tool_name} in {self._declaration()}"
            raise Refused(message, code=exc.code, details=exc.details) from None

    def _declaration(self) -> str:
        """The file that names the URL, for the person who is to write more into it."""
        for name in _DECLARING if self.folder else ():
            path = os.path.join(self.folder, name)
            try:
                with open(path, "rb") as file:
                    if self.written.encode() in file.read(_LONGEST_DECLARATION):
                        return path
            except OSError:
                continue
        return self.folder or "the text that declares it"


class BinaryBackend(NamedTuple):
    """`<program> <words>`, with nothing on stdin."""

    template: Template
    mark: str
    beside: Beside | None = None
    """Of a program that came with the declaration."""
    path: str = ""
    """Of one elsewhere."""
    pinned: str = ""
    """The digest of what was there when it was declared."""
    name: str = ""
    """Of a program on the tool's PATH."""
    fetched: Fetched | None = None
    variables: tuple[str, ...] = ("PATH", "HOME", "USER")
    wishes: Wishes = NO_WISHES

    @property
    def starts_process(self) -> bool:
        return True

    @property
    def kind(self) -> str:
        """By which settings of the confinement it runs."""
        return "binary"

    @property
    def program(self) -> str:
        """What people are shown before it runs; empty for one that no path leads to."""
        return self.beside.path if self.beside is not None else self.path

    async def run(self, args: Mapping[str, JSON], ctx: Context) -> Any:
        words = self.template.filled(args)
        program, folder = await self._startable(ctx)
        try:
            reads = readable(folder if self.beside is not None else program)
            done = await run_program(
                (program, *words), ctx, variables=self.variables, own={FOLDER: folder}, reads=reads
            )
        except ToolError as exc:
            raise in_terms_of(self._known_as(), program, exc) from None
        return plain_answer(done, ctx)

    def digest(self) -> str:
        if self.beside is not None:
            return joined_digest(self.mark, self.beside.digest())
        if not self.path:
            return self.mark
        digest = file_digest(self.path, executable=True)
        return joined_digest(self.mark, digest) if digest == self.pinned else ""

    def _known_as(self) -> str:
        if self.fetched is not None:
            return self.fetched.written
        return self.program or self.name

    async def _startable(self, ctx: Context) -> tuple[str, str]:
        """The path of what is started, and the directory of what came with it."""
        if self.beside is not None:
            folder = await self.beside.copied(ctx)
            return f"{folder}/{self.beside.relative}", folder
        program = await self._program(ctx)
        return program, os.path.dirname(self.path or program)

    async def _program(self, ctx: Context) -> str:
        if self.fetched is not None:
            return await self.fetched.program(ctx)
        if self.name:
            return self._installed(ctx)
        programs = ctx.host.programs
        if programs is None:
            return self.path
        try:
            long = os.stat(self.path).st_size > _LONG
        except OSError:
            long = False
        if long:
            return await asyncio.to_thread(programs.verified, self.path, self.pinned)
        return programs.verified(self.path, self.pinned)

    def _installed(self, ctx: Context) -> str:
        search = search_path(ctx, self.variables)
        if found := on_path(self.name, search):
            return found
        message = f"{self.name} is not on the PATH of this tool ({search}); install it"
        raise ToolError(message, code="ENGINE_NOT_AVAILABLE", before_effect=True)


@dataclass(frozen=True, slots=True)
class _Reaches:
    """What a call does beside running the program, as the rules see it."""

    host: str

    def __call__(self, args: Mapping[str, JSON]) -> Sequence[Subject]:
        return (Subject(), Subject("host", (self.host,)))


def make(fields: Mapping[str, JSON], parameters: Mapping[str, JSON], place: Place, around: Surroundings) -> Declared:
    """A program's tool. Nothing is started or fetched. Raises: `Unfit`."""
    only(fields, "path", "url", "sha256", "member", "args_template", "timeout_ms", "max_output")
    if ("path" in fields) == ("url" in fields):
        raise Unfit("/path", "a program has either a path or a url; write one of them")
    template = Template()
    if "args_template" in fields:
        template = read_template(text_of(fields, "args_template"), parameters)
    sha256 = _sha256(fields)
    backend = BinaryBackend(template, place.mark, variables=around.variables)
    capabilities, hooks = CAPABILITIES, Hooks(validate=template.faults)
    if "url" in fields:
        fetched = _fetched(fields, sha256, place, around)
        backend = backend._replace(fetched=fetched)
        capabilities = Capabilities(executes_commands=True, accesses_network=True)
        hooks = Hooks(validate=template.faults, touches=_Reaches(fetched.url.subject))
    elif "member" in fields:
        raise Unfit("/member", "only a url has a member; name the program by its path")
    elif "/" not in (name := text_of(fields, "path")):
        backend = backend._replace(name=_plain(name, sha256))
    elif os.path.isabs(name):
        backend = backend._replace(path=name, pinned=_pinned(name, sha256))
    else:
        found = beside(name, place, "/path")
        _pinned(found.path, sha256)
        backend = backend._replace(beside=found)
    return Declared(backend, program_limits(fields), capabilities, hooks)


def _fetched(fields: Mapping[str, JSON], sha256: str, place: Place, around: Surroundings) -> Fetched:
    written, member = text_of(fields, "url"), ""
    if "${" in written:
        raise Unfit("/url", "the URL of a program has no placeholders; write the whole of it")
    try:
        url = parse_url(written)
    except BadUrl as exc:
        raise Unfit("/url", f"{exc}; write one such as https://example.org/tool") from None
    if "member" in fields:
        member = text_of(fields, "member")
        if not is_member(member):
            raise Unfit("/member", f"{member!r} is no path in an archive; write one such as bin/tool")
    elif url.path.lower().endswith(ARCHIVES):
        raise Unfit("/url", "this is an archive; say with `member` which of its files is the program")
    return Fetched(url, written, sha256, member, around.downloads, place.folder)


def _sha256(fields: Mapping[str, JSON]) -> str:
    if "sha256" not in fields:
        return ""
    found = _DIGEST.fullmatch(text_of(fields, "sha256"))
    if found is None:
        raise Unfit("/sha256", "sha256 has to be 64 hexadecimal digits; see: sha256sum FILE")
    return f"sha256:{found[1].lower()}"


def _plain(name: str, sha256: str) -> str:
    if not _NAME.fullmatch(name):
        raise Unfit("/path", f"{name!r} is no name of a program; write a path with a slash in it, such as ./{name}")
    if sha256:
        raise Unfit("/sha256", f"{name} is whatever is installed; write its whole path to hold it to a digest")
    return name


def _pinned(path: str, sha256: str) -> str:
    digest = file_digest(path, executable=True)
    if not digest:
        raise Unfit("/path", f"{path} is not there, cannot be read, or is not executable; put the program there")
    if sha256 and digest != sha256:
        raise Unfit("/sha256", f"{path} has another digest, {digest}; see that it is the right program")
    return digest
