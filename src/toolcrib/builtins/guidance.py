"""What a model should know before it makes a tool."""

import os

SHORT = (
    "You can make tools that stay: create_custom_tool writes a folder with a manifest and a source, write_file edits "
    "it, build_custom_tool builds it, and from the next turn on it is in the list of tools. The user is asked about "
    "each of these steps, and about every call of a tool that is new or changed. Make one when the same work will come "
    "again; for something that is needed once use run_command. Before the first one, call list_custom_tools with "
    "guidance=true."
)
"""For a prompt that has other things to say as well."""


def guidance() -> str:
    """How and when to make a tool, for a system prompt: the same text that list_custom_tools gives."""
    with open(os.path.join(os.path.dirname(__file__), "guidance.md"), encoding="utf-8") as file:
        return file.read()
