"""Options that say the same, for rules that tighten: who blocks `rm -rf` also means `rm --recursive --force`."""

SYNONYMS: dict[str, tuple[frozenset[str], ...]] = {
    "rm": (frozenset(("-r", "-R", "--recursive")), frozenset(("-f", "--force"))),
    "cp": (frozenset(("-r", "-R", "-a", "--recursive", "--archive")), frozenset(("-f", "--force"))),
    "chmod": (frozenset(("-R", "--recursive")),),
    "chown": (frozenset(("-R", "--recursive")),),
    "mv": (frozenset(("-f", "--force")),),
    "ln": (frozenset(("-f", "--force")), frozenset(("-s", "--symbolic"))),
    "sed": (frozenset(("-i", "--in-place")), frozenset(("-f", "--file")), frozenset(("-e", "--expression"))),
    "sort": (frozenset(("-o", "--output")),),
    "tar": (frozenset(("-x", "--extract", "--get")), frozenset(("-c", "--create")), frozenset(("-f", "--file"))),
    "curl": (
        frozenset(("-o", "--output")),
        frozenset(("-d", "--data", "--data-binary", "--data-raw", "--data-urlencode", "--json")),
        frozenset(("-X", "--request")),
        frozenset(("-T", "--upload-file")),
        frozenset(("-F", "--form")),
        frozenset(("-K", "--config")),
    ),
    "wget": (frozenset(("-O", "--output-document")), frozenset(("-r", "--recursive", "-m", "--mirror"))),
    "git": (
        frozenset(("-f", "--force")),
        frozenset(("-d", "--delete", "-D")),
        frozenset(("-n", "--no-verify")),
        frozenset(("-m", "--message", "--move")),
        frozenset(("-a", "--all")),
        frozenset(("-i", "--interactive")),
        frozenset(("-x", "--exec")),
        frozenset(("-D", "-f", "--force")),
    ),
    "npm": (frozenset(("-g", "--global", "--location")),),
    "docker": (frozenset(("-v", "--volume", "--mount")), frozenset(("-f", "--force", "--file"))),
    "make": (frozenset(("-f", "--file", "--makefile")), frozenset(("-C", "--directory"))),
    "pip": (frozenset(("-i", "--index-url")), frozenset(("-e", "--editable")), frozenset(("-r", "--requirement"))),
    "perl": (frozenset(("-e", "-E")),),
    "node": (frozenset(("-e", "--eval", "-p", "--print")),),
}


def same_options(program: str, option: str) -> frozenset[str]:
    """The option and its other names."""
    found = {option}
    for group in SYNONYMS.get(program, ()):
        if option in group:
            found |= group
    return frozenset(found)
