"""A call that there are no descriptors for fails alone: those that run beside it do not."""

from typing import Any

WAIT = """#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "description":
    print('{"name": "wait", "description": "Waits.", "input_schema": {"type": "object"}}')
elif sys.argv[1] == "config":
    print('{"warm": true}')
else:
    path = json.load(sys.stdin)["for"]
    print(open(path).read() if path else "nothing")
"""


def test_a_warm_tool_goes_on_while_others_find_no_descriptors(place: Any) -> None:
    (place.home / "config.yaml").write_text("approval: {default: preApproved}\nsandbox: process\n")
    (place.home / "tools").mkdir()
    (place.home / "tools" / "wait").write_text(WAIT)
    (place.home / "tools" / "wait").chmod(0o755)
    told = place.run("shortage.py", place.home, place.workspace)
    assert told == {"waited": [None, "done\n"], "codes": ["", "RESOURCE_EXHAUSTED"], "after": [None, True]}
