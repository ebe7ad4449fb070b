"""Bounds: on one call, and on what a model is shown."""

from dataclasses import dataclass

INPUT_BYTES = 8 * 1024 * 1024
"""Longest arguments of one call, as JSON."""
VIEW_BYTES = 64 * 1024
"""Longest text that goes back to a model."""
ARTIFACT_BYTES = 64 * 1024 * 1024
"""Longest output that is kept whole; past that it is drained and counted."""
DRAIN_SECONDS = 0.2
"""How long a descendant may go on writing after its program has exited."""
GRACE_SECONDS = 0.5
"""Between asking a process to end and ending it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use. Time spent waiting for an answer or for a place does not count."""

    seconds: float = 30.0
    output_bytes: int = 1024 * 1024
    """Of each stream, kept in memory; the whole goes to an artifact."""
    memory_bytes: int | None = None
