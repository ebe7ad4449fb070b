"""What lies behind the programs on PATH: installations outside the system that a program needs to run at all.

A directory of programs alone is of little use: Python needs its library, a link needs what it leads to, a shim needs
the versions it chooses from. What is granted here is granted to every confined program, so it stays narrow: a whole
directory only where it can be nothing but an installation, of others the parts that programs are made of, and never
what lies in a home beside them. Nothing is started to find out.
"""

import functools
import os
import stat
from collections.abc import Iterator, Mapping

from .system import READABLE

_WHOLE = (
    ("pyvenv.cfg",), ("conda-meta",), ("Cellar",), ("lib/rustlib",), ("pkg/tool", "src"), ("release", "jmods"),
    ("release", "lib/modules"), ("shims", "versions"), ("shims", "installs"),
)  # fmt: skip
"""Signs of a directory that is an installation and nothing else: all of one group."""
_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share")
"""Of one that has programs and libraries, and perhaps more."""
_LIBRARIES = ("lib/python3", "lib/node_modules", "lib/ruby", "lib/perl5", "include/node")
_PROGRAM_DIRECTORIES = frozenset(("bin", "sbin", "shims", "libexec"))
_KEYS = (
    ".ssh .gnupg .aws .azure .kube .docker .netrc .password-store .mozilla .thunderbird .config .cache .git .toolcrib"
    " .claude .codex .gemini keyrings .pki gcloud .terraform.d .vault-token .m2 .gradle"
)
_PRIVATE = frozenset(_KEYS.split())
"""Names of directories where keys lie: nothing in them is granted."""
_MIXED = frozenset((".local", ".cargo", ".npm", "go"))
"""Below a home: programs, but also what is the user's own. Their programs only, and libraries by name."""
_HOMES = {
    "RUSTUP_HOME": ".rustup/toolchains", "ASDF_DATA_DIR": ".asdf/installs", "PYENV_ROOT": ".pyenv/versions",
    "RBENV_ROOT": ".rbenv/versions", "NODENV_ROOT": ".nodenv/versions", "PYTHONUSERBASE": ".local/lib",
}  # fmt: skip
"""Variables by which programs find their installation below a home, and what is there when it is one."""
_NEVER_IN = ("/etc", "/proc", "/dev", "/sys", "/run", "/boot")
_NEVER = frozenset(("/", "/home", "/root", "/Users", "/tmp", "/var", "/var/tmp", "/mnt", "/media", "/srv", *_NEVER_IN))
_MOST_ENTRIES, _MOST_NAMES, _MOST_HOPS, _MOST_FOUND, _HIGHEST = 64, 4096, 8, 256, 4
_FIRST_LINE = 256


def installations(path: str, home: str, workspace: str = "") -> tuple[str, ...]:
    """What the programs on `path` need that lies neither in the system nor in the workspace.

    Real paths, and beside them the ways on which they are spelled where a link is on the way. What an entry in the
    workspace leads to counts only where it is an installation: whoever writes there chooses no single files.
    """
    found = _Found(home, workspace)
    for entry in path.split(os.pathsep)[:_MOST_ENTRIES]:
        if os.path.isabs(entry) and "\0" not in entry:
            found.add_directory(os.path.normpath(entry))
    found.add_user_libraries()
    return found.least()


@functools.lru_cache(16)
def homes(home: str) -> Mapping[str, str]:
    """What a program must be told that is started with another home, to find what is installed in its user's own."""
    there = {name: path for name, path in _HOMES.items() if os.path.isabs(home) and _has(home, path)}
    return {name: os.path.join(home, os.path.dirname(path)) for name, path in there.items()}


def behind(program: str, home: str, workspace: str = "") -> tuple[str, ...]:
    """What one program needs: the interpreter that its first line names, and the environment of Python beside it."""
    found = _Found(home, workspace)
    folder = os.path.dirname(os.path.abspath(program))
    interpreter = _interpreter(program)
    if interpreter:
        found.add_program(interpreter, alone=not _is_in(interpreter, found.workspace))
    for name in (".venv", "venv", "env"):
        if os.path.isfile(os.path.join(folder, name, "pyvenv.cfg")):
            found.add_program(os.path.join(folder, name, "bin", "python"))
    return found.least()


class _Found:
    """What was found so far."""

    def __init__(self, home: str, workspace: str) -> None:
        self.home = os.path.realpath(home) if home else ""
        self.workspace = os.path.realpath(workspace) if workspace else ""
        self._paths: dict[str, None] = {}
        self._seen: set[str] = set()

    def least(self) -> tuple[str, ...]:
        """Without what lies in another of them, in the system or in the workspace."""
        kept: list[str] = []
        for path in sorted(self._paths):
            if not any(_is_in(path, above) for above in (kept[-1:] + [self.workspace])) and not in_system(path):
                kept.append(path)
        return tuple(kept[:_MOST_FOUND])

    def add_directory(self, entry: str) -> None:
        """A directory on PATH."""
        real = os.path.realpath(entry)
        if self._closed(real) or not os.path.isdir(real):
            return
        if entry in self._seen or (real in self._seen and in_system(real)):
            return
        self._seen.update((entry, real))
        own = in_system(real)
        if not own and not self._add_installation(entry, real) and os.path.basename(real) in _PROGRAM_DIRECTORIES:
            self._add(entry, real)
        alone = not own and not self._covered(real)
        for name, is_link in _names(real):
            spelled = os.path.join(entry, name)
            if is_link:
                self.add_program(spelled, alone=not _is_in(real, self.workspace))
            elif alone and _is_program(spelled):
                self._add(spelled, os.path.join(real, name))
            if name == "rustup":
                self._add_rustup()

    def add_user_libraries(self) -> None:
        """What Python finds in its user's home, which is installed there without a program on PATH."""
        local = os.path.join(self.home, ".local")
        for name in _pythons(local) if self.home else ():
            path = os.path.join(local, name)
            if os.path.realpath(path) == path:
                self._add(path, path)

    def add_program(self, spelled: str, *, alone: bool = False) -> None:
        """What a path to a program leads to: its installation, or else, if it may stand `alone`, that one file."""
        if spelled in self._seen:
            return
        self._seen.add(spelled)
        hops = [hop for hop in _hops(spelled) if not in_system(hop)]
        real = os.path.realpath(spelled)
        if not hops or (self._closed(real) and not in_system(real)) or not _is_program(real):
            return
        for hop in hops:  # an environment may well be made from a Python of the system
            folder = os.path.dirname(hop)
            if not self._add_installation(folder, os.path.realpath(folder)) and alone:
                self._add(hop, real)

    def _add_installation(self, spelled: str, real: str) -> bool:
        """The installation that a directory of programs belongs to, if it is one: itself, or one above it."""
        for up in range(_HIGHEST):
            prefix, name = _above(real, up), _above(spelled, up)
            if self._closed(prefix):
                return False
            granted = self._granted(prefix)
            if granted and any(_is_in(real, f"{prefix}/{part}" if part else prefix) for part in granted):
                for part in granted:
                    self._add(os.path.join(name, part), os.path.join(prefix, part) if part else prefix)
                self._add_base(prefix)
                return True
        return False

    def _granted(self, prefix: str) -> list[str]:
        """What of a directory is an installation: all of it (the empty name), parts, or nothing."""
        if self._is_mixed(prefix):
            return ["bin", *(name for name in ("lib/node_modules", *_pythons(prefix)) if _has(prefix, name))]
        if any(all(_has(prefix, sign) for sign in group) for group in _WHOLE):
            return [""]
        libraries = any(_has(prefix, name) for name in _LIBRARIES[1:]) or bool(_pythons(prefix))
        if libraries or (_has(prefix, "bin") and _has(prefix, "lib")):
            return [part for part in _PARTS if _has(prefix, part)]
        return []

    def _add_base(self, prefix: str) -> None:
        """What an environment of Python was made from."""
        for line in _lines(os.path.join(prefix, "pyvenv.cfg")):
            key, _, value = line.partition("=")
            base = value.strip()
            if key.strip() != "home" or not os.path.isabs(base) or "\0" in base:
                continue
            for name in ("python3", "python"):
                self.add_program(os.path.join(os.path.normpath(base), name))

    def _add_rustup(self) -> None:
        for name in ("toolchains", "settings.toml"):
            path = os.path.join(self.home, ".rustup", name)
            if self.home and os.path.realpath(path) == path and os.path.exists(path):
                self._add(path, path)

    def _add(self, spelled: str, real: str) -> None:
        if self._closed(real) or len(self._paths) >= 2 * _MOST_FOUND:
            return
        self._paths[real] = None
        spelled = os.path.normpath(spelled)
        if spelled != real and not self._closed(spelled) and os.path.realpath(spelled) == real:
            self._paths[spelled] = None

    def _covered(self, real: str) -> bool:
        return any(_is_in(real, path) for path in self._paths)

    def _is_mixed(self, prefix: str) -> bool:
        return os.path.basename(prefix) in _MIXED and (not self.home or os.path.dirname(prefix) == self.home)

    def _closed(self, path: str) -> bool:
        """Whether nothing here is granted as a whole: a home, what is above it, where keys lie, the system's own."""
        if path in _NEVER or (self.home and _is_in(self.home, path)):
            return True
        if any(_is_in(path, each) for each in _NEVER_IN) and not in_system(path):
            return True
        return not _PRIVATE.isdisjoint(path.split("/"))


def in_system(path: str) -> bool:
    """Whether every confined program can read it anyway."""
    return any(_is_in(path, tree) for tree in _system_trees())


@functools.cache
def _system_trees() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*READABLE, *(os.path.realpath(tree) for tree in READABLE))))


def _is_in(path: str, directory: str) -> bool:
    return bool(directory) and (path == directory or path.startswith(directory.rstrip("/") + "/"))


def _above(path: str, count: int) -> str:
    for _ in range(count):
        path = os.path.dirname(path)
    return path


def _has(prefix: str, name: str) -> bool:
    return os.path.exists(f"{prefix}/{name}")


def _pythons(prefix: str) -> list[str]:
    return [f"lib/{name}" for name, _ in _names(f"{prefix}/lib") if name.startswith("python3")]


def _names(directory: str) -> Iterator[tuple[str, bool]]:
    """What is in a directory, and whether it is a link."""
    try:
        with os.scandir(directory) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_NAMES:
                    return
                yield entry.name, entry.is_symlink()
    except OSError:
        return


def _hops(path: str) -> list[str]:
    """A path, and each path that its links lead to in turn."""
    hops = [path]
    while len(hops) < _MOST_HOPS:
        try:
            target = os.readlink(hops[-1])
        except (OSError, ValueError):
            break
        hops.append(os.path.normpath(os.path.join(os.path.dirname(hops[-1]), target)))
    return hops


def _is_program(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) and bool(mode & 0o111)


def _interpreter(program: str) -> str:
    """What a script's first line names by its whole path."""
    words = next(iter(_lines(program)), "").split()
    if not words or not words[0].startswith("#!"):
        return ""
    first = words[0][2:] or (words[1] if len(words) > 1 else "")
    return os.path.normpath(first) if os.path.isabs(first) else ""


def _lines(path: str) -> list[str]:
    """The first lines of a small text file."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return []
            return file.read(16 * _FIRST_LINE).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return []
