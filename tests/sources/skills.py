"""Skills for tests, and what they need around them."""

from pathlib import Path
from typing import Any

from toolcrib.backends.declared import Surroundings
from toolcrib.core.context import Context
from toolcrib.core.errors import Refused
from toolcrib.policy.project_files import project_files
from toolcrib.policy.trust import Trust
from toolcrib.sources.skill import Skill, skill_from_text
from toolcrib.sources.skill_places import Catalogue
from toolcrib.store.home import Home

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "skills"
SCRIPT = "    backend: {type: script, interpreter: sh, script: 'echo hello'}\n"
TOOL = f"  - name: greet\n    description: Says hello.\n{SCRIPT}"
GOOD = f"---\nname: good\ndescription: Is good.\nversion: 1.0.0\ntools:\n{TOOL}---\n# How\n\nCall greet.\n"


def no_secret(tool: str, name: str, *, host: str, own: str | None) -> str:
    raise Refused(f"{tool} may not have {name}", code="ENV_NOT_ALLOWED")


class NoDownloads:
    async def obtained(self, url: str, sha256: str, member: str, ctx: Context) -> str:
        raise Refused("nothing is fetched here", code="DOWNLOAD_UNVERIFIED")


AROUND = Surroundings(no_secret, NoDownloads())


def text_skill(text: str, **about: Any) -> Skill:
    return skill_from_text(text, AROUND, **about)


def put(folder: Path, text: str = "", **files: str) -> Path:
    """Write a skill into a folder; `__` in a file's name is a slash, and `_dot_` a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text or GOOD.replace("good", folder.name), newline="")
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def trust_in(home: Path) -> Trust:
    place = Home(home)
    return Trust(place.file("trust.json"), lambda data: place.replace(data, "trust.json"))


def trust(home: Path, project: Path) -> None:
    trust_in(home).add(str(project), project_files(str(project)))


def catalogue(home: Path, workspace: Path, user: Path) -> Catalogue:
    return Catalogue(str(workspace), Home(home), trust=trust_in(home), around=AROUND, user=str(user))


def said(skill: Skill) -> str:
    """All that is wrong with it."""
    return "\n".join(f"{each.code} {each.message}" for each in skill.problems)
