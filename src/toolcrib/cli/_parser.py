"""The command line of a verb, the same for all of them."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn


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
        if options.profile is not None:
            _find(options.profile, place)
        return options

    def error(self, message: str) -> NoReturn:
        """As that of `argparse`, for whoever reads JSON as well."""
        from ._failure import UsageError  # late: most type what is right

        self.print_usage(sys.stderr)
        raise UsageError(message)


def verb_parser(verb: str, description: str, example: str) -> VerbParser:
    """Flags are written out, and `--help` ends with an example."""
    return VerbParser(
        prog=f"toolcrib {verb}",
        description=description,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _find(profile: str, workspace: str) -> None:
    """Raises: `ConfigError`, for a profile that cannot be chosen here."""
    from ..runtime.build import trust_in  # late: most type no profile
    from ..runtime.profile import find
    from ..store.home import Home

    home = Home()
    find(profile, os.path.abspath(workspace), home, trust_in(home))
