"""jedi answers exactly, within its time, and nothing of the workspace ever runs."""

import asyncio
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from toolcrib.codeindex import precise
from toolcrib.codeindex.precise import Ask, goto

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jedi") is None, reason="jedi is not installed")


def landed(sources, path: str, line: int, column: int, *, roots=("",), seconds: float = 20.0):
    """Where jedi says a place leads."""
    ask = Ask(path, (sources.root / path).read_bytes(), [(line, column)])
    return asyncio.run(goto(_run, str(sources.root.resolve()), [ask], roots=roots, seconds=seconds))


async def _run(argv: tuple[str, ...], stdin: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(*argv, stdin=-1, stdout=-1, env={})
    try:
        said, _ = await process.communicate(stdin)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return said


def test_a_method_of_an_object(sources) -> None:
    """What no name tells: two classes with a method of one name."""
    sources.write(
        {
            "a.py": "class One:\n    def go(self): ...\n\n\nclass Two:\n    def go(self): ...\n",
            "b.py": "from a import One, Two\n\nthing = Two()\nthing.go()\n",
        }
    )
    answers = landed(sources, "b.py", 4, 6)
    (landing,) = answers.landings["b.py", 4, 6]
    assert (landing.path, landing.line, landing.name, answers.complete) == ("a.py", 6, "go", True)


def test_columns_are_bytes(sources) -> None:
    sources.write({"a.py": "def f(): ...\n", "b.py": "from a import f\nx = 'äöü€'; f()\n"})
    column = "x = 'äöü€'; ".encode().__len__()
    assert landed(sources, "b.py", 2, column).landings["b.py", 2, column][0].path == "a.py"


def test_what_is_outside_is_named_and_not_shown(sources) -> None:
    """Also through a link that leads out."""
    outside = sources.root.parent / "secret.py"
    outside.write_text("SECRET_NAME = 1\n\n\ndef leak():\n    pass\n")
    (sources.root / "inside.py").symlink_to(outside)
    sources.write({"b.py": "import json\nfrom inside import leak\njson.dumps(1)\nleak()\n"})
    (landing,) = landed(sources, "b.py", 3, 6).landings["b.py", 3, 6]
    assert (landing.path, landing.line, landing.name) == ("", 0, "dumps")
    (landing,) = landed(sources, "b.py", 4, 0).landings["b.py", 4, 0]
    assert (landing.path, landing.line) == ("", 0)


def test_nothing_of_the_workspace_runs(sources) -> None:
    """An interpreter of its own, a module that jedi would rather import, compiled ones, site hooks, a project file."""
    witness = sources.root.parent / "ran"
    script = f"#!/bin/sh\ntouch {witness}\n"
    code = f"open({str(witness)!r}, 'w').close()\n"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    sources.write(
        {
            **{
                f"{place}/bin/python{version}": script
                for place in (".venv", "venv", "env")
                for version in ("", "3", "3.11")
            },
            ".venv/pyvenv.cfg": "home = /nowhere\n",
            ".jedi/project.json": f'[1, {{"path": "{sources.root}", "environment_path": ".venv", "load_unsafe_extensions": true}}]',
            "gi/__init__.py": code,
            "gi.py": code,
            "sitecustomize.py": code,
            "usercustomize.py": code,
            "conftest.py": code,
            "jedi.py": code,
            "parso.py": code,
            "evil.pth": f"import os; os.system('touch {witness}')\n",
            f"fast{suffix}": b"\x7fELF nothing",
            "plain.py": code + "value = 1\n",
            "b.py": "import gi\nimport fast\nimport plain\nimport jedi\ngi.thing\nfast.thing\nplain.value\njedi.x\nfast\n",
        }
    )
    for path in sources.root.glob("*/bin/*"):
        path.chmod(0o755)
    places = [(5, 3), (6, 5), (7, 6), (8, 5), (9, 0), (1, 7), (2, 7)]
    ask = Ask("b.py", (sources.root / "b.py").read_bytes(), places)
    answers = asyncio.run(goto(_run, str(sources.root.resolve()), [ask], roots=[""], seconds=20))
    assert answers.landings["b.py", 7, 6][0].path == "plain.py"  # it did look
    assert not witness.exists()


def test_a_compiled_module_of_the_workspace_is_not_loaded(sources) -> None:
    """A real one: what is loaded runs at once."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    witness = sources.root.parent / "loaded"
    source = sources.root.parent / "fast.c"
    source.write_text(
        "#include <fcntl.h>\n#include <unistd.h>\n"
        f'__attribute__((constructor)) static void run(void) {{ close(open("{witness}", O_CREAT | O_WRONLY, 0600)); }}\n'
        "void *PyInit_fast(void) { return 0; }\n"
    )
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    built = sources.root / f"fast{suffix}"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", built, source], check=True)
    probe = subprocess.run(
        [sys.executable, "-c", "import fast"],
        cwd=sources.root,
        capture_output=True,
        env={"PYTHONPATH": str(sources.root)},
    )
    assert witness.exists(), probe.stderr  # the bait works
    witness.unlink()
    sources.write({"b.py": "import fast\nfrom fast import thing\nfast.thing()\n"})
    ask = Ask("b.py", (sources.root / "b.py").read_bytes(), [(1, 7), (2, 5), (2, 17), (3, 0), (3, 5)])
    answers = asyncio.run(goto(_run, str(sources.root.resolve()), [ask], roots=[""], seconds=20))
    assert len(answers.landings) == 5 and not witness.exists()


def test_no_cache_is_left_behind(sources, tmp_path: Path) -> None:
    """jedi would keep what it parsed in the person's own cache, and unpickle it."""
    sources.write({"a.py": "import json\njson.dumps\n"})
    home = tmp_path / "person"
    home.mkdir()

    async def run(argv: tuple[str, ...], stdin: bytes) -> bytes:
        process = await asyncio.create_subprocess_exec(*argv, stdin=-1, stdout=-1, env={"HOME": str(home)}, cwd=home)
        return (await process.communicate(stdin))[0]

    ask = Ask("a.py", (sources.root / "a.py").read_bytes(), [(2, 5)])
    answers = asyncio.run(goto(run, str(sources.root.resolve()), [ask], roots=[""], seconds=20))
    assert answers.landings["a.py", 2, 5] and list(home.iterdir()) == []


def test_when_the_time_is_over_there_is_what_there_was(sources) -> None:
    """The alarm rings long before all places are looked at; what was found until then is given."""
    lines = "".join(f"v{n} = [v for v in range({n})]\n" for n in range(3000))
    sources.write({"a.py": lines})
    data = (sources.root / "a.py").read_bytes()
    ask = Ask("a.py", data, [(n + 1, 0) for n in range(3000)])
    start = time.monotonic()
    answers = asyncio.run(goto(_run, str(sources.root.resolve()), [ask], roots=[""], seconds=0.3))
    assert time.monotonic() - start < 3.3
    assert not answers.complete and "time was over" in answers.fault and len(answers.landings) < 3000


def test_one_who_does_not_come_back_is_ended(sources) -> None:
    sources.write({"a.py": "x = 1\n"})

    async def hangs(argv: tuple[str, ...], stdin: bytes) -> bytes:
        await asyncio.Event().wait()
        return b""

    ask = Ask("a.py", b"x = 1\n", [(1, 0)])
    answers = asyncio.run(goto(hangs, str(sources.root), [ask], roots=[""], seconds=-2.9))
    assert answers.landings == {} and answers.fault == "jedi took too long"


def test_when_all_places_are_taken_nobody_waits_for_long(monkeypatch) -> None:
    monkeypatch.setattr(precise, "WAIT_SECONDS", 0.05)

    async def asked() -> tuple[str, int]:
        begun: list[int] = []
        free = asyncio.Event()

        async def hangs(argv: tuple[str, ...], stdin: bytes) -> bytes:
            begun.append(1)
            await free.wait()
            return b'{"answers": [], "done": true}'

        def one() -> asyncio.Task[precise.Answers]:
            return asyncio.create_task(goto(hangs, "/", [], roots=[], seconds=20))

        first = [one() for _ in range(precise.PLACES)]
        late = await one()
        free.set()
        assert all(answers.complete for answers in await asyncio.gather(*first))
        assert (await one()).complete  # the places are free again
        return late.fault, len(begun)

    fault, begun = asyncio.run(asked())
    assert "busy" in fault and begun == precise.PLACES + 1


@pytest.mark.parametrize(
    "said", [b"", b"{}", b"[]", b'{"answers": 1}', b"\xff", b'{"answers": [["a.py", 1, 0, [[1]]]], "done": true}']
)
def test_a_strange_answer_is_none(sources, said) -> None:
    async def answers(argv: tuple[str, ...], stdin: bytes) -> bytes:
        return said

    ask = Ask("a.py", b"x = 1\n", [(1, 0)])
    found = asyncio.run(goto(answers, str(sources.root), [ask], roots=[""], seconds=1))
    assert found.landings == {} and "jedi" in found.fault


def test_without_a_way_to_start_programs() -> None:
    found = asyncio.run(goto(None, "/", [], roots=[], seconds=1))
    assert found.landings == {} and found.fault
