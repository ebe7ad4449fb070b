"""The command line of a verb, the same for all of them."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from ._text import visible


class VerbParser(argparse.ArgumentParser):
    """Reads a verb's words. All of them take a profile, and one that is named must be there."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        # No default here: a parser inside another would put it in the place of what the outer one read.
        words = "with the tools and rules of this profile"
        self.add_argument("--profile", metavar="NAME", default=argparse.SUPPRESS, help=words)

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # one form for all
        options = super().parse_args(args, namespace)
        options.profile = getattr(options, "profile", None)
        place = getattr(options, "workspace", None) or os.getcwd()
        if options.profile is not None and (fault := profile_fault(options.profile, place)):
            if getattr(options, "json", False):
                from ..core.jsontext import dump_ascii

                print(dump_ascii({"error": {"code": "CONFIG_INVALID", "message": fault}}).decode())
            print(f"CONFIG_INVALID {visible(fault)}", file=sys.stderr)
            raise SystemExit(2)
        return options


def verb_parser(verb: str, description: str, example: str) -> VerbParser:
    """Flags are written out, and `--help` ends with an example."""
    return VerbParser(
        prog=f"toolcrib {verb}",
        description=description,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def profile_fault(name: str, workspace: str) -> str:
    """Why a profile cannot be chosen here; nothing when it can."""
    from ..core.errors import ConfigError  # late: most type no profile
    from ..runtime.build import trust_in
    from ..runtime.profile import find
    from ..store.home import Home

    home = Home()
    try:
        find(name, os.path.abspath(workspace), home, trust_in(home))
    except ConfigError as exc:
        return str(exc)
    return ""
