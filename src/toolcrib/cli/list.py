"""`toolcrib list`: what is on offer. Quick, because people and shells ask often.

The answer is kept together with the state of every file it depends on. While those are the same, the kept answer is
printed, and nothing heavier than `os` is imported. It is written by `_survey`, which does the real work.
"""

import marshal
import os
import sys

from .. import __version__
from ._text import one_line, visible

HELP = """usage: toolcrib list [--json] [--names] [--watch] [--outdated] [--profiles] [--profile NAME] [--session ID]

Show the tools on offer here, and on stderr what is not on offer and why.

  --json       one JSON document: {"tools": [...], "problems": [...]}
  --names      names only, one a line
  --watch      show them again whenever they change, until Ctrl-C; with --json one document a line
  --outdated   instead: approvals, grants and trust that are for another version than the one on offer
  --profiles   instead: the profiles that can be chosen here
  --profile NAME   what is on offer under this one
  --session ID     what is on offer in this session, with the tools of its skills

  toolcrib list
  toolcrib list --json | jq -r '.tools[].name'
  toolcrib list --watch
  toolcrib list --profile reviewer"""

SNAPSHOT_VERSION = 3


def main(argv: list[str]) -> int:
    words, profile = _valued(argv, "--profile")
    words, session = _valued(words, "--session")
    wanted = set(words)
    if wanted & {"-h", "--help"}:
        print(HELP)
        return 0
    if unknown := wanted - {"--json", "--names", "--watch", "--outdated", "--profiles"}:
        raise misused(f"unknown {' '.join(map(ascii, sorted(unknown)))}")
    if "--outdated" in wanted:
        from ._outdated import outdated

        return outdated(wanted - {"--outdated"}, profile)
    if "--profiles" in wanted:
        from ._profiles import show_profiles

        return show_profiles(wanted - {"--profiles"})
    if "--watch" in wanted:
        from ._watching import follow

        return follow(lambda kept: _show(kept, wanted), apart="--json" not in wanted, profile=profile)
    kept = read_snapshot(profile) if session is None else None
    if kept is None:
        from ._survey import survey

        kept = survey(profile, session)
    _show(kept, wanted)
    return 0


def misused(message: str) -> Exception:
    """What to raise for flags that are not right here."""
    from ._failure import UsageError

    sys.stderr.write(f"{HELP}\n")
    return UsageError(message)


def _valued(argv: list[str], valued: str) -> tuple[list[str], str | None]:
    """The words without a flag and its value, and the value. Where that is not right, the flag stays and is unknown."""
    words, value = [], None
    rest = list(argv)
    while rest:
        flag, given, name = rest.pop(0).partition("=")
        if flag == valued and value is None and (given or rest):
            value = name if given else rest.pop(0)
        else:
            words.append(flag + given + name)
    return words, value


def _show(kept: dict, wanted: set) -> None:  # type: ignore[type-arg]  # typing would have to be imported
    if "--json" in wanted:
        sys.stdout.write(kept["json"] + "\n")
    elif "--names" in wanted:
        sys.stdout.write("".join(f"{name}\n" for name, _, _ in kept["rows"]))
    else:
        _draw(kept)


def snapshot_path(profile: str | None = None) -> str:
    """Where the answer for this directory, this home and a profile is kept."""
    home = os.path.abspath(os.path.expanduser(os.environ.get("TOOLCRIB_HOME") or "~/.toolcrib"))
    here = os.getcwd().replace("%", "%25").replace("/", "%2F")[-200:]
    under = f"{profile}@" if profile else ""  # a directory begins with %2F
    return f"{home}/cache/list-{under}{here}.bin"


def surroundings(profile: str | None = None) -> tuple[str, ...]:
    """What an answer depends on beyond the files in it: where we are, in which very directory, and who we are."""
    here = os.stat(".")
    variables = (os.environ.get(name, "") for name in ("HOME", "AMP_TOOLBOX", "PATH", "USER"))
    return (os.getcwd(), f"{here.st_dev} {here.st_ino}", sys.version, __version__, *variables, profile or "")


def stamp(path: str) -> tuple[int, ...] | None:
    """The state of one file or directory; None when it is not there."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size


def read_snapshot(profile: str | None = None) -> dict | None:  # type: ignore[type-arg]  # typing would have to be imported
    """The kept answer, if everything it depends on is as it was."""
    if profile is not None and not profile.replace("-", "a").replace("_", "a").isalnum():
        return None  # no path is made of what cannot be its name
    try:
        with open(snapshot_path(profile), "rb") as file:
            kept = marshal.load(file)
        if kept["version"] != SNAPSHOT_VERSION or kept["surroundings"] != surroundings(profile):
            return None
        if any(stamp(path) != state for path, state in kept["stamps"]):
            return None
        return kept  # type: ignore[no-any-return]
    except (OSError, ValueError, EOFError, TypeError, KeyError):
        return None


def _draw(kept: dict) -> None:  # type: ignore[type-arg]
    rows = kept["rows"]
    width = _width()
    if rows:
        longest = max(len(name) for name, _, _ in rows)
        lines = [
            f"{name:<{longest}}  {approval:<11}  {one_line(text, max(20, width - longest - 15))}"
            for name, approval, text in rows
        ]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
    if not kept["tools_dir"]:
        sys.stderr.write("No programs, because the configuration says `custom_tools: {enabled: false}`\n")
    elif not kept["own"]:
        where = visible(kept["tools_dir"])
        sys.stderr.write(f"None of your own yet. Put a program into {where}, or type: toolcrib new executable NAME\n")
    for origin, code, message in kept["problems"]:
        sys.stderr.write(f"{code} {visible(origin)}: {visible(message)}\n")
    for hint in kept["hints"]:
        sys.stderr.write(f"hint: {visible(hint)}\n")


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):  # a file or a pipe: whoever reads it can cut it
        return 1000
