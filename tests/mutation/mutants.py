"""Would a test notice? Changes the code that guards in small ways, one at a time, and runs the tests that come through it.

    make mutants                                       # a sample of every module of policy/ and sandbox/
    make mutants ARGS="policy/argv guard --sample 200"  # modules whose path holds a word, and more of each
    make mutants ARGS="--report"                       # what is known already, with the survivors

The mutants are mutmut's (https://mutmut.readthedocs.io); what runs them is here, because a mutant that a test starts in
another process must be there too, and because one that ends processes must not end yours (see `worker.py`). Of each
module a sample is taken, the same for the same seed. Each mutant meets the tests that were seen to come through the
changed function, quickest first, up to so many seconds of them. It is killed when one fails, fails again and passes
without the change, or when it does not end.

What was found stays in the environment's directory: a run that was stopped goes on where it was, and after a change
only what it changed is tried anew: mutants of changed files, and survivors whose tests changed. `--record` writes what is
known to `survivors.json`, where each survivor has its reason, and shows all that stands there.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from plan import AFRESH, BUDGET, LONGEST, OWN, TRACED, UNTRACED
from sampling import ROOT, Mutant, Sample, modules, sample

import report
from worker import BROKEN, enclosure

T = TypeVar("T")
STATE = Path(sys.prefix) / "mutants.json"
RECORD = ROOT / "tests" / "mutation" / "survivors.json"


class State:
    """What is known: of test files by their text, of mutants by their id and their tests."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._saved = path, threading.Lock(), 0.0
        known = json.loads(path.read_text()) if path.exists() else {}
        self.traces: dict[str, Any] = known.get("traces", {})
        self.results: dict[str, Any] = known.get("results", {})

    def note(self, table: dict[str, Any], key: str, value: Any) -> None:
        with self._lock:
            table[key] = value
            if time.monotonic() - self._saved > 5:
                self.save()

    def save(self) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps({"traces": self.traces, "results": self.results}))
        fresh.replace(self._path)
        self._saved = time.monotonic()


class Worker:
    """A process in an enclosure of its own, which does one task after another."""

    def __init__(self, files: list[str]) -> None:
        tasks, self._tasks = os.pipe()
        self._answers, answers = os.pipe()
        worker = [sys.executable, str(ROOT / "tests/mutation/worker.py"), *files]
        streams = f'exec "$@" 3<&{tasks} 4>&{answers} 1>&2'
        command = ["nice", "-n", "10", "sh", "-c", streams, "sh", *enclosure(), *worker]
        quiet = None if os.environ.get("SHOW") else subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=quiet, stderr=quiet, stdout=quiet, pass_fds=(tasks, answers))
        os.close(tasks)
        os.close(answers)
        self._lines = os.fdopen(self._answers)

    def do(self, task: dict[str, Any]) -> Any:
        os.write(self._tasks, (json.dumps(task) + "\n").encode())
        if not (line := self._lines.readline()):
            sys.exit("a worker ended; it needs Linux, `unshare` and the right to make namespaces; see more with SHOW=1")
        return json.loads(line)

    def close(self) -> None:
        os.close(self._tasks)
        self._process.wait()


def share(work: Iterable[T], workers: list[Worker], do: Callable[[Worker, T], None]) -> None:
    """Gives each worker the next piece when it is done with one."""
    pieces, lock, wrong = iter(work), threading.Lock(), []

    def keep_on(worker: Worker) -> None:
        try:
            while not wrong:
                with lock:
                    piece = next(pieces, None)
                if piece is None:
                    return
                do(worker, piece)
        except BaseException as exc:
            wrong.append(exc)

    threads = [threading.Thread(target=keep_on, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def digest(paths: Iterable[str]) -> str:
    return hashlib.sha256(b"\0".join((ROOT / path).read_bytes() for path in sorted(paths))).hexdigest()[:12]


def test_files() -> list[str]:
    found = (str(path.relative_to(ROOT)) for pattern in TRACED for path in ROOT.glob(pattern))
    return sorted(file for file in found if file not in UNTRACED)


def trace(state: State, workers: list[Worker]) -> dict[str, Any]:
    """What every test comes through: `{test: {"seconds", "functions"}}`, of those that pass."""

    def one(worker: Worker, file: str) -> None:
        found = worker.do({"do": "trace", "file": file, "limit": LONGEST})
        if found["code"]:
            sys.stderr.write(f"{file}: {found['output'].strip().splitlines()[-1:]}\n")
        names = [name for name, test in found["tests"].items() if test["passed"]]
        failed = worker.do({"do": "check", "tests": names, "limit": LONGEST})["failed"] if names else []
        for name in failed:
            found["tests"][name]["passed"] = False
        if failed:
            sys.stderr.write(f"{file}: not asked, for they fail in a worker without any change: {failed}\n")
        state.note(state.traces, file, {"text": digest([file]), "tests": found["tests"]})

    files = test_files()
    stale = [file for file in files if state.traces.get(file, {}).get("text") != digest([file])]
    share(stale, workers, one)
    tests: dict[str, Any] = {}
    for file in files:
        tests |= {name: test for name, test in state.traces[file]["tests"].items() if test["passed"]}
    return tests


def chosen(mutant: Mutant, tests: dict[str, Any]) -> list[str]:
    """The tests a mutant meets: those that come through its function, then those of its module's own files.

    A field of a class, and the unchanged module, is met by what comes through any function of the module.
    """
    file = mutant.path.removeprefix("src/")
    through = f"{file}:{mutant.function}"
    name = Path(mutant.path).stem.strip("_")
    own = {f"tests/{Path(file).parts[1]}/test_{name}.py", *OWN.get(file.removeprefix("toolcrib/"), ())}
    ranks = []
    for test, about in tests.items():
        meets = any(one == through or (not mutant.function and one.startswith(through)) for one in about["functions"])
        if meets or test.partition("::")[0] in own:
            ranks.append((not meets, about["seconds"], test))
    return within(BUDGET, [test for _, _, test in sorted(ranks)], tests)


def within(seconds: float, names: list[str], tests: dict[str, Any]) -> list[str]:
    """The first of these tests, as many as take so long, and one in any case."""
    taken, spent = [], 0.0
    for name in names:
        if spent + tests[name]["seconds"] <= seconds or not taken:
            taken.append(name)
            spent += tests[name]["seconds"]
    return taken


def attempt(samples: list[Sample], state: State, workers: list[Worker], tests: dict[str, Any]) -> None:
    """Tries what is not known yet, and for each module once its unchanged text, which must pass."""
    work = []
    for of in samples:
        plain = Mutant(of.path, (ROOT / of.path).read_text(), 0, "", "", "")
        for mutant in (plain, *of.mutants) if of.mutants else ():
            names = chosen(mutant, tests)
            met = hashlib.sha256(f"{names}{digest({name.partition('::')[0] for name in names})}".encode()).hexdigest()
            known = state.results.get(mutant.id)
            if known is None or (known["code"] == 0 and known["met"] != met) or (mutant is plain and known["code"]):
                work.append((mutant, names, met))
    done = 0

    def one(worker: Worker, piece: tuple[Mutant, list[str], str]) -> None:
        nonlocal done
        mutant, names, met = piece
        found = {"code": 0, "seconds": 0, "output": "no test comes through it"}
        quick, slow = ("quick", names), ("slow", within(AFRESH if mutant.function else BUDGET, names, tests))
        for how, some in (quick, slow) if mutant.function or not mutant.line else (slow,):  # a field is read at import
            if found["code"] in (0, BROKEN) and some:
                found = met_by(worker, mutant, how, some, tests) | {"how": how}
        if found["code"] and not mutant.line:
            sys.stderr.write(f"{mutant.path}: its tests fail without any change: {found['by']}\n{found['output']}\n")
        found["output"] = found["output"][-400:] if found["code"] else ""
        state.note(state.results, mutant.id, found | {"met": met, "tests": len(names)})
        done += 1
        if sys.stderr.isatty() or done % 50 == 0:
            sys.stderr.write(f"{done} of {len(work)} tried\n")

    share(work, workers, one)
    state.save()


def met_by(worker: Worker, mutant: Mutant, how: str, names: list[str], tests: dict[str, Any]) -> dict[str, Any]:
    """How these tests end with a change. One that fails counts if it fails again, alone, and passes without the change:
    others fail now and then for themselves, or because of what ran before."""
    about = {"path": mutant.path, "function": mutant.function, "do": how}
    plain = (ROOT / mutant.path).read_text()

    def run(source: str, some: list[str]) -> dict[str, Any]:
        limit = 10 + 4 * sum(tests[name]["seconds"] for name in some)
        found: dict[str, Any] = worker.do(about | {"source": source, "tests": some, "limit": limit})
        return found

    left = list(names)
    while True:
        found = run(mutant.source, left)
        by = found["by"]
        if found["code"] != 1 or by not in left or (run(mutant.source, [by])["code"] and not run(plain, [by])["code"]):
            return found
        left.remove(by)
        if not left:
            return found | {"code": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="modules whose path holds one of these words; all without")
    parser.add_argument("--sample", type=int, default=40, help="how many mutants of each module (40)")
    parser.add_argument("--seed", type=int, default=7, help="which ones (7)")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--report", action="store_true", help="try nothing; show what is known, with the survivors")
    parser.add_argument("--record", action="store_true", help="write what is known to survivors.json")
    asked = parser.parse_args()
    if ROOT.is_relative_to("/tmp"):
        sys.exit("the workers have a /tmp of their own, so nothing in /tmp can be tried; clone it to another place")
    state = State(STATE)
    samples = [sample(path, size=asked.sample, seed=asked.seed) for path in modules(asked.words)]
    if not asked.report and not asked.record:
        workers = [Worker(test_files()) for _ in range(asked.workers)]
        try:
            attempt(samples, state, workers, trace(state, workers))
        finally:
            state.save()
            for worker in workers:
                worker.close()
    rows = report.rows(samples, state.results)
    if asked.record:
        rows = report.record(rows, RECORD)
    sys.stdout.write(report.text(rows, survivors=asked.report, reasons=RECORD))


if __name__ == "__main__":
    main()
