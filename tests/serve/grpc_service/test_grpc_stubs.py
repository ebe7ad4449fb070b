"""The protocol's file, what was generated from it, and what is said when something goes wrong."""

import importlib.util
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from toolcrib.core.errors import CODES
from toolcrib.serve.grpc_status import MESSAGE_BYTES, STATUS, header_text

ROOT = Path(__file__).parents[3]
STUBS = ROOT / "src" / "toolcrib" / "serve" / "v1"


def test_every_code_has_a_status_and_no_other() -> None:
    assert set(STATUS) == CODES


def test_a_message_fits_into_a_header() -> None:
    assert len(header_text("x" * 1_000_000).encode()) < MESSAGE_BYTES + 200
    assert header_text("\ud800") == "\\ud800"


def test_the_stubs_are_those_of_the_protocols_file(tmp_path: Path) -> None:
    made_with = re.search(r"GENERATED_VERSION = '(.*)'", (STUBS / "tool_service_pb2_grpc.py").read_text())
    assert made_with is not None
    try:
        here = version("grpcio-tools")
    except PackageNotFoundError:
        pytest.skip("grpcio-tools is not installed")
    if here != made_with[1]:
        pytest.skip(f"the stubs were made with grpcio-tools {made_with[1]}, and {here} is installed")
    spec = importlib.util.spec_from_file_location("generate", ROOT / "proto" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.generate(tmp_path)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        each.name: each.read_text() for each in STUBS.glob("tool_service_pb2*") if each.suffix != ".pyc"
    }
