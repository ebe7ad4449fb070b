"""How much may go on at once."""

import resource

_FDS_PER_PROCESS = 8
_FDS_RESERVED = 48
_MOST_AT_ONCE = 64


def places_at_once() -> int:
    """How many processes may run at once, so that descriptors never run out."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(_MOST_AT_ONCE, (soft - _FDS_RESERVED) // _FDS_PER_PROCESS))
