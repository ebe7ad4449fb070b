"""Programs that offer to stay running: who is asked, who decides, and what the checks find."""

import asyncio
import json

import pytest

import toolcrib
from toolcrib.backends.process import ProcessBackend
from toolcrib.backends.serve import ServeBackend
from toolcrib.runtime.build import build

SERVER = r"""
case $1 in
description) echo '{"name": "server", "description": "Serves.", "input_schema": {"type": "object"}}';;
config) echo '@CONFIG@';;
run) cat >/dev/null; echo ran;;
serve) echo '{"serve": 1}'
  while IFS= read -r line; do
    id=${line#*\"id\":\"} id=${id%%\"*}
    echo "{\"id\":\"$id\",\"output\":\"served\"}"
  done;;
*) echo usage >&2; exit 1;;
esac"""


def server(config: str = '{"serve": true}') -> str:
    return SERVER.replace("@CONFIG@", config)


def called(shelf, times: int = 1) -> list[toolcrib.Result]:
    async def call(crib: toolcrib.Crib) -> list[toolcrib.Result]:
        return [await crib.call("custom_tool_server") for _ in range(times)]

    return shelf.opened(call)


def configured(shelf, **about: object) -> None:
    tools = json.dumps({"custom_tool_server": about})
    (shelf.home / "config.yaml").write_text(f"toolsets: {{}}\ntools: {tools}\n")


def test_one_that_offers_it_serves(shelf) -> None:
    """K19"""
    shelf.program("server", server())
    assert isinstance(shelf.one().backend, ServeBackend)
    assert shelf.started() == ["server config", "server description"]
    one, two = called(shelf, 2)
    assert (one.data, two.data, two.metadata["serve"]) == ("served", "served", "running")
    assert shelf.started() == ["server serve"]


def test_the_wish_stands_beside_that_for_time(shelf) -> None:
    shelf.program("server", server('{"serve": true, "timeout": "90s"}'))
    tool = shelf.one()
    assert (isinstance(tool.backend, ServeBackend), tool.limits.seconds) == (True, 90)


@pytest.mark.parametrize("config", ["{}", '{"serve": false}', '{"timeout": 5}', "serve"])
def test_one_that_does_not_offer_it_is_run(shelf, config) -> None:
    shelf.program("server", server(config))
    assert isinstance(shelf.one().backend, ProcessBackend)
    assert [each.data for each in called(shelf)] == ["ran\n"]


@pytest.mark.parametrize("key", ["serve", "warm"])
@pytest.mark.parametrize("wish", ["1", '"yes"', "null", "[]"])
def test_a_wish_that_is_not_true_or_false_is_said(shelf, key, wish) -> None:
    shelf.program("server", server(f'{{"{key}": {wish}}}'))
    code, message = shelf.problem("server")
    assert (code, f"`config`: {key}: {wish} is not true or false" in message) == ("VALIDATION_ERROR", True)


def test_the_user_s_word_is_above_the_tool_s(shelf) -> None:
    configured(shelf, warm=False)
    shelf.program("server", server('{"serve": true, "warm": true}'))
    assert shelf.one().backend.warm is False
    assert [each.data for each in called(shelf)] == ["ran\n"]


def test_true_leaves_a_server_a_server_and_asks_for_a_worker_where_there_is_none(shelf) -> None:
    configured(shelf, warm=True)
    shelf.program("server", server())
    backend = shelf.one().backend
    assert (isinstance(backend, ServeBackend), backend.inner.warm) == (True, True)
    shelf.program("server", server("{}"))
    assert shelf.one().backend.warm is True


def test_a_wish_to_be_warm_is_carried(shelf) -> None:
    shelf.program("server", server('{"warm": true}'))
    assert shelf.one().backend.warm is True


def test_a_project_may_switch_it_off_but_not_against_the_user(shelf) -> None:
    shelf.program("server", server())
    place = shelf.project / ".toolcrib"
    place.mkdir(exist_ok=True)
    (place / "config.yaml").write_text("tools: {custom_tool_server: {warm: false}}\n")
    shelf.trust()
    assert isinstance(shelf.one().backend, ProcessBackend)
    configured(shelf, warm=True)
    assert isinstance(shelf.one().backend, ServeBackend)


def test_what_is_kept_of_it_is_read_again(shelf) -> None:
    shelf.program("server", server())
    shelf.opened()
    shelf.started()
    assert isinstance(shelf.one().backend, ServeBackend)
    assert shelf.started() == []


def test_what_an_earlier_version_kept_is_asked_anew(shelf) -> None:
    shelf.program("server", server())
    shelf.opened()
    shelf.started()
    kept = [file for file in (shelf.home / "cache").glob("probes-*") if b'"answers"' in file.read_bytes()]
    assert kept
    for file in kept:
        older = json.loads(file.read_text())
        older["version"] -= 1
        older["answers"] = {name: answer[:7] for name, answer in older["answers"].items()}
        file.write_text(json.dumps(older))
    assert isinstance(shelf.one().backend, ServeBackend)
    assert shelf.started() == ["server config", "server description"]


def test_what_is_started_is_the_copy_that_was_listed(shelf, tmp_path) -> None:
    """I3: a file that is swapped while a server of it rests is not called."""
    path = shelf.program("server", server())

    async def swapped(crib: toolcrib.Crib) -> list[toolcrib.Result]:
        before = await crib.call("custom_tool_server")
        path.write_text(f"#!/bin/sh\n: > {tmp_path}/canary\n")
        return [before, await crib.call("custom_tool_server")]

    before, after = shelf.opened(swapped)
    assert (before.data, after.error.code) == ("served", "TOOL_PIN_MISMATCH")
    assert not (tmp_path / "canary").exists()


def test_closing_the_crib_ends_it(shelf, tmp_path) -> None:
    """I7"""
    shelf.program("server", server().replace("done;;", f"done; : > {tmp_path}/ended;;"))
    called(shelf)
    assert (tmp_path / "ended").exists()


def test_a_server_that_is_not_trusted_is_not_started(shelf) -> None:
    """I1"""
    shelf.program("server", server(), of_project=True)
    assert [each.error.code for each in called(shelf)] == ["WORKSPACE_UNTRUSTED"]
    assert shelf.started() == []


# `toolcrib check`


def test_check_starts_it_and_asks_nothing(shelf, run_cli, tmp_path) -> None:
    shelf.program("server", server().replace('echo "{', f': > {tmp_path}/asked; echo "{{'))
    done = run_cli("check", "server", "--json")
    assert (done.returncode, json.loads(done.stdout)["faults"]) == (0, 0)
    assert "server serve" in shelf.started()
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("ready", "why"),
    [
        ("exit 3", "exit status 3"),
        ("echo ready", "its first line is 'ready'"),
        ("exec 1>&-; cat", 'had not printed {"serve": 1}'),
    ],
)
def test_check_says_what_keeps_it_from_serving(shelf, run_cli, ready, why) -> None:
    shelf.program("server", server().replace("""serve) echo '{"serve": 1}'""", f"serve) {ready}"))
    done = run_cli("check", "server", "--json")
    (finding,) = json.loads(done.stdout)["checked"][0]["findings"]
    assert (done.returncode, finding["severity"], finding["pointer"]) == (1, "fault", "/serve")
    assert why in finding["message"] and "flushed" in finding["fix"]


def test_show_says_what_it_is(shelf, run_cli) -> None:
    shelf.program("server", server())
    shown = json.loads(run_cli("show", "server", "--json").stdout)
    assert (shown["dialect"], shown["environment"]) == ("run", ["PATH", "HOME", "USER"])


def test_several_loops_one_after_the_other(shelf) -> None:
    """A crib may be used from another loop than the one that opened it."""
    shelf.program("server", server())
    crib = build(workspace=shelf.project, home=shelf.home, approver=toolcrib.SaysYes())
    asyncio.run(crib.start())
    results = [asyncio.run(crib.call("custom_tool_server")) for _ in range(3)]
    asyncio.run(crib.close())
    assert [each.data for each in results] == ["served"] * 3
    assert [each.metadata["serve"] for each in results] == ["started"] * 3
