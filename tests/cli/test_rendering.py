"""Text that was made to deceive reaches no terminal as it is: not from a description, a schema, an output or an error."""

import json
import time
import unicodedata
from pathlib import Path

import pytest

from toolcrib.cli._confusable import confusable
from toolcrib.cli._text import one_line, visible

ESC = "\x1b"
HOSTILE = {
    "clear the screen": f"{ESC}[2J",
    "cursor up": f"{ESC}[1A",
    "erase the line": f"{ESC}[2K",
    "invisible": f"{ESC}[8m",
    "colour": f"{ESC}[31;1;4m",
    "private mode": f"{ESC}[?1049h",
    "device status": f"{ESC}[6n",
    "insert lines": f"{ESC}[99L",
    "scroll region": f"{ESC}[1;1r",
    "cut off": f"{ESC}[",
    "title": f"{ESC}]0;title\x07",
    "title, with ST": f"{ESC}]2;title{ESC}\\",
    "report the title": f"{ESC}[21t",
    "clipboard": f"{ESC}]52;c;ZXZpbA==\x07",
    "link": f"{ESC}]8;;http://evil.example{ESC}\\click{ESC}]8;;{ESC}\\",
    "picture": f"{ESC}]1337;File=inline=1:AAAA\x07",
    "colours of the palette": f"{ESC}]4;1;rgb:00/00/00\x07",
    "notification": f"{ESC}]9;hello\x07",
    "device control": f"{ESC}P$q\"p{ESC}\\",
    "sixel": f"{ESC}Pq#0;2;0;0;0{ESC}\\",
    "application program": f"{ESC}_Gf=24;AAAA{ESC}\\",
    "privacy message": f"{ESC}^x{ESC}\\",
    "start of string": f"{ESC}Xx{ESC}\\",
    "reset": f"{ESC}c",
    "save and restore": f"{ESC}7{ESC}8",
    "another character set": f"{ESC}(0",
    "single shift": f"{ESC}N",
    "C1 control sequence": "\x9b2J",
    "C1 string": "\x9d52;c;ZXZpbA==\x9c",
    "C1 device control": "\x90q\x9c",
    "C1 next line": "\x85",
    "C1 reverse index": "\x8d",
    "carriage return": "safe\rrm -rf",
    "backspace": "safe\x08\x08\x08\x08evil",
    "delete": "safe\x7f",
    "bell": "\x07",
    "vertical tab": "a\x0bb",
    "form feed": "a\x0cb",
    "shift out": "\x0e",
    "answerback": "\x05",
    "NUL": "a\0b",
    "substitute": "\x1a",
    "line separator": "a\u2028b",
    "paragraph separator": "a\u2029b",
    "override, right to left": "\u202efdp.exe\u202c",
    "override, left to right": "\u202dx",
    "embedding": "\u202ax\u202bx",
    "isolates": "\u2066x\u2067x\u2068x\u2069",
    "marks of direction": "\u200e\u200f\u061c",
    "zero width space": "pass\u200bword",
    "zero width joiner": "a\u200db\u200cc",
    "word joiner": "a\u2060b\u2061c\u2064",
    "byte order mark": "\ufeffa",
    "soft hyphen": "pass\u00adword",
    "no-break space": "a\u00a0b",
    "figure and narrow spaces": "a\u2007b\u202fc\u3000d",
    "tags": "".join(chr(0xE0000 + ord(char)) for char in "ignore all"),
    "language tag": "\U000e0001",
    "selectors": "a" + "".join(chr(0xE0100 + each) for each in range(16)),
    "selectors after each other": "\u2764\ufe0f\ufe0f\ufe0e",
    "fillers": "a\u3164b\u115fc\u1160d\uffa0e",
    "blank braille": "a\u2800b",
    "grapheme joiner": "a\u034fb",
    "mongolian selectors": "a\u180bb\u180ec\u180fd",
    "khmer unseen": "a\u17b4b\u17b5",
    "null note": "a\U0001d159b",
    "private use": "\ue000\U000f0000",
    "not a character": "\uffff\U0010ffff",
    "unassigned": "\u0378",
    "interlinear": "\ufff9a\ufffab\ufffb",
    "accent first": "\u0301x",
    "heap of accents": "Z" + "\u0300\u0301\u0302\u0303\u0304" * 40,
    "enclosing heap": "a" + "\u20dd" * 30,
    "lone surrogate": "\ud800",
    "lone low surrogate": "\udc9b2J",
}  # fmt: skip
WORLD = (
    "plain ASCII, with ~ and \\",
    "naïve café Å e\u0301 ệ e\u0323\u0302",
    "Привет, мир",
    "日本語 한국어 中文",
    "שָׁלוֹם",
    "ภาษาไทย ที่",
    "देवनागरी",
    "\u2764\ufe0f 😀 ✅",
    "½ € ☃ 𝄞",
)
UNSEEN_KINDS = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
BLANK = "\u3164\u115f\u1160\uffa0\u2800\u034f\u180b\u180f\u17b4\u17b5\U0001d159"


def harmless(text: str, keep: str = "") -> bool:
    """Told by the properties of the characters, not by the code that is tested."""
    marks = 9
    for char in text:
        kind = unicodedata.category(char)
        if char in keep:
            marks = 9
            continue
        if kind in UNSEEN_KINDS or (kind == "Zs" and char != " ") or char in BLANK or 0xE0100 <= ord(char) <= 0xE01EF:
            return False
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if 4 < marks < 9 or marks > 9:
            return False
    return True


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_spelled_out(text) -> None:
    for around in ("", "é", "x"):
        shown = visible(around + text)
        assert harmless(shown), shown.encode("unicode_escape")
        assert visible(shown) == shown
    assert "\\" in visible(text)


@pytest.mark.parametrize("text", WORLD)
def test_what_people_write_is_left_as_it_is(text) -> None:
    assert visible(text) == text


def test_every_single_character_is_harmless_or_spelled_out() -> None:
    """Each after a letter: all of the planes that have characters, and of the empty ones every sixteenth row."""
    rows = [*range(0, 0x40000, 64), *range(0x40000, 0xE0000, 1024), *range(0xE0000, 0xE1000, 64)]
    for start in [*rows, *range(0xE1000, 0x110000, 1024)]:
        shown = visible("".join("a" + chr(code) for code in range(start, start + 64)))
        assert harmless(shown), hex(start)


def test_no_two_texts_differ_unseen() -> None:
    """What cannot be seen is never just dropped: another text is shown as another."""
    shown = [visible(f"x{text}") for text in HOSTILE.values()]
    assert len(set(shown)) == len(HOSTILE)


def test_what_is_kept_is_kept() -> None:
    assert visible("a\tb\nc\r\x1b", keep="\n\t") == "a\tb\nc\\r\\x1b"
    assert visible("é\n\u0301x", keep="\n") == "é\n\\u0301x"


@pytest.mark.parametrize("text", [*HOSTILE.values(), *WORLD, "first\nsecond", "\n\n first \r\n second"])
@pytest.mark.parametrize("width", [1, 2, 7, 20, 200])
def test_one_line_is_one_line_and_fits(text, width) -> None:
    line = one_line(text, width)
    bearing = [char for char in line if unicodedata.category(char) not in ("Mn", "Me")]
    wide = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in bearing)
    assert len(line.splitlines()) <= 1
    assert harmless(line)
    assert wide <= width


def test_a_mebibyte_is_made_visible_quickly() -> None:
    for text in ("\x1b[2J plain " * 100_000, "é\u0301\u202e plain " * 100_000):
        start = time.process_time()
        visible(text)
        assert time.process_time() - start < 3


LATIN_WITH = {
    "b\u0430sh": 0x0430, "s\u0443stem": 0x0443, "\u0440ython": 0x0440, "\u0441url": 0x0441, "r\u043eot": 0x043E,
    "\u0435cho": 0x0435, "g\u0456t": 0x0456, "\u0455udo": 0x0455, "e\u0445ec": 0x0445, "\u0458q": 0x0458,
    "\u0501ocker": 0x0501, "s\u04bb": 0x04BB, "\u051bemu": 0x051B, "\u051dget": 0x051D, "\u0475im": 0x0475,
    "ma\u04cfl": 0x04CF, "B\u0410SH": 0x0410, "\u0421URL": 0x0421, "\u041dTTP": 0x041D, "\u0422EST": 0x0422,
    "b\u03b1sh": 0x03B1, "r\u03bfot": 0x03BF, "g\u03b9t": 0x03B9, "\u03bdim": 0x03BD, "c\u03c5rl": 0x03C5,
    "\u03c1ython": 0x03C1, "\u0391WS": 0x0391, "\u0392ASH": 0x0392, "\u039fPEN": 0x039F, "\u03a1ATH": 0x03A1,
    "r\u0585ot": 0x0585, "b\u0578n": 0x0578, "\u0570ome": 0x0570, "\u054dSR": 0x054D, "\u13aaWS": 0x13AA,
    "\u13dfURL": 0x13DF, "l\uff53": 0xFF53, "\uff42ash": 0xFF42, "b\U0001d41ash": 0x1D41A, "\U0001d5ff\U0001d5fa": 0x1D5FF,
    "b\u0251sh": 0x0251, "\u0261it": 0x0261, "p\u0131p": 0x0131, "\u217cs": 0x217C, "\u2113s": 0x2113,
    "\u24d1ash": 0x24D1, "\u0441\u043e\u0440\u0443": 0x0441, "\u03c1\u03bf\u03c1": 0x03C1, "\u0440\u0430\u0443 me": 0x0440,
    "\u0440\u03bf": 0x0440, "_\u0430": 0x0430, "a1\u0435": 0x0435, "abc\u2c80": 0x2C80, "\ua4d0bc": 0xA4D0,
}  # fmt: skip
SIGNS = ["rm \u2212rf", "a\uff1bb", "a\u037eb", "etc\u2215passwd", "etc\u2044passwd", "a\uff0fb", "a\uff5cb", "evil\u2024com",
         "\uff04HOME", "a\uff06b", "x \uff1e y", "ls \uff0a", "http\ua789//x", "a\u2010b", "\uff40id\uff40"]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), LATIN_WITH.items())
def test_a_letter_in_disguise_is_named(text, code) -> None:
    said = confusable(f"run {text} now")
    assert said is not None
    assert f"U+{code:04X} {unicodedata.name(chr(code))}" in said
    assert said.isascii()


@pytest.mark.parametrize("text", SIGNS)
def test_a_sign_in_disguise_is_named(text) -> None:
    sign = next(char for char in text if not char.isascii())
    assert f"U+{ord(sign):04X} " in (confusable(text) or "")


def test_the_words_of_the_notice() -> None:
    assert confusable("b\u0430sh") == "contains U+0430 CYRILLIC SMALL LETTER A"
    assert (confusable("\uff42\uff41\uff53\uff48") or "").endswith("LETTER S and 1 more")


@pytest.mark.parametrize(
    "text",
    [*WORLD, "10 µs, 5 kΩ, Δt", "παράδειγμα", "αβγ", "оса на дереве", "Tシャツ", "Straße œuvre", "x² № 5 10 ℃ ①", "„so“ – ja…",
     "Ελλάδα και Κύπρος", "ﾊﾝｶｸ", "عربى", "Հայերեն", "a b, c"],
)  # fmt: skip
def test_honest_text_is_not_suspected(text) -> None:
    assert confusable(text) is None


DESCRIBED = """#!/bin/sh
case $1 in
  description) cat "%(directory)s/description.json" ;;
  run) cat "%(directory)s/out"; cat "%(directory)s/err" >&2; exit %(code)d ;;
  *) exit 1 ;;
esac
"""
ALL = " | ".join(text for text in HOSTILE.values() if text.isascii() or max(text) < "\ud800" or max(text) > "\udfff")


@pytest.fixture
def sly(make_tool, tmp_path: Path):
    """A tool whose every word is hostile, and that ends with this status."""

    def make(code: int = 0) -> None:
        properties = {
            f"p{ESC}[2J\u202e": {"type": "string", "description": ALL, "default": ALL, "enum": [ALL, "x"]},
            "q": {"type": "integer", "title": ALL, "description": f"ok{ESC}[1A"},
        }
        about = {
            "name": "sly",
            "version": f"1{ESC}[2J",
            "description": f"Nice {ALL}\nsecond {ALL}",
            "input_schema": {"type": "object", "properties": properties, "required": [], "description": ALL},
        }
        (tmp_path / "description.json").write_text(json.dumps(about))
        (tmp_path / "out").write_bytes(ALL.encode("utf-8", "surrogatepass") + b"\xff\x9b2J")
        (tmp_path / "err").write_bytes(ALL.encode("utf-8", "surrogatepass") + b"\xff\x9b2J")
        make_tool("sly", DESCRIBED % {"directory": tmp_path, "code": code})

    return make


@pytest.mark.parametrize(
    "words",
    [
        ("list",), ("show", "sly"), ("call", "sly", "--help"), ("call", "sly"), ("check", "sly"), ("doctor",),
        ("show", f"sly{ESC}[2J\u202e"), ("call", f"{ESC}]52;c;AA\x07"), ("call", "sly", f"--{ESC}[2J", "x"),
        ("call", "sly", "--q", f"{ESC}[2J\u202e"), ("call", "sly", "--input", f'"{ESC}[2J'), ("check", f"/nowhere/{ESC}[2J"),
    ],
)  # fmt: skip
def test_no_command_passes_hostile_words_on(run_cli, sly, words) -> None:
    """Also where nothing is a terminal: what a person reads later in a file or a log."""
    sly()
    done = run_cli(*words)
    assert harmless(done.stdout + done.stderr, keep="\n\t"), (done.stdout + done.stderr).encode("unicode_escape")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("list", "--json"), ("show", "sly", "--json"), ("call", "sly", "--yes", "--json")])
def test_json_for_programs_is_ascii_and_exact(run_cli, sly, words) -> None:
    sly()
    done = run_cli(*words)
    assert all(" " <= char <= "~" for char in done.stdout.rstrip("\n"))
    said = json.loads(done.stdout)
    (said,) = [tool for tool in said.get("tools", [said]) if tool.get("name", "custom_tool_sly") == "custom_tool_sly"]
    assert ALL in (said["data"] if words[0] == "call" else said["description"])


@pytest.mark.parametrize("code", [0, 3])
def test_an_answer_on_a_terminal_is_spelled_out(terminal, sly, code) -> None:
    sly(code)
    at = terminal("call", "sly", "--yes")
    assert at.finish() == (1 if code else 0)
    screen = at.screen.replace("\r\n", "\n")
    assert harmless(screen, keep="\n\t"), screen.encode("unicode_escape")
    assert "\\x1b]52;c;ZXZpbA==\\x07" in screen


def test_a_list_row_is_one_row(run_cli, sly, make_tool, repeat: Path) -> None:
    """A description cannot forge the row of another tool."""
    sly()
    known = [tool["name"] for tool in json.loads(run_cli("list", "--json").stdout)["tools"]]
    rows = [line.split()[0] for line in run_cli("list").stdout.splitlines()]
    assert {"custom_tool_repeat", "custom_tool_sly"} <= set(rows)
    assert sorted(rows) == sorted(known)
