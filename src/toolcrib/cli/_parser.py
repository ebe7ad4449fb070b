"""The command line of a verb, the same for all of them."""

import argparse


def verb_parser(verb: str, description: str, example: str) -> argparse.ArgumentParser:
    """Flags are written out, and `--help` ends with an example."""
    return argparse.ArgumentParser(
        prog=f"toolcrib {verb}",
        description=description,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
