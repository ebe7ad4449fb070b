"""`toolcrib doctor`: what works here, what does not, and what to do about it."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..core.errors import ConfigError, ToolcribError
from ..core.jsontext import dump_ascii
from ..observe.audit import log_files
from ..observe.verify import verify
from ..policy.trust import PROJECT_DIR, Trust
from ..runtime.build import build, read_config
from ..runtime.compat import hints
from ..runtime.config import Config
from ..runtime.project import trust_roots
from ..runtime.runtime import Crib
from ..sandbox import spawn
from ..sandbox.cage import UNCONFINED
from ..sandbox.choose import choose, forget
from ..store.home import Home
from ._loop import run
from ._parser import verb_parser
from ._profiles import look_at_all
from ._text import visible

EXAMPLE = """
  toolcrib doctor
  toolcrib doctor --json | jq '.checks[] | select(.state == "broken")'
  toolcrib doctor --self-test

Exit status 0 when Toolcrib can be used here, 1 when something is broken; each fault is shown with its fix.
The self-test ends with 1 when something got out of a sandbox that is no known gap.
"""
OK, NOTE, BROKEN = "ok", "note", "broken"
NEXT = "toolcrib serve mcp --print-config claude"
_ROOM = 1024 * 1024
_OPTIONAL = ("git", "node", "go")


class Check(NamedTuple):
    name: str
    state: str
    message: str
    fix: str | None = None


def main(argv: list[str]) -> int:
    parser = verb_parser("doctor", "Say what works here and what does not.", EXAMPLE)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    words = "try harmless ways out of each sandbox on this machine, and say which are held"
    parser.add_argument("--self-test", action="store_true", help=words)
    options = parser.parse_args(argv)
    if options.self_test:
        from ._self_test import main as self_test  # late: seldom asked for

        return self_test(json=options.json)
    home, workspace = Home(), os.getcwd()
    checks = list(_checks(home, workspace, options.profile))
    broken = any(check.state == BROKEN for check in checks)
    connect = f"{NEXT} --profile {options.profile}" if options.profile else NEXT
    lines = hints(workspace, os.environ, _config_or_default(home, workspace).compat)
    if options.json:
        answer: dict[str, Any] = {
            "ok": not broken,
            "checks": [check._asdict() for check in checks],
            "hints": lines,
            "next": connect,
        }
        sys.stdout.write(dump_ascii(answer).decode() + "\n")
        return int(broken)
    for check in checks:
        print(f"{check.state:<6}  {check.name:<8}  {visible(check.message)}")
        if check.fix:
            print(f"{'':<18}fix: {visible(check.fix)}")
    for line in lines:
        print(f"hint: {visible(line)}", file=sys.stderr)
    print(
        "Something is broken; see above." if broken else f"Usable. To connect an agent, type: {connect}",
        file=sys.stderr,
    )
    return int(broken)


def _checks(home: Home, workspace: str, profile: str | None) -> Iterator[Check]:
    forget(home.file("cache"))  # whoever asks may have followed the advice of the last time
    yield _python()
    yield from _home(home)
    yield from _configured(home, workspace, profile)
    yield _audit(home)
    yield _on_path()
    for program in _OPTIONAL:
        path = shutil.which(program)
        yield Check(program, OK, path) if path else Check(program, NOTE, "not here; only tools that use it need it")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if spawn.FAST:
        return Check("python", OK, f"{version}, programs are started the fast way")
    return Check("python", NOTE, f"{version}, programs are started through subprocess, which is slower")


def _home(home: Home) -> Iterator[Check]:
    place = home.path
    while not os.path.lexists(place):  # it is made with the first record
        place = os.path.dirname(place)
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        fix = "make it writable, or set TOOLCRIB_HOME to a directory that is; until then no call runs"
        yield Check("home", BROKEN, f"{place} cannot be written to", fix)
        return
    free = shutil.disk_usage(place).free
    if free < _ROOM:
        yield Check("home", BROKEN, f"only {free} bytes are free at {place}", "make room: toolcrib clean --all")
        return
    if place != home.path:
        yield Check("home", OK, f"{home.path} will be made with the first call")
        return
    loose = list(_loose(home))
    for path, mode, wanted in loose:
        state = BROKEN if mode & 0o022 else NOTE
        whom = "change" if mode & 0o022 else "read"
        yield Check("home", state, f"others may {whom} {path} (mode {mode:04o})", f"chmod {wanted:o} {path}")
    if not loose:
        yield Check("home", OK, f"{home.path}, private, writable")


def _loose(home: Home) -> Iterator[tuple[str, int, int]]:
    """What others may read or change: path, mode, and the mode it should have."""
    inner = [home.file(name) for name in ("audit", "artifacts", "cache", "tools")]
    files = [home.file(name) for name in ("config.yaml", "policy.yaml", "trust.json", "state.db")]
    logs = [home.file("audit", name) for name in log_files(home.file("audit"))]
    for path in (home.path, *inner, *files, *logs):
        try:
            seen = os.lstat(path)
        except OSError:
            continue
        mode, folder = stat.S_IMODE(seen.st_mode), stat.S_ISDIR(seen.st_mode)
        # Below a private directory nobody else can read; what others could still write is reported all the same.
        if mode & (0o077 if path == home.path else 0o022) and not stat.S_ISLNK(seen.st_mode):
            yield path, mode, 0o700 if folder else 0o600


def _configured(home: Home, workspace: str, profile: str | None) -> Iterator[Check]:
    try:
        config = read_config(workspace, home, profile)
        trust = Trust(home.file("trust.json"), lambda data: None)
        trusted = trust.trusts(workspace)
        changes = trust.changed(workspace, trust_roots(workspace, config.local_dir, os.environ)) if trusted else ()
    except ConfigError as exc:
        yield Check("config", BROKEN, str(exc), f"correct {exc.path}" + (f", line {exc.line}" if exc.line else ""))
        return
    except OSError as exc:
        yield Check("config", BROKEN, str(exc), "make the file readable")
        return
    written = os.path.exists(home.file("config.yaml"))
    yield Check("config", OK, home.file("config.yaml") if written else "none, the defaults count")
    yield from _profiles(home, workspace, profile)
    yield from _tools(home, workspace, profile)
    yield _project(workspace, trusted=trusted, changes=sum(map(len, changes)))
    yield _sandbox(home, config)


def _profiles(home: Home, workspace: str, chosen: str | None) -> Iterator[Check]:
    found = look_at_all(workspace, home)
    names = ", ".join(f"{each.name} (chosen)" if each.name == chosen else each.name for each in found)
    if all(each.usable and not each.problems for each in found):
        yield Check("profiles", OK, names or "none; the configuration alone counts")
        return
    for each in found:
        for problem in each.problems:
            says = "says in vain" if each.usable else "cannot be chosen"
            yield Check("profiles", NOTE, f"{each.name} {says}: {problem.message}", f"correct {problem.origin}")
    yield Check("profiles", NOTE, f"there are {names}")


def _tools(home: Home, workspace: str, profile: str | None) -> Iterator[Check]:
    try:
        crib = build(workspace=workspace, home=home.path, asker="doctor", profile=profile)
    except ConfigError as exc:
        yield Check("policy", BROKEN, str(exc), f"correct {exc.path}" + (f", line {exc.line}" if exc.line else ""))
        return
    rules = len(crib.policy.rules)
    yield Check("policy", OK, f"{rules} rules; toolcrib policy check looks at them" if rules else "no rules")
    try:
        run(_start(crib))
    except (ToolcribError, OSError) as exc:
        yield Check("tools", BROKEN, str(exc), "see `home` above")
        return
    tools, problems = crib.tools(), crib.problems()
    if not problems:
        yield Check("tools", OK, f"{len(tools)} on offer")
        return
    fix = "toolcrib list says why; toolcrib check PATH shows every fault of one"
    yield Check("tools", NOTE, f"{len(tools)} on offer, {len(problems)} problems", fix)


async def _start(crib: Crib) -> None:
    try:
        await crib.start()
    finally:
        await crib.close()


def _project(workspace: str, *, trusted: bool, changes: int) -> Check:
    if trusted and changes:
        message = f"{workspace} is trusted, but {changes} of its files are not as they were: those are not used"
        return Check("project", NOTE, message, f"look at what changed: toolcrib trust {workspace}")
    if trusted:
        return Check("project", OK, f"{workspace} is trusted")
    if not os.path.isdir(os.path.join(workspace, PROJECT_DIR)):
        return Check("project", OK, f"{workspace} has no tools of its own")
    return Check(
        "project",
        NOTE,
        f"{workspace} has a {PROJECT_DIR} directory and is not trusted: nothing in it is read or run",
        f"look at it, then: toolcrib trust {workspace}",
    )


def _sandbox(home: Home, config: Config) -> Check:
    """What confines programs here, and of each tier that does not hold, why."""
    cache = home.file("cache")
    chosen = choose(cache if os.path.isdir(cache) else os.devnull)  # asking makes no home
    lacking = {tier: why for tier, why in chosen.why.items() if why}
    others = "".join(f"; {tier} does not hold: {why}" for tier, why in lacking.items())
    others += "".join(f"; {tier} holds as well" for tier in chosen.why if tier not in (chosen.tier, *lacking))
    said = config.sandbox
    if said in lacking or (said not in (*UNCONFINED, "auto") and said not in chosen.why):
        why = lacking.get(said, "this system does not have it")
        fix = "put that right, or choose `sandbox: auto` in config.yaml"
        return Check(
            "sandbox", BROKEN, f"`sandbox: {said}` is demanded, and does not hold here: {why}; no program runs", fix
        )
    demanded = _demanded(config, lacking)
    if demanded:
        others += f"; what is demanded for {demanded} is missing, so those do not run"
    tier = chosen.tier if said == "auto" else said
    if tier in UNCONFINED:
        state = NOTE if said == "auto" or demanded else OK
        return Check("sandbox", state, f"{tier}: a program runs with your rights{others}")
    words = "a program writes in the workspace alone, and has no network unless it was granted"
    return Check("sandbox", NOTE if demanded else OK, f"{tier}: {words}{others}")


def _demanded(config: Config, lacking: Mapping[str, str]) -> str:
    """For which tools and kinds a tier is named that does not hold."""
    rulings = (config.ruling, *config.tighter)
    said = [(name, each) for ruling in rulings for name, each in (*ruling.kinds.items(), *ruling.tools.items())]
    return ", ".join(sorted({name for name, each in said if each.sandbox in lacking}))


def _audit(home: Home) -> Check:
    directory = home.file("audit")
    logs = [os.path.join(directory, name) for name in log_files(directory)]
    closed = [path for path in (directory, *logs[-1:]) if os.path.exists(path) and not os.access(path, os.W_OK)]
    if closed:
        return Check("audit", BROKEN, f"{closed[0]} cannot be written to, so no call runs", f"chmod u+w {closed[0]}")
    try:
        found = verify(directory)
    except OSError as exc:
        return Check("audit", BROKEN, str(exc), "make the record readable")
    if found.fault:
        fix = "find out who changed it; calls still run and are recorded after it. A fresh record begins when the "
        return Check("audit", BROKEN, found.fault, fix + f"files are moved out of {directory}")
    return Check("audit", OK, f"{found.records} records, none changed, head {found.head}")


def _on_path() -> Check:
    shell = os.path.basename(os.environ.get("SHELL") or "")
    path = shutil.which("toolcrib")
    if path:
        known = {"fish": "toolcrib completion fish | source", "zsh": 'eval "$(toolcrib completion zsh)"'}
        completion = known.get(shell, 'eval "$(toolcrib completion bash)"')
        return Check("path", OK, f"{path}; for completion put into your shell's start file: {completion}")
    own = os.path.join(os.path.dirname(sys.executable), "toolcrib")
    fix = f'export PATH="{os.path.dirname(own)}:$PATH"' if os.path.exists(own) else "install the package"
    return Check("path", NOTE, "the command toolcrib is not on PATH", fix)


def _config_or_default(home: Home, workspace: str) -> Config:
    try:
        return read_config(workspace, home)
    except (ConfigError, OSError):
        return Config()
