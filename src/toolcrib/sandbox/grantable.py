"""Which places may be given to a program at all, and which a program may ask for itself. Nothing is opened here."""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ._beneath import is_below
from .leads import steps
from .protected import fold, why_protected

_NEVER = ("/proc", "/sys", "/dev")
_SYSTEM = (
    "bin boot etc home lib lib32 lib64 libx32 mnt media opt private root run sbin srv tmp usr users var library system"
    " volumes var/lib var/run var/tmp run/user private/tmp private/var private/etc"
)
_WHOLE = frozenset(f"/{name}" for name in _SYSTEM.split())
_KEPT = (
    ".ssh .gnupg .aws .azure .kube .docker .password-store .mozilla .thunderbird .netrc .pgpass .my.cnf"
    " .git-credentials .vault-token .terraform.d .npmrc .pypirc .cargo/credentials .cargo/credentials.toml"
    " .gem/credentials .config/gcloud .config/gh .config/hub .config/op .config/google-chrome .config/chromium"
    " .config/bravesoftware .local/share/keyrings .local/share/kwalletd library/keychains library/cookies"
    " .bash_history .zsh_history .python_history .node_repl_history .toolcrib"
)
KEYS = tuple(tuple(path.split("/")) for path in _KEPT.split())
"""Where people keep what lets them in elsewhere, below the home."""
_SHELVES = ("tools", "skills")
"""What in our own directory is there for tools to read."""
_LONGEST = 1024

Written = Callable[[], Iterable[str]]
"""Says which places tools may write to. Asked only where there is a link."""


class Grounds(NamedTuple):
    """Where somebody stands: paths without links."""

    workspace: str
    home: str
    own: str
    """Where Toolcrib keeps its own."""

    def leads_to(self, path: str, *, asked: bool = False, written: Written = tuple) -> str:
        """Where a path leads, if a program may be given that; else nothing. `asked`: the program wants it itself.

        A tool can put a link at any place that it may write to. None is followed there (`written`, and the workspace),
        but what a program asks for in the workspace may lead to elsewhere in it.
        """
        inside = asked and is_below(path, self.workspace)
        root = self.workspace if inside else self.home if asked else "/"
        real = os.path.realpath(path) if inside else _unplanted(path, lambda: (self.workspace, *written()))
        if not real or too_wide(real, home=self.home, own=self.own) or not is_below(real, root):
            return ""
        return "" if asked and _why_kept(real, root, keys=not inside) else real

    def asked_for(self, declared: str, *, written: Written = tuple) -> str:
        """The same of a path as it is written in a declaration."""
        return self.leads_to(self.spelt_out(declared), asked=True, written=written)

    def spelt_out(self, declared: str) -> str:
        """A path as it is written in a declaration, from the root on."""
        if declared.startswith("~/"):
            return os.path.join(self.home, declared[2:])
        return os.path.join(self.workspace, declared)

    def holds(self, real: str) -> bool:
        """Whether the workspace is this place, or it lies in it."""
        return is_below(real, self.workspace)

    def exposed(self, *, keys_are_hidden: bool) -> str:
        """What of ours, or of the user's keys, a program finds in the workspace; nothing where that is ordinary.

        `keys_are_hidden`: those below the home are, in a workspace that holds the home (`sandbox/shield.py`).
        """
        named = (os.path.join(self.home, *names) for names in KEYS)
        keys = [os.path.realpath(path) for path in named if os.path.lexists(path)]
        hidden = keys if keys_are_hidden and is_below(self.home, self.workspace) else []
        found = (each for each in (self.own, *keys) if is_below(each, self.workspace))
        return next((each for each in found if not any(is_below(each, place) for place in hidden)), "")

    def folder_of(self, file: str) -> tuple[str, ...]:
        """What a tool reads that is described in a file: the folder; where that holds more than tools, the file."""
        folder = os.path.realpath(os.path.dirname(file))
        shelved = any(is_below(folder, os.path.join(self.own, shelf)) for shelf in _SHELVES)
        if shelved or not too_wide(folder, home=self.home, own=self.own):
            return (folder,)
        return (os.path.realpath(file),) if os.path.isfile(file) else ()


def _unplanted(path: str, written: Written) -> str:
    """Where a path leads; nothing when a link on its way lies where a tool can have put it."""
    for step in steps("/", path):
        if step.is_end:
            return step.path
        if any(is_below(os.path.dirname(step.path), os.path.realpath(place)) for place in written()):
            return ""
    return ""


def too_wide(real: str, *, home: str, own: str) -> str:
    """Why nobody gives a program this place, or nothing. All are paths without links; `own` is where ours lies."""
    if real == "/" or is_below(home, real):
        return "it holds everything you have; name a directory in it"
    if own and (is_below(real, own) or is_below(own, real)):
        return "Toolcrib keeps there what decides about tools"
    if any(is_below(real, each) for each in _NEVER) or real.casefold() in _WHOLE:
        return "it is a part of the system; name what is needed in it"
    return ""


def why_not_asked(path: str) -> str:
    """Why a program cannot ask for a path, as it is written in a declaration, or nothing.

    It names something of the workspace by a relative path, or something below the home as `~/…`.
    """
    below_home = path.startswith("~/")
    parts = path[2:].split("/") if below_home else path.removeprefix("./").split("/")
    if not path.isprintable() or len(path) > _LONGEST:
        return "it is no plain path"
    if path.startswith("/") or (path.startswith("~") and not below_home):
        return "it is neither below the workspace nor below the home; write data/cache, or ~/data"
    if any(part in ("", ".", "..") for part in parts):
        return "it does not name one place below the workspace or below the home; write data/cache, or ~/data"
    return _why_kept("/" + "/".join(parts), "/", keys=below_home)


def _why_kept(real: str, root: str, *, keys: bool) -> str:
    """Why a place below the workspace, or with `keys` below the home, is not given because a program asks."""
    if why := why_protected(real, root):
        return f"it is {why}"
    if keys:
        names = tuple(fold(name) for name in os.path.relpath(real, root).split("/"))
        for each in KEYS:
            if names[: len(each)] == each or each[: len(names)] == names:
                return "it is, or holds, where people keep their keys"
    return ""
