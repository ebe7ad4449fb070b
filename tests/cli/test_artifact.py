"""`toolcrib artifact`: the whole of what was too long."""

import subprocess
import sys

import pytest

from toolcrib.core.jsontext import parse


@pytest.fixture
def kept(home):
    """An artifact with bytes that are not text."""
    folder = home / "artifacts"
    folder.mkdir()
    (folder / "tc1-1.stdout").write_bytes(b"0123456789\x1b[2J\xff\n")
    return folder / "tc1-1.stdout"


def raw(environment, *words: str) -> bytes:
    command = [sys.executable, "-m", "toolcrib", "artifact", "show", *words]
    return subprocess.run(command, capture_output=True, env=environment, timeout=60).stdout


def test_show_gives_the_bytes_as_they_are(kept, environment) -> None:
    """K51: what exceeds a limit is kept whole."""
    assert raw(environment, kept.name) == kept.read_bytes()
    assert raw(environment, kept.name, "--offset", "2", "--limit", "3") == b"234"
    assert raw(environment, kept.name, "--offset", "99") == b""


def test_show_on_a_terminal_makes_visible_what_it_would_obey(kept, terminal) -> None:
    screen = terminal("artifact", "show", kept.name)
    assert screen.finish() == 0
    assert "0123456789\\x1b[2J\\xff" in screen.screen


def test_show_as_json_says_where_it_goes_on(kept, run_cli) -> None:
    answer = parse(run_cli("artifact", "show", kept.name, "--json", "--offset", "8", "--limit", "4").stdout)
    assert answer == {"id": kept.name, "bytes": 16, "offset": 8, "text": "89\x1b[", "next_offset": 12}
    answer = parse(run_cli("artifact", "show", kept.name, "--json").stdout)
    assert (answer["text"], answer["next_offset"]) == ("0123456789\x1b[2J\\xff\n", None)


@pytest.mark.parametrize("ident", ["tc1-2.stdout", "../config.yaml", "/etc/passwd", "\x1b[2J"])
def test_an_unknown_id_is_exit_4_with_the_nearest(kept, home, run_cli, ident) -> None:
    (home / "config.yaml").write_text("approval: {default: ask}")
    done = run_cli("artifact", "show", ident)
    assert (done.returncode, done.stdout) == (4, "")
    assert "there is no artifact" in done.stderr
    assert "\x1b" not in done.stderr
    assert ("did you mean tc1-1.stdout?" in done.stderr) == (ident == "tc1-2.stdout")


def test_list(kept, run_cli) -> None:
    (row,) = parse(run_cli("artifact", "list", "--json").stdout)["artifacts"]
    assert (row["id"], row["bytes"], row["path"]) == (kept.name, 16, str(kept))
    assert kept.name in run_cli("artifact", "list").stdout


def test_an_empty_shelf_and_wrong_words(run_cli) -> None:
    done = run_cli("artifact", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert parse(run_cli("artifact", "list", "--json").stdout) == {"artifacts": []}
    for words in ((), ("show",), ("show", "x", "--offset", "-1"), ("show", "x", "--limit", "lots"), ("list", "--jso")):
        assert run_cli("artifact", *words).returncode == 2
