"""The command line: `toolcrib VERB`. One file per verb, imported when the verb is typed and not before."""

import errno
import io
import os
import sys

_ROOM = "make room there, and try again"
_FEWER = "try again when less is running"
_NEXT_STEPS = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "make it writable, or name another home in TOOLCRIB_HOME",
    errno.EMFILE: "raise the limit of open files (ulimit -n), and try again",
    errno.ENFILE: _FEWER,
    errno.EAGAIN: _FEWER,
    errno.ENOMEM: _FEWER,
    errno.EIO: "the disk does not answer as it should: see the system's log",
}
"""What to do about what the machine has no more of."""

VERBS = {
    "list": "the tools on offer, and what is not and why",
    "show": "everything about one tool",
    "call": "call a tool through the gate",
    "check": "find every fault of a tool, with path and fix",
    "new": "write a new tool that works",
    "build": "make a program of a tool's source",
    "test": "try a tool by its examples and by made-up calls",
    "trust": "trust a project's tools",
    "untrust": "take that back",
    "policy": "look at the rules, explain a decision, take approvals back",
    "approve": "answer a call that waits for a person",
    "grant": "let a tool have more than the default",
    "session": "begin, look at and end sessions",
    "skill": "look at skills, use them in a session, find their faults",
    "serve": "offer the tools to an agent (mcp)",
    "artifact": "read output that was too long to show",
    "audit": "read or verify the record of every call",
    "stats": "count what was called, and how it went",
    "doctor": "say what works here and what does not",
    "clean": "remove old artifacts and caches",
    "completion": "print the completion script for bash, zsh or fish",
}
"""What can be typed, in the order in which help shows it. Each is a module of this package."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = sys.argv[1:] if argv is None else argv
    as_json = "--json" in words
    out = _stand_in_for_streams()
    try:
        status = _run(words)
        sys.stdout.flush()
        if out is not None and out.failure is not None:  # which somebody thought need not be told
            raise out.failure
        return status
    except BrokenPipeError:  # whoever read us has seen enough
        return 1
    except KeyboardInterrupt:
        return 130
    except Unprinted as exc:
        print(f"toolcrib: {exc}", file=sys.stderr)
        return 1
    except OSError as exc:  # a full disk, a directory that is gone, a file that cannot be read
        return _report(exc, as_json=as_json)
    except _told() as exc:  # type: ignore[no-untyped-call]  # as there
        from ._failure import report

        return report(exc, words[0], as_json=as_json)


def _told():  # type: ignore[no-untyped-def]  # the type is what is imported late
    """The errors that say themselves what is wrong. Imported when something is: `list` must be quick."""
    from ..core.errors import ToolcribError

    return ToolcribError


def code_of(exc: OSError) -> str:
    """By which code it is known that the machine refused something."""
    return "RESOURCE_EXHAUSTED" if exc.errno in _NEXT_STEPS else "EXECUTION_ERROR"


def _report(exc: OSError, *, as_json: bool) -> int:
    """Say what the machine refused. Nothing is imported for it: there may be no descriptor left to open a file with."""
    advice = _NEXT_STEPS.get(exc.errno or 0)
    code, message = code_of(exc), f"{exc}; {advice}" if advice else str(exc)
    text = message.encode("ascii", "backslashreplace").decode()
    shown = "".join(char if " " <= char <= "~" else f"\\x{ord(char):02x}" for char in text)
    print(f"{code} {shown}" if advice else f"toolcrib: {shown}", file=sys.stderr)
    if as_json:
        quoted = "".join(char if " " <= char <= "~" and char not in '"\\' else f"\\u{ord(char):04x}" for char in text)
        error = f'{{"code": "{code}", "message": "{quoted}", "details": null}}'
        try:
            print(f'{{"success": false, "data": null, "error": {error}, "metadata": {{}}}}', flush=True)
        except OSError:  # then the line for a person is all that can be said
            pass
    return 1


class Unprinted(OSError):
    """What was to be printed on stdout could not be. It is raised once; what is printed after that is let go."""


class _Out(io.FileIO):
    """Where a stream's bytes go. Words for people are let go where they cannot be written; an answer is missed."""

    is_answer = False
    failure: OSError | None = None

    def write(self, data):  # type: ignore[no-untyped-def]  # typing would have to be imported
        if self.failure is None:
            try:
                return super().write(data)
            except BrokenPipeError as exc:
                self.failure = exc
            except OSError as exc:
                self.failure = Unprinted(f"stdout cannot be written to: {exc.strerror}")
            if self.is_answer:
                raise self.failure
        return memoryview(data).nbytes


def _stand_in_for_streams() -> _Out | None:
    """See that there are three streams, and that what cannot be written ends in a word, not in a traceback.

    Returns what stdout is written to; nothing, where somebody else put something in its place.
    """
    for fd in range(3):  # in the place of one that is closed, no other file may come
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR if fd != 1 else os.O_RDONLY)  # an answer that nobody can get is missed
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  # it stays open, as the one it stands for would
    if sys.stderr is sys.__stderr__:
        sys.stderr = _stream(_Out(2, "w", closefd=False), sys.stderr)
    if sys.stdout is not sys.__stdout__:
        return None
    out = _Out(1, "w", closefd=False)
    out.is_answer = True
    sys.stdout = _stream(out, sys.stdout)
    return out


def _stream(out: _Out, like: io.TextIOWrapper | None) -> io.TextIOWrapper:
    encoding, errors = (like.encoding, like.errors) if like else ("utf-8", "backslashreplace")
    at_once = like is None or like.line_buffering or like.write_through
    return io.TextIOWrapper(io.BufferedWriter(out), encoding, errors, line_buffering=at_once)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    if words[0] in ("-V", "--version"):
        from .. import __version__

        print(f"toolcrib {__version__}")
        return 0
    verb = words[0]
    if verb not in VERBS:
        print(f"toolcrib: there is no verb {ascii(verb)}; known are {', '.join(VERBS)}", file=sys.stderr)
        return 2
    try:
        return int(_module(verb).main(words[1:]))
    except SystemExit as exc:  # of the parser after --help, or by a signal
        return int(exc.code or 0)


def _module(verb: str):  # type: ignore[no-untyped-def]  # a verb's module, which has `main(argv) -> int`
    return __import__(f"{__name__}.{verb}", fromlist=["main"])


def _usage() -> str:
    verbs = "\n".join(f"  {name:<11} {what}" for name, what in VERBS.items())
    return f"""usage: toolcrib VERB [options]        (crib is the same)

{verbs}

Every verb answers to --help, with an example. Those that report take --json.

  toolcrib list
  toolcrib call hello --name Bob"""
