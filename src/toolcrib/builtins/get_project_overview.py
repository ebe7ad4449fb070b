"""`get_project_overview`: the first thing to know about a project, in a few hundred words."""

from .project.ask import about_projects

get_project_overview = about_projects(
    "get_project_overview",
    "Sum up a project in few words: what it is, its languages, how to build and test it, its style, instructions for "
    "agents, and what lies in it. A good first call in a project that you do not know. Nothing is run.",
)
