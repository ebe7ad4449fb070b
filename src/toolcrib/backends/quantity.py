"""Durations and sizes, as people write them."""

import re

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)")
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {unit + end: 1024.0**power for power, unit in enumerate(("", "k", "m", "g")) for end in ("", "b", "ib")}


def duration(value: object) -> float:
    """Seconds from `30s`, `1500ms`, `2m` or a number of seconds.

    Raises:
        ValueError: for anything else; zero and less are not durations.
    """
    seconds = _quantity(value, _SECONDS)
    if seconds is None:
        raise ValueError(f"{value!r} is not a duration above zero; write 30s, 1500ms or a number of seconds")
    return seconds


def size(value: object) -> int:
    """Bytes from `512MiB`, `64k` or a number of bytes.

    Raises:
        ValueError: for anything else; zero and less are not sizes.
    """
    found = _quantity(value, _BYTES)
    if found is None or found != int(found):
        raise ValueError(f"{value!r} is not a size above zero; write 1048576, 512k or 256MiB")
    return int(found)


def _quantity(value: object, units: dict[str, float]) -> float | None:
    found = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str) and (match := _QUANTITY.fullmatch(value.strip())) and match[2].lower() in units:
        found = float(match[1]) * units[match[2].lower()]
    return found if found is not None and 0 < found < float("inf") else None
