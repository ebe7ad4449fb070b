"""The interpreter that waits, asked over its socket as a worker's owner asks it."""

import array
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.sandbox import zygote
from toolcrib.sandbox.zygote import BEGUN, CLEARED, COLLECT, ENDED, READY, RECORD, RUN, SIGNAL, UNFIT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes by way of /proc")


class Waiting:
    """One such interpreter, and the other side of its socket."""

    def __init__(self, root: Path, *words: str, marked: bool = True, before: tuple[str, ...] = ()) -> None:
        self.root, self.said = root, root / "said"
        env = {"PATH": os.environ["PATH"], **({zygote.MARK: " " * zygote.MARK_ROOM} if marked else {})}
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(10)
        command = [*before, sys.executable, "-I", zygote.__file__, *words]
        with theirs, open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, stdin=theirs, stdout=said, stderr=said, env=env)

    def heard(self) -> tuple[bytes, int, int]:
        data = b""
        while len(data) < RECORD.size:
            part = self.socket.recv(RECORD.size - len(data))
            assert part, self.said.read_text()
            data += part
        return RECORD.unpack(data)

    def ask(self, what: bytes, about: int, number: int = 0) -> None:
        self.socket.sendall(RECORD.pack(what, about, number))

    def run(self, number: int, *argv: str, extra: tuple[int, ...] = (), **about: Any) -> int:
        """Asks for a run whose output goes to a file of its number, and returns its pid."""
        request = {"argv": argv, "env": {}, "cwd": str(self.root), "memory": None, **about}
        with (
            tempfile.TemporaryFile() as file,
            open(self.root / f"out{number}", "wb") as out,
            open(os.devnull, "rb") as null,
        ):
            file.write(json.dumps(request).encode())
            file.seek(0)
            fds = array.array("i", [file.fileno(), null.fileno(), out.fileno(), out.fileno(), *extra])
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
            self.socket.sendmsg([RECORD.pack(RUN, number, 0)], ancillary)
        what, of, pid = self.heard()
        assert (what, of) == (BEGUN, number)
        return pid

    def ended(self, number: int) -> int:
        what, of, status = self.heard()
        assert (what, of) == (ENDED, number)
        return status

    def out(self, number: int) -> str:
        return (self.root / f"out{number}").read_text()

    def close(self) -> None:
        self.socket.close()
        try:
            assert self.process.wait(10) == 0
        finally:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def waiting(tmp_path) -> Iterator[Any]:
    """Starts one that has a script's imports ready."""
    made: list[Waiting] = []

    def start(text: str, **about: Any) -> Waiting:
        script = tmp_path / "script.py"
        script.write_text(text)
        made.append(Waiting(tmp_path, *about.pop("words", ()), str(script), **about))
        return made[-1]

    yield start
    for each in made:
        each.close()


def test_it_runs_what_it_is_asked_and_tells_of_each_end(waiting) -> None:
    of = waiting("import sys\nprint(sys.argv[1])\nsys.exit(int(sys.argv[1]))")
    assert of.heard() == (READY, 0, 0)
    for number, status in ((7, 0), (1 << 40, 3), (9, 255)):
        of.run(number, "script", str(status))
        assert (of.ended(number), of.out(number)) == (status, f"{status}\n")


def test_what_ended_keeps_its_pid_until_it_is_collected(waiting, until) -> None:
    of = waiting("")
    of.heard()
    pid = of.run(1, "script")
    assert of.ended(1) == 0
    assert os.path.exists(f"/proc/{pid}")
    of.ask(COLLECT, 1)
    until(lambda: not os.path.exists(f"/proc/{pid}"), "it is collected")
    of.ask(COLLECT, 1)  # again is nothing, and neither is what never was
    of.ask(SIGNAL, 1, signal.SIGKILL)
    of.ask(COLLECT, 5)
    of.run(2, "script")
    assert of.ended(2) == 0


def test_a_signal_goes_to_the_run_s_whole_group(waiting, until) -> None:
    of = waiting(
        "import os, time\npid = os.fork()\nif pid: print(pid, flush=True)\nopen('up', 'w').close()\ntime.sleep(60)"
    )
    of.heard()
    of.run(1, "script")
    other = of.run(2, "script")
    until(lambda: of.out(1) and (of.root / "up").exists(), "both are up")
    of.ask(SIGNAL, 1, signal.SIGTERM)
    assert of.ended(1) == 128 + signal.SIGTERM
    until(lambda: not os.path.exists(f"/proc/{int(of.out(1))}/exe"), "its child is gone, too")
    assert os.path.exists(f"/proc/{other}/exe")


def test_collected_what_still_runs_is_killed_with_its_group(waiting, until) -> None:
    of = waiting("import os, time\npid = os.fork()\nif pid: print(pid, flush=True)\ntime.sleep(60)")
    of.heard()
    pid = of.run(1, "script")
    until(lambda: of.out(1), "it is up")
    of.ask(COLLECT, 1)
    for each in (pid, int(of.out(1))):
        until(lambda each=each: not os.path.exists(f"/proc/{each}/exe"), "it is gone")


def test_when_the_other_side_is_gone_so_are_its_runs(waiting, until) -> None:
    of = waiting("import time\ntime.sleep(60)")
    of.heard()
    pid = of.run(1, "script")
    of.socket.close()
    assert of.process.wait(10) == 0
    until(lambda: not os.path.exists(f"/proc/{pid}/exe"), "its run is gone")


def test_a_run_is_a_process_as_it_was_asked_for(waiting, tmp_path) -> None:
    text = (
        "import json, os, resource, signal, sys, tempfile\n"
        "print(json.dumps({\n"
        "  'argv': sys.argv, 'env': dict(os.environ), 'cwd': os.getcwd(), 'tmp': tempfile.gettempdir(),\n"
        "  'memory': resource.getrlimit(resource.RLIMIT_AS), 'name': __name__, 'file': __file__,\n"
        "  'fds': sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1], 'session': os.getsid(0) == os.getpid(),\n"
        "  'inherited': [os.get_inheritable(fd) for fd in range(4)], 'wakeup': signal.set_wakeup_fd(-1),\n"
        "  'child': signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL, 'mark': open('/proc/self/environ').read(),\n"
        "}))"
    )
    of = waiting(text)
    of.heard()
    env = {"TMPDIR": str(tmp_path), "X": "ü", zygote.MARK: "call-7"}
    with open(os.devnull, "rb") as extra:
        of.run(1, "the script", "a b", env=env, memory=1 << 40, extra=(extra.fileno(),))
        assert of.ended(1) == 0, of.out(1)
    about = json.loads(of.out(1))
    shown = dict(each.split("=", 1) for each in about.pop("mark").split("\0") if "=" in each)
    assert shown[zygote.MARK] == "call-7"
    assert about == {
        "argv": ["the script", "a b"], "env": env, "cwd": str(tmp_path), "tmp": str(tmp_path),
        "memory": [1 << 40, 1 << 40], "name": "__main__", "file": "the script", "fds": [0, 1, 2, 3], "session": True,
        "inherited": [True, True, True, False], "wakeup": -1, "child": True,
    }  # fmt: skip


def test_the_next_run_s_mark_leaves_nothing_of_the_last(waiting) -> None:
    of = waiting("print(open('/proc/self/environ').read().split('TOOLCRIB_CALL_ID=')[1].split('\\0')[0])")
    of.heard()
    marks = "a-longer-mark-1", "b-2", "x" * 500
    for number, mark in enumerate(marks):
        of.run(number, "script", env={zygote.MARK: mark})
        assert of.ended(number) == 0
    room = zygote.MARK_ROOM - 1
    assert [of.out(number) for number in range(3)] == ["a-longer-mark-1\n", "b-2\n", "x" * room + "\n"]


def test_without_a_place_for_the_mark_it_is_unfit(waiting) -> None:
    assert waiting("", marked=False).heard() == (UNFIT, 0, zygote.CANNOT_MARK)


def test_a_script_that_cannot_be_read_makes_it_unfit(waiting) -> None:
    assert waiting("if True print").heard() == (UNFIT, 0, zygote.FAILED)


def test_what_it_imports_is_silent_and_its_input_is_not_ours(waiting) -> None:
    of = waiting("import this\nimport sys\nprint(repr(sys.stdin.read()))")
    of.heard()
    of.run(1, "script")
    assert (of.ended(1), of.out(1)) == (0, "''\n")
    assert "Zen" in of.said.read_text()


def test_a_module_is_prepared_once_and_run_in_each(tmp_path) -> None:
    (tmp_path / "prepared.py").write_text(
        "import os\nseen = []\n"
        "def prepare(*words): seen.extend([*words, str(os.getpid())])\n"
        "def run(words): print(seen[:-1], seen[-1] != str(os.getpid()), words)\n"
    )
    of = Waiting(tmp_path, "--module", str(tmp_path), "prepared", "one", "two")
    try:
        assert of.heard() == (READY, 0, 0), of.said.read_text()
        for number in (1, 2):
            of.run(number, "word")
            assert (of.ended(number), of.out(number)) == (0, "['one', 'two'] True ['word']\n")
    finally:
        of.close()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", 130),
        ("def f(x: Nothing): pass", 1),  # it inherits no statement about the future from what runs it
        ("import os, sys\nos.close(1)\nprint('lost')", 120),
        ("import os, sys\nos.close(1)\nprint('lost')\nsys.exit(3)", 3),
        ("import atexit, os\natexit.register(os._exit, 7)", 7),
        ("import sys\nsys.exit('words')", 1),
    ],
)
def test_a_run_ends_as_an_interpreter_would(waiting, text, status) -> None:
    of = waiting(text)
    of.heard()
    of.run(1, "script")
    assert of.ended(1) == status


def test_with_threads_of_its_imports_it_is_unfit(waiting, tmp_path) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "threaded.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    assert waiting("import threaded").heard() == (UNFIT, 0, zygote.MANY_THREADS)


# What it looks for in a script


def imports(text: str, folder: Path) -> list[str]:
    return list(zygote._imports(text.encode(), str(folder)))


def test_imports_are_those_at_the_top(tmp_path) -> None:
    text = (
        "import one, two.three as x\nfrom four.five import six\nfrom . import seven\nfrom .eight import nine\n"
        "try:\n    import ten\nexcept ImportError:\n    import eleven\n"
        "def f():\n    import twelve\nif True:\n    import thirteen\n"
    )
    assert imports(text, tmp_path) == ["one", "two.three", "four.five", "ten"]


@pytest.mark.parametrize("text", ["if True print", "import x\0"])
def test_what_is_no_python_imports_nothing(tmp_path, text) -> None:
    assert imports(text, tmp_path) == []


def test_what_lies_beside_is_looked_through_and_not_imported(tmp_path) -> None:
    (tmp_path / "beside.py").write_text("import far, again, beside\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("import farther\nimport beside\n")
    (tmp_path / "namespace").mkdir()
    (tmp_path / "again.py").write_text("import beside.deep\nimport farthest\n")
    found = imports("import beside\nimport package.part\nimport namespace.part\nimport near\n", tmp_path)
    assert sorted(found) == ["far", "farther", "farthest", "near"]


def test_not_without_end(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(zygote, "_MOST_SCANNED", 3)
    for number in range(10):
        (tmp_path / f"n{number}.py").write_text(f"import n{number + 1}\nimport far{number}\n")
    assert imports("import n0\n", tmp_path) == ["far0", "far1"]


@pytest.mark.parametrize(
    ("code", "status"), [(None, 0), (0, 0), (3, 3), (255, 255), (256, 0), (300, 44), (-1, 255), (True, 1), ("words", 1), ([1], 1)]
)  # fmt: skip
def test_what_a_script_exits_with_is_a_status(code, status, capsys) -> None:
    assert zygote._status(code) == status
    assert capsys.readouterr().err == ("" if code is None or isinstance(code, int) else f"{code}\n")


def test_a_record_may_come_in_pieces_and_with_descriptors() -> None:
    ours, theirs = socket.socketpair()
    record = RECORD.pack(RUN, 5, 0)
    with ours, theirs, open(os.devnull, "rb") as null:
        socket.send_fds(ours, [record[:3]], [null.fileno(), null.fileno()])
        ours.sendall(record[3:] + b"more")
        data, descriptors = zygote._receive(theirs)
        assert data == record
        assert [os.readlink(f"/proc/self/fd/{fd}") for fd in descriptors] == ["/dev/null"] * 2
        for fd in descriptors:
            os.close(fd)
        ours.shutdown(socket.SHUT_WR)
        assert zygote._receive(theirs) == (b"", [])  # an end in the middle of one is an end


def test_alone_it_ends_whatever_a_run_left_and_tells_so(waiting) -> None:
    """In a process namespace of its own, where that is nobody else's."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ("unshare", *user, "--pid", "--fork", "--mount-proc", "--kill-child")
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("no process namespace can be made here")
    text = (
        "import os, subprocess\n"
        "process = subprocess.Popen(['sleep', '60'], start_new_session=True, env={'PATH': os.environ['PATH']})\n"
        "print(len([name for name in os.listdir('/proc') if name.isdigit()]))\n"
    )
    of = waiting(text, words=("--alone",), before=(*unshare, "sh", "-c", '"$@"; exit $?', "sh"))
    assert of.heard() == (READY, 0, 0)
    for number in (1, 2):
        of.run(number, "script", env={"PATH": os.environ["PATH"]})
        assert of.ended(number) == 0
        of.ask(COLLECT, number)
        assert of.heard() == (CLEARED, number, 0)
    assert of.out(1) == of.out(2)
