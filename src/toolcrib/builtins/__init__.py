"""The tools that come with the package, one file each, named as the tool is."""

from ..core.tool import Tool
from .read_file import read_file
from .run_command import run_command
from .write_file import write_file

TOOLS: tuple[Tool, ...] = (read_file, run_command, write_file)
