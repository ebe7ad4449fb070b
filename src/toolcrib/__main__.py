"""`python -m toolcrib`."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the directory we stand in, put there by `-m`: what lies in it is not to be imported as a module

from .cli import main

sys.exit(main())
