"""Files outside, the home, what is said of files, and protected places in the workspace."""

import os
from typing import Any

from toolcrib.sandbox.canary import (
    Alike,
    Found,
    Ground,
    Unchanged,
    absent,
    alike,
    environment,
    file,
    memory,
    own_program,
    secret,
    size,
    text_of,
    written,
)

from .escape import T1, Escape, closed, escape, openable, root, there
from .things import (
    by_handle,
    left_open,
    left_open_by_number,
    link_with_target,
    mounted,
    named,
    no_device,
    own_file,
    program,
    removed,
    watched,
    with_attribute,
)
from .yard import holding, path_of_process

files, home, metadata, protected, rights = map(escape, ("files", "home", "metadata", "protected", "rights"))


def far(lay: Any) -> Any:
    return lambda yard, name: lay(yard, name, place=f"{yard.far}/{name}/it")


def at_home(lay: Any, path: str) -> Any:
    return lambda yard, name: lay(yard, name, place=f"{yard.home}/{path}")


def through_given_link(lay: Any) -> Any:
    """A link that has been in the workspace all along."""

    def laid(yard: Ground, name: str) -> Any:
        found = lay(yard, name)
        link = f"{yard.workspace}/{name}-link"
        os.symlink(found.about["path"], link)
        found.about = {"path": link}
        return found

    return laid


def empty_directory(yard: Ground, name: str) -> Unchanged:
    path = f"{yard.near}/{name}/directory"
    os.makedirs(path)
    return Unchanged(os.path.dirname(path), path=path)


FILES = [
    files("read", "read", secret),
    files("read-far", "read", far(secret)),
    files("read-shared-memory", "read", removed(secret, "/dev/shm"), lacks=there("/dev/shm")),
    files(
        "read-shadow",
        "hold",
        holding("/etc/shadow", path="/etc/shadow", flags=os.O_RDONLY),
        lacks=openable("/etc/shadow", os.O_RDONLY),
    ),
    files("read-relative", "read_relative", secret),
    files("read-upwards", "read_upwards", secret),
    files("read-link", "read_through_link", secret),
    files("read-given-link", "read", through_given_link(secret)),
    files("read-proc-root", "read_through_root", secret),
    files("read-proc-thread-root", "read_through_thread_self", secret),
    files("read-proc-cwd", "read_through_cwd", secret),
    files("read-proc-parent-root", "read_through_parent", secret),
    files("read-proc-first-root", "read_through_first", secret, lacks=openable("/proc/1/root", os.O_RDONLY)),
    files("read-other-root", "read", path_of_process("/proc/{pid}/root{path}")),
    files("read-other-cwd", "read", path_of_process("/proc/{pid}/cwd/{name}")),
    files("read-other-descriptor", "read", path_of_process("/proc/{pid}/fd/{fd}")),
    files("read-other-environ", "read", environment),
    files("read-other-arguments", "read", path_of_process("/proc/{pid}/cmdline")),
    files("read-other-task", "read", path_of_process("/proc/{pid}/task/{pid}/environ")),
    files("read-other-memory", "read_memory_file", memory),
    files("read-after-chdir", "read_after_chdir", secret),
    files("read-directory", "read_through_directory", secret),
    files("read-place-only", "read_reopened", secret),
    files("read-linked", "read_linked_in", secret),
    files("read-place-linked", "read_copied", secret, lacks=root),
    files("read-mapped", "read_mapped", secret),
    files("read-by-shell", "read_by_shell", secret),
    files("read-left-open", "read_descriptors", left_open, lacks=closed),
    files("read-left-open-by-name", "read_device_descriptors", left_open_by_number, lacks=closed),
    files("read-handle", "read_handle", by_handle, lacks=root),
    files("read-after-chroot", "read_after_chroot", secret, lacks=root),
    files("read-cloned-tree", "read_cloned_tree", secret, lacks=root),
    files("names", "names", named),
    files("execute", "execute", program),
    files("execute-by-shell", "execute_by_shell", program),
    files("write", "write", file),
    files("write-far", "write", far(file)),
    files("write-relative", "write_relative", file),
    files("write-link", "write_through_link", file),
    files("write-given-link", "write", through_given_link(file)),
    files("write-proc-root", "write_through_root", file),
    files("write-mapped", "write_mapped", file),
    files("write-linked", "link_in_and_write", file),
    files("append", "append", file),
    files("truncate", "truncate", file),
    files("open-truncating", "open_truncating", file),
    files("open-truncating-to-read", "open_emptying", file, flags=os.O_RDONLY),
    files("open-truncating-for-nothing", "open_emptying", file, flags=os.O_ACCMODE),
    files("create", "create", absent),
    files("create-far", "create", far(absent)),
    files("create-temporary", "create", removed(absent, "/tmp")),
    files("make-directory", "make_directory", absent),
    files("make-link", "symlink_out", absent),
    files("make-pipe", "fifo_out", absent),
    files("link-out", "link_out", absent),
    files("nameless-out", "nameless_out", absent),
    files("rename-in", "rename_in", file),
    files("rename-out", "rename_out", absent),
    files("rename-directory-out", "rename_directory_out", absent),
    files("rename-outside", "rename_outside", file),
    files("exchange", "exchange", file),
    files("unlink", "unlink", file),
    files("remove-directory", "remove_directory", empty_directory),
    files("bind-mount", "bind_mount", mounted("near"), lacks=root),
    files("mount-memory", "mount_memory", mounted(), lacks=root),
    files("mount-overlay", "mount_overlay", mounted("near"), lacks=root),
    files("mount-by-steps", "mount_by_steps", mounted(), lacks=root),
    files(
        "user-file-system",
        "hold",
        holding("/dev/fuse", path="/dev/fuse", flags=os.O_RDWR),
        lacks=openable("/dev/fuse", os.O_RDWR),
    ),
]

HOME = [
    home("ssh-key", "read", at_home(secret, ".ssh/id_ed25519")),
    home("netrc", "read", at_home(secret, ".netrc")),
    home("cloud", "read", at_home(secret, ".aws/credentials")),
    home("gnupg", "read", at_home(secret, ".gnupg/private-keys-v1.d/key")),
    home("browser", "read", at_home(secret, ".mozilla/firefox/x.default/logins.json")),
    home("history", "read", at_home(secret, ".bash_history")),
    home("hub", "read", at_home(secret, ".config/gh/hosts.yml")),
    home("other-project", "read", at_home(secret, "other-project/.env")),
    home("names", "names", lambda yard, name: named_in(yard, f"{yard.home}/{name}")),
    home("state", "read", at_home(secret, ".toolcrib/state.db")),
    home("artifact", "read", at_home(secret, ".toolcrib/artifacts/call.stdout")),
    home("trust", "put", at_home(file, ".toolcrib/trust.json")),
    home("grants", "put", at_home(file, ".toolcrib/grants.json")),
    home("policy", "put", at_home(file, ".toolcrib/policy.yaml")),
    home("configuration", "put", at_home(absent, ".toolcrib/config.yaml")),
    home("audit", "append", at_home(file, ".toolcrib/audit/1.jsonl")),
    home("new-tool", "put", at_home(absent, ".toolcrib/tools/evil")),
    home("changed-tool", "put", at_home(file, ".toolcrib/tools/good")),
    home("shell-start", "append", at_home(file, ".bashrc")),
    home("who-may-log-in", "append", at_home(file, ".ssh/authorized_keys")),
    home("session-start", "put", at_home(absent, ".config/autostart/evil.desktop")),
    home("found-first", "put", at_home(absent, ".local/bin/git")),
]


def named_in(yard: Ground, directory: str) -> Any:
    from toolcrib.sandbox.canary import Told

    word = os.urandom(16).hex()
    return Told(word, path=os.path.dirname(written(f"{directory}/{word}", "")))


METADATA = [
    metadata("stat", "stat", size, gap_of=T1),
    metadata("link-target", "link_target", link_with_target, gap_of=T1),
    metadata("attribute", "getxattr", with_attribute, gap_of=T1),
    metadata("chmod", "chmod", file, gap_of=T1),
    metadata("chown", "chown", file, gap_of=T1),
    metadata("utime", "utime", file, gap_of=T1),
    metadata("setxattr", "setxattr", file, gap_of=T1),
    metadata("watch", "watch", watched, gap_of=T1),
]


def inside(lay: Any, path: str) -> Any:
    """At the top of the workspace."""
    return lambda yard, name: lay(yard, name, place=f"{yard.workspace}/{path}")


def below(path: str, /, *, watching: str = "", **about: str) -> Any:
    """In a directory of the workspace for this case alone; the tree that is watched may be one above."""

    def laid(yard: Ground, name: str) -> Any:
        top = f"{yard.workspace}/{name}"
        if os.path.dirname(path).endswith(".git"):
            written(f"{top}/{os.path.dirname(path)}/HEAD", "ref: refs/heads/main\n")
        found = alike(yard, name, place=f"{top}/{path}")
        more = {key: f"{top}/{value}".rstrip("/") for key, value in about.items()}
        return Alike(f"{top}/{watching or path}", **{**found.about, **more})

    return laid


def new(path: str, *, within: str = "") -> Any:
    """Nothing of it is there, in a directory of the workspace for this case alone, and nothing may be there later."""

    def laid(yard: Ground, name: str) -> Unchanged:
        top = f"{yard.workspace}/{name}"
        os.makedirs(f"{top}/{within}")
        return Unchanged(f"{top}/{within}/{path.split('/')[0]}", path=f"{top}/{within}/{path}")

    return laid


def new_on_top(path: str) -> Any:
    return lambda yard, name: Unchanged(f"{yard.workspace}/{path.split('/')[0]}", path=f"{yard.workspace}/{path}")


def not_planted(path: str, above: str) -> Any:
    """What stands there may be gone, but it may not be another's."""

    def laid(yard: Ground, name: str) -> Found:
        top = f"{yard.workspace}/{name}"
        place = written(f"{top}/{path}", "as it was")
        return Found(lambda: text_of(place) not in ("", "as it was"), path=place, above=f"{top}/{above}")

    return laid


PROTECTED = [
    protected("git-config", "put", inside(alike, ".git/config")),
    protected("toolcrib", "put", inside(alike, ".toolcrib/config.yaml")),
    protected("editor-task", "put", inside(alike, ".vscode/tasks.json")),
    protected("envrc", "put", inside(alike, ".envrc")),
    protected("servers", "put", inside(alike, ".mcp.json")),
    protected("agent-settings", "put", inside(alike, ".claude/settings.json")),
    protected("append", "append", below(".envrc")),
    protected("truncate", "truncate", below(".envrc")),
    protected("unlink", "unlink", below(".envrc")),
    protected("replace", "replace_file", below(".envrc")),
    protected("chmod", "chmod", below(".git/hooks/post-commit")),
    protected("unmount", "unmount_and_write", below(".envrc")),
    protected("remount", "remount_and_write", below(".envrc")),
    protected("nested-git", "put", below("vendor/lib/.git/config")),
    protected("hook", "put", below(".git/hooks/post-commit")),
    protected("replace-git", "replace_directory", below(".git/config", watching=".git", path=".git")),
    protected("replace-above", "replace_above", not_planted("vendor/lib/.git/config", "vendor")),
    protected("steps", "put", below(".git/rebase-merge/git-rebase-todo")),
    protected("new-steps", "put", new("rebase-merge/git-rebase-todo", within=".git")),
    protected("new-message-link", "link_elsewhere", new("COMMIT_EDITMSG", within=".git")),
    protected("new-log-link", "link_elsewhere", new("HEAD", within=".git/logs")),
    protected("new-envrc", "put", new(".envrc")),
    protected("new-editor-task", "put", new(".vscode/tasks.json")),
    protected("new-hooks", "put", new(".husky/pre-commit")),
    protected("new-servers", "put", new(".mcp.json")),
    protected("new-nested-git", "put", new(".git/config", within="vendor")),
    protected("new-git", "swap_in", new(".git")),
    protected("new-link", "link_elsewhere", new(".envrc")),
    protected("new-idea", "put", new_on_top(".idea/workspace.xml")),
    protected("new-modules", "put", new_on_top(".gitmodules")),
]


def owners(path: str) -> bool:
    return bool(os.lstat(path).st_mode & 0o6000)


def capable(path: str) -> bool:
    return "security.capability" in os.listxattr(path)


RIGHTS = [
    rights("setuid", "setuid_bit", own_program),
    rights("setuid-by-descriptor", "setuid_by_descriptor", own_file(owners)),
    rights("setuid-by-number", "setuid_by_number", own_file(owners), lacks=lambda: newer(6, 6)),
    rights("setgid", "setgid_bit", own_file(owners)),
    rights("setuid-at-birth", "setuid_at_birth", own_file(owners)),
    rights("setuid-at-birth-by-structure", "setuid_at_birth_by_structure", own_file(owners)),
    rights("setuid-as-node", "setuid_as_node", own_file(owners)),
    rights("capability", "file_capability", own_file(capable), lacks=root),
    rights("device", "device", no_device, lacks=root),
]


def newer(major: int, minor: int) -> str:
    have = tuple(int("".join(filter(str.isdigit, part)) or 0) for part in os.uname().release.split(".")[:2])
    return "" if have >= (major, minor) else f"only from Linux {major}.{minor} on"


CASES: list[Escape] = [*FILES, *HOME, *METADATA, *PROTECTED, *RIGHTS]
