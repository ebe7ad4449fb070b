"""Makes the Python stubs of the service: `python proto/generate.py DIRECTORY` (`make proto` names the right one)."""

import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).parent
NAME = "toolcrib/v1/tool_service.proto"
NOTE = "# Made by `make proto`. Change proto/toolcrib/v1/tool_service.proto instead.\n"


def generate(target: Path) -> None:
    """Write `tool_service_pb2.py`, its types and `tool_service_pb2_grpc.py` into a directory."""
    with tempfile.TemporaryDirectory() as scratch:
        outlets = [f"--{kind}_out={scratch}" for kind in ("python", "pyi", "grpc_python")]
        if status := protoc.main(["protoc", f"--proto_path={HERE}", *outlets, NAME]):
            raise SystemExit(status)
        for made in sorted(Path(scratch, "toolcrib", "v1").iterdir()):
            # The package of the protocol is not where the module lies: our parts are ordered by layer.
            text = made.read_text(encoding="utf-8").replace("from toolcrib.v1 import", "from . import")
            (target / made.name).write_text(NOTE + text, encoding="utf-8")


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
