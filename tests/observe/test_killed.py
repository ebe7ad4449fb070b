"""kill -9 of the caller at any moment loses no acknowledged record and leaves no process (I7, I8)."""

import os

import pytest
from tests.unconfined import unconfined


@pytest.mark.parametrize(
    ("kind", "kills"), [("note", 40), ("note", 40), ("custom_tool_echo", 20), ("custom_tool_hang", 10)]
)
def test_no_acknowledged_record_is_lost(script, answer, home, make_tool, kind, kills) -> None:
    unconfined(home)
    about = '[ "$1" = description ] && echo \'{"name": "%s", "description": "d", "input_schema": {}}\' && exit\n'
    make_tool("echo", "#!/bin/sh\n" + about % "echo" + "exec cat\n")
    make_tool("hang", "#!/bin/sh\n" + about % "hang" + "setsid sleep 60 & exec sleep 60\n")
    seed = os.urandom(4).hex()
    told = answer(script("killed.py", seed, kind, kills))
    assert told.pop("acknowledged") > 0 or kind == "custom_tool_hang"
    assert (told.pop("started") > 0) == (kind != "note")
    told.pop("torn")
    assert told == {"kills": kills, "lost": [], "faults": [], "left": []}, f"seed {seed}"
