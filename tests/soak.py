"""How often something is tried: for a while in `make test`, and for long in `make soak`."""

import os

LONG = bool(os.environ.get("TOOLCRIB_SOAK"))


def turns(long: int, short: int) -> int:
    """`long` in `make soak`, `short` otherwise."""
    return long if LONG else short
