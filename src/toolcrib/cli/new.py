"""`toolcrib new`: a tool that works at once, to be changed into the one you want."""

import asyncio
import os
import shlex
import shutil
import sys

from ..core.context import new_id
from ..core.errors import ConfigError, ToolcribError
from ..core.jsontext import dump_ascii
from ..core.limits import Limits
from ..core.process import Command
from ..policy.trust import Trust
from ..runtime.build import read_config
from ..runtime.config import Config
from ..sandbox.unconfined import Unconfined
from ..sources.scaffold import SCAFFOLDS, Scaffold, check_name, write
from ..store.home import Home
from ._parser import verb_parser
from ._text import readable, visible

EXAMPLE = """
  toolcrib new executable shout                   a Python program in your tools
  toolcrib new executable shout --lang bash
  toolcrib new executable deploy --project        in .toolcrib/tools, for everybody on the project
"""
BUILD_SECONDS = 300.0


class Unwritten(Exception):
    """The tool was not written, or not whole. The message says what to do."""


def main(argv: list[str]) -> int:
    parser = verb_parser("new", "Write a new tool that works at once.", EXAMPLE)
    parser.add_argument("kind", choices=["executable"], help="what kind of tool: a program that describes itself")
    parser.add_argument("name", metavar="NAME", help="A-Z a-z 0-9 _ -")
    parser.add_argument("--lang", choices=list(SCAFFOLDS), default="python", help="the language (default: python)")
    parser.add_argument("--project", action="store_true", help="into this project's .toolcrib/tools")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    options = parser.parse_args(argv)
    home, workspace = Home(), os.getcwd()
    try:
        config = read_config(workspace, home)
        check_name(options.name, config.prefix)
        directory = _directory(config, home, workspace, project=options.project)
        files = _write(SCAFFOLDS[options.lang], options.name, directory, project=options.project)
    except (ConfigError, ToolcribError) as exc:
        print(f"{exc.code} {visible(str(exc))}", file=sys.stderr)
        return 2
    except Unwritten as exc:
        print(f"toolcrib new: {visible(str(exc))}", file=sys.stderr)
        return 1
    if options.json:
        name = config.prefix + options.name
        shown = [readable(file) for file in files]
        print(dump_ascii({"name": name, "language": options.lang, "files": shown}).decode())
        return 0
    for file in files:
        print(f"wrote {visible(file)}", flush=True)
    _next_steps(options.name, home, workspace, project=options.project)
    return 0


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


def _write(scaffold: Scaffold, name: str, directory: str, *, project: bool) -> list[str]:
    folded = name.replace("-", "_")
    for taken in os.listdir(directory) if os.path.isdir(directory) else ():
        if taken.split(".")[0].replace("-", "_") == folded:
            raise Unwritten(f"{os.path.join(directory, taken)} is there already; choose another name, or remove it")
    mode = 0o755 if project else 0o700
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
        raise Unwritten(f"wrote {source}, but {missing}; {scaffold.install}, then type: {typed}")
    said = asyncio.run(_build((compiler, *command[1:]), directory))
    if said is not None:
        raise Unwritten(f"wrote {source}, but it was not built; put that right and type: {typed}\n{said}")
    program = os.path.join(directory, name)
    os.chmod(program, mode)
    return [source, program]


async def _build(command: tuple[str, ...], directory: str) -> str | None:
    """What the compiler complains of, or None."""
    identity = new_id()
    sandbox, mark = Unconfined(identity), f"{identity}-1"
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


def _next_steps(name: str, home: Home, workspace: str, *, project: bool) -> None:
    words = sys.stderr
    if project:
        trusted = Trust(home.file("trust.json"), lambda data: None).trusts(workspace)
        whole = "This project is not trusted yet, so its tools are not offered. Look at them, and type:"
        part = "The project was trusted without this file, so it is not offered. Look at it, and type:"
        print(part if trusted else whole, file=words)
        print("  toolcrib trust", file=words)
    print("Next:", file=words)
    print(f"  toolcrib call {name} --text hello", file=words)
    print(f"  toolcrib check {name}              after each change", file=words)
