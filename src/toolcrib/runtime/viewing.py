"""What a model is shown of an answer, and where the rest of it is."""

from ..core.call import Result
from ..core.limits import ARTIFACT_BYTES, VIEW_BYTES
from ..core.process import Artifacts


def viewable(result: Result, artifacts: Artifacts) -> Result:
    """The result, with an artifact that holds the answer whole where it is too long to be shown to a model."""
    if result.error is not None or result.metadata.get("artifacts"):
        return result
    raw = result.output.encode("utf-8", "surrogatepass")
    if len(raw) <= VIEW_BYTES:
        return result
    try:
        ident, path, fd = artifacts.create(f"{result.metadata['call_id']}.data")
        with open(fd, "wb") as file:
            file.write(raw[:ARTIFACT_BYTES])
    except OSError:  # a full disk costs the artifact, not the answer
        return result
    kept = {"id": ident, "stream": "data", "path": path, "bytes": min(len(raw), ARTIFACT_BYTES)}
    return Result(result.data, None, {**result.metadata, "artifacts": [kept]})
