"""The tools that come with the package, one file each, named as the tool is."""

from ..core.tool import Tool
from .build_custom_tool import build_custom_tool
from .create_custom_tool import create_custom_tool
from .delete_custom_tool import delete_custom_tool
from .list_custom_tools import list_custom_tools
from .read_file import read_file
from .run_command import run_command
from .run_custom_tool import run_custom_tool
from .write_file import write_file

TOOLS: tuple[Tool, ...] = (
    build_custom_tool,
    create_custom_tool,
    delete_custom_tool,
    list_custom_tools,
    read_file,
    run_command,
    run_custom_tool,
    write_file,
)
