"""`edit_file`: exact replacement of passages in a file of the workspace."""

from collections.abc import Mapping, Sequence

from ..core.context import Context
from ..core.errors import ToolError
from ..core.jsontext import JSON
from ..core.tool import Capabilities, Hooks, Subject
from ._changing import changed, present
from ._replacing import Edit, Miss, replaced
from ._text import HEAD, difference, text_of, type_of
from ._tool import PATH, builtin, in_process

_EDIT: dict[str, JSON] = {
    "old_string": {"type": "string", "description": "The text to replace, exactly as it stands in the file."},
    "new_string": {"type": "string", "description": "What takes its place."},
    "replace_all": {"type": "boolean", "default": False, "description": "Every place, not only a single one."},
}
_MOST_EDITS = 1000


async def _run(args: Mapping[str, JSON], ctx: Context) -> str:
    path, count = args["path"], 0

    def make(old: bytes | None) -> bytes:
        nonlocal count
        new, count = _edited(old, args)
        return new

    old, new = await changed(ctx, path, make)
    places = "1 place" if count == 1 else f"{count} places"
    return f"edited {path} at {places}\n{difference(old, new, path)}"


async def _preview(args: Mapping[str, JSON], ctx: Context) -> str:
    """The difference it would make."""
    old = present(ctx, args["path"])
    return difference(old, _edited(old, args)[0], args["path"])


def _edited(old: bytes | None, args: Mapping[str, JSON]) -> tuple[bytes, int]:
    """All edits, one after the other, each in what the one before made; or none."""
    path = args["path"]
    if old is None:
        message = f"File not found: {path}; use write_file to make it"
        raise ToolError(message, code="FILE_NOT_FOUND", details={"path": path}, before_effect=True)
    if kind := type_of(old[:HEAD]):
        message = f"{path} is a binary file ({kind}, {len(old)} bytes), and only text is edited"
        raise ToolError(message, details={"path": path}, before_effect=True)
    text = text_of(old)
    content, total, edits = text.content, 0, _edits(args)
    for number, edit in enumerate(edits, 1):
        try:
            content, count = replaced(content, edit)
        except Miss as exc:
            which = f"edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            message = f"{path}: {which}{exc}" + ("; nothing was written" if len(edits) > 1 else "")
            raise ToolError(message, details={"path": path, "edit": number - 1}, before_effect=True) from None
        total += count
    try:
        return text.encoded(content), total
    except UnicodeEncodeError as exc:
        bad = exc.object[exc.start : exc.end]
        message = f"{path} is in {text.encoding}, which has no sign for {bad!r}; leave it out, or write the file anew"
        raise ToolError(message, details={"path": path}, before_effect=True) from None


def _edits(args: Mapping[str, JSON]) -> list[Edit]:
    given = args.get("edits") or [args]
    return [Edit(each["old_string"], each["new_string"], each.get("replace_all", False)) for each in given]


def _validate(args: Mapping[str, JSON]) -> Sequence[str]:
    if "edits" in args and _EDIT.keys() & args.keys():
        return ["give either edits, or old_string and new_string, not both"]
    if "edits" not in args and not {"old_string", "new_string"} <= args.keys():
        return ["old_string and new_string are required, unless edits is given"]
    return []


edit_file = builtin(
    "edit_file",
    "Replace text in a file of the workspace. `old_string` must be there exactly once, white space included, unless "
    "`replace_all` is set. Several changes to one file go into `edits`: all are made, or none.",
    {
        "type": "object",
        "properties": {
            "path": PATH,
            **_EDIT,
            "edits": {
                "type": "array",
                "minItems": 1,
                "maxItems": _MOST_EDITS,
                "description": "Instead of the three above: changes that are made one after the other.",
                "items": {
                    "type": "object",
                    "properties": _EDIT,
                    "required": ["old_string", "new_string"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    },
    in_process(_run),
    capabilities=Capabilities(writes_files=True),
    hooks=Hooks(validate=_validate, dry_run=_preview, touches=lambda args: [Subject("write", (args["path"],))]),
)
