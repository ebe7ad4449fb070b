"""What every confined program can read of the system, and what it never can."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from toolcrib.sandbox import system

SECRETS = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d/x", "/etc/ssl/private/key.pem",
    "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/sshd_config", "/etc/environment", "/etc/krb5.keytab", "/etc/ipsec.secrets",
    "/etc/NetworkManager/system-connections/wifi", "/etc/wireguard/wg0.conf", "/etc/docker/daemon.json",
    "/etc/kubernetes/admin.conf", "/etc/postgresql/15/main/pg_hba.conf", "/etc/mysql/debian.cnf", "/etc/machine-id",
    "/etc/pki/tls/private/localhost.key", "/root/.bashrc", "/home/somebody/x", "/var/lib/private/x", "/run/secrets/x",
)  # fmt: skip


def granted(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in system.readable_paths())


@pytest.mark.parametrize("path", SECRETS)
def test_no_secret_of_the_system_is_readable(path: str) -> None:
    assert not granted(path)


def test_what_is_granted_is_there_and_everybody_may_read_it() -> None:
    paths = system.readable_paths()
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert os.path.isabs(path) and os.path.exists(path)
        if path.startswith("/etc/"):
            assert os.stat(path).st_mode & stat.S_IROTH, f"{path} is not for everybody"


def test_the_system_is_among_it() -> None:
    assert {"/usr"} <= set(system.readable_paths())
    assert all(granted(os.path.realpath(shutil.which(name) or "/usr/x")) for name in ("sh", "ls"))


def test_no_process_and_no_terminal_is_among_it() -> None:
    assert not {"/proc", "/proc/self", "/proc/mounts", "/proc/net"} & set(system.proc_files())
    assert all(path.startswith("/proc/") for path in system.proc_files())
    assert not {"/dev", "/dev/tty", "/dev/ptmx", "/dev/shm", "/dev/mem", "/dev/kmsg"} & set(system.devices())


@pytest.mark.parametrize(
    "text",
    [
        "[global]\nindex-url = https://me:hunter2@pypi.example.com/simple\n",
        "//registry.example.com/:_authToken=npm_abc\n",
        "//registry.example.com/:_auth=YWJj\n",
        "[http]\n\textraHeader = Authorization: Basic YWJj\n",
        "http_password = x\n",
        "export API_KEY=abc\n",
    ],
)
def test_a_setting_with_a_password_in_it_is_not_granted(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pip.conf"
    file.write_text(text)
    assert not system.holds_no_secret(str(file))


def test_a_setting_without_one_is(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\nindex-url = https://pypi.example.com/simple\n"
    )
    assert system.holds_no_secret(str(file))


def test_a_setting_that_cannot_be_looked_through_is_not_granted(tmp_path: Path) -> None:
    file = tmp_path / "gitconfig"
    file.write_bytes(b"#" * (system.MOST_BYTES + 1))
    assert not system.holds_no_secret(str(file))
    assert not system.holds_no_secret(str(tmp_path / "missing"))


def test_as_much_as_can_be_looked_through_is_granted(tmp_path: Path) -> None:
    file = tmp_path / "gitconfig"
    file.write_bytes(b"#" * system.MOST_BYTES)
    assert system.holds_no_secret(str(file))
    file.write_bytes(b"#" * (system.MOST_BYTES - 6) + b"secret")
    assert not system.holds_no_secret(str(file))
    file.write_bytes(b"\xff\x00")
    assert system.holds_no_secret(str(file))


def test_of_settings_only_what_everybody_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and directories, by whatever link; as root we could read more."""
    for name, mode in (("open", 0o644), ("closed", 0o640), ("for others only", 0o604)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "directory").mkdir(mode=0o755)
    (tmp_path / "closed directory").mkdir(mode=0o711)
    os.mkfifo(tmp_path / "fifo", 0o644)
    for name, target in (("link", "open"), ("link to closed", "closed"), ("link to nothing", "nothing")):
        (tmp_path / name).symlink_to(target)
    found = sorted(str(path) for path in tmp_path.iterdir())
    monkeypatch.setattr(system.glob, "glob", lambda pattern: found if pattern == "/etc/passwd" else [])
    granted = [path for path in system.readable_paths.__wrapped__() if path.startswith(f"{tmp_path}/")]
    assert granted == [f"{tmp_path}/{name}" for name in ("directory", "for others only", "link", "open")]
