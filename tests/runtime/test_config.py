"""config.yaml: defaults, errors with file and line, and a project that may only tighten."""

import os
from pathlib import Path

import pytest

from toolcrib.core.errors import ConfigError
from toolcrib.core.limits import Limits
from toolcrib.runtime.config import Config, read
from toolcrib.runtime.rights import Rights, Ruling
from toolcrib.sandbox.cage import Bounds

ROOT = Path(__file__).parents[2]


def from_user(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    return read(str(path), None)


def from_both(tmp_path: Path, user: str, project: str) -> Config:
    path = tmp_path / "config.yaml"
    path.write_text(user)
    return read(str(path), (str(tmp_path / "project.yaml"), project.encode()))


def test_nothing_configured_is_all_defaults(tmp_path: Path) -> None:
    """K34-K39, K43: enabled, 30 s, 1 MiB, PATH HOME USER."""
    config = read(str(tmp_path / "none.yaml"), None)
    assert config == Config()
    assert (config.enabled, config.limits, config.variables) == (
        True,
        Limits(30.0, 1048576, None),
        ("PATH", "HOME", "USER"),
    )
    assert (config.prefix, config.local_dir) == ("custom_tool_", "./.toolcrib/tools")


@pytest.mark.parametrize(
    "text", ["", "custom_tools:\n", "custom_tools: {}\n", "approval:\n  tools:\n", "# only a comment\n"]
)
def test_what_is_empty_or_partly_there_falls_back(tmp_path: Path, text: str) -> None:
    """K43"""
    assert from_user(tmp_path, text) == Config()


def test_every_key_of_custom_tools(tmp_path: Path) -> None:
    """K37-K42, K49"""
    config = from_user(
        tmp_path,
        "custom_tools: {enabled: false, global_dir: ~/t, local_dir: ./x, timeout: 1500ms, max_output_size: 2048,"
        " max_memory: 1MiB, env_whitelist: [PATH, LANG], prefix: my_}",
    )
    assert (config.enabled, config.global_dir, config.local_dir) == (False, "~/t", "./x")
    assert config.limits == Limits(1.5, 2048, 1048576)
    assert (config.variables, config.prefix) == (("PATH", "LANG"), "my_")


def test_the_sample_is_the_defaults(tmp_path: Path) -> None:
    """K44: a sample documents every key, with comments, and says what is true."""
    text = (ROOT / "examples" / "config.yaml").read_text()
    sample = from_user(tmp_path, text)
    assert sample == Config(global_dir="~/.toolcrib/tools")
    for key in ("enabled", "global_dir", "local_dir", "timeout", "max_output_size", "env_whitelist"):
        assert f"  {key}:" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("custom_tool: {}", ":1: unknown key 'custom_tool'; did you mean custom_tools?"),
        ("custom_tools:\n  timeoutt: 5s", ":2: unknown key 'timeoutt'; did you mean timeout?"),
        ("custom_tools:\n  timeout: 0", ":2: custom_tools.timeout: 0 is not a duration above zero"),
        ("custom_tools:\n  enabled: yes", ":2: custom_tools.enabled: 'yes' is neither true nor false"),
        ("custom_tools:\n  enabled: on", "'on' is neither"),
        ("approval:\n  default: allow", ":2: approval.default: 'allow' is not one of preApproved, ask, blocked"),
        ("approval:\n  tools:\n    x: true", ":3: approval.tools.x: True is not one of"),
        ("approval: blocked", ":1: approval must be a mapping"),
        ("approval: {tools: [x]}", ":1: approval.tools: must be a mapping"),
        ("sandbox: chroot", ":1: sandbox: 'chroot' is not one of off, process, auto, landlock, bubblewrap"),
        ("compat: [vim]", "'vim' is not one of kodelet, forge, amp"),
        ("custom_tools: {env_whitelist: ['A=B']}", "'A=B' is not the name of an environment variable"),
        ("tools: {x: {timeout: soon}}", "tools.x.timeout: 'soon' is not a duration"),
        ("tools: {x: {color: red}}", "unknown key 'color'"),
        ("a: 1\na: 2", ":2: the key 'a' stands here for the second time"),
        ("a: &x 1\nb: *x", ":1: anchors and aliases are not used here"),
        ("a: !!python/object:os.system x", "tags such as"),
        ("approval: {default: ask", "expected"),
        ("- a list", "the file must be a mapping"),
        ("a: 1\n---\nb: 2", "one document only"),
        ("x: " + "[" * 50 + "]" * 50, "nested deeper than 32 levels"),
        ("\tx: 1", ":1:"),
    ],
)
def test_a_wrong_file_says_where_and_what(tmp_path: Path, text: str, message: str) -> None:
    """K56; I9: unknown keys and values are refused, with path and line."""
    with pytest.raises(ConfigError) as caught:
        from_user(tmp_path, text)
    assert str(tmp_path / "config.yaml") in str(caught.value) and message in str(caught.value)
    assert caught.value.code == "CONFIG_INVALID"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError, match=":2: not UTF-8"):
        read(str(tmp_path / "config.yaml"), None)


def test_every_key_of_the_design_is_known(tmp_path: Path) -> None:
    config = from_user(
        tmp_path,
        "toolsets: {filesystem: {}}\nmcp_servers: {x: {command: y}}\nnetwork: {allow: ['127.0.0.1:80']}\ncompat: [kodelet, forge, amp]\n"
        "tools: {x: {timeout: 5s, sandbox: off, network: on, env: [LANG], secrets: [KEY], warm: true}}",
    )
    assert config.tools["x"].seconds == 5 and config.tools["x"].variables == ("LANG",)
    assert config.rights == {"x": Rights("off", "on")}


def test_what_tools_and_kinds_may_have(tmp_path: Path) -> None:
    text = """sandbox: landlock
kinds:
  script: {sandbox: bubblewrap, network: [API.example.com, "*.example.org:8443"], limits: {memory: 1g, processes: 50}}
  run_command: {network: on}
tools:
  x: {files: {ro: [/srv/data], rw: [~/out/../out]}, limits: {cpu: 1500ms, file_size: 10m}}
  y: {network: []}
"""
    config = from_user(tmp_path, text)
    assert config.ruling == Ruling(
        "landlock",
        {
            "script": Rights(
                "bubblewrap", ("api.example.com", "*.example.org:8443"), bounds=Bounds(1 << 30, 50, None, None)
            ),
            "run_command": Rights(network="on"),
        },
        {
            "x": Rights(ro=("/srv/data",), rw=(os.path.expanduser("~/out"),), bounds=Bounds(None, None, 10 << 20, 2)),
            "y": Rights(network="off"),
        },
    )
    assert config.ruling.of("script", "x").sandbox == "bubblewrap"
    assert config.ruling.of("binary", "x").sandbox == "landlock"
    assert (config.ruling.of("script", "y").network, config.ruling.of("script", "z").bounds.processes) == ("off", 50)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("network: sometimes", "'sometimes' is not on, off, or a list of hosts"),
        ("network: true", "True is not on, off, or a list of hosts"),
        ("network: ['https://a.b']", "'https://a.b' is not a host"),
        ("network: ['*']", "'*' is not a host"),
        ('network: ["a.b\\0.c"]', "is not a host"),
        ("files: {ro: [data]}", "'data' is not an absolute path"),
        ("files: {rw: ['~']}", "'~' cannot be given to a program: it holds everything you have"),
        ("files: {ro: [/]}", "'/' cannot be given to a program"),
        ("files: {ro: [/etc]}", "it is a part of the system"),
        ("files: {r: []}", "unknown key 'r'"),
        ("limits: {memory: much}", "is not a size"),
        ("limits: {processes: 0}", "0 is not a number of at least 1"),
        ("limits: {ram: 1g}", "unknown key 'ram'"),
        ("sandbox: docker", "'docker' is not one of"),
    ],
)
@pytest.mark.parametrize("section", ["tools: {x: {%s}}", "kinds: {script: {%s}}"])
def test_what_nobody_may_have_is_refused(tmp_path: Path, section: str, said: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_user(tmp_path, section % said)
    assert message in str(caught.value) and caught.value.line == 1


def test_a_kind_that_there_is_not_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown key 'scripts'; did you mean script"):
        from_user(tmp_path, "kinds: {scripts: {network: on}}")


def test_a_project_tightens(tmp_path: Path) -> None:
    config = from_both(
        tmp_path,
        "approval: {tools: {a: preApproved, b: ask}}\ncustom_tools: {timeout: 60s}",
        "approval: {default: ask, tools: {a: blocked, b: preApproved, c: blocked}}\n"
        "custom_tools: {timeout: 10s, max_output_size: 1000, env_whitelist: [PATH]}\nsandbox: bubblewrap",
    )
    decisions = {name: verdict.decision.wire for name, verdict in config.approval_tools.items()}
    assert decisions == {"a": "blocked", "b": "ask", "c": "blocked"}
    assert config.approval_default is not None and config.approval_default.decision.wire == "ask"
    assert (config.limits.seconds, config.limits.output_bytes, config.variables) == (10, 1000, ("PATH",))
    assert config.tighter == (Ruling("bubblewrap"),) and config.problems == ()


@pytest.mark.parametrize(
    "project",
    [
        "approval: {default: preApproved}",
        "approval: {tools: {custom_tool_evil: preApproved}}",
        "custom_tools: {global_dir: ./evil}",
        "custom_tools: {local_dir: ./other}",
        "custom_tools: {prefix: ''}",
        "sandbox: off",
        "network: {allow: [evil.example]}",
        "mcp_servers: {x: {command: evil}}",
        "compat: [kodelet]",
        "tools: {custom_tool_x: {env: [AWS_SECRET_ACCESS_KEY]}}",
        "tools: {custom_tool_x: {network: on}}",
    ],
)
def test_a_project_cannot_loosen(tmp_path: Path, project: str) -> None:
    """What would loosen changes nothing, and is reported."""
    config = from_both(tmp_path, "", project)
    (problem,) = config.problems
    assert problem.code == "CONFIG_INVALID" and "would loosen" in problem.message
    assert (config.approval_default, dict(config.approval_tools), config.sandbox, config.compat) == (
        None,
        {},
        "auto",
        (),
    )
    assert (config.global_dir, config.local_dir, config.prefix) == ("", "./.toolcrib/tools", "custom_tool_")
    assert all(settings.variables == () for settings in config.tools.values())


@pytest.mark.parametrize(
    "project",
    ["custom_tools: {timeout: 10m}", "custom_tools: {max_output_size: 1g, env_whitelist: [PATH, HOME, USER, SECRET]}"],
)
def test_a_project_cannot_raise_a_limit(tmp_path: Path, project: str) -> None:
    config = from_both(tmp_path, "", project)
    assert (config.limits, config.variables) == (Limits(), ("PATH", "HOME", "USER"))


def test_a_project_changes_nothing_of_which_it_does_not_speak(tmp_path: Path) -> None:
    """What the user allowed beyond the defaults is not taken back by a project that says nothing of it."""
    user = "custom_tools: {timeout: 60s, max_output_size: 2097152, env_whitelist: [PATH, LANG]}\nsandbox: off"
    config = from_both(tmp_path, user, "approval: {tools: {x: ask}}")
    assert (config.limits, config.variables, config.sandbox) == (Limits(60, 2097152), ("PATH", "LANG"), "off")
    assert config.problems == ()


def test_what_the_user_took_away_no_project_brings_back(tmp_path: Path) -> None:
    config = from_both(tmp_path, "toolsets: {}", "toolsets: {shell: {}, filesystem: {}}")
    assert config.toolsets.named == frozenset()
    assert not config.toolsets.offers("run_command")
    assert len(config.problems) == 2


@pytest.mark.parametrize("demand", ["sandbox: off", "sandbox: process", "network: on"])
def test_a_project_cannot_lift_what_is_demanded_for_a_tool(tmp_path: Path, demand: str) -> None:
    user = "tools: {x: {sandbox: bubblewrap, network: off}}"
    config = from_both(tmp_path, user, f"tools: {{x: {{{demand}}}}}")
    assert (config.rights, config.tighter) == ({"x": Rights("bubblewrap", "off")}, ())
    (problem,) = config.problems
    assert "would loosen" in problem.message


def test_a_project_may_demand_more_for_a_tool(tmp_path: Path) -> None:
    config = from_both(tmp_path, "tools: {x: {timeout: 5s}}", "tools: {x: {network: off}, y: {sandbox: bubblewrap}}")
    assert config.tighter == (Ruling(tools={"x": Rights(network="off"), "y": Rights("bubblewrap")}),)
    assert config.problems == ()


@pytest.mark.parametrize("said", ["sandbox: process", "network: on", "files: {ro: [/srv/x]}", "files: {rw: [/srv/x]}"])
@pytest.mark.parametrize("section", ["tools: {x: {%s}}", "kinds: {executable: {%s}}"])
def test_a_project_gives_no_tool_anything(tmp_path: Path, section: str, said: str) -> None:
    config = from_both(tmp_path, "", section % said)
    (problem,) = config.problems
    assert (problem.code, "would loosen" in problem.message) == ("CONFIG_INVALID", True)
    assert (config.tighter, config.rights, config.kinds) == ((), {}, {})
