"""The tools that come with the package, one file each, named as the tool is."""

from ..core.tool import Tool
from .build_custom_tool import build_custom_tool
from .create_custom_tool import create_custom_tool
from .delete_custom_tool import delete_custom_tool
from .delete_file import delete_file
from .file_exists import file_exists
from .file_info import file_info
from .list_custom_tools import list_custom_tools
from .list_files import list_files
from .read_file import read_file
from .run_command import run_command
from .run_custom_tool import run_custom_tool
from .write_file import write_file

TOOLS: tuple[Tool, ...] = (
    build_custom_tool,
    create_custom_tool,
    delete_custom_tool,
    delete_file,
    file_exists,
    file_info,
    list_custom_tools,
    list_files,
    read_file,
    run_command,
    run_custom_tool,
    write_file,
)
