"""The words of other systems for our built-in tools. A tool without a word keeps its own name.

Names and parameters are theirs; the descriptions are our own, and say what our tools do. A parameter of theirs that
ours cannot follow does not stand here: to take and ignore it would be to do something else than was asked for.
"""

from collections.abc import Mapping

from ..core.jsontext import JSON
from .vocabulary import Parameter, Word

_FILE = "The file: a path below the workspace, absolute or relative to it."
_FOLDER = "The directory: a path below the workspace, absolute or relative to it; left out, the workspace itself."
_LONGEST_MS = 600_000
_MILLISECONDS: Mapping[str, JSON] = {"type": "number", "minimum": 1, "maximum": _LONGEST_MS}
_NUMBERED: Mapping[str, JSON] = {"line_numbers": True}
_OUTPUTS = {"content": "content", "files_with_matches": "files", "count": "count"}


def _seconds(milliseconds: JSON) -> JSON:
    whole, rest = divmod(milliseconds, 1000)
    return milliseconds / 1000 if rest else int(whole)


def _from_zero(line: JSON) -> JSON:
    """The number of a line that is counted from 1. Some count from 0 all the same, and mean the first one."""
    return max(line - 1, 0)


_TIMEOUT = Parameter("timeout", "Milliseconds that it may take.", _seconds, _MILLISECONDS)
_CHANGES = {
    "file_path": Parameter("path", _FILE),
    "old_string": Parameter("old_string"),
    "new_string": Parameter("new_string"),
    "replace_all": Parameter("replace_all"),
}
_LOOKS = {"pattern": Parameter("pattern"), "path": Parameter("path", _FOLDER)}

_RUN = (
    "Run a line of shell in the workspace and return what it prints. "
    "Simple commands, joined by && ; or |, are judged one by one; keep to those."
)
_READ = "Read a file of the workspace. Its lines are numbered."
_WRITE = "Write a file of the workspace: make it, or replace all that it holds. Missing directories are made."
_EDIT = (
    "Replace a text in a file of the workspace by another. "
    "It must stand there exactly so, and once, unless all occurrences are to be replaced."
)
_GREP = "Search the files of the workspace by a regular expression. Ignored files are left out."
_GLOB = "Find files of the workspace by a pattern of names, such as **/*.py. Ignored files are left out."
_LIST = "List what lies in a directory of the workspace."

A3S = (
    Word("run_command", "bash", _RUN, {"command": Parameter("command"), "timeout": _TIMEOUT}, required=("command",)),
    Word(
        "read_file",
        "read",
        _READ,
        {
            "file_path": Parameter("path", _FILE),
            "offset": Parameter("offset", "The first line, counted from 0."),
            "limit": Parameter("limit"),
        },
        otherwise=_NUMBERED,
    ),
    Word("write_file", "write", _WRITE, {"file_path": Parameter("path", _FILE), "content": Parameter("content")}),
    Word("edit_file", "edit", _EDIT, _CHANGES, required=("old_string", "new_string")),
    Word(
        "grep",
        "grep",
        _GREP,
        {
            **_LOOKS,
            "glob": Parameter("glob"),
            "context": Parameter("context"),
            "-i": Parameter("ignore_case", "Whether capitals and small letters are the same."),
            "limit": Parameter("limit"),
        },
    ),
    Word("glob", "glob", _GLOB, _LOOKS),
    Word("list_directory", "ls", _LIST, {"path": Parameter("path", _FOLDER)}),
)

GOLEM = (
    Word(
        "run_command",
        "shell",
        _RUN,
        {"command": Parameter("command"), "timeout": Parameter("timeout", "Seconds that it may take.")},
        required=("command",),
    ),
)
"""Its file tools (read_file, write_file, list_files, delete_file, file_exists, file_info) are called as ours are."""

CLAUDE = (
    Word(
        "run_command",
        "Bash",
        _RUN,
        {
            "command": Parameter("command"),
            "timeout": _TIMEOUT,
            "description": Parameter(description="What it does, in a few words.", schema={"type": "string"}),
            "run_in_background": Parameter(
                "background", "Whether to return at once. BashOutput and KillShell take the `job_id` of the answer."
            ),
        },
        required=("command",),
    ),
    Word(
        "read_file",
        "Read",
        _READ,
        {
            "file_path": Parameter("path", _FILE),
            "offset": Parameter(
                "offset", "The first line, counted from 1.", _from_zero, {"type": "integer", "minimum": 0}
            ),
            "limit": Parameter("limit"),
        },
        otherwise=_NUMBERED,
    ),
    Word("write_file", "Write", _WRITE, {"file_path": Parameter("path", _FILE), "content": Parameter("content")}),
    Word("edit_file", "Edit", _EDIT, _CHANGES, required=("old_string", "new_string")),
    Word("glob", "Glob", _GLOB + " What was changed last comes first.", _LOOKS, otherwise={"sort": "modified"}),
    Word(
        "grep",
        "Grep",
        _GREP,
        {
            **_LOOKS,
            "glob": Parameter("glob"),
            "output_mode": Parameter(
                "output",
                "What is shown: the files alone, the lines, or how many there are in each file.",
                lambda mode: _OUTPUTS[mode],
                {"enum": list(_OUTPUTS), "default": "files_with_matches"},
            ),
            "-i": Parameter("ignore_case", "Whether capitals and small letters are the same."),
            "-A": Parameter("context", "Lines around each hit; as many are shown before it."),
            "-B": Parameter("context", "Lines around each hit; as many are shown after it."),
            "-C": Parameter("context", "Lines before and after each hit."),
            "-n": Parameter(description="Lines are numbered in any case.", schema={"type": "boolean"}),
            "head_limit": Parameter("limit"),
        },
        otherwise={"output": "files"},
    ),
    Word("list_directory", "LS", _LIST, {"path": Parameter("path", _FOLDER)}),
    Word("todo_write", "TodoWrite", "Replace the list of what is to be done.", {"todos": Parameter("todos")}),
    Word(
        "job_output",
        "BashOutput",
        "Read what a command that runs in the background has printed since the last look.",
        {"bash_id": Parameter("job_id", "The `job_id` that Bash gave.")},
    ),
    Word(
        "job_kill",
        "KillShell",
        "End a command that runs in the background, with all that it started.",
        {"shell_id": Parameter("job_id", "The `job_id` that Bash gave.")},
    ),
)

OWN = "toolcrib"
VOCABULARIES: Mapping[str, tuple[Word, ...]] = {OWN: (), "a3s": A3S, "golem": GOLEM, "claude": CLAUDE}
