"""`toolcrib test`: try tools through the gate, by their examples and by calls made up from their schemas."""

import argparse
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from ..backends.quantity import duration
from ..core.call import Result
from ..core.errors import REFUSALS, ConfigError, ToolcribError
from ..core.jsontext import JSON, dump_ascii
from ..core.tool import Tool
from ..policy.trust import PROJECT_DIR
from ..runtime.build import build
from ..runtime.runtime import Crib
from ..sources.examples import Example, examples_of
from ..sources.executable import Settings
from ..sources.manifest import ManifestSource
from ..store.home import Home
from ._approver import at_terminal
from ._loop import run
from ._manifest import manifest_at
from ._parser import verb_parser
from ._text import visible
from ._ticker import Ticker
from ._trial import Trial, Tried, lines
from .call import Asked

EXAMPLE = """
  toolcrib test shout                 its examples, 20 made-up calls, and 20 wrong ones that must be refused
  toolcrib test shout --cases 200 --seed 7
  toolcrib test ./my_tool             a folder with a tool.yaml that is not installed yet
  toolcrib test                       every tool that has examples
"""
CASES = 20


class Untestable(Exception):
    """What was named cannot be tried. Carries a code and the exit status."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code, self.status = code, status


def main(argv: list[str]) -> int:
    parser = verb_parser(
        "test",
        "Call tools through the gate: as in their examples, and with values made up from their schemas.",
        EXAMPLE,
    )
    parser.add_argument("target", nargs="?", metavar="NAME|PATH", help="a tool (default: all that have examples)")
    parser.add_argument(
        "--cases", type=_count, metavar="N", help=f"made-up calls of each kind (default: {CASES}; 0: examples only)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="other made-up values (default: 0)")
    parser.add_argument(
        "--timeout", type=_seconds, metavar="S", help="seconds for each call, instead of the tool's own"
    )
    parser.add_argument("--yes", action="store_true", help="answer yes where a person would be asked")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(argv)
    try:
        tested = run(_test(options))
    except (ConfigError, Untestable) as exc:
        if options.json:
            error = {"code": exc.code, "message": str(exc), "details": None}
            print(dump_ascii({"failures": 0, "seed": options.seed, "tools": [], "error": error}).decode())
        else:
            print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return exc.status if isinstance(exc, Untestable) else 2
    _report(tested, options)
    if any(each.failures for each in tested):
        return 1
    return 3 if any(each.refusal for each in tested) else 0


async def _test(options: argparse.Namespace) -> list[Tried]:
    asked = Asked(Home())
    crib = build(approver=asked, asker="test", typed=at_terminal(), profile=options.profile)
    asked.own_name = crib.config.offer.own_name
    asked.settle(yes=options.yes)
    try:
        await crib.start()
        tools = _all(crib) if options.target is None else [await _named(crib, options.target)]
        tested = []
        for tool in tools:
            tested.append(await _try(crib, tool, asked, options))
        return tested
    finally:
        await crib.close()


async def _try(crib: Crib, tool: Tool, asked: Asked, options: argparse.Namespace) -> Tried:
    made = 0

    async def call(name: str, args: dict[str, JSON]) -> Result:
        nonlocal made
        made += 1
        with redirect_stdout(sys.stderr):  # what a tool in this process prints is not our report
            return await crib.call(name, args, timeout=options.timeout)

    trial = Trial(tool, call, lambda args: not crib.validate(tool.name, args))
    cases = CASES if options.cases is None else options.cases
    claims = tool.capabilities
    careful = options.cases is None and (claims.writes_files or claims.accesses_network)
    if careful:
        what = "writes files" if claims.writes_files else "reaches the network"
        trial.tried.skipped = f"it says that it {what}, so it got no made-up calls; --cases {CASES} makes them"
    async with Ticker(lambda seconds: f"{tool.name}: {made} calls", lambda: asked.waiting):
        await trial.run(_examples(tool), made_up=0 if careful else cases, wrong=cases, seed=options.seed)
    return trial.tried


def _examples(tool: Tool) -> list[Example]:
    try:
        return examples_of(tool)
    except ToolcribError as exc:
        raise Untestable(exc.code, str(exc), 3 if exc.code in REFUSALS else 1) from None


def _all(crib: Crib) -> list[Tool]:
    return [tool for tool in crib.tools() if tool.source == "manifest" and _examples(tool)]


async def _named(crib: Crib, target: str) -> Tool:
    """The tool that a name or a path means."""
    if "/" in target or target in (".", ".."):
        tool, origin = _offered(crib, _absolute(target))
        return tool or await _uninstalled(crib, origin)
    tool = crib.find(target)
    if tool is None:
        result = await crib.call(crib.full_name(target), {})  # the gate says what is wrong, and records it
        assert result.error is not None
        status = 3 if result.error.code in REFUSALS else 4
        folders = [os.path.join(directory, target) for directory in crib.tool_directories()]
        broken = [each for each in crib.problems() if each.origin in folders or os.path.dirname(each.origin) in folders]
        if broken and status == 4:
            raise Untestable(broken[0].code, f"{broken[0].origin} is not on offer: {broken[0].message}", 4)
        hint = f"; did you mean {nearest[0]}?" if (nearest := _nearest(result)) else "; see: toolcrib list"
        raise Untestable(result.error.code, result.error.message + (hint if status == 4 else ""), status)
    if tool.source == "builtin":
        raise Untestable("VALIDATION_ERROR", f"{tool.name} is built in; this is for tools of your own", 2)
    return tool


def _absolute(path: str) -> str:
    return os.path.abspath(path)


def _offered(crib: Crib, path: str) -> tuple[Tool | None, str]:
    """The tool of a path, if it is on offer; if not, the manifest of a folder that may be tried all the same."""
    manifest = manifest_at(path)
    origin = manifest or path
    for tool in crib.tools():
        if tool.origin == origin:
            return tool, origin
    if not os.path.lexists(path):
        raise Untestable("TOOL_NOT_FOUND", f"{path} is not there", 4)
    for problem in crib.problems():
        if problem.origin == origin:
            status = 3 if problem.code in REFUSALS else 1
            raise Untestable(problem.code, f"{origin} is not on offer: {problem.message}", status)
    if PROJECT_DIR in (*path.split("/"), *os.path.realpath(path).split("/")):
        message = f"{path} belongs to a project; go there, look at its tools, and type: toolcrib trust"
        raise Untestable("WORKSPACE_UNTRUSTED", message, 3)
    if manifest is None:
        message = f"{path} is no folder with a tool.yaml; put a program into a tools directory, and give its name"
        raise Untestable("TOOL_NOT_FOUND", message, 4)
    return None, manifest


async def _uninstalled(crib: Crib, manifest: str) -> Tool:
    """The tool of a folder that lies in no tools directory, offered for as long as this lasts."""
    config = crib.config
    settings = Settings(config.prefix, config.limits, config.variables, config.tools)
    search_path = os.environ.get("PATH", os.defpath) if "PATH" in config.variables else os.defpath
    directory = os.path.dirname(os.path.dirname(manifest))
    nothing_kept: Any = (lambda key: None, lambda key, data: None)
    loaded = await ManifestSource(directory, settings, nothing_kept, search_path, rank=0).load()
    for tool in loaded.tools:
        if tool.origin == manifest:
            crib.register(tool)
            return tool
    why = next((each for each in loaded.problems if each.origin == manifest), None)
    code, message = (why.code, why.message) if why else ("TOOL_NOT_FOUND", "its folder's name is no tool's")
    raise Untestable(code, f"{manifest}: {message}", 1)


def _nearest(result: Result) -> list[str]:
    details = result.error.details if result.error else None
    return details.get("nearest", []) if isinstance(details, dict) else []


def _report(tested: list[Tried], options: argparse.Namespace) -> None:
    failures = sum(len(each.failures) for each in tested)
    if options.json:
        found = [each.to_dict() for each in tested]
        print(dump_ascii({"failures": failures, "seed": options.seed, "tools": found, "error": None}).decode())
        return
    for each in tested:
        for line in lines(each):
            print(line)
    if not tested:
        print("no tool here has examples; name one, or write `examples:` into its tool.yaml", file=sys.stderr)
    print(f"{len(tested)} tested, {failures} failure(s), seed {options.seed}")


def _count(text: str) -> int:
    if not text.isdecimal() or len(text) > 5:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 99999")
    return int(text)


def _seconds(text: str) -> float:
    try:
        return duration(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from None
