"""JSON-RPC 2.0: what is a message, and what is not."""

import pytest

from toolcrib.serve import rpc
from toolcrib.serve.rpc import Incoming, RpcFault


def test_a_request_a_notification_and_an_answer() -> None:
    assert rpc.read({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": 1}}) == Incoming("m", {"a": 1}, 1)
    assert rpc.read({"jsonrpc": "2.0", "id": "", "method": "m", "params": None}) == Incoming("m", {}, "")
    assert rpc.read({"jsonrpc": "2.0", "method": "m"}) == Incoming("m", {})
    assert rpc.read({"jsonrpc": "2.0", "id": 1, "result": {}}) is None
    assert rpc.read({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": ""}}) is None
    assert rpc.read({"jsonrpc": "2.0", "method": "m", "params": [1]}) is None


@pytest.mark.parametrize("id", [None, True, False, 1.0, 1.5, [], {}, ["a"], {"a": 1}])
def test_an_id_is_a_string_or_an_integer(id: object) -> None:
    with pytest.raises(RpcFault) as caught:
        rpc.read({"jsonrpc": "2.0", "id": id, "method": "ping"})
    assert (caught.value.code, caught.value.id) == (-32600, None)


@pytest.mark.parametrize("id", ["", "x" * 10_000, 0, -1, 2**53 + 1, 10**300, "\u0000", "☃", "__proto__"])
def test_every_string_and_integer_is_an_id(id: str | int) -> None:
    assert rpc.read({"jsonrpc": "2.0", "id": id, "method": "m"}) == Incoming("m", {}, id)


@pytest.mark.parametrize("message", [None, True, 0, 1.5, "x", "", [], ["x"]])
def test_a_message_is_an_object(message: object) -> None:
    with pytest.raises(RpcFault) as caught:
        rpc.read(message)
    assert (caught.value.code, caught.value.id) == (-32600, None)


@pytest.mark.parametrize("more", [{}, {"jsonrpc": "1.0"}, {"jsonrpc": 2.0}, {"jsonrpc": None}, {"jsonrpc": ["2.0"]}])
def test_the_version_of_json_rpc_is_said(more: dict[str, object]) -> None:
    with pytest.raises(RpcFault) as caught:
        rpc.read({"id": 7, "method": "ping", **more})
    assert (caught.value.code, caught.value.id) == (-32600, 7)


@pytest.mark.parametrize("method", [None, 1, True, [], {}])
def test_a_method_is_a_string(method: object) -> None:
    with pytest.raises(RpcFault) as caught:
        rpc.read({"jsonrpc": "2.0", "id": 7, "method": method})
    assert (caught.value.code, caught.value.id) == (-32600, 7)


@pytest.mark.parametrize("params", [1, True, "x", [], [1], 0, False, ""])
def test_params_is_an_object(params: object) -> None:
    with pytest.raises(RpcFault) as caught:
        rpc.read({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": params})
    assert (caught.value.code, caught.value.id) == (-32602, 7)


def test_an_error_whose_id_is_unknown_says_null() -> None:
    assert rpc.error(None, -32700, "no") == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no"}}
