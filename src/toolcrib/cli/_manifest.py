"""Every fault of a folder with a `tool.yaml`. It is read, and nothing of it is started."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ..backends.folder import LEFT_OUT, MANIFEST, read_folder
from ..core.errors import ToolcribError
from ..core.jsontext import JSON
from ..core.tool import NAME
from ..policy.project_files import compared, project_files
from ..runtime.runtime import Crib
from ..sources.form import Fault
from ..sources.manifest_file import Manifest, read_manifest
from ..sources.requirement import UNMET, Versions, unmet
from ._examine import Checked
from ._literals import literals
from ._program import Finding, file_findings
from ._schema import properties


@dataclass(frozen=True, slots=True)
class PlacedFinding(Finding):
    """One thing that is wrong with a manifest."""

    line: int = 1
    column: int = 1

    def to_dict(self) -> dict[str, JSON]:
        return Finding.to_dict(self) | {"line": self.line, "column": self.column}


def manifest_at(path: str) -> str | None:
    """The manifest that a path means: itself, or that of a folder; None when it means none."""
    if os.path.basename(path) == MANIFEST:
        return path
    inner = os.path.join(path, MANIFEST)
    return inner if os.path.isdir(path) and os.path.lexists(inner) else None


def is_vouched(crib: Crib, project: str, relative: str) -> bool:
    """Whether the folder of a manifest is at this moment what was trusted, every file of it."""
    folder = os.path.dirname(relative)
    record = crib.trust.record(project)
    below = {path: seen for path, seen in (record.files if record else {}).items() if path.startswith(f"{folder}/")}
    changes = compared(below, project_files(project, only=(folder,)))
    return not any(LEFT_OUT.isdisjoint(path.split("/")) for paths in changes for path in paths)


async def examine_manifest(path: str, crib: Crib) -> Checked:
    """Everything that is wrong with the folder of one manifest."""
    folder = os.path.dirname(path)
    try:
        content = read_folder(folder)
    except ToolcribError as exc:
        return Checked(path, None, (Finding(exc.code, str(exc), "put that right, and check again"),))
    found, faults = read_manifest(content.manifest, path, folder=os.path.basename(folder), files=content.files)
    findings = [_finding(fault) for fault in faults]
    findings += literals(content.manifest.decode("utf-8", "replace"), path)
    if found is None:
        return Checked(path, None, tuple(findings))
    search_path = os.environ.get("PATH", os.defpath) if "PATH" in crib.config.variables else os.defpath
    if found.entrypoint:
        findings += file_findings(os.path.join(folder, found.entrypoint), search_path)
    exposed = crib.config.prefix + found.name
    findings += _name_findings(exposed, found, crib.config.prefix)
    findings += _description_findings(found.schema)
    findings += await _lacking(found.wishes.requires, search_path, _versions(path, crib))
    return Checked(path, exposed, tuple(findings))


def _finding(fault: Fault) -> Finding:
    message = fault.where + fault.message
    return PlacedFinding(fault.code, message, fault.fix, fault.pointer, False, fault.line, fault.column)


def _name_findings(exposed: str, found: Manifest, prefix: str) -> Iterator[Finding]:
    if not NAME.fullmatch(exposed):
        message = f"with its prefix it is called {exposed}, which is not 1 to 64 of A-Z a-z 0-9 _ -"
        yield Finding("TOOL_NAME_INVALID", message, f"use at most {64 - len(prefix)} characters", "/name")
    if "-" in found.name:
        message = f"some clients write {found.name} as {found.name.replace('-', '_')}"
        fix = "use _ in the name, so that it is the same everywhere"
        yield Finding("TOOL_NAME_INVALID", message, fix, "/name", warning=True)


def _description_findings(schema: dict[str, JSON]) -> Iterator[Finding]:
    for name, about in properties(schema).items():
        if not (isinstance(about, dict) and about.get("description")):
            fix = "add a `description`; the model knows nothing else of it"
            yield Finding("VALIDATION_ERROR", f"the argument {name} is not described", fix, warning=True)


def _versions(path: str, crib: Crib) -> Versions | None:
    """For a tool that is installed here. Any other folder must not choose which programs are started."""
    if os.path.dirname(os.path.dirname(path)) not in crib.tool_directories():
        return None
    return Versions(crib.prober().version, (lambda name: None, lambda name, data: None), workspace=crib.workspace)


async def _lacking(requirements: tuple[str, ...], search_path: str, versions: Versions | None) -> list[Finding]:
    """What it needs and is not there, or too old. Programs are asked afresh."""
    lacking, unasked = unmet(requirements, search_path, versions)
    if unasked and versions is not None:
        await versions.learn(unasked)
        lacking, _ = unmet(requirements, search_path, versions)
    return [Finding(UNMET, f"it needs {each}", "install it", "/requires") for each in lacking]
