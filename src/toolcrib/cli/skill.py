"""`toolcrib skill`: the skills that are here, what is in them, and in which session they are used."""

import argparse
from typing import Any

from ._parser import verb_parser

EXAMPLE = """
  toolcrib skill list                              the skills that can be used here
  toolcrib skill show pdf-parser                   what it says, its tools and its files
  toolcrib skill show pdf-parser --file notes.md   one of its files
  toolcrib skill use pdf-parser --session ID       its tools are there in that session, and nowhere else
  toolcrib skill remove pdf-parser --session ID
  toolcrib skill list --outdated                   active ones that are not what lies on disk now
  toolcrib skill lint ./my-skill                   everything that is wrong with it, with file and line
  toolcrib skill migrate ./my-skill --dry-run      move its tools into tools.yaml, so that others take it too
"""
_WHERE = "its name, or the path of its folder or SKILL.md (with a / in it)"


def main(argv: list[str]) -> int:
    return _run(_parser().parse_args(argv))


def _parser() -> argparse.ArgumentParser:
    parser = verb_parser("skill", "Look at skills, and use them in a session.", EXAMPLE)
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|use|remove|lint|migrate")
    shelf = verbs.add_parser("list", help="the skills that can be used here", allow_abbrev=False)
    shelf.add_argument("--outdated", action="store_true", help="active ones that are not what lies on disk now")
    shelf.add_argument("--session", metavar="ID", help="those that are active in this session")
    show = verbs.add_parser("show", help="what a skill says, its tools and its files", allow_abbrev=False)
    show.add_argument("--file", metavar="PATH", help="print this file of the skill instead")
    use = verbs.add_parser("use", help="make a skill active in a session", allow_abbrev=False)
    use.add_argument(
        "--only-allowed",
        action="store_true",
        help="while it is active, only the other tools that its `allowed-tools` names are there",
    )
    remove = verbs.add_parser("remove", help="take it away again", allow_abbrev=False)
    lint = verbs.add_parser("lint", help="everything that is wrong with a skill", allow_abbrev=False)
    lint.add_argument("skill", metavar="NAME|PATH", nargs="?", help=f"{_WHERE}; default: all that are here")
    migrate = verbs.add_parser("migrate", help="move its tools into a file of their own", allow_abbrev=False)
    migrate.add_argument("--dry-run", action="store_true", help="only show what would change")
    for each in (use, remove):
        each.add_argument("--session", metavar="ID", required=True, help="as `toolcrib session list` names it")
    for each in (show, use, remove, migrate):
        each.add_argument("skill", metavar="NAME|PATH", help=_WHERE)
    for each in (shelf, show, use, remove, lint, migrate):
        each.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _run(options: Any) -> int:
    """Each part is imported when it is wanted."""
    if options.verb == "lint":
        from ._skill_lint import lint_skills

        return lint_skills(options.skill, as_json=options.json, profile=options.profile)
    if options.verb == "migrate":
        from ._skill_migrate import migrate_skill

        return migrate_skill(options.skill, dry_run=options.dry_run, as_json=options.json, profile=options.profile)
    if options.verb in ("use", "remove"):
        from ._skill_session import change_session

        return change_session(options)
    if options.verb == "list" and (options.session is not None or options.outdated):
        from ._skill_session import list_active

        return list_active(options)
    from ._skill_shelf import list_skills, show_skill

    if options.verb == "list":
        return list_skills(as_json=options.json, profile=options.profile)
    return show_skill(options.skill, file=options.file, as_json=options.json, profile=options.profile)
