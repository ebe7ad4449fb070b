"""For homes of tests that are not about confinement: their tools run as they are, also where a test looks from outside."""

from pathlib import Path

from toolcrib.sandbox import choose

NO_TIER = dict.fromkeys(("bubblewrap", "landlock"), "this test is not about confinement")
"""What such a home remembers of the tiers, so that `sandbox: auto` means a plain process."""


def unconfined(home: Path) -> Path:
    choose.remember(str(home / "cache"), NO_TIER)
    return home
