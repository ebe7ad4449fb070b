"""The first words of a README: what a project says it is."""

import re

_LONGEST = 400
_NOISE = re.compile(r"^(?:#|=|-{3,}|\*{3,}|!\[|\[!\[|<|\.\. |:\w+:|```|~~~|\||>|\{)")
_LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)")


def first_paragraph(text: str) -> str | None:
    """Without headings, badges and markup; None where there is no plain text near the beginning."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines()[:200]:
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or not bare or _NOISE.match(bare):
            if lines and not fenced and set(bare[:1]) & {"=", "-"} and len(lines) == 1:
                lines = []  # it was a heading, underlined
            elif lines:
                break
            continue
        lines.append(bare)
    said = _LINK.sub(r"\1", " ".join(lines))
    return (said if len(said) <= _LONGEST else said[: _LONGEST - 1].rstrip() + "…") or None
