"""Where temporary files go."""

import os
import tempfile

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")


def temporary_directory() -> str:
    """The first that can be written to, of those that the user named and of the usual ones; else the first at all.

    As `tempfile.gettempdir`, but that raises where every disk is full, before anybody could say what is not possible
    for that reason; and its last resort is the directory we are in, where nothing of ours may come: the workspace.
    """
    named = [*(os.path.abspath(os.environ[name]) for name in _VARIABLES if os.environ.get(name)), *_USUAL]
    try:
        found = tempfile.gettempdir()
        return found if found in named or found != os.getcwd() else named[0]
    except FileNotFoundError:
        return named[0]
