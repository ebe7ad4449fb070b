"""`toolcrib call` at a terminal: asked once for each tool, and again when it has changed."""

from collections.abc import Callable
from pathlib import Path

QUESTION = "until it changes? [y/N] "


def answer(terminal: Callable[..., object], typed: str, *words: str) -> tuple[int, str]:
    """Call at a terminal, wait for the question, and answer it."""
    at = terminal("call", "repeat", *words)
    at.read_until(QUESTION)  # type: ignore[attr-defined]
    at.send(typed)  # type: ignore[attr-defined]
    return at.finish(), at.screen  # type: ignore[attr-defined]


def test_yes_runs_it_and_is_remembered_until_the_tool_changes(terminal, repeat: Path, workspace: Path) -> None:
    """G10: shown once for a new tool, once for a changed one, and not in between."""
    status, screen = answer(terminal, "y\n", "--name", "Bob")
    assert (status, (workspace / "ran").exists()) == (0, True)
    assert "custom_tool_repeat is new here" in screen
    assert 'name = "Bob"' in screen
    again = terminal("call", "repeat", "--name", "Eve")
    assert again.finish() == 0
    assert QUESTION not in again.screen
    assert '{"name":"Eve"}' in again.screen
    repeat.write_text(repeat.read_text() + "# changed\n")
    (workspace / "ran").unlink()
    status, screen = answer(terminal, "n\n")
    assert (status, (workspace / "ran").exists()) == (3, False)
    assert "has CHANGED since you last allowed it" in screen


def test_anything_but_yes_is_no_and_is_not_remembered(terminal, repeat: Path, workspace: Path) -> None:
    """The default is no, the end of input is no, and a no is asked again."""
    for typed in ("\n", "\x04", "yeah\n", "n\n"):
        status, screen = answer(terminal, typed)
        assert (status, "APPROVAL_DENIED" in screen) == (3, True), typed
    assert not (workspace / "ran").exists()


def test_ctrl_c_at_the_question_ends_it_at_once(terminal, repeat: Path, workspace: Path) -> None:
    """Exit status 130, nothing ran, and no Enter is needed."""
    status, screen = answer(terminal, "\x03")
    assert status == 130
    assert "Traceback" not in screen
    assert not (workspace / "ran").exists()


def test_what_was_typed_before_the_question_is_no_answer_to_it(terminal, repeat: Path, workspace: Path) -> None:
    at = terminal("call", "repeat", typed="y\ny\n")
    at.read_until(QUESTION)
    at.send("\n")
    assert at.finish() == 3
    assert not (workspace / "ran").exists()


def test_hostile_arguments_cannot_redraw_the_question(terminal, make_tool, workspace: Path) -> None:
    make_tool(
        "sly",
        """#!/bin/sh
case $1 in
  description) printf '%s' '{"name": "sly", "description": "Nice.\\u001b[1A\\u001b[2K\\u202e", ' ;
    echo '"input_schema": {"type": "object"}}' ;;
  run) : > ran ;;
  *) exit 1 ;;
esac
""",
    )
    long = "z" * 5000
    at = terminal("call", "sly", "--input", '{"a\\u001b[8m": "\\u001b[2J\\u0007", "b": "' + long + '"}')
    screen = at.read_until(QUESTION)
    assert "\x1b" not in screen and "\x07" not in screen and "\u202e" not in screen
    assert "a\\x1b[8m" in screen
    assert "3002 more characters" in screen
    at.send("\n")
    assert at.finish() == 3
    assert not (workspace / "ran").exists()


def test_ctrl_c_while_the_tool_runs_ends_the_tool(terminal, make_tool, workspace: Path, gone) -> None:
    """K30: exit status 130, and the program is gone."""
    make_tool(
        "slow",
        """#!/bin/sh
case $1 in
  description) echo '{"name": "slow", "description": "Waits.", "input_schema": {"type": "object"}}' ;;
  run) echo $$ > pid.new; mv pid.new pid; mkfifo wait; read line < wait ;;
  *) exit 1 ;;
esac
""",
    )
    at = terminal("call", "slow", "--yes")
    at.read_until("custom_tool_slow: 1 s (Ctrl-C ends it)")
    pid = int((workspace / "pid").read_text())
    at.send("\x03")
    assert at.finish() == 130
    assert gone(pid)


def test_an_answer_is_shown_without_what_a_terminal_would_obey(terminal, make_tool) -> None:
    make_tool(
        "paints",
        """#!/bin/sh
case $1 in
  description) echo '{"name": "paints", "description": "Paints.", "input_schema": {"type": "object"}}' ;;
  run) printf 'red \\033[31m\\ttab\\nline' ;;
  *) exit 1 ;;
esac
""",
    )
    at = terminal("call", "paints", "--yes")
    assert at.finish() == 0
    assert at.screen == "red \\x1b[31m\ttab\r\nline\r\n"


def test_arguments_typed_at_the_terminal_are_no_answer(terminal, repeat: Path, workspace: Path) -> None:
    """`--input -` reads to the end of input, and then the question is asked."""
    at = terminal("call", "repeat", "--input", "-")
    at.send('{"name": "y"}\n\x04')
    at.read_until(QUESTION)
    at.send("y\n")
    assert at.finish() == 0
    assert at.screen.endswith('{"name":"y"}\r\n')


def test_a_blocked_tool_is_not_even_asked_about(terminal, repeat: Path, home: Path, workspace: Path) -> None:
    """G16."""
    (home / "config.yaml").write_text("approval: {tools: {custom_tool_repeat: blocked}}\n")
    at = terminal("call", "repeat")
    assert at.finish() == 3
    assert "[y/N]" not in at.screen
    assert not (workspace / "ran").exists()
