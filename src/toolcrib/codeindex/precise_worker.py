"""A program of its own: asks jedi where names lead, within a time, and answers with what it has by then.

One JSON document on stdin, one on stdout. Nothing of the workspace is imported or run: jedi reads sources, is given no
interpreter but this one, and whatever would be imported for real must be of the standard library. It imports nothing of
the package, so that it can be started from its file.
"""

import builtins
import json
import os
import resource
import signal
import sys
from types import FrameType
from typing import Any

MEMORY_BYTES = 2 * 1024**3
MOST_ANSWERS = 10
"""Of one name: more is a guess, not an answer."""
_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, StopIteration)
_MORE_FAULTS = (SyntaxError, TypeError, ValueError, ImportError)
"""What jedi's own mistakes come out as; they cost one answer, not all."""
_ALLOWED = sys.stdlib_module_names | {"jedi", "parso"}
_import = builtins.__import__


class TimeOver(BaseException):
    """Raised by the alarm, wherever the work stands. No `except` of jedi's catches it."""


def _standard_only(name: str, *rest: Any, **more: Any) -> Any:
    """In the place of `__import__`: refuses what belongs neither to Python nor to jedi.

    jedi looks modules up with Python's own finders, and imports those that have no source: compiled ones.
    """
    level = rest[3] if len(rest) > 3 else more.get("level", 0)
    if not level and name.split(".")[0] not in _ALLOWED:
        raise ImportError(f"{name} is not imported here")
    return _import(name, *rest, **more)


def main() -> None:
    """Answer one request."""
    asked = json.loads(sys.stdin.buffer.read())
    _bound(asked["seconds"])
    answers: list[Any] = []
    try:
        _answer(asked, answers)
        done = True
    except TimeOver:
        done = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    sys.stdout.write(json.dumps({"answers": answers, "done": done}))


def _bound(seconds: float) -> None:
    def over(number: int, frame: FrameType | None) -> None:
        raise TimeOver

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, int(seconds) + 10)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _answer(asked: dict[str, Any], answers: list[Any]) -> None:
    jedi = _careful_jedi()
    root: str = asked["root"]
    places = [os.path.join(root, each) if each else root for each in asked["roots"]]
    project = jedi.Project(
        root, sys_path=_standard_paths(), added_sys_path=places, smart_sys_path=False, load_unsafe_extensions=False
    )
    environment = jedi.InterpreterEnvironment()
    for path, code, positions in asked["asks"]:
        script = jedi.Script(code, path=os.path.join(root, path), project=project, environment=environment)
        for line, column in positions:
            try:
                found = script.goto(line, column, follow_imports=True, follow_builtin_imports=True)
                landings = [_landing(each, root) for each in found[:MOST_ANSWERS]]
            except (*_FAULTS, *_MORE_FAULTS):
                landings = []
            answers.append([path, line, column, landings])


def _careful_jedi() -> Any:
    """jedi, without its caches on the disk and without the modules that it would rather import than read."""
    import jedi  # type: ignore[import-untyped]  # it has no marker, though it has types
    import parso.cache
    from jedi import settings

    settings.auto_import_modules = []
    settings.dynamic_params_for_other_modules = False
    # What is kept on the disk is told apart by time alone, so it could be stale; and it is unpickled.
    for name in ("_load_from_file_system", "_save_to_file_system", "_remove_cache_and_update_lock"):
        setattr(parso.cache, name, lambda *_, **__: None)
    settings.cache_directory = os.path.join(os.devnull, "jedi")
    builtins.__import__ = _standard_only
    return jedi


def _standard_paths() -> list[str]:
    own = os.path.dirname(os.__file__)
    return [each for each in sys.path if each and (each == own or os.path.dirname(each) in (own, os.path.dirname(own)))]


def _landing(name: Any, root: str) -> list[Any]:
    """Path below the root, line, column, name, kind, module; of what lies elsewhere nothing but name and module."""
    path = "" if name.module_path is None else os.path.realpath(name.module_path)
    below = path[len(root) :].lstrip("/") if path.startswith(root.rstrip("/") + "/") else ""
    place = [name.line or 1, name.column or 0] if below else [0, 0]
    return [below, *place, name.name, name.type, name.module_name or ""]


if __name__ == "__main__":
    main()
