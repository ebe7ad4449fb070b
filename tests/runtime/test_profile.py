"""Profiles: other tools and other rules for another occasion, by one file that is chosen by its name."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import toolcrib
from toolcrib.core.source import Problem
from toolcrib.policy.project_files import project_files
from toolcrib.runtime.build import build, read_config
from toolcrib.runtime.config import Config
from toolcrib.runtime.profile import Profile
from toolcrib.runtime.rights import Rights
from toolcrib.store.home import Home
from toolcrib.store.state import State

FILES = {
    "read_file": "preApproved",
    "list_directory": "preApproved",
    "list_files": "preApproved",
    "file_exists": "preApproved",
    "file_info": "preApproved",
    "read_artifact": "preApproved",
    "grep_artifact": "preApproved",
    "write_file": "ask",
    "edit_file": "ask",
    "delete_file": "ask",
}
"""The toolset `filesystem`, by its defaults."""
SHELL = {"run_command": "ask", **dict.fromkeys(("job_output", "job_kill", "job_list"), "preApproved")}
PROGRAM = """#!/bin/sh
case $1 in
  description) echo '{"name": "NAME", "description": "WORDS", "input_schema": {"type": "object"}}' ;;
  run) : > "ran-NAME"; BODY ;;
esac
"""
MODULE = '''
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def shout(text: str) -> str:
    """Shout."""
    return text.upper()
'''


class Place(NamedTuple):
    """A home, a project, and what can be put into them."""

    home: Path
    workspace: Path

    def user(self, config: str = "", **profiles: str) -> None:
        (self.home / "config.yaml").write_text(config)
        self._write(self.home / "profiles", profiles)

    def project(self, config: str = "", **profiles: str) -> None:
        """Written, and trusted as it is."""
        (self.workspace / ".toolcrib").mkdir(exist_ok=True)
        (self.workspace / ".toolcrib" / "config.yaml").write_text(config)
        self._write(self.workspace / ".toolcrib" / "profiles", profiles)
        self.trust()

    def trust(self) -> None:
        at = str(self.workspace)
        build(home=self.home, workspace=at).trust.add(at, project_files(at))

    def _write(self, directory: Path, profiles: dict[str, str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in profiles.items():
            (directory / f"{name}.yaml").write_text(text)

    def program(
        self, name: str, *, words: str = "Does it.", body: str = "echo done", where: str = "home/tools"
    ) -> None:
        path = {"home/tools": self.home / "tools", "project": self.workspace / ".toolcrib" / "tools"}[where] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PROGRAM.replace("NAME", name).replace("WORDS", words).replace("BODY", body))
        path.chmod(0o755)

    def config(self, profile: str | None = "p") -> Config:
        return read_config(str(self.workspace), Home(self.home), profile)

    def use(self, profile: str | None, do: Callable[[toolcrib.Crib], Any]) -> Any:
        async def once() -> Any:
            async with toolcrib.open(home=self.home, workspace=self.workspace, profile=profile) as crib:
                found = do(crib)
                return await found if asyncio.iscoroutine(found) else found

        return asyncio.run(once())

    def tools(self, profile: str | None = "p") -> dict[str, str]:
        """Name and approval of what is on offer."""
        return self.use(profile, lambda crib: {each.name: crib.verdict(each).decision.wire for each in crib.tools()})

    def problems(self, profile: str | None = "p") -> tuple[Problem, ...]:
        return self.use(profile, lambda crib: crib.problems())

    def call(self, name: str, args: dict[str, Any] | None = None, *, profile: str = "p", yes: bool = True) -> Any:
        approver = toolcrib.SaysYes() if yes else None
        return toolcrib.call_sync(
            name, args or {}, home=self.home, workspace=self.workspace, profile=profile, approver=approver
        )

    def ran(self) -> list[str]:
        return sorted(path.name for path in self.workspace.glob("ran-*"))


@pytest.fixture
def place(home: Path, workspace: Path) -> Place:
    return Place(home, workspace)


def test_different_tools_on_different_occasions(place: Place) -> None:
    """K80, G3: `toolsets:` as in the configuration; `{}` means a toolset's defaults."""
    place.user(reader="toolsets: {filesystem: {}}", runner="toolsets: {shell: {}}", none="toolsets: {}", plain="")
    assert place.tools("reader") == FILES
    assert place.tools("runner") == SHELL
    assert place.tools("none") == {}
    assert place.tools("plain") == place.tools(None)


def test_the_users_toolsets_are_replaced_as_a_whole(place: Place) -> None:
    place.user(
        "toolsets: {filesystem: {approval: {default: blocked}}, shell: {rules: [{pattern: ls, approval: blocked}]}}",
        p="toolsets: {filesystem: {}}",
        q="approval: {tools: {run_command: preApproved}}",
    )
    assert place.tools("p") == FILES
    assert place.config("p").toolsets.rules == ()
    assert len(place.config("q").toolsets.rules) == 1
    assert place.tools("q") == {**dict.fromkeys(FILES, "blocked"), **SHELL, "run_command": "preApproved"}


def test_approvals_are_replaced_entry_by_entry(place: Place) -> None:
    """The user's own word may loosen the user's own word."""
    place.user(
        "approval: {default: ask, tools: {read_file: blocked, write_file: blocked}}\ntoolsets: {filesystem: {}}",
        p="approval: {tools: {read_file: preApproved}}",
        q="approval: {default: blocked}",
    )
    asked = dict.fromkeys(FILES, "ask")
    assert place.tools("p") == {**asked, "read_file": "preApproved", "write_file": "blocked"}
    assert place.tools(None) == {**asked, "read_file": "blocked", "write_file": "blocked"}
    assert place.config("q").approval_default.decision.wire == "blocked"  # type: ignore[union-attr]
    assert place.config("p").approval_default.decision.wire == "ask"  # type: ignore[union-attr]


def test_settings_of_a_tool_are_replaced_key_by_key(place: Place) -> None:
    """What is demanded for a tool stays demanded, unless the profile says otherwise of that very thing."""
    place.user(
        "tools: {x: {timeout: 9s, env: [LANG], secrets: [KEY], sandbox: bubblewrap, network: off}}",
        p="tools: {x: {timeout: 5s}, y: {env: [TERM]}}",
        q="tools: {x: {sandbox: auto, env: {A: '${env:KEY}'}}}",
        r="tools: {x: {sandbox: auto, network: on, secrets: []}}",
    )
    config = place.config("p")
    assert (config.tools["x"].seconds, config.tools["x"].variables) == (5, ("LANG",))
    assert config.tools["y"].variables == ("TERM",)
    assert [grant.name for grant in config.secrets["x"]] == ["KEY"]
    assert config.rights["x"] == Rights("bubblewrap", "off")
    config = place.config("q")
    assert (config.tools["x"].seconds, config.tools["x"].variables) == (9, ())
    assert config.templates == {"x": {"A": "${env:KEY}"}}
    assert config.rights["x"] == Rights("auto", "off")
    config = place.config("r")
    assert (config.rights["x"], config.secrets) == (Rights("auto", "on"), {})


def test_sandbox_and_network_may_stand_in_a_profile(place: Place) -> None:
    place.user("sandbox: process", p="sandbox: off\nnetwork: {allow: [api.example.com]}", q="")
    assert (place.config("p").sandbox, place.config("q").sandbox) == ("off", "process")


def test_what_kinds_of_tools_may_have_may_stand_in_a_profile(place: Place) -> None:
    place.user("kinds: {script: {network: on, sandbox: landlock}}", p="kinds: {script: {network: off}}")
    assert place.config("p").kinds == {"script": Rights("landlock", "off")}


def test_the_words_of_a_profile_are_kept(place: Place) -> None:
    text = "name: p\ndescription: Looks.\nmodel: some-model\ninstructions: |\n  Be kind.\n  Be brief.\n"
    place.user(p=text)
    assert place.config("p").profile == Profile("p", "Looks.", "some-model", "Be kind.\nBe brief.\n")
    assert place.config(None).profile is None
    place.project(p="description: Theirs.\nmodel: other\n", q="instructions: Do.")
    assert place.config("p").profile == Profile("p", "Looks.", "some-model", "Be kind.\nBe brief.\n")
    assert place.config("q").profile == Profile("q", instructions="Do.")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("toolset: {}", ":1: unknown key 'toolset'; did you mean toolsets?"),
        ("name: p\ncompat: [amp]", ":2: unknown key 'compat'"),
        ("mcp_servers: {}", "unknown key 'mcp_servers'"),
        ("custom_tools: {}", "unknown key 'custom_tools'"),
        ("description: x\nname: q", ":2: name: 'q' is not what the file is called"),
        ("name: [p]", "is not text"),
        ("model: 5", "model: 5 is not text"),
        ("- a", "must be a mapping"),
        ("sources: [a]", "sources must be a mapping"),
        ("sources: {onli: [a]}", "did you mean only?"),
        ("sources:\n  only: a", ":2: sources.only: must be a list"),
        ("sources: {only: ['git*']}", "* stands for whole segments"),
        ("sources: {without: ['']}", "a tool's name is empty"),
        ("sources: {prefix: 'a b'}", "cannot begin a tool's name"),
        ("sources: {first: me}", "'me' is not one of project, user"),
        ("sources: {rename: {a: 'b c'}}", "'b c' is not a tool name"),
        ("sources: {rename: {a: b-c, d: b_c}}", "a and d cannot both be called b_c"),
        ("sources: {rename: {read_file: r}}", "read_file is built in and keeps its name"),
        ("sources: {rename: {a: read-file}}", "the name of a built-in tool"),
        ("sources: {rename: {a: 5}}", "5 is not text"),
        ("sources: {rename: {a: b}}\napproval: {tools: {b: ask}}", ":2: b is what a is called here"),
        ("sources: {rename: {a: b}, prefix: x_}\ntools: {x_b: {timeout: 5s}}", ":2: x_b is what a is called here"),
        ("toolsets: {custom: {isolation: container}}", "not one of inline, process"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(place: Place, text: str, says: str) -> None:
    place.user(p=text)
    with pytest.raises(toolcrib.ConfigError) as caught:
        place.config("p")
    assert f"{place.home}/profiles/p.yaml:" in str(caught.value) and says in str(caught.value)
    assert place.config(None) == Config()


def test_a_profile_that_is_nowhere_names_those_that_are(place: Place) -> None:
    place.user(reader="", writer="")
    place.project(theirs="")
    (place.home / "profiles" / "notes.txt").write_text("")
    with pytest.raises(toolcrib.ConfigError) as caught:
        place.config("reade")
    assert "there is no profile 'reade'; there are reader, theirs, writer" in str(caught.value)
    assert caught.value.code == "CONFIG_INVALID"


def test_the_first_profile_is_said_how_to_write(place: Place) -> None:
    with pytest.raises(toolcrib.ConfigError, match=f"there are none yet; write {place.home}/profiles/p.yaml"):
        place.config("p")


# Python modules and packages


def test_a_module_is_looked_for_beside_the_profile(place: Place) -> None:
    """G22, G23, G24, G8: relative to the file that names it; what it lists and nothing else; its own approvals."""
    place.user(
        p="""
toolsets:
  custom:
    module: ./tools.py
    tools: [add]
    approval: {default: ask, tools: {add: preApproved}}
""",
        q="toolsets: {custom: {module: ./tools.py, tools: [add, shout]}}",
    )
    (place.home / "profiles" / "tools.py").write_text(MODULE)
    assert place.tools("p") == {"add": "preApproved"}
    assert place.call("add", {"a": 2, "b": 3}, yes=False).data == 5
    assert place.tools("q") == {"add": "ask", "shout": "ask"}
    assert "add" not in place.tools(None)


def test_a_package_can_be_named(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G31"""
    package = tmp_path / "elsewhere" / "acme_profile_tools"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(MODULE + "web_tools = [add, shout]\n")
    monkeypatch.syspath_prepend(str(package.parent))
    place.user(
        p="toolsets: {external: {package: acme_profile_tools, import: web_tools,"
        " approval: {default: blocked, tools: {add: ask}}}}"
    )
    assert place.tools("p") == {"add": "blocked", "shout": "blocked"}  # `blocked` is absolute, also as a default
    assert place.tools(None).keys().isdisjoint({"add", "shout"})


def test_a_module_that_must_not_run_here_runs_elsewhere(place: Place) -> None:
    (place.home / "profiles").mkdir()
    (place.home / "profiles" / "tools.py").write_text(
        'import os\n\n\ndef where() -> int:\n    """Say which process this is."""\n    return os.getpid()\n'
    )
    custom = "toolsets: {custom: {module: tools.py, tools: [where], isolation: ISOLATION}}"
    place.user(p=custom.replace("ISOLATION", "process"), q=custom.replace("ISOLATION", "inline"))
    assert place.call("where", profile="q").data == os.getpid()
    elsewhere = place.call("where", profile="p").data
    assert isinstance(elsewhere, int) and elsewhere != os.getpid()


# What is offered, and under which names


def test_only_and_without(place: Place) -> None:
    """Built-in tools are meant, too."""
    for name in ("git_log", "git_push", "deploy"):
        place.program(name)
    place.user(
        p="sources: {only: ['custom_tool_git_*', read_file], without: [custom_tool_git_push]}",
        q="sources: {without: ['custom_tool_*', run_command]}",
    )
    assert sorted(place.tools("p")) == ["custom_tool_git_log", "read_file"]
    offered = place.tools("q")
    assert "read_file" in offered and "run_command" not in offered and not any("git" in name for name in offered)
    result = place.call("custom_tool_git_push", profile="p")
    assert (result.error.code, place.ran()) == ("TOOL_NOT_FOUND", [])


def test_what_the_host_hands_over_is_left_alone(place: Place) -> None:
    @toolcrib.tool
    def mine() -> str:
        """Mine."""
        return "mine"

    place.user(p="sources: {only: [read_file], prefix: x_}")
    result = toolcrib.call_sync("mine", {}, home=place.home, workspace=place.workspace, tools=[mine], profile="p")
    assert result.data == "mine"


def test_other_names(place: Place) -> None:
    for name in ("greet", "leave"):
        place.program(name)
    place.user(p="toolsets: {}\nsources: {prefix: my_, rename: {custom_tool_greet: hello}}")
    assert place.tools() == {"my_hello": "ask", "my_custom_tool_leave": "ask"}
    assert place.call("my_hello").data == "done\n"
    for name in ("custom_tool_greet", "hello", "greet", "my_custom_tool_greet"):
        assert place.call(name).error.code == "TOOL_NOT_FOUND"
    assert place.ran() == ["ran-greet"]
    assert place.use("p", lambda crib: (crib.full_name("greet"), crib.full_name("leave"))) == (
        "my_hello",
        "my_custom_tool_leave",
    )


@pytest.mark.parametrize("sources", ["rename: {custom_tool_greet: hello}", "prefix: hello_"])
@pytest.mark.parametrize(
    "refusal",
    [
        "config:approval: {tools: {custom_tool_greet: blocked}}",
        "config:approval: {tools: {NEW: blocked}}",
        "policy:rules: [{tool: custom_tool_greet, approval: blocked}]",
        "policy:rules: [{tool: 'custom_tool_*', approval: blocked}]",
        "policy:rules: [{tool: 'hello*', approval: blocked}, {tool: NEW, approval: blocked}]",
    ],
)
def test_no_name_slips_out_of_a_refusal(place: Place, sources: str, refusal: str) -> None:
    """Neither the tool's own name nor the new one, whatever else is pre-approved."""
    new = "hello" if "rename" in sources else "hello_custom_tool_greet"
    where, text = refusal.replace("'hello*'", "hello").replace("NEW", new).split(":", 1)
    place.program("greet")
    place.user(p=f"approval: {{default: preApproved}}\nsources: {{{sources}}}")
    (place.home / f"{where}.yaml").write_text(text)
    result = place.call(new)
    assert (result.error.code, place.ran()) == ("BLOCKED_BY_POLICY", [])
    assert place.tools()[new] == "blocked"


def test_an_approval_of_one_name_is_no_approval_of_another_tool(place: Place) -> None:
    """`deploy` was pre-approved, and another tool is called so now."""
    place.program("wipe")
    place.user("approval: {tools: {deploy: preApproved}}", p="sources: {rename: {custom_tool_wipe: deploy}}")
    (place.home / "policy.yaml").write_text("rules: [{tool: deploy, approval: preApproved}]")
    result = place.call("deploy", yes=False)
    assert (result.error.code, place.ran()) == ("APPROVAL_REQUIRED", [])
    assert "rules and settings call it custom_tool_wipe" in result.error.message


def test_what_is_pre_approved_stays_so_under_another_name(place: Place) -> None:
    place.program("greet")
    place.user("approval: {tools: {custom_tool_greet: preApproved}}", p="sources: {prefix: my_}")
    assert place.call("my_custom_tool_greet", yes=False).data == "done\n"


def test_a_remembered_answer_is_for_the_name_it_was_given_to(place: Place) -> None:
    """I3: approvals bind to the name that was shown, and to the content."""
    place.program("greet")
    place.user(p="sources: {rename: {custom_tool_greet: hello}}")
    tool = place.use(None, lambda crib: crib.find("custom_tool_greet"))
    State(Home(place.home)).add(tool.id, tool.digest, {"any": True}, shown="", scope="user", key="")
    assert toolcrib.call_sync("custom_tool_greet", home=place.home, workspace=place.workspace).data == "done\n"
    (place.workspace / "ran-greet").unlink()
    result = place.call("hello", yes=False)
    assert (result.error.code, place.ran()) == ("APPROVAL_REQUIRED", [])


def test_secrets_and_settings_follow_the_tool_and_not_the_name(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "a-secret-value")
    for name in ("mine", "other"):
        place.program(name, body='echo "${#API_KEY}"')
    place.user(
        "tools: {custom_tool_mine: {secrets: [API_KEY], timeout: 7s}}",
        p="sources: {without: [custom_tool_mine], rename: {custom_tool_other: custom_tool_mine}}",
        q="sources: {rename: {custom_tool_mine: yours}}",
    )
    assert place.call("custom_tool_mine", profile="p").data == "0\n"
    assert place.call("yours", profile="q").data == "14\n"
    assert place.use("q", lambda crib: crib.find("yours").limits.seconds) == 7


@pytest.mark.parametrize("name", ["custom_tool_greet", "hello"])
def test_a_protection_that_is_demanded_is_not_lost_with_a_name(place: Place, name: str) -> None:
    place.program("greet")
    place.user(f"tools: {{{name}: {{network: off}}}}", p="sources: {rename: {custom_tool_greet: hello}}")
    result = place.call("hello")
    assert (result.error.code, place.ran()) == ("SANDBOX_UNAVAILABLE", [])


def test_a_name_that_is_taken_is_nobodys(place: Place) -> None:
    for name in ("one", "two"):
        place.program(name)
    place.user(p="toolsets: {}\nsources: {rename: {custom_tool_one: custom_tool_two}}")
    assert place.tools() == {}
    assert place.call("custom_tool_two").error.code == "TOOL_NAME_CONFLICT"
    assert place.call("custom_tool_one").error.code == "TOOL_NOT_FOUND"
    assert place.ran() == []


def test_a_name_that_an_untrusted_project_holds_does_not_fall_back(place: Place) -> None:
    """Under its new name neither: the user's tool of that name is not called in its place."""
    place.program("greet")
    place.program("greet", where="project")
    place.user(p="sources: {rename: {custom_tool_greet: hello}}")
    assert place.call("hello").error.code == "WORKSPACE_UNTRUSTED"
    assert place.ran() == []
    place.trust()
    assert place.call("hello").data == "done\n"


def test_a_broken_tool_says_what_is_wrong_under_its_new_name(place: Place) -> None:
    place.program("greet")
    (place.home / "tools" / "greet").write_text("#!/bin/sh\nexit 3\n")
    place.user(p="sources: {rename: {custom_tool_greet: hello}}")
    assert place.call("hello").error.code == "EXECUTION_ERROR"


def test_a_tool_that_would_take_a_built_ins_name_is_not_offered(place: Place) -> None:
    place.user(p="toolsets: {filesystem: {}, custom: {module: t.py, tools: [file]}}\nsources: {prefix: read_}")
    (place.home / "profiles" / "t.py").write_text('def file(path: str) -> str:\n    """Mine."""\n    return "mine"\n')
    (place.workspace / "notes").write_text("theirs")
    assert place.tools() == FILES
    assert [each.code for each in place.problems()] == ["TOOL_NAME_CONFLICT"]
    assert "theirs" in place.call("read_file", {"path": "notes"}).output


def test_whose_tools_come_first(place: Place) -> None:
    place.program("greet", words="Of the user.")
    place.program("greet", words="Of the project.", where="project")
    place.user(p="", q="sources: {first: user}")
    place.trust()

    def words(profile: str) -> str:
        return place.use(profile, lambda crib: crib.find("custom_tool_greet").description)

    assert (words("p"), words("q")) == ("Of the project.", "Of the user.")


# The project's own


def test_a_projects_profile_stands_over_all_of_the_users(place: Place) -> None:
    """User's config, user's profile, project's config, project's profile."""
    place.user(
        "toolsets: {filesystem: {}, shell: {}}",
        p="approval: {tools: {read_file: preApproved, write_file: preApproved}}",
    )
    place.project(
        "approval: {tools: {read_file: ask}}", p="toolsets: {filesystem: {}}\napproval: {tools: {write_file: blocked}}"
    )
    assert place.tools("p") == {**FILES, "read_file": "ask", "write_file": "blocked"}
    assert place.problems("p") == ()


def test_a_project_alone_may_have_a_profile(place: Place) -> None:
    place.program("greet")
    place.project(
        reviewer="toolsets: {filesystem: {}}\nsources: {without: ['custom_tool_*', write_file, edit_file, delete_file]}"
    )
    assert place.tools("reviewer") == {name: said for name, said in FILES.items() if said == "preApproved"}


def test_both_may_take_tools_away(place: Place) -> None:
    for name in ("a", "b", "c"):
        place.program(name)
    place.user(p="toolsets: {}\nsources: {only: [custom_tool_a, custom_tool_b], prefix: my_}")
    place.project(p="sources: {only: [custom_tool_b, custom_tool_c]}")
    assert place.tools("p") == {"my_custom_tool_b": "ask"}


def test_a_project_says_where_its_module_is(place: Place) -> None:
    """For who runs it in a process of its own; nothing of it is imported here."""
    place.user()
    custom = "toolsets: {filesystem: {}, custom: {module: MODULE, tools: [add]}}"
    place.project(
        custom.replace("MODULE", "tools.py"),
        inner=custom.replace("MODULE", "../lib/tools.py"),
        outer=custom.replace("MODULE", "../../tools.py"),
        inline=custom.replace("MODULE", "t.py, isolation: inline"),
        other="toolsets: {filesystem: {}}",
        same="toolsets: {custom: {}}",
        silent="",
    )
    own = place.workspace / ".toolcrib"

    def named(profile: str | None) -> tuple[str, tuple[str, ...], str] | None:
        module = place.config(profile).toolsets.project_module
        return None if module is None else (module.path, module.tools, module.isolation)

    assert named(None) == (str(own / "tools.py"), ("add",), "process")
    assert named("inner") == (str(own / "lib/tools.py"), ("add",), "process")
    assert named("inline") == (str(own / "profiles/t.py"), ("add",), "process")
    assert named("outer") is None
    assert named("other") is None
    assert named("same") == named("silent") == named(None)
    said = [each.message for each in place.config("outer").problems]
    assert f"a project's module lies in {own}" in said[-1]
    said = [each.message for each in place.config("inline").problems]
    assert any("toolsets.custom.isolation would loosen" in each for each in said)
