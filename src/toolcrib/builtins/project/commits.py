"""How commit messages of a project are written, as far as that can be read without starting anything: from the log of
the head, and from commits that are not packed yet."""

import re
import zlib
from collections.abc import Iterator

from ...core.jsontext import JSON
from .survey import Survey

MOST = 100
_LOG = ".git/logs/HEAD"
_HEAD = ".git/HEAD"
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LONGEST_OBJECT = 64 * 1024
_FEWEST = 3
"""From which a habit can be told."""
_CONVENTIONAL = re.compile(r"(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([^)]{1,40}\))?!?: ")
_TICKET = re.compile(r"^\[?[A-Z][A-Z0-9]+-\d+\]?[ :]|\(#\d+\)$")


def style(survey: Survey) -> dict[str, JSON] | None:
    """What most subjects have in common, with some of them; None where none can be read."""
    chained, logged = list(filter(None, _chain(survey))), _from_log(survey)
    subjects, file = (chained, _HEAD) if len(chained) > len(logged) else (logged, _LOG)
    if len(subjects) < _FEWEST:
        return None
    shares = {
        "conventional": sum(bool(_CONVENTIONAL.match(each)) for each in subjects),
        "capitalised": sum(each[:1].isupper() for each in subjects),
        "full_stop": sum(each.endswith(".") for each in subjects),
        "ticket": sum(bool(_TICKET.search(each)) for each in subjects),
    }
    lengths = sorted(map(len, subjects))
    return {
        **{key: f"{round(100 * count / len(subjects))} %" for key, count in shares.items() if count},
        "longest": lengths[-1],
        "median_length": lengths[len(lengths) // 2],
        "evidence": {"file": survey.shown(file), "commits": len(subjects), "examples": subjects[:3]},
    }


def _from_log(survey: Survey) -> list[str]:
    """`old new Name <mail> time zone<TAB>commit: subject`, the newest last."""
    data = survey.data(_LOG, quiet=True) or b""
    found = []
    for line in reversed(data.decode("utf-8", "replace").splitlines()):
        action, _, subject = line.partition("\t")[2].partition(": ")
        if action.startswith("commit") and subject:
            found.append(subject.strip()[:200])
    return list(dict.fromkeys(found))[:MOST]  # one that was mended stands there twice


def _chain(survey: Survey) -> Iterator[str]:
    """From the head on, as long as each commit lies in a file of its own."""
    at = _word(survey, _HEAD)
    if at.startswith("ref: refs/"):
        at = _word(survey, f".git/{at[5:]}")
    for _ in range(MOST):
        if not _HASH.fullmatch(at):
            return
        packed = survey.data(f".git/objects/{at[:2]}/{at[2:]}", _LONGEST_OBJECT, quiet=True)
        if packed is None:
            return
        try:
            raw = zlib.decompressobj().decompress(packed, _LONGEST_OBJECT)
        except zlib.error:
            return
        head, _, message = raw.partition(b"\0")[2].partition(b"\n\n")
        if not raw.startswith(b"commit "):
            return
        yield message.decode("utf-8", "replace").partition("\n")[0].strip()[:200]
        at = next((line[7:].decode("ascii", "replace") for line in head.splitlines() if line[:7] == b"parent "), "")


def _word(survey: Survey, path: str) -> str:
    """What stands in a file of one line. A path that would lead elsewhere is not gone: no step of it may be `..`."""
    if ".." in path.split("/") or "\0" in path:
        return ""
    return (survey.data(path, 1000, whole=False, quiet=True) or b"").decode("ascii", "replace").strip()
