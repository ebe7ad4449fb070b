"""The answer of a query: columns and rows, as many as fit, and where the rest is."""

from collections.abc import Mapping

from ..core.errors import InvalidJson
from ..core.jsontext import JSON, parse
from ..core.process import Captured

MAX_ROWS = 1000
"""Unless the tool says otherwise."""


def table(kept: Captured, end: Mapping[str, JSON], *, max_rows: int) -> dict[str, JSON]:
    """What was kept, as lines of JSON: the columns first, then each row, and what the end of the query says."""
    whole = [_document(line) for line in kept.head.split(b"\n")[:-1]]  # the last one may have been cut
    columns = whole[0]["columns"] if whole and isinstance(whole[0], dict) else []
    rows = [each for each in whole if isinstance(each, list)]
    count, more = end["row_count"], end["more"]
    answer: dict[str, JSON] = {
        "columns": columns,
        "rows": rows,
        "row_count": count,
        "truncated": bool(more or len(rows) < count),
    }
    if "rows_affected" in end:
        answer["rows_affected"] = end["rows_affected"]
    notes = []
    if len(rows) < count:
        where = f"; all are in artifact {kept.artifact[0]}, one JSON array a line" if kept.artifact else ""
        notes.append(f"the first {len(rows)} of {count} rows are shown{where}")
    if more:
        notes.append(
            f"there are more than these {count} rows (at most {max_rows}); ask for fewer, or with LIMIT and OFFSET"
        )
    if notes:
        answer["note"] = "; ".join(notes)
    return answer


def last_document(kept: Captured) -> JSON:
    """How it ended, which is the last line; None where that is missing."""
    text = kept.tail if kept.omitted else kept.head + kept.tail
    return _document(text.rstrip(b"\n").rpartition(b"\n")[2])


def _document(line: bytes) -> JSON:
    try:
        return parse(line)
    except InvalidJson:
        return None
