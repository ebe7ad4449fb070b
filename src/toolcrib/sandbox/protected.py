"""Names that no tool writes to: what lies there is run or believed later, outside every sandbox, by somebody else."""

import os
import re
import unicodedata
from collections.abc import Sequence

from ._beneath import is_below
from .hooks_path import hooks_of

_TABLE = {
    "git's own files, whose settings and hooks run programs": ".git git~1 .gitmodules .gitattributes .gitconfig",
    "another version control's own files": ".hg .hgrc .svn .bzr .jj _darcs .sl",
    "hooks that run at a commit": ".husky .github/hooks .githooks",
    "where Toolcrib keeps its configuration": ".toolcrib",
    "an agent's own instructions and permissions": (
        ".claude .agents .codex .gemini .cursor .windsurf .opencode opencode.json opencode.jsonc .kiro .mcp.json"
        " .kodelet .forge .roo .kilocode .amazonq .junie .qwen .factory .crush.json crush.json .continue"
        " .aider.conf.yml .openhands"
    ),
    "an editor's settings and tasks": ".vscode .idea .zed .fleet .devcontainer .devcontainer.json .vimrc .exrc"
    " .nvimrc .nvim.lua .vim .emacs .emacs.d .dir-locals.el .config/nvim .helix *.code-workspace",
    "what a shell runs when it starts or enters a directory": ".bashrc .bash_profile .bash_login .bash_logout"
    " .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc"
    " .config/fish .bash_completion .envrc .direnv",
    "what a program runs when it starts": ".gdbinit .lldbinit .pdbrc .pythonrc .pythonrc.py .irbrc .rprofile"
    " .tmux.conf .config/tmux .screenrc .curlrc .wgetrc .ghci .octaverc .iex.exs .pryrc .ocamlinit .perldb .ipython",
    "what Python runs when it starts": "sitecustomize.py usercustomize.py *.pth pyvenv.cfg",
    "programs that are found before others": "node_modules/.bin .local/bin",
    "what starts with the session": ".config/autostart .config/systemd .config/environment.d .pam_environment"
    " .xprofile .xinitrc .xsession .xsessionrc .config/i3 .config/sway library/launchagents library/launchdaemons"
    " .local/share/applications .local/share/systemd .local/share/dbus-1",
    "keys and who is trusted with them": ".ssh .gnupg .netrc .pypirc .aws/config"
    " .aws/credentials .kube/config .docker/config.json",
    "where packages come from, and what runs at their installation": ".npmrc .yarnrc .yarnrc.yml .config/pip .condarc",
    "settings that name programs to run": ".config/git",
}
"""Why, and the names: below a root, in any letter case. What people edit all day is not here, though much of it is run
in the end as well: Makefile, package.json, pyproject.toml, conftest.py, Dockerfile, .gitignore,
.pre-commit-config.yaml, and what is in .github/workflows, which runs on another machine and after a push. The gate
asks about writing at all."""

_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # HFS+ leaves these out when it compares names
_BARE = (("head", "objects", "refs"), ("head", "commondir"))
"""By either of these git knows a directory as its own; where there is a `commondir`, the others may lie there."""
_IN_BARE = frozenset(
    ("head", "objects", "refs", "commondir", "config", "config.worktree", "hooks", "info", "packed-refs", "worktrees",
     "modules", "remotes", "branches")
)  # fmt: skip
_IN_VENV = frozenset(("bin", "scripts"))


def fold(name: str) -> str:
    """A name as the most forgiving file system would compare it."""
    plain = name.lower() if name.isascii() else unicodedata.normalize("NFC", _IGNORED.sub("", name)).casefold()
    return plain.split(":")[0].rstrip(". ") if plain[:1] != ":" else plain


def _by_last() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """The table by each pattern's last name, which is the one that must lie below the root."""
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for why, patterns in _TABLE.items():
        for pattern in patterns.split():
            *above, last = pattern.split("/")
            found.setdefault(last, []).append((tuple(above), why))
    return found


_NAMES = _by_last()
PATTERNS = tuple(pattern for patterns in _TABLE.values() for pattern in patterns.split())
LAST_NAMES = tuple(name for name in _NAMES if "*" not in name)
"""What a protected place may be called, but for the patterns."""


def why_protected(real: str, root: str) -> str:
    """Why nobody writes at a path without links, or nothing. What the path to the root is called is not asked."""
    names = [name for name in real.split("/") if name]
    depth = len([name for name in root.split("/") if name])
    folded = [fold(name) for name in names]
    for at in range(depth, len(names)):
        if why := why_named(folded[: at + 1]):
            return why
    return _by_neighbours(names, folded, depth)


def why_named(folded: Sequence[str]) -> str:
    """Why nobody writes to the last of these, for its name and those above it, or nothing."""
    last = folded[-1]
    for pattern in (last, "*" + last[last.rfind(".") :]):
        for above, why in _NAMES.get(pattern, ()):
            if tuple(folded[max(len(folded) - 1 - len(above), 0) : -1]) == above:
                return why
    return ""


def _by_neighbours(names: Sequence[str], folded: Sequence[str], depth: int) -> str:
    """A directory is a repository, or an environment of Python, by what else is in it."""
    for at in range(depth, len(names)):
        directory = "/" + "/".join(names[:at])
        if folded[at] in _IN_BARE and _is_bare(directory, folded[at]):
            return "a git repository's own files, whose settings and hooks run programs"
        if folded[at] in _IN_VENV and _holds(directory, "pyvenv.cfg"):
            return "the programs of a Python environment"
        if any(is_below("/".join(("", *names)), each) for each in hooks_of(directory)):
            return "hooks that run at a commit"
    return ""


def _is_bare(directory: str, name: str) -> bool:
    """Whether git takes it for a repository, once `name` is there."""
    return any(all(part == name or _holds(directory, part) for part in names) for names in _BARE)


def _holds(directory: str, name: str) -> bool:
    return os.path.lexists(os.path.join(directory, "HEAD" if name == "head" else name))
