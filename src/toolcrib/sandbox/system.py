"""What of the system itself every confined program can read: programs, libraries, and settings that hold no secret.

Of /etc by name only. As root the kernel would hand out the rest as well, so a file that not everybody may read is left
out even when it is named here, and so is one in which a password or a token seems to stand.
"""

import functools
import glob
import os
import re
import stat

READABLE = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store",
    "/run/current-system", "/var/lib/texmf", "/var/cache/fontconfig",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
"""Whole trees."""

_SETTINGS = {
    "how programs start": "ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload ld-musl-*.path alternatives",
    "who and where": "passwd group nsswitch.conf hosts hostname resolv.conf host.conf gai.conf services protocols",
    "time and language": "localtime timezone locale.conf locale.alias default/locale",
    "whom TLS trusts": "ssl/certs ssl/cert.pem ssl/openssl.cnf ca-certificates ca-certificates.conf crypto-policies"
    " pki/tls/certs pki/tls/cert.pem pki/tls/openssl.cnf pki/ca-trust pki/java gnutls",
    "which system": "os-release debian_version lsb-release redhat-release fedora-release alpine-release arch-release",
    "terminals and shells": "terminfo inputrc bash.bashrc bashrc zsh shells",
    "kinds of files": "mime.types mailcap magic magic.mime xml",
    "drawing": "fonts ImageMagick-* texmf glvnd OpenCL vulkan",
    "languages": "python3 python3.* perl java java-*-openjdk maven gemrc R ghc",
}
_PERHAPS_SECRET = ("gitconfig", "gitattributes", "npmrc", "pip.conf", "wgetrc", "curlrc", "profile")
"""Programs of every day read these, and some people keep passwords in them: granted only without any."""

_PROC = "cpuinfo meminfo stat loadavg uptime version filesystems devices swaps vmstat sys"
PROC_FILES = tuple(f"/proc/{name}" for name in _PROC.split())
"""What /proc says of the machine, where a program has no /proc of its own. Of processes, nothing."""

DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
"""What every program may read and write. A terminal is not among them."""

_SECRET = re.compile(rb"://[^\s/@]+@|(?i:_auth|token|passw|secret|api_?key|authorization)")
MOST_BYTES = 1 << 20


@functools.cache
def readable_paths() -> tuple[str, ...]:
    """What there is on this machine. Some are links: what they lead to is what is meant."""
    settings = [
        path for names in _SETTINGS.values() for name in names.split() for path in sorted(glob.glob(f"/etc/{name}"))
    ]
    named = [path for path in settings if _is_public(path)]
    clean = [path for name in _PERHAPS_SECRET if _is_public(path := f"/etc/{name}") and holds_no_secret(path)]
    return tuple(path for path in READABLE if os.path.isdir(path)) + (*named, *clean)


@functools.cache
def proc_files() -> tuple[str, ...]:
    """Those of `PROC_FILES` that there are."""
    return tuple(path for path in PROC_FILES if os.path.exists(path))


@functools.cache
def devices() -> tuple[str, ...]:
    """Those of `DEVICES` that there are."""
    return tuple(path for path in DEVICES if os.path.exists(path))


def _is_public(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return bool(mode & stat.S_IROTH) and (stat.S_ISDIR(mode) or stat.S_ISREG(mode))


def holds_no_secret(path: str) -> bool:
    """Whether a text file can be read, and nothing in it looks like a password or a token."""
    try:
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError:
        return False
    return len(text) <= MOST_BYTES and _SECRET.search(text) is None
