"""The tools that come with the package, one file each, named as the tool is."""

from ..core.tool import Tool
from .build_custom_tool import build_custom_tool
from .build_dependency_graph import build_dependency_graph
from .create_custom_tool import create_custom_tool
from .delete_custom_tool import delete_custom_tool
from .delete_file import delete_file
from .detect_project_type import detect_project_type
from .edit_file import edit_file
from .extract_conventions import extract_conventions
from .file_exists import file_exists
from .file_info import file_info
from .find_references import find_references
from .get_codebase_map import get_codebase_map
from .get_imports_exports import get_imports_exports
from .get_project_overview import get_project_overview
from .get_symbol_info import get_symbol_info
from .glob import glob
from .grep import grep
from .grep_artifact import grep_artifact
from .job_kill import job_kill
from .job_list import job_list
from .job_output import job_output
from .list_custom_tools import list_custom_tools
from .list_directory import list_directory
from .list_files import list_files
from .read_artifact import read_artifact
from .read_file import read_file
from .resolve_symbol import resolve_symbol
from .run_command import run_command
from .run_custom_tool import run_custom_tool
from .search_code import search_code
from .todo_read import todo_read
from .todo_write import todo_write
from .write_file import write_file

TOOLS: tuple[Tool, ...] = (
    build_custom_tool,
    build_dependency_graph,
    create_custom_tool,
    delete_custom_tool,
    delete_file,
    detect_project_type,
    edit_file,
    extract_conventions,
    file_exists,
    file_info,
    find_references,
    get_codebase_map,
    get_imports_exports,
    get_project_overview,
    get_symbol_info,
    glob,
    grep,
    grep_artifact,
    job_kill,
    job_list,
    job_output,
    list_custom_tools,
    list_directory,
    list_files,
    read_artifact,
    read_file,
    resolve_symbol,
    run_command,
    run_custom_tool,
    search_code,
    todo_read,
    todo_write,
    write_file,
)
