"""Whether bubblewrap holds here, found out by running something in it that tries what must not work."""

import os
import select
import signal
import tempfile

from ..core.errors import ToolError
from . import bubblewrap
from .cage import Cage
from .scratch import remove_tree
from .spawn import Start

_SECONDS = 20.0
_SCRIPT = """
echo began
read -r line 2>/dev/null < "$1/secret" && echo "could read outside"
(: > "$1/written") 2>/dev/null
(: > inside) 2>/dev/null || echo "could not write to the workspace"
(: > "$TMPDIR/inside") 2>/dev/null || echo "could not write to its temporary directory"
(: > /usr/toolcrib-canary) 2>/dev/null && echo "could write to the system"
[ "$(readlink /proc/self/ns/pid)" = "$2" ] && echo "could see processes outside"
while read -r name rest; do
  case $name in
    *:) [ "$name" = lo: ] || echo "could see the network outside" ;;
    *\\|*) ;;
  esac
done < /proc/net/dev
while read -r name value; do
  case $name in
    Seccomp:) [ "$value" = 2 ] || echo "could make any system call" ;;
    CapEff:) [ "$value" = 0000000000000000 ] || echo "had capabilities" ;;
    NoNewPrivs:) [ "$value" = 1 ] || echo "could gain privileges" ;;
  esac
done < /proc/self/status
echo ended
"""
_OLD = "it is too old; 0.8.0 with --bind-fd is needed: update bubblewrap, or set `sandbox: landlock`"


def tried() -> str:
    """ "" when it holds, else one line that says why not and what to do."""
    if not os.access(bubblewrap.PROGRAM, os.X_OK):
        return (
            f"{bubblewrap.PROGRAM} is not there; install it: apt install bubblewrap (dnf, pacman, apk: the same name)"
        )
    place = ""
    try:
        place = os.path.realpath(tempfile.mkdtemp(prefix="toolcrib-canary-"))
        return _verdict(_output(place), place)
    except (OSError, ToolError) as exc:
        return f"bubblewrap could not be tried: {exc}; see `toolcrib doctor`"
    finally:
        if place:
            remove_tree(place)


def _output(place: str) -> str:
    """What a program says that tries it."""
    for name in ("workspace", "tmp", "outside"):
        os.mkdir(f"{place}/{name}", 0o700)
    with open(f"{place}/outside/secret", "w", encoding="ascii") as file:
        file.write("secret\n")
    cage = Cage(tier="bubblewrap", workspace=f"{place}/workspace")
    argv = ("/bin/sh", "-c", _SCRIPT, "sh", f"{place}/outside", os.readlink("/proc/self/ns/pid"))
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": f"{place}/tmp"}
    said = os.memfd_create("toolcrib")
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        about = Start(argv, cage.workspace, env, streams=(null, said, said))
        pid, told = bubblewrap.begin(cage, about, tmp=env["TMPDIR"])
        try:
            _wait(pid)
        finally:
            os.close(told)  # not before: bubblewrap ends when nobody listens to its account
        return os.pread(said, 65536, 0).decode("utf-8", "replace")
    finally:
        os.close(null)
        os.close(said)


def _wait(pid: int) -> None:
    fd = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        if not poll.poll(_SECONDS * 1000):
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
    finally:
        os.close(fd)


def _verdict(said: str, place: str) -> str:
    lines = said.split("\n")
    if "began" not in lines:
        return _why_not(said)
    bad = lines[lines.index("began") + 1 : -1]
    if os.path.exists(f"{place}/outside/written"):
        bad.insert(0, "could write outside")
    if bad == ["ended"]:
        return ""
    return f"bubblewrap runs here but does not hold: a program inside {'; '.join(bad) or 'did not come to its end'}"


def _why_not(said: str) -> str:
    """What bubblewrap complained of, and the remedy for what usually is behind it."""
    words = said.strip().removeprefix("bwrap: ").split("\n")[-1] or "it ended without a word"
    if "Unknown option" in words:
        return f"bubblewrap does not come up: {words}: {_OLD}"
    container = os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        remedy = (
            "AppArmor keeps it from making namespaces; give /usr/bin/bwrap a profile that allows `userns` (the package "
            "apparmor-profiles has one), or set `sandbox: landlock`"
        )
    elif _setting("kernel/unprivileged_userns_clone") == "0":
        remedy = "user namespaces are off; turn them on with `sysctl kernel.unprivileged_userns_clone=1`"
    elif _setting("user/max_user_namespaces") == "0":
        remedy = "user namespaces are off; turn them on with `sysctl user.max_user_namespaces=15000`"
    elif container:
        remedy = (
            "the container forbids namespaces; start it with `--security-opt seccomp=unconfined --security-opt "
            "systempaths=unconfined` or a profile that allows them, or set `sandbox: landlock`"
        )
    else:
        remedy = "this system does not let this user make namespaces; set `sandbox: landlock`"
    return f"bubblewrap does not come up: {words}: {remedy}"


def _setting(name: str) -> str:
    try:
        with open(f"/proc/sys/{name}", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
