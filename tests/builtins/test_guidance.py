"""The guidance for models is true and short."""

import re

import toolcrib
from toolcrib import cli
from toolcrib.builtins import TOOLS
from toolcrib.builtins.guidance import SHORT
from toolcrib.sources.manifest_file import KEYS
from toolcrib.sources.workshop import LANGUAGES

TEXT = toolcrib.guidance()


def test_it_is_short() -> None:
    """F40."""
    assert len(TEXT.splitlines()) < 60 and len(SHORT) < 800


def test_every_command_and_tool_that_it_names_is_there() -> None:
    """F40."""
    verbs = set(re.findall(r"`toolcrib (\w+)", TEXT))
    tools = set(re.findall(r"\b\w+_(?:file|command|custom_tools?)\b", TEXT + SHORT))
    assert {"test", "check", "grant"} <= verbs <= set(cli.VERBS)
    assert len(tools) >= 8 and tools <= {tool.name for tool in TOOLS}


def test_the_languages_and_keys_that_it_names_are_known() -> None:
    first = TEXT.split("## The way")[1]
    named = re.search(r"`language` \(([^)]*)\)", first)
    assert named is not None
    assert re.findall(r"\w+", named[1].replace(" or ", " ")) == list(LANGUAGES)
    assert {"examples", "limits", "env", "secrets"} <= set(KEYS)
