"""Templates of new tools."""

import os
import re
from pathlib import Path

import pytest

from toolcrib.core.errors import ToolcribError
from toolcrib.sources.scaffold import SCAFFOLDS, check_name, write


@pytest.mark.parametrize("language", list(SCAFFOLDS))
def test_a_draft_is_whole_and_bears_the_name(language: str) -> None:
    """K67."""
    draft = SCAFFOLDS[language].draft("my_tool")
    assert not re.search(r"@[A-Z]+@", draft.text)
    assert '"my_tool"' in draft.text
    assert draft.executable is (language != "go")


def test_writing_never_replaces(tmp_path: Path) -> None:
    draft = SCAFFOLDS["bash"].draft("tool")
    path = Path(write(draft, str(tmp_path / "new"), mode=0o700))
    assert (path.read_text(), os.access(path, os.X_OK)) == (draft.text, True)
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        write(draft, str(tmp_path / "new"), mode=0o700)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "..", "x" * 53, "a\n"])
def test_a_name_is_checked(name: str) -> None:
    check_name("x" * 52, "custom_tool_")
    with pytest.raises(ToolcribError) as caught:
        check_name(name, "custom_tool_")
    assert caught.value.code == "TOOL_NAME_INVALID"
