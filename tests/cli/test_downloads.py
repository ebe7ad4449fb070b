"""A program by URL, without a digest: only a person at a terminal can take the file that is there for the right one."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

PROGRAM = b'#!/bin/sh\necho "hi $1"\n'
SHA = hashlib.sha256(PROGRAM).hexdigest()
SKILL = """---
name: hi
description: Says hi.
tools:
  - name: say-hi
    description: Say hi.
    backend:
      type: binary
      url: http://127.0.0.1:PORT/tool
      args_template: "${who}"
    parameters:
      type: object
      properties: {who: {type: string}}
      required: [who]
---
"""


@pytest.fixture
def requests(home: Path, run_cli) -> Iterator[list[str]]:
    """What a server was asked for, whose program a skill has that a session uses."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # named by the library
            seen.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(PROGRAM)))
            self.end_headers()
            self.wfile.write(PROGRAM)

        def log_message(self, *about: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            port = str(server.server_port)
            skill = home / "skills" / "hi" / "SKILL.md"
            skill.parent.mkdir(parents=True)
            skill.write_text(SKILL.replace("PORT", port))
            (home / "config.yaml").write_text(f'network: {{allow: ["127.0.0.1:{port}"]}}\n')
            assert run_cli("session", "new", "mine").returncode == 0
            done = run_cli("skill", "use", "hi", "--session", "mine")
            assert done.returncode == 0, done.stderr
            yield seen
        finally:
            server.shutdown()
            thread.join()


CALL = ("call", "say-hi", "--session", "mine", "--who", "Bob")


def test_without_a_terminal_nothing_is_downloaded(requests, run_cli, home) -> None:
    """`--yes` is no person. The message says what to write, and where."""
    done = run_cli(*CALL, "--yes")
    assert (done.returncode, requests) == (3, [])
    assert "DOWNLOAD_UNVERIFIED" in done.stderr and str(home / "skills/hi/SKILL.md") in done.stderr
    assert not (home / "cache" / "downloads").exists()


def test_at_a_terminal_with_yes_nothing_is_downloaded(requests, terminal) -> None:
    shown = terminal(*CALL, "--yes")
    assert shown.finish() == 3 and requests == [] and "DOWNLOAD_UNVERIFIED" in shown.screen


def answer(shown, text: str) -> None:
    """To the first question: run it. To the second, about the file: this."""
    shown.read_until("[y/N] ")
    shown.send("y\n")
    shown.read_until("Allow? [y/N] ")
    shown.send(text)


def test_a_person_takes_the_file(requests, terminal, run_cli, home) -> None:
    shown = terminal(*CALL)
    answer(shown, "y\n")
    assert shown.finish() == 0
    assert SHA in shown.screen and f"{len(PROGRAM)} bytes" in shown.screen and "hi Bob" in shown.screen
    assert run_cli(*CALL, "--yes").stdout == "hi Bob\n"
    assert requests == ["/tool"]


def test_a_person_does_not_take_the_file(requests, terminal, home) -> None:
    shown = terminal(*CALL)
    answer(shown, "n\n")
    assert shown.finish() == 3 and f"sha256: {SHA}" in shown.screen
    assert "hi Bob" not in shown.screen and not (home / "download_pins.json").exists()
