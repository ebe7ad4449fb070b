"""Folders with a `tool.yaml`, for tests."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ECHO = (
    f"#!{sys.executable}"
    + """
import json, os, sys
print(json.dumps({"argv": sys.argv[1:], "stdin": sys.stdin.read(), "cwd": os.getcwd(), "env": dict(os.environ)}))
"""
)


def manifest(name: str, **keys: Any) -> str:
    """A good manifest with these keys changed, or left out where they are None. JSON is YAML."""
    said = {"name": name, "description": f"Is {name}.", "version": "1.2.3", "entrypoint": "run.sh"} | keys
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in said.items() if value is not None)


def put(folder: Path, *, script: str = "echo fine", text: str | None = None, more: Mapping[str, str] | None = None,
        **keys: Any) -> Path:  # fmt: skip
    """Write a folder; `script` is the body of `run.sh`, or all of it where it begins with `#!`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tool.yaml").write_text(manifest(folder.name, **keys) if text is None else text)
    (folder / "run.sh").write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n")
    (folder / "run.sh").chmod(0o755)
    for name, content in (more or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder
