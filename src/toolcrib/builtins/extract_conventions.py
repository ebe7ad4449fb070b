"""`extract_conventions`: how code is written here, by what is configured and by what is there."""

from .project.ask import about_projects

extract_conventions = about_projects(
    "extract_conventions",
    "Tell how code is written in this project: what formatters and linters are set to, how the code really looks "
    "(indentation, quotes, names, length of lines), where tests lie and what runs them, the commands to build, test "
    "and lint it, what its CI runs, how commit messages read. Each claim has its evidence. Nothing is run.",
)
