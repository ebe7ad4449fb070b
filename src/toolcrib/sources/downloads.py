"""Programs that are downloaded: fetched once, held to a digest, and run from a verified copy.

What is fetched lies in quarantine (`cache/downloads/`) until its digest is that of the declaration, or the one that a
person at a terminal took for right. Then it goes where all verified copies are, and is looked at again each time.
"""

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..core.context import Context
from ..core.errors import Refused, ToolError
from ..core.jsontext import canonical
from ..store.blobs import Blobs
from ..store.download_pins import DownloadPins
from ..store.home import Home

if TYPE_CHECKING:
    from ..backends.network import Network
    from .download_fetch import Fetched

_PLACE = ("cache", "downloads")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}")
_POLL_SECONDS = 0.03
_Done = TypeVar("_Done")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Listing(NamedTuple):
    """The files of an archive, as a verified folder wants them."""

    text: str
    digest: str
    paths: frozenset[str]


class DownloadCache:
    """What declared tools get their programs from (`backends.declared.Downloads`)."""

    def __init__(
        self, home: Home, network: "Network", programs: Blobs, *, person: Callable[[], bool] = lambda: False
    ) -> None:
        """`person` says whether somebody sits at a terminal and answers what a running tool asks."""
        self._home, self._network, self._programs, self._person = home, network, programs, person
        self._pins = DownloadPins(home)
        self._once = _Once()
        self._listings: dict[tuple[str, str], _Listing] = {}

    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        """The path of a program whose file at `url` has this digest (empty: as the user pinned it)."""
        wanted = sha256 or self._pins.get(url)
        if not wanted:
            wanted = await self._once.do(("new", url), lambda: self._introduced(url, ctx))
        source = self._home.file(*_PLACE, wanted.removeprefix("sha256:"), _name_of(url))
        path = await self._once.do(source, lambda: self._kept(url, source, wanted, ctx))
        return path if not member else await self._member(path, wanted, member)

    async def _kept(self, url: str, source: str, wanted: str, ctx: Context) -> str:
        """The verified copy of the file at a URL, which is fetched if there is none."""
        copy = await self._copy(source, wanted)
        if copy is None:
            async with self._alone(os.path.dirname(source)):
                copy = await self._copy(source, wanted)  # another process may have been quicker
                if copy is None:
                    await self._download(url, source, wanted, ctx)
                    copy = await self._copy(source, wanted)
        if copy is None:
            raise Refused(f"{url} does not stay as it was downloaded; nothing ran", code="DIGEST_MISMATCH")
        return copy

    async def _copy(self, source: str, wanted: str) -> str | None:
        try:
            return await asyncio.to_thread(self._programs.verified, source, wanted)
        except Refused:  # there is none, and nothing to make it of
            return None

    async def _download(self, url: str, source: str, wanted: str, ctx: Context) -> None:
        found = await self._fetched(url, source, ctx)
        if found.digest != wanted:
            raise Refused(
                f"{url} is another file than it should be: its digest is {found.digest}, and not {wanted}; nothing of "
                "it was kept. See whether it was replaced, and by whom, before you write the new digest down",
                code="DIGEST_MISMATCH",
                details={"url": url, "expected": wanted, "found": found.digest},
            )

    async def _fetched(self, url: str, path: str, ctx: Context) -> "Fetched":
        try:
            from .download_fetch import fetch  # late: most programs are there already, and it brings the HTTP client
        except ImportError:
            message = "downloads need the package httpcore2; install it with: pip install 'toolcrib[http]'"
            raise ToolError(message, code="ENGINE_NOT_AVAILABLE", before_effect=True) from None
        try:
            return await fetch(url, path, self._network, ctx)
        except OSError as exc:
            raise _no_room(path, exc) from None

    async def _introduced(self, url: str, ctx: Context) -> str:
        """The digest of a file that nothing was known of, if a person takes it. Without one, nothing is fetched."""
        if not self._person():
            raise Refused(
                f"{url} was not downloaded: nothing says which file should be there, and nobody is at a terminal who "
                f"could say so (`toolcrib call {ctx.tool_name}` at one shows its digest); add the line `sha256: …`, "
                "with the 64 digits that sha256sum prints for the right file",
                code="DOWNLOAD_UNVERIFIED",
                details={"url": url},
            )
        place = self._home.file(*_PLACE, "new-" + hashlib.sha256(url.encode()).hexdigest())
        async with self._alone(place):
            if pinned := self._pins.get(url):  # another process was quicker
                return pinned
            source = os.path.join(place, _name_of(url))
            found = await self._fetched(url, source, ctx)
            if not await ctx.confirm(_question(url, found)):
                raise Refused(
                    f"{url} was not run: nothing says that it is the right file, and nobody took it for that; if it "
                    f"is, add the line `sha256: {found.digest.removeprefix('sha256:')}`",
                    code="DOWNLOAD_UNVERIFIED",
                    details={"url": url, "sha256": found.digest, "bytes": found.bytes},
                )
            try:
                self._pins.add(url, found.digest)
            except OSError as exc:
                raise _no_room(self._pins.path, exc) from None
            await self._copy(source, found.digest)
            return found.digest

    async def _member(self, path: str, wanted: str, member: str) -> str:
        """The path of one file of an archive, beside all the others."""
        return await self._once.do((wanted, member), lambda: self._unpacked(path, wanted, member))

    async def _unpacked(self, path: str, wanted: str, member: str) -> str:
        listing = await self._listing(path, wanted, member)
        place = self._home.file(*_PLACE, wanted.removeprefix("sha256:"))
        folder = os.path.join(place, "files")
        copy = await self._copy_folder(folder, listing)
        if copy is None:
            async with self._alone(place):
                copy = await self._copy_folder(folder, listing)  # another process may have been quicker
                if copy is None:
                    await _in_thread(partial(_unpack, path, folder))
                    copy = await self._copy_folder(folder, listing)
        if copy is None:
            raise Refused("the archive does not stay as it was unpacked; nothing ran", code="DIGEST_MISMATCH")
        return f"{copy}/{member}"

    async def _listing(self, path: str, wanted: str, member: str) -> _Listing:
        """What is in an archive, read anew by each process: nothing that lies about on the disk is believed."""
        listing = self._listings.get((wanted, member))
        if listing is None:
            listing = await _in_thread(partial(_listed, path, member))
            if member not in listing.paths:
                near = get_close_matches(member, sorted(listing.paths), n=3, cutoff=0.3) or sorted(listing.paths)[:3]
                message = (
                    f"there is no {member} in the archive; it has {', '.join(near)}; write one of them as `member`"
                )
                raise ToolError(message, code="FILE_NOT_FOUND", before_effect=True)
            self._listings[wanted, member] = listing
        return listing

    async def _copy_folder(self, folder: str, listing: _Listing) -> str | None:
        try:
            return await asyncio.to_thread(self._programs.verified_folder, folder, listing.digest, listing.text)
        except Refused:
            return None

    @asynccontextmanager
    async def _alone(self, place: str) -> AsyncIterator[None]:
        """A directory in quarantine, for one at a time, whatever process it is in; empty before, gone afterwards."""
        fd = -1
        try:
            while fd < 0:
                self._home.directory(*_PLACE, os.path.basename(place))
                fd = _locked(place)
                if fd < 0:
                    await asyncio.sleep(_POLL_SECONDS)
        except OSError as exc:
            raise _no_room(place, exc) from None
        try:
            for name in os.listdir(place):  # of somebody who was killed
                _remove(os.path.join(place, name))
            yield
        finally:
            with suppress(FileNotFoundError):
                shutil.rmtree(place)
            os.close(fd)


class _Once:
    """Lets the first caller do something, and all who come meanwhile have the same outcome."""

    def __init__(self) -> None:
        self._running: dict[tuple[object, object], asyncio.Future[ToolError | str | None]] = {}

    async def do(self, key: object, work: Callable[[], Awaitable[str]]) -> str:
        """Raises: what the one who does it raises."""
        loop = asyncio.get_running_loop()
        while (waits_for := self._running.get((loop, key))) is not None:
            outcome = await asyncio.shield(waits_for)
            if isinstance(outcome, ToolError):
                kind = Refused if isinstance(outcome, Refused) else ToolError
                raise kind(str(outcome), code=outcome.code, details=outcome.details)
            if outcome is not None:
                return outcome
        future: asyncio.Future[ToolError | str | None] = loop.create_future()
        self._running[loop, key] = future
        outcome = None  # given up; the next one does it
        try:
            outcome = found = await work()
            return found
        except ToolError as exc:
            outcome = exc
            raise
        finally:
            del self._running[loop, key]
            future.set_result(outcome)


async def _in_thread(work: Callable[[Callable[[], bool]], _Done]) -> _Done:
    """Do something long, which looks now and then whether to stop. It has ended when this has, whatever happens."""
    stop = threading.Event()
    doing = asyncio.ensure_future(asyncio.to_thread(work, stop.is_set))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait((doing,))
        doing.exception()  # nobody asks for it any more
        raise


def _listed(path: str, member: str, stopped: Callable[[], bool]) -> _Listing:
    from ..backends import archive  # late: few programs come in one

    with open(path, "rb") as file:
        found = archive.contents(file, stopped=stopped)
    files = [(each.path, "program" if each.program or each.path == member else "file", each.digest) for each in found]
    text = canonical(files)
    digest = "sha256:" + hashlib.sha256(text).hexdigest()
    return _Listing(text.decode(), digest, frozenset(each.path for each in found))


def _unpack(path: str, folder: str, stopped: Callable[[], bool]) -> None:
    from ..backends import archive  # late: few programs come in one

    try:
        with open(path, "rb") as file:
            archive.unpack(file, folder, stopped=stopped)
    except OSError as exc:
        raise _no_room(folder, exc) from None


def _locked(place: str) -> int:
    """A descriptor that holds the lock on a directory; -1 while somebody else does, or has just removed it."""
    try:
        fd = os.open(place, _DIRECTORY)
    except FileNotFoundError:
        return -1
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), os.lstat(place)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return -1


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _no_room(place: str, exc: OSError) -> ToolError:
    message = f"nothing can be written to {place}: {exc.strerror}; make the home writable, or make room"
    return ToolError(message, code="RESOURCE_EXHAUSTED", before_effect=True)


def _name_of(url: str) -> str:
    """What the program is called: as the last part of its URL is, where that is a plain name."""
    name = url.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]
    return name if _NAME.fullmatch(name) else "program"


def _question(url: str, found: "Fetched") -> str:
    """What counts comes first: only the beginning of a long question is drawn."""
    return (
        f"is the file with the digest {found.digest}, {found.bytes} bytes from {found.host}, the right one, to be run "
        f"now and from now on? Nothing says which file should be at {url}"
    )
