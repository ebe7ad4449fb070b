"""Uses the command with a home that cannot be written to: HOME WORKSPACE. Needs mounts of its own."""

import os
import subprocess
import sys

from toolcrib.core.jsontext import dump

HOME, WORKSPACE = sys.argv[1:]
CANARY = os.path.join(WORKSPACE, "canary")
ABOUT = '{"name": "canary", "description": "Leave a mark.", "input_schema": {"type": "object"}}'
PROGRAM = f"""#!/bin/sh
if [ "$1" = description ]; then echo '{ABOUT}'; exit; fi
echo ran >> {CANARY}
"""


def toolcrib(*words: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "toolcrib", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOLCRIB_HOME": HOME},
    )
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr}


subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", HOME], check=True)
os.mkdir(os.path.join(HOME, "tools"))
for name, text in (("canary", PROGRAM), ("broken", "#!/bin/sh\nexit 1\n")):
    with open(os.path.join(HOME, "tools", name), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
        file.write(text)
subprocess.run(["mount", "-o", "remount,bind,ro", HOME], check=True)
told: dict[str, object] = {
    "call": toolcrib("call", "canary", "--yes"),
    "list": toolcrib("list"),
    "doctor": toolcrib("doctor"),
    "stats": toolcrib("stats"),
    "clean": toolcrib("clean"),
}
told["ran"] = os.path.exists(CANARY)
sys.stdout.buffer.write(dump(told))
