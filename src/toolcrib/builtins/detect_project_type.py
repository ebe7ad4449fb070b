"""`detect_project_type`: what kind of project this is, and how one can see that."""

from .project.ask import about_projects

detect_project_type = about_projects(
    "detect_project_type",
    "Tell from the files what kind of project this is: its languages, build systems, package managers, frameworks, "
    "entry points and runtime versions; whether it is a library, an application or a monorepo. Each claim has the file "
    "and the line it is made from. Nothing is run.",
)
