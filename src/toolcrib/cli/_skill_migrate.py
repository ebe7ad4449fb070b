"""`toolcrib skill migrate`: a skill's tools in a file of their own, so that other programs take the skill as well."""

import sys

from ..core.jsontext import dump_ascii
from ..sources.skill_migrate import TOOLS_FILE, migrate, migration
from ._survey import crib_here
from ._text import readable, visible


def migrate_skill(target: str, *, dry_run: bool, as_json: bool, profile: str | None) -> int:
    """Raises: `ToolcribError`, when it cannot be done; then nothing was changed."""
    catalogue = crib_here(profile).skills().catalogue
    folder = catalogue.find(target).folder  # which looks whether it may be read at all
    found = migration(folder)
    if found.changes and not dry_run:
        migrate(found)
    if as_json:
        written = [found.file, *([TOOLS_FILE] if found.sidecar else [])] if found.changes else []
        answer = {"folder": readable(folder), "changed": found.changes and not dry_run, "files": written}
        print(dump_ascii({**answer, "diff": found.diff() if found.changes else ""}).decode())
        return 0
    if not found.changes:
        print(f"{visible(readable(folder))} has nothing to move", file=sys.stderr)
        return 0
    if dry_run:
        print(visible(found.diff(), keep="\n\t"), end="")
        return 0
    words = f"wrote {TOOLS_FILE}, and named it in {found.file}" if found.sidecar else f"changed {found.file}"
    print(f"{words}; a project's skill must be trusted anew", file=sys.stderr)
    return 0
