"""`toolcrib policy`: look at the rules, see why a call is decided as it is, and take approvals back."""

import shutil
import sys
import textwrap
from typing import Any

from ..core.call import Call
from ..core.errors import InvalidJson, ToolcribError
from ..core.jsontext import JSON, dump_ascii, parse
from ..core.tool import Subject, Tool
from ..policy.lint import Finding, lint
from ..policy.rules import Opinion, Voice
from ..runtime.build import build
from ..runtime.runtime import Crib
from ._failure import UsageError
from ._loop import run
from ._parser import verb_parser
from ._survey import absent, look_once
from ._text import visible

HELP = """usage: toolcrib policy check|explain|approvals|revoke [options]

Look at the rules that decide about calls, and at what was approved.

  check                        find rules that never decide, contradict or allow too much
  explain NAME --input JSON    what every layer says of a call, and which rule decided
  approvals                    what was approved, what waits for an answer, what was granted
  revoke ID|TOOL|--all         take it back
  --profile NAME               each of them: with the tools and rules of this profile

  toolcrib policy explain run_command --input '{"command": "git status && git push"}'
  toolcrib policy check --json"""
EXPLAIN_EXAMPLE = """
  toolcrib policy explain read_file --input '{"path": "notes.txt"}'
  toolcrib policy explain run_command --input '{"command": "git push"}' --json
"""
LAYERS = ("user policy", "project policy", "toolsets", "config", "toolset", "tool", "analysis", "default")
"""Who may speak of a call. The default counts only where nobody else does."""
_SILENT = {"decision": None, "rule": None, "reason": "", "decides": False}
CHECK_EXAMPLE = """
  toolcrib policy check
"""


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(HELP)
        return 0 if argv else 2
    verb, rest = argv[0], argv[1:]
    if verb == "check":
        return _check(rest)
    if verb == "explain":
        return _explain(rest)
    if verb in ("approvals", "revoke"):
        from . import _approvals

        return int(getattr(_approvals, verb)(rest))
    raise UsageError(f"there is no {ascii(verb)}; known are check, explain, approvals, revoke")


def _check(argv: list[str]) -> int:
    says = "Find rules that never decide, contradict each other, or allow more than they say."
    parser = verb_parser("policy check", says, CHECK_EXAMPLE)
    parser.add_argument("--json", action="store_true", help='print {"rules": N, "findings": [...]}')
    options = parser.parse_args(argv)
    crib = _crib(options.profile)
    rules = crib.policy.rules
    by_own_names = [tool._replace(name=crib.config.offer.own_name(tool)) for tool in crib.tools()]
    findings = lint(rules, [*crib.tools(), *by_own_names], crib.places)
    if options.json:
        print(dump_ascii({"rules": len(rules), "findings": [_finding(each) for each in findings]}).decode())
    else:
        for each in findings:
            print(f"{visible(str(each.rule.origin))}: {each.kind}: {visible(each.message)}", flush=True)
        print(f"{len(rules)} rules, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


def _finding(finding: Finding) -> dict[str, JSON]:
    origin = finding.rule.origin
    about: dict[str, JSON] = {"path": origin.path, "line": origin.line, "id": origin.id or None}
    return {**about, "kind": finding.kind, "message": finding.message}


def _explain(argv: list[str]) -> int:
    parser = verb_parser("policy explain", "Show what every layer says of a call, and what decides.", EXPLAIN_EXAMPLE)
    parser.add_argument("name", metavar="NAME", help="the tool")
    parser.add_argument("--input", metavar="JSON", default="{}", help="the arguments; - reads them from stdin")
    parser.add_argument("--json", action="store_true", help='print {"decision", "rule", "layers"}')
    options = parser.parse_args(argv)
    try:
        args = parse(sys.stdin.buffer.read() if options.input == "-" else options.input)
    except InvalidJson as exc:
        raise UsageError(f"--input is {exc}") from None
    crib = _crib(options.profile)
    name = crib.full_name(options.name)
    tool = crib.find(name)
    if tool is None:
        raise absent(crib, options.name)
    if faults := crib.validate(name, args):
        for fault in faults:
            print(f"  {visible(fault)}", file=sys.stderr)
        raise ToolcribError("Invalid parameters", code="VALIDATION_ERROR", details=faults)
    opinions = crib.policy.opinions(Call(name, args, "", crib.session, "policy explain"), tool)
    report = explained(opinions, crib.verdict(tool, args).reason)
    if options.json:
        print(dump_ascii(report).decode())
    else:
        _draw(tool, report)
    return 0


def explained(opinions: tuple[Opinion, ...], reason: str) -> dict[str, JSON]:
    """What every layer says, and what comes of it."""
    decisive = max((opinion.decisive for opinion in opinions), key=lambda voice: voice.verdict.decision)
    layers: list[dict[str, JSON]] = []
    for opinion in opinions:
        about = shown(opinion.judged.subject)
        voices = (*opinion.voices, opinion.default)
        silent = [layer for layer in LAYERS if all(voice.layer != layer for voice in voices)]
        layers += [_layer(about, voice, decides=voice is opinion.decisive) for voice in voices]
        layers += [{**_SILENT, "about": about, "layer": layer} for layer in silent]
    return {
        "decision": decisive.verdict.decision.wire,
        "rule": _rule(decisive),
        "reason": reason,
        "layers": layers,
    }


def _layer(about: str, voice: Voice, *, decides: bool) -> dict[str, JSON]:
    return {
        "about": about,
        "layer": voice.layer,
        "decision": voice.verdict.decision.wire,
        "rule": _rule(voice),
        "reason": voice.verdict.reason,
        "decides": decides,
    }


def _rule(voice: Voice) -> str | None:
    return None if voice.rule is None else str(voice.rule.origin)


def shown(subject: Subject) -> str:
    """What a subject is, in a line."""
    if subject.kind == "call":
        return "the call"
    return f"{subject.kind} {' '.join(_word(word) for word in subject.value)}"


def _word(word: str) -> str:
    plain = word.isascii() and word.isprintable() and word and not set(word) & set(" '\"\\$`")
    return word if plain else ascii(word)


def _draw(tool: Tool, report: dict[str, Any]) -> None:
    """For a person: one block for each thing the call would do, a `*` before what decides it."""
    print(f"{tool.name}: {report['decision']}")
    for line in _wrapped(f"  because {visible(report['reason'])}", "  "):
        print(line)
    for about in dict.fromkeys(layer["about"] for layer in report["layers"]):
        said = [layer for layer in report["layers"] if layer["about"] == about]
        print()
        for line in _wrapped(visible(about), "  "):
            print(line)
        for layer in said:
            if layer["decision"]:
                begin = f"{'*' if layer['decides'] else ' '} {layer['decision']:<12} {layer['layer']:<15} "
                for line in _wrapped(begin + visible(layer["reason"]), " " * len(begin)):
                    print(line)
        silent = ", ".join(layer["layer"] for layer in said if not layer["decision"])
        if silent:
            print(f"  silent: {silent}")


def _wrapped(text: str, indent: str) -> list[str]:
    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.wrap(text, width, subsequent_indent=indent, drop_whitespace=True, break_on_hyphens=False)


def _crib(profile: str | None) -> Crib:
    crib = build(asker="policy", profile=profile)
    run(look_once(crib))
    return crib
