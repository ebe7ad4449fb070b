# ruff: noqa: T201  # a demonstration prints
"""What Toolcrib does, shown with the real command, in a home of its own that is gone afterwards.

Run by `make demo`. Needs no network and no key. The exit status is 0 only if every step went as it says.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent / "tools"
CONFIG = """\
custom_tools: {max_output_size: 600}    # a small limit, so that the demonstration fits on a screen
"""
POLICY = """\
rules:
  - {id: look, command: "git status|log|diff", approval: preApproved}
  - {id: never, command: git push --force, approval: blocked}
"""
SHELL_TOOL = """#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name": "%(name)s", "description": "%(about)s", "input_schema": {"type": "object"}}'
  exit
fi
%(body)s
"""
MADE_HERE = {
    "slow": ("Never come to an end.", "sleep 3600"),
    "chatty": (
        "Say far more than anybody reads.",
        "seq -f 'This is line %.0f of 20000, and nobody will read them all.' 20000",
    ),
}
NEXT = """
That was all of it: every call was checked, decided, run within limits, and recorded. Three things to type next:

  mkdir -p ~/.toolcrib/tools && cp {tools}/hello ~/.toolcrib/tools/     give yourself a tool (any program will do)
  {command} call hello --name You                  it asks you once, because the tool is new
  {command} serve mcp --print-config claude        connect an agent to your tools
"""


class Demo:
    """Runs commands, shows them, and keeps count of what did not go as expected."""

    def __init__(self, root: Path) -> None:
        self.home, self.workspace = root / "home", root / "project"
        self.command = Path(sys.executable).parent / "toolcrib"
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "TOOLCRIB_HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
        }
        self.wrong: list[str] = []

    def prepare(self) -> None:
        tools = self.home / "tools"
        tools.mkdir(parents=True)
        self.home.chmod(0o700)
        self.workspace.mkdir()
        for program in sorted(EXAMPLES.iterdir()):
            if program.name == "json_stats" and not shutil.which("node"):
                print("node is not installed, so the example written in JavaScript, json_stats, is left out.")
            elif program.name == "git_info" and not shutil.which("git"):
                print("git is not installed, so the example git_info is left out.")
            elif program.is_file():
                shutil.copy(program, tools)
        for name, (about, body) in MADE_HERE.items():
            (tools / name).write_text(SHELL_TOOL % {"name": name, "about": about, "body": body})
            (tools / name).chmod(0o755)
        (self.home / "config.yaml").write_text(CONFIG)
        (self.home / "config.yaml").chmod(0o600)

    def has(self, tool: str) -> bool:
        return (self.home / "tools" / tool).exists()

    def say(self, words: str) -> None:
        print(f"\n\033[1m{words}\033[0m" if sys.stdout.isatty() else f"\n{words}")

    def type(self, *words: str, status: int = 0, shows: str = "") -> str:
        """Type a command, show what it says, and check how it ended and that it `shows` something."""
        print(
            "$ toolcrib " + " ".join(f"'{word}'" if re.search(r"[^\w./:=-]", word) else word for word in words),
            flush=True,
        )
        program = [str(self.command)] if self.command.exists() else [sys.executable, "-m", "toolcrib"]
        done = subprocess.run(
            [*program, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self.workspace,
            env=self.environ,
            timeout=60,
        )
        text = done.stdout.decode("utf-8", "replace")
        print(text if text.endswith("\n") or not text else text + "\n", end="")
        if done.returncode:
            print(f"(exit status {done.returncode})")
        if done.returncode != status or shows not in text:
            self.wrong.append(f"toolcrib {' '.join(words)}: expected exit status {status} and {shows!r}")
        return text

    def run(self) -> None:
        self.say("Programs in a folder are tools. Each describes itself, in whatever language it is written.")
        self.type("list", shows="custom_tool_hello")

        self.say("A call without a person to ask is refused, until somebody says yes.")
        self.type("call", "hello", "--name", "Bob", status=3, shows="APPROVAL_REQUIRED")
        self.type("call", "hello", "--name", "Bob", "--age", "25", "--yes", shows="Hello, Bob! You are 25 years old.")

        self.say("Rules look at the words of a command, part by part. What they block, nobody can approve.")
        (self.home / "policy.yaml").write_text(POLICY)
        both = '{"command": "git status && git push --force"}'
        self.type("policy", "explain", "run_command", "--input", both, shows="run_command: blocked")
        self.type("call", "run_command", "--input", both, "--yes", status=3, shows="BLOCKED_BY_POLICY")

        self.say("Arguments are checked before anything runs; the answer says what would be right.")
        self.type("call", "hello", "--input", '{"name": 5}', "--yes", status=2, shows="VALIDATION_ERROR")

        self.say("Bash and JavaScript, called the same way; and a tool that fails says why.")
        if self.has("git_info"):
            self.make_repository()
            self.type("call", "git_info", "--yes", shows='"branch": "main"')
        if self.has("json_stats"):
            self.type("call", "json_stats", "--text", '{"rows": [1, 2]}', "--yes", shows='"depth":3')
        self.type("call", "error_tool", "--yes", shows="All went well.")
        self.type("call", "error_tool", "--should_fail", "--yes", status=1, shows="EXECUTION_ERROR")

        self.say("A tool that hangs is ended, with everything it started.")
        self.type("call", "slow", "--timeout", "500ms", "--yes", status=124, shows="TIMEOUT")

        self.say("Too much output is cut, with exact counts; the whole is kept, and can be read.")
        text = self.type("call", "chatty", "--yes", shows="toolcrib artifact show")
        found = re.search(r"toolcrib artifact show (\S+)", text)
        artifact = found[1] if found else "none"
        self.type(
            "artifact", "show", artifact, "--offset", "640014", "--limit", "120", shows="nobody will read them all"
        )

        self.say("Every call is on record, also the refused, the wrong and the failed; a changed byte would show.")
        self.type("audit", "show", shows="APPROVAL_REQUIRED")
        self.type("audit", "verify", shows="none changed")
        self.type("stats", shows="TIMEOUT")

    def make_repository(self) -> None:
        """Something for git_info to look at: one commit, and one change that is not committed."""
        author = ("-c", "user.name=demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false")
        for words in (
            ("init", "--quiet"),
            ("symbolic-ref", "HEAD", "refs/heads/main"),
            (*author, "commit", "--quiet", "--allow-empty", "-m", "Begin"),
        ):
            subprocess.run(["git", *words], cwd=self.workspace, check=True, env=self.environ)
        (self.workspace / "notes.txt").write_text("not committed yet\n")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="toolcrib-demo-") as root:
        demo = Demo(Path(root))
        demo.prepare()
        demo.run()
    if demo.wrong:
        print("\nThis did not go as it should:", *demo.wrong, sep="\n  ")
        return 1
    here = Path.cwd()
    shown = [path.relative_to(here) if path.is_relative_to(here) else path for path in (EXAMPLES, demo.command)]
    print(NEXT.format(tools=shown[0], command=shown[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
