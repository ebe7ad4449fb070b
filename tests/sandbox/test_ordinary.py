"""Ordinary programs go on working where they are confined: the real ones, as far as this machine has them."""

import asyncio
import functools
import os
import shutil
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.core.context import new_id
from toolcrib.core.limits import Limits
from toolcrib.core.process import Command, Completed
from toolcrib.sandbox import bubblewrap, landlock
from toolcrib.sandbox.cage import BUBBLEWRAP, LANDLOCK, Cage
from toolcrib.sandbox.confined import Confined
from toolcrib.sandbox.installations import behind, installations
from toolcrib.sandbox.processes import Processes

CANARIES = {LANDLOCK: landlock.canary, BUBBLEWRAP: bubblewrap.canary}
HOME = os.environ.get("HOME", "/")
PATH = f"{sys.base_prefix}/bin:{os.environ['PATH']}"
"""With a Python first that is no shim: those take their time."""


@functools.cache
def why_not(tier: str) -> str:
    return CANARIES[tier]()


@pytest.fixture(params=list(CANARIES))
def tier(request: pytest.FixtureRequest) -> str:
    if why := why_not(request.param):
        pytest.skip(f"{request.param} does not hold here: {why}")
    return str(request.param)


class Shell:
    """Runs lines of shell in a workspace, confined as `run_command` is."""

    def __init__(self, tier: str, processes: Processes, workspace: Path) -> None:
        self.workspace = workspace
        self._processes = processes
        readable = installations(PATH, HOME, str(workspace))
        self._cage = Cage(tier, workspace=str(workspace), readable=readable, installs=True)

    def __call__(self, text: str, *, needs: str = "", grants: tuple[str, ...] = (), path: str = PATH) -> Completed:
        if missing := [name for name in needs.split() if shutil.which(name, path=path) is None]:
            pytest.skip(f"there is no {missing[0]} here")
        mark = new_id()
        env = {"PATH": path, "HOME": HOME, "USER": "somebody", "TOOLCRIB_CALL_ID": mark}
        command = Command(("/bin/bash", "-c", text), str(self.workspace), mark, env, limits=Limits(60), reads=grants)
        return asyncio.run(Confined(self._processes, self._cage).exec(command))

    def write(self, name: str, text: str) -> None:
        path = self.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.fixture
def sh(tier: str, tmp_path: Path) -> Iterator[Shell]:
    """`sh("git status", needs="git")` does that."""
    workspace = tmp_path.resolve() / "work"
    workspace.mkdir()
    processes = Processes(new_id())
    yield Shell(tier, processes, workspace)
    processes.close()


def said(done: Completed) -> str:
    assert done.code == 0, f"exit status {done.code}: {done.stderr.text()}{done.stdout.text()}"
    return done.stdout.text()


ONE_LINERS = {
    "process substitution": ("diff <(echo a) <(echo a) && cat <(echo yes)", "", "yes\n"),
    "a here-document": ("cat <<< yes", "", "yes\n"),
    "standard streams by name": (
        "echo yes > /dev/stdout; echo no > /dev/null; cat /dev/stdin <<< yes",
        "",
        "yes\nyes\n",
    ),
    "a temporary file": ('f=$(mktemp) && case "$f" in "$TMPDIR"/*) echo yes > "$f"; cat "$f";; esac', "", "yes\n"),
    "who one is": ("id -un > name && test -s name && echo yes", "", "yes\n"),
    "its home": ("touch ~/note && test -e ~/note && echo yes", "", "yes\n"),
    "the time elsewhere": ("TZ=Europe/Berlin date -d @0 +%H", "", "01\n"),
    "a language": ("LC_ALL=C.UTF-8 locale charmap", "locale", "UTF-8\n"),
    "sort with room elsewhere": ("printf 'b\\na\\n' | sort -T \"$TMPDIR\" --buffer-size=1k", "", "a\nb\n"),
    "tar and gzip": ("echo yes > a && tar czf a.tgz a && rm a && tar xzf a.tgz && cat a", "tar gzip", "yes\n"),
    "make": ("printf 'all:\\n\\t@echo yes\\n' > Makefile && make -s", "make", "yes\n"),
    "a compiler": ("printf 'int main(){return 0;}' > a.c && cc a.c -o a && ./a && echo yes", "cc", "yes\n"),
    "sqlite": ("sqlite3 a.db 'create table t(a); insert into t values(7); select a from t'", "sqlite3", "7\n"),
    "jq": ("echo '{\"a\":7}' | jq .a", "jq", "7\n"),
    "perl": ("perl -MJSON::PP -e 'print encode_json([7]), \"\\n\"'", "perl", "[7]\n"),
    "ruby": ("ruby -e 'puts 7'", "ruby", "7\n"),
    "ssh says its version": ("ssh -V 2>&1 | cut -c1-7", "ssh", "OpenSSH\n"),
    "node": ("node -e 'console.log(require(\"os\").cpus().length > 0)'", "node", "true\n"),
    "xargs in parallel": ("seq 4 | xargs -P 2 -n 1 echo | sort | tail -1", "xargs", "4\n"),
    "find and grep": ("mkdir d && echo yes > d/f && find . -name f -exec grep -h yes {} +", "find grep", "yes\n"),
    "names of services": ("getent services ssh | cut -d' ' -f1", "getent", "ssh\n"),
    "awk and sed": ("echo no | sed s/no/yes/ | awk '{print $1}'", "awk sed", "yes\n"),
}


@pytest.mark.parametrize("what", ONE_LINERS)
def test_an_ordinary_program(sh: Shell, what: str) -> None:
    text, needs, expected = ONE_LINERS[what]
    assert said(sh(text, needs=needs)) == expected


PYTHON = {
    "threads": "import threading as t; x=t.Thread(target=print, args=('yes',)); x.start(); x.join()",
    "subprocess": "import subprocess; subprocess.run(['echo', 'yes'], check=True)",
    "many files closed for a child": "import subprocess; subprocess.run('echo yes', shell=True, close_fds=True)",
    "tempfile": "import tempfile; f=tempfile.NamedTemporaryFile('w+'); f.write('yes\\n'); f.seek(0); print(f.read(), end='')",
    "asyncio": "import asyncio\nasync def f():\n p=await asyncio.create_subprocess_exec('echo','yes')\n await p.wait()\nasyncio.run(f())",
    "tls": "import ssl; print('yes' if ssl.create_default_context().cert_store_stats()['x509'] >= 0 else 'no')",
    "sqlite": "import sqlite3; c=sqlite3.connect('a.db'); c.execute('create table t(a)'); c.commit(); print('yes')",
    "zones": "import zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin'); print('yes')",
    "a fork": "import os\nif os.fork()==0: os._exit(0)\nos.wait(); print('yes')",
    "a socket pair": "import socket; a,b=socket.socketpair(); a.send(b'yes'); print(b.recv(3).decode())",
    "mapped memory": "import mmap; m=mmap.mmap(-1, 10); m.write(b'yes'); print('yes')",
    "random numbers": "import secrets, uuid; secrets.token_hex(); uuid.uuid4(); print('yes')",
    "memory without a name": "import os; f=os.memfd_create('x'); os.write(f, b'yes'); print(os.pread(f, 3, 0).decode())",
}


@pytest.mark.parametrize("what", PYTHON)
def test_python(sh: Shell, what: str) -> None:
    sh.write("a.py", PYTHON[what])
    assert said(sh("python3 a.py", needs="python3")) == "yes\n"


def test_the_python_that_comes_first_on_path(sh: Shell) -> None:
    assert said(sh("python3 -c 'import json; print(7)'", needs="python3", path=os.environ["PATH"])) == "7\n"


def test_processes_that_share_work(sh: Shell, tier: str) -> None:
    text = (
        "import multiprocessing as m\nif __name__ == '__main__':\n with m.Pool(2) as p: print(sum(p.map(abs, [-3, 4])))"
    )
    sh.write("a.py", text)
    done = sh("python3 a.py", needs="python3")
    if tier == LANDLOCK:  # the page says so: its semaphores are files in a directory that all programs share
        assert done.code and b"PermissionError" in done.stderr.head + done.stderr.tail
    else:
        assert said(done) == "7\n"


def test_git_works_in_a_repository(sh: Shell) -> None:
    say = "git -c user.name=me -c user.email=me@example.com -c init.defaultBranch=main"
    text = (
        f"{say} init -q . && echo one > a && {say} status --short && {say} add a && {say} commit -qm first && echo two >> a"
        f" && {say} diff --stat && {say} commit -qam second && {say} checkout -q -b other && {say} branch --list"
        f" && {say} log --format=%s && {say} stash list && {say} tag v1 && {say} merge -q main"
    )
    shown = said(sh(text, needs="git"))
    assert "?? a" in shown and "second\nfirst\n" in shown and "* other" in shown


def wheel_in(folder: Path) -> Path:
    """A package that says yes, as small as one can be."""
    path = folder / "saysyes-1.0-py3-none-any.whl"
    info = "saysyes-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("saysyes.py", "def say():\n    pass\n\n\nprint('yes')\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: saysyes\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\nsays = saysyes:say\n")
        names = ("saysyes.py", *(f"{info}/{name}" for name in ("METADATA", "WHEEL", "entry_points.txt", "RECORD")))
        file.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in names))
    return path


def test_pip_installs_what_lies_in_the_workspace(sh: Shell) -> None:
    wheel_in(sh.workspace)
    text = "python3 -m pip install -q --no-index --disable-pip-version-check --target lib ./*.whl 2>&1"
    if sh("python3 -m pip --version", needs="python3").code:
        pytest.skip("this Python has no pip")
    said(sh(f"{text} --root-user-action ignore"))
    assert said(sh("PYTHONPATH=lib python3 -c 'import saysyes'")) == "yes\n"


def test_an_environment_of_python_is_made_and_used_by_pip(sh: Shell) -> None:
    wheel_in(sh.workspace)
    if sh("python3 -c 'import venv, ensurepip'", needs="python3").code:
        pytest.skip("this Python makes no environments with pip")
    pip = "v/bin/pip install -q --no-index --disable-pip-version-check ./*.whl"
    assert said(sh(f"python3 -m venv v && {pip} && v/bin/python -c 'import saysyes'")) == "yes\n"
    again = f"v/bin/pip uninstall -q -y saysyes && {pip} && v/bin/says && v/bin/python -m venv --upgrade v"
    assert said(sh(again)) == "yes\n"


def test_a_tool_of_an_environment_elsewhere(sh: Shell, tmp_path: Path) -> None:
    """Its first line names the interpreter; what is behind that is found without asking anybody."""
    place = tmp_path.resolve() / "elsewhere"
    place.mkdir()
    venv.create(place / "v", symlinks=True, with_pip=False)
    tool = place / "tool"
    tool.write_text(f"#!{place}/v/bin/python\nimport sys, json; print(sys.prefix)\n")
    tool.chmod(0o755)
    grants = (str(tool), *behind(str(tool), HOME))
    assert said(sh(str(tool), grants=grants)) == f"{place}/v\n"


def test_an_installation_that_a_link_leads_to_is_found_as_it_is_spelled(sh: Shell, tmp_path: Path) -> None:
    """As where the directory of pyenv or nvm is a link to another disk."""
    disk, home = tmp_path.resolve() / "disk", tmp_path.resolve() / "home"
    (disk / "kit" / "bin").mkdir(parents=True)
    (disk / "kit" / "lib").mkdir()
    (disk / "kit" / "lib" / "word").write_text("yes\n")
    program = disk / "kit" / "bin" / "says"
    program.write_text(f'#!/bin/sh\ncat "{home}/kit/lib/word"\n')
    program.chmod(0o755)
    home.mkdir()
    (home / "kit").symlink_to(disk / "kit")
    path = f"{home}/kit/bin:/usr/bin:/bin"
    grants = installations(path, str(home), str(sh.workspace))
    assert said(sh("says", path=path, grants=grants)) == "yes\n"


def test_npm_without_a_network(sh: Shell) -> None:
    sh.write("dep/package.json", '{"name":"dep","version":"1.0.0","main":"i.js"}')
    sh.write("dep/i.js", "module.exports = 'yes'")
    text = (
        "npm init -y >/dev/null && npm pkg set scripts.hi='echo hello' && npm run -s hi"
        " && npm install --offline --no-audit --no-fund --loglevel=error ./dep >/dev/null"
        " && node -e \"console.log(require('dep'))\""
    )
    assert said(sh(text, needs="npm node")) == "hello\nyes\n"
    sh.write("tool/package.json", '{"name":"tool","version":"1.0.0","bin":{"says":"i.js"}}')
    sh.write("tool/i.js", "#!/usr/bin/env node\nconsole.log('yes')")
    install = "npm install --offline --no-audit --no-fund --loglevel=error ./tool >/dev/null && npx --offline says"
    assert said(sh(install)) == "yes\n"
    assert said(sh(f"npm uninstall --offline tool >/dev/null && {install}")) == "yes\n"


def test_go_builds_and_runs(sh: Shell) -> None:
    sh.write("go.mod", "module small\n")
    sh.write("a.go", 'package main\n\nimport "os"\n\nfunc main() { os.Stdout.WriteString("yes\\n") }\n')
    assert said(sh("GOFLAGS=-mod=mod GOPROXY=off go run .", needs="go")) == "yes\n"


def test_rust_builds_and_runs(sh: Shell) -> None:
    sh.write("a.rs", 'fn main() { println!("yes"); }')
    assert said(sh("rustc a.rs && ./a", needs="rustc")) == "yes\n"


def test_java_says_its_version(sh: Shell) -> None:
    assert sh("java -version", needs="java").code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="this is about Linux")
def test_what_is_not_ordinary_stays_closed(sh: Shell, tmp_path: Path) -> None:
    """All of the above, and still nothing of the user's own, no password and no network."""
    diary = tmp_path / "diary"
    diary.write_text("mine")
    done = sh(f"cat {diary} /etc/shadow; ls {tmp_path}; echo no > {tmp_path}/new; exec 3<>/dev/tcp/127.0.0.1/9")
    assert done.code and done.stdout.text().replace("work\n", "") in ("", f"{tmp_path}:\n")
    assert not (tmp_path / "new").exists() and diary.read_text() == "mine"
