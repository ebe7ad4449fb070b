"""`toolcrib new`: a tool that works at once, to be changed into the one you want."""

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ..core.context import new_id
from ..core.errors import ToolcribError
from ..core.jsontext import dump_ascii
from ..core.limits import Limits
from ..core.process import Command
from ..policy.trust import Trust
from ..runtime.build import read_config
from ..runtime.config import Config
from ..sandbox.processes import Processes
from ..sources.manifest_scaffold import DESCRIPTION
from ..sources.scaffold import INSTALL, SCAFFOLDS, check_free, check_name, write
from ..sources.workshop import LANGUAGES, Parameter, build_steps, create, fix_entrypoint, plan
from ..store.home import Home
from ._loop import run
from ._parser import verb_parser
from ._text import readable, visible

EXAMPLE = """
  toolcrib new executable shout                   a Python program in your tools
  toolcrib new executable shout --lang bash
  toolcrib new manifest since --lang go --parameter day:string:required --parameter loud:boolean
  toolcrib new manifest deploy --project          in .toolcrib/tools, for everybody on the project
"""
BUILD_SECONDS = 300.0
_SAMPLES = {"string": "hello", "number": "1", "boolean": "true"}


class Unwritten(ToolcribError):
    """The tool was not written, or not whole. The message says what to do."""


def main(argv: list[str]) -> int:
    parser = verb_parser("new", "Write a new tool that works at once.", EXAMPLE)
    parser.add_argument(
        "kind",
        choices=["executable", "manifest"],
        help="a program that describes itself, or a folder with a tool.yaml and a source",
    )
    parser.add_argument("name", metavar="NAME", help="A-Z a-z 0-9 _ -")
    parser.add_argument("--lang", choices=list(LANGUAGES), default="python", help="the language (default: python)")
    parser.add_argument("--description", metavar="TEXT", help="of a manifest: what the tool does, for a model to read")
    parser.add_argument(
        "--parameter",
        metavar="NAME:TYPE[:required]",
        action="append",
        help="of a manifest, as often as you like: an argument that is a string, number or boolean",
    )
    parser.add_argument("--project", action="store_true", help="into this project's .toolcrib/tools")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    options = parser.parse_args(argv)
    executable = options.kind == "executable"
    if executable and (options.description is not None or options.parameter):
        parser.error("--description and --parameter are of a manifest; an executable says this itself")
    if executable and options.lang not in SCAFFOLDS:
        parser.error(f"an executable is written in {', '.join(SCAFFOLDS)}; in {options.lang} there are manifests")
    home, workspace = Home(), os.getcwd()
    config = read_config(workspace, home, options.profile)
    check_name(options.name, config.prefix)
    parameters = [_parameter(text) for text in options.parameter or ()]
    directory = _directory(config, home, workspace, project=options.project)
    where: Any = {"directory": directory, "project": options.project}
    if executable:
        files = _executable(options.lang, options.name, **where)
    else:
        about = DESCRIPTION if options.description is None else options.description
        files = _manifest(options.lang, options.name, about, parameters, prefix=config.prefix, **where)
    if options.json:
        name = config.offer.name_for(config.prefix + options.name)
        shown = [readable(file) for file in files]
        print(dump_ascii({"name": name, "language": options.lang, "files": shown}).decode())
        return 0
    for file in files:
        print(f"wrote {visible(file)}", flush=True)
    words = ["--text", "hello"] if executable else _sample(parameters)
    _next_steps([options.name, *words], home, workspace, project=options.project, tested=not executable)
    return 0


def _parameter(text: str) -> Parameter:
    """`name:type` or `name:type:required`."""
    name, _, rest = text.partition(":")
    kind, _, needed = rest.partition(":")
    if needed not in ("", "required") or text.endswith(":"):
        message = f"--parameter {text!r}: write name:type or name:type:required, for example day:string:required"
        raise ToolcribError(message, code="VALIDATION_ERROR")
    return Parameter(name, kind or "string", bool(needed))


def _sample(parameters: Sequence[Parameter]) -> list[str]:
    """Flags with which the new tool can be called."""
    return [word for each in parameters if each.required for word in (f"--{each.name}={_SAMPLES[each.type]}",)]


def _directory(config: Config, home: Home, workspace: str, *, project: bool) -> str:
    if not config.enabled:
        raise Unwritten("the configuration says `custom_tools: {enabled: false}`, so no tool would be found")
    if not project and config.global_dir:
        return os.path.abspath(os.path.expanduser(config.global_dir))
    if not project:
        try:
            return home.directory("tools")
        except OSError as exc:
            raise Unwritten(f"{home.path}: {exc.strerror}; nothing was written") from None
    directory = os.path.normpath(os.path.join(workspace, config.local_dir))
    inside = os.path.realpath(workspace)
    if os.path.commonpath((os.path.realpath(directory), inside)) != inside:
        raise Unwritten(f"{directory} leads out of the project, to {os.path.realpath(directory)}; nothing was written")
    return directory


def _mode(*, project: bool) -> int:
    return 0o755 if project else 0o700


def _executable(language: str, name: str, *, directory: str, project: bool) -> list[str]:
    check_free(directory, name)
    scaffold, mode = SCAFFOLDS[language], _mode(project=project)
    try:
        source = write(scaffold.draft(name), directory, mode=mode)
    except OSError as exc:
        raise Unwritten(f"{directory}: {exc.strerror}; nothing was written") from None
    if not scaffold.build:
        return [source]
    command = scaffold.build_command(name)
    typed = f"(cd {shlex.quote(directory)} && {shlex.join(command)})"
    if (compiler := shutil.which(command[0])) is None:
        missing = f"{command[0]} is not installed, so it is not a tool yet"
        raise Unwritten(f"wrote {source}, but {missing}; {INSTALL[command[0]]}, then type: {typed}")
    return [source, _built([(compiler, *command[1:])], directory, name, typed=typed, mode=mode)]


def _manifest(
    language: str,
    name: str,
    description: str,
    parameters: Sequence[Parameter],
    *,
    prefix: str,
    directory: str,
    project: bool,
) -> list[str]:
    planned = plan(directory, name, description=description, language=language, parameters=parameters, prefix=prefix)
    mode = _mode(project=project)
    files = create(planned, mode=mode)
    if not planned.build:
        return files
    typed = f"toolcrib build {name}"
    if project:
        by_hand = f"(cd {shlex.quote(planned.folder)} && {shlex.join(planned.build)})"
        typed = f"{by_hand} and write `entrypoint: {name}` into its tool.yaml"
    try:
        steps = build_steps(planned.folder, search_path=os.environ.get("PATH", os.defpath))
    except ToolcribError as exc:
        raise Unwritten(f"wrote {planned.folder}, but it is not a tool yet: {exc}; then type: {typed}") from None
    program = _built([step.argv for step in steps], planned.folder, name, typed=typed, mode=mode)
    fix_entrypoint(planned.folder)
    return [*files, program]


def _built(commands: Sequence[tuple[str, ...]], directory: str, name: str, *, typed: str, mode: int) -> str:
    """Build a program in its directory, and return its path. `typed` is what does the same by hand."""
    for command in commands:
        said = run(_run(command, directory))
        if said is not None:
            print(visible(said, keep="\n"), file=sys.stderr)
            raise Unwritten(f"wrote {directory}, but it was not built; put that right and type: {typed}")
    program = os.path.join(directory, name)
    os.chmod(program, mode)
    return program


async def _run(command: tuple[str, ...], directory: str) -> str | None:
    """What the compiler complains of, or None."""
    identity = new_id()
    sandbox, mark = Processes(identity), f"{identity}-1"
    env = {**os.environ, "TOOLCRIB_CALL_ID": mark}
    try:
        async with asyncio.timeout(BUILD_SECONDS):
            done = await sandbox.exec(Command(command, directory, mark, env, limits=Limits(BUILD_SECONDS)))
    except TimeoutError:
        return f"{command[0]} took longer than {BUILD_SECONDS:g} s"
    except ToolcribError as exc:
        return str(exc)
    finally:
        sandbox.close()
    return done.stderr.text() or f"exit status {done.code}" if done.code else None


def _next_steps(call: Sequence[str], home: Home, workspace: str, *, project: bool, tested: bool) -> None:
    words, name = sys.stderr, call[0]
    if project:
        trusted = Trust(home.file("trust.json"), lambda data: None).trusts(workspace)
        whole = "This project is not trusted yet, so its tools are not offered. Look at them, and type:"
        part = "The project was trusted without this file, so it is not offered. Look at it, and type:"
        print(part if trusted else whole, file=words)
        print("  toolcrib trust", file=words)
    print("Next:", file=words)
    print(f"  toolcrib call {shlex.join(call)}", file=words)
    print(f"  toolcrib check {name}              after each change", file=words)
    if tested:
        print(
            f"  toolcrib test {name}               runs its examples, and calls it with values that are hard",
            file=words,
        )
