"""Skills to test with: small, and each of its tools says one word."""

SKILL = """---
name: {name}
description: Says things.
version: {version}
tools:
{tools}---
Use it to have something said.
"""
TOOL = """  - name: {name}
    description: Says {word}.
    backend: {{type: script, interpreter: sh, script: "echo {word}"}}
    parameters: {{type: object, properties: {{}}, additionalProperties: false}}
"""


def skill_text(name: str, version: str = "1.0.0", **tools: str) -> str:
    """The SKILL.md of a skill whose tools each say a word."""
    said = "".join(TOOL.format(name=tool, word=word) for tool, word in tools.items())
    return SKILL.format(name=name, version=version, tools=said)
