"""`toolcrib call`: one tool, once, through the gate."""

import json
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from ..backends.quantity import duration
from ..core.call import ErrorInfo, Result
from ..core.errors import InvalidJson, Refused
from ..core.jsontext import JSON, dump_ascii, parse
from ..core.limits import INPUT_BYTES
from ..core.policy import Answer, Approver, Question
from ..core.tool import Tool
from ..policy.approvers import SaysYes
from ..runtime.build import build
from ..runtime.runtime import Crib
from ..store.home import Home
from ..store.sessions import NAME
from . import Unprinted
from ._approver import TerminalApprover, at_terminal
from ._failure import UsageError, exit_status
from ._flags import Own, flag_lines, split
from ._loop import run
from ._text import visible
from ._ticker import Ticker

HELP = """usage: toolcrib call NAME [--input JSON|-] [--FLAG VALUE ...]
                     [--yes] [--timeout S] [--dry-run] [--session ID] [--profile NAME] [--json]

Call a tool. Its arguments are flags made from its schema, or one JSON object.

  --input JSON   the arguments; - reads them from stdin
  --yes          answer yes, once, where a person would be asked
  --timeout S    seconds (or 1500ms, 2m) instead of the tool's own limit
  --dry-run      check everything and say what would run
  --session ID   in this session: with its skills, and recorded under its name
  --profile NAME with the tools and rules of this profile
  --json         print the whole result

  toolcrib call hello --name Bob --age 25
  echo '{"name": "Bob"}' | toolcrib call hello --input - --yes"""

OWN = Own("--yes", "--dry-run", "--json", "--help", valued=("--input", "--timeout", "--session", "--profile"))


def main(argv: list[str]) -> int:
    before, _, words = split(argv, OWN, None)
    if not words:
        if "--help" in before:
            print(HELP)
            return 0
        raise UsageError("which tool? See: toolcrib list")
    if not words[0]:
        raise UsageError("the tool's name is empty; see: toolcrib list")
    home = Home()
    asked = Asked(home)
    profile = before.get("--profile", _seeming(words[1:], "--profile"))
    session = before.get("--session", _seeming(words[1:], "--session"))
    crib = build(
        home=home.path,
        approver=asked,
        asker="command line",
        typed=at_terminal(),
        profile=profile,
        session=session and _session(session),
    )
    asked.own_name = crib.config.offer.own_name
    return run(_call(crib, asked, before, words))


def _seeming(words: list[str], valued: str) -> str | None:
    """What seems to be the value of a flag. Which words are flags is sure only when the tool is known, which depends
    on the profile and on the session.
    """
    for at, word in enumerate(words):
        flag, given, name = word.partition("=")
        if flag == valued and (given or at + 1 < len(words)):
            return name if given else words[at + 1]
    return None


async def _call(crib: Crib, asked: "Asked", before: dict[str, Any], words: list[str]) -> int:
    try:
        await crib.start()
        name = crib.full_name(words[0])
        tool = crib.find(name)
        if tool is None:  # without a schema nothing more can be read; the gate says what is wrong, and records it
            return _report(await crib.call(name, {}), as_json="--json" in (*before, *words))
        ours, flags, bare = split(words[1:], OWN, tool.input_schema)
        ours = {**before, **ours}
        if ours.get("--profile") != (crib.config.profile and crib.config.profile.name):
            raise UsageError("write --profile once, before the tool's name: toolcrib call --profile NAME TOOL …")
        if "--help" in ours:
            print("\n".join([HELP, "", f"{name}:", *flag_lines(tool.input_schema, OWN)]))
            return 0
        if bare:
            raise UsageError(f"{bare[0]!r} belongs to no flag")
        if ours.get("--session", crib.session) != crib.session:
            raise UsageError("write --session once, before the tool's name: toolcrib call --session ID TOOL …")
        asked.settle(yes="--yes" in ours)
        args = _arguments(ours, flags)
        timeout = _duration(ours["--timeout"]) if "--timeout" in ours else None
        async with Ticker(lambda seconds: f"{name}: {seconds} s", lambda: asked.waiting) as ticker:
            dry_run = "--dry-run" in ours
            with redirect_stdout(sys.stderr):  # what a tool in this process prints is not its answer
                result = await crib.call(name, args, timeout=timeout, dry_run=dry_run, progress=ticker.progress)
        return _report(result, as_json="--json" in ours, dry_run=dry_run)
    finally:
        await crib.close()


def _session(text: str) -> str:
    if not NAME.fullmatch(text):
        raise UsageError("--session: use 1 to 128 of A-Z a-z 0-9 _ . : -")
    return text


def _arguments(ours: dict[str, Any], flags: dict[str, JSON]) -> Any:
    if "--input" not in ours:
        return flags
    if flags:
        raise UsageError("give the arguments either as --input or as flags, not both")
    raw = sys.stdin.buffer.read(INPUT_BYTES + 1) if ours["--input"] == "-" else ours["--input"]
    if len(raw) > INPUT_BYTES:
        message = f"--input is longer than {INPUT_BYTES} bytes; put what is long into a file, and send its path"
        raise UsageError(message, code="INPUT_TOO_LARGE")
    try:
        given = parse(raw)
    except InvalidJson as exc:
        raise UsageError(f'--input is {exc}; write for example {{"name": "Bob"}}') from None
    if given is None:  # to the library, None is to give nothing; a person who wrote null gave something wrong
        raise UsageError("--input is null, and the arguments are an object; leave it out to give none")
    return given


def _duration(text: str) -> float:
    try:
        return duration(text)
    except ValueError as exc:
        raise UsageError(f"--timeout: {exc}") from None


class Asked:
    """Whoever is to be asked, known once the command line has been read."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._approver: Approver | None = None
        self.own_name: Callable[[Tool], str] = lambda tool: tool.name
        """What the configuration calls a tool that is offered under another name."""
        self.waiting = False
        """A person is being asked; the screen is theirs."""

    @property
    def is_person(self) -> bool:
        return isinstance(self._approver, TerminalApprover)

    def settle(self, *, yes: bool) -> None:
        if yes:
            self._approver = SaysYes("flag")
        elif at_terminal():
            self._approver = TerminalApprover(typed=True)

    async def approve(self, question: Question) -> Answer:
        if question.call.dry_run and question.tool.hooks.dry_run is None and question.message is None:
            return Answer(allowed=True, by="dry run")  # nothing runs, so there is nothing to ask or to remember
        if self._approver is None:
            name, config = self.own_name(question.tool), self._home.file("config.yaml")
            raise Refused(
                f"{question.tool.name} needs approval ({question.reason}), and there is no terminal to ask at; add "
                f"--yes for this call, or write `approval: {{tools: {{{name}: preApproved}}}}` into {config}",
                code="APPROVAL_REQUIRED",
            )
        self.waiting = True
        try:
            return await self._approver.approve(question)
        finally:
            self.waiting = False


def _report(result: Result, *, as_json: bool, dry_run: bool = False) -> int:
    """Raises: `Unprinted`, which says whether it ran: nobody should call it again only to see the answer."""
    try:
        if as_json:
            print(dump_ascii(result.to_dict()).decode(), flush=True)
        else:
            _draw(result)
    except Unprinted as exc:
        ran = result.metadata.get("attempts") and not dry_run
        happened = "it ran; the answer could not be written, because" if ran else "nothing ran, and"
        raise Unprinted(f"{happened} {exc}") from None
    return _exit_status(result)


def _draw(result: Result) -> None:
    if result.error is None:
        _show(result)
        _say(result.metadata.get("stderr") or "")
    else:
        _explain(result.error)
    shown_whole = result.error is None and not result.metadata.get("truncated")
    for artifact in () if shown_whole else result.metadata.get("artifacts") or ():
        stream, total = artifact["stream"], result.metadata[f"{artifact['stream']}_bytes"]
        _say(f"{stream} was {total} bytes; read it with: toolcrib artifact show {artifact['id']}")


def _explain(error: ErrorInfo) -> None:
    _say(f"{error.code} {error.message}")
    if error.code == "VALIDATION_ERROR" and isinstance(error.details, list):
        for fault in error.details:
            _say(f"  {fault if isinstance(fault, str) else fault['message']}")
    elif isinstance(error.details, dict):
        if said := error.details.get("details"):  # of a structured error
            _say(f"  {said if isinstance(said, str) else json.dumps(said)}")
        if nearest := error.details.get("nearest"):
            _say(f"  did you mean {', '.join(nearest)}?")


def _say(text: str) -> None:
    """Words for a person, with nothing in them that a terminal would obey."""
    if text:
        print(visible(text.rstrip("\n"), keep="\n\t"), file=sys.stderr)


def _show(result: Result) -> None:
    """The answer as it is; on a terminal, with nothing in it that the terminal would obey."""
    if not isinstance(result.data, str):
        print(json.dumps(result.data, indent=2), flush=True)
        return
    if sys.stdout.isatty():
        text = visible(result.data, keep="\n\t")
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
        sys.stdout.flush()
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(result.data.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()


def _exit_status(result: Result) -> int:
    return 0 if result.error is None else exit_status(result.error.code)
