"""Looking through files for a name: the order, the counting, and that no link leads the reading astray."""

import re
import time
from pathlib import Path

import pytest

from toolcrib.codeindex.references import likeliest_first, many_files, uses
from toolcrib.codeindex.tokens import occurrences
from toolcrib.core.errors import ToolError
from toolcrib.sandbox.guard import GuardedFiles


def test_who_defines_comes_first_then_who_imports(sources) -> None:
    sources.write(
        {
            "z.py": "def wanted(): ...\n",
            "m.py": "import z\nz.wanted()\n",
            "n.py": "from other import wanted\n",
            "a.py": "# wanted\n",
            "b.py": "x.wanted()\n",
        }
    )
    view = sources.view()
    definitions = view.defined("wanted")
    paths = view.mentioning("wanted")
    assert list(likeliest_first(view, "wanted", paths, definitions)) == ["z.py", "m.py", "n.py", "a.py", "b.py"]
    hasty = likeliest_first(view, "wanted", paths, definitions, enough=lambda: True)
    assert list(hasty) == ["z.py", "a.py", "b.py", "m.py", "n.py"]


def test_what_is_kept_and_what_is_counted(sources) -> None:
    sources.write({"a.py": "x = 1\nx = xx = x2 = x\n", "b.py": "x # x\n'x'\nax\n", "c.py": "x\nx\n"})
    view = sources.view()
    found = uses(view, "x", ["a.py", "b.py", "c.py"], {("a.py", 1, 0)}, limit=100)
    assert [(each.path, each.line, each.column, each.definition) for each in found.kept] == [
        ("a.py", 1, 0, True),
        ("a.py", 2, 0, False),
        ("a.py", 2, 14, False),
        ("b.py", 1, 0, False),
        ("c.py", 1, 0, False),
        ("c.py", 2, 0, False),
    ]
    assert (found.total, found.files, found.in_text, found.counted) == (6, 3, 2, 0)
    few = uses(view, "x", ["a.py", "b.py", "c.py"], (), limit=1)
    assert (len(few.kept), few.total, few.counted) == (1, 8, 2)  # in b.py three: one of code, two of words
    none = uses(view, "x", ["a.py", "b.py"], (), limit=0)
    assert (none.kept, none.total) == ((), 4)


def test_counting_is_finding(sources) -> None:
    """By both ways, on this test's own source."""
    data = Path(__file__).read_bytes()
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w*", data.decode())))
    sources.write({"first.py": "\n".join(names) + "\n", "own.py": data})
    view = sources.view()
    for name in names:
        found = uses(view, name, ["first.py", "own.py"], (), limit=1)
        assert (found.total, found.counted) == (1 + len(occurrences("python", data, name)), 1), name


def test_no_link_is_followed(sources) -> None:
    """Swapped in after the index was settled: the file, and the directory above it."""
    secret = sources.root.parent / "secret"
    secret.mkdir()
    (secret / "m.py").write_text("wanted = 'SECRET'\n")
    sources.write({"file.py": "wanted = 1\n", "sub/m.py": "wanted = 2\n", "fine.py": "wanted = 3\n"})
    view, files = sources.view(), GuardedFiles(sources.root)
    (sources.root / "file.py").unlink()
    (sources.root / "file.py").symlink_to(secret / "m.py")
    (sources.root / "sub" / "m.py").unlink()
    (sources.root / "sub").rmdir()
    (sources.root / "sub").symlink_to(secret)
    with many_files(files, view) as read:
        found = uses(view, "wanted", view.mentioning("wanted"), (), limit=10, read=read)
        for path in ("file.py", "sub/m.py"):
            with pytest.raises(ToolError):
                read(path)
    assert [each.text for each in found.kept] == ["wanted = 3"] and found.unread == 2


def test_a_long_line_is_cut_and_odd_bytes_are_readable(sources) -> None:
    sources.write({"a.py": b"wanted = '" + b"x" * 100_000 + b"'\nwanted # \xff\xfe\x1b[31m\n" + b"\n" * 200})
    kept = uses(sources.view(), "wanted", ["a.py"], (), limit=10).kept
    assert len(kept[0].text) == 200 and kept[0].text.endswith("…")
    assert kept[1].text.startswith("wanted # ")
    kept[1].text.encode()


def test_many_uses_in_one_line_end_soon(sources) -> None:
    sources.write({"a.py": "x = [" + "wanted, " * 100_000 + "]\n" + "\n" * 1000})
    start = time.monotonic()
    found = uses(sources.view(), "wanted", ["a.py"], (), limit=100)
    assert (found.total, len(found.kept)) == (100_000, 100) and time.monotonic() - start < 10
