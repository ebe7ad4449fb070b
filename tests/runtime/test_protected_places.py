"""What a command plants where others run or believe it does not stay, however it hides it; ordinary work does."""

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import toolcrib
from toolcrib.core.call import Result
from toolcrib.sandbox import finding
from toolcrib.sandbox.choose import choose

pytestmark = pytest.mark.confined
EVIL = "planted"
LATER = 10**10


@pytest.fixture(scope="session")
def tiers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return dict(choose(str(tmp_path_factory.mktemp("tiers"))).why)


@pytest.fixture(params=("landlock", "bubblewrap"))
def tier(request: pytest.FixtureRequest, tiers: dict[str, str], home: Path) -> str:
    if why := tiers.get(request.param, "not on this system"):
        pytest.skip(f"{request.param} does not hold here: {why}")
    (home / "config.yaml").write_text(f"sandbox: {request.param}\n")
    return str(request.param)


@pytest.fixture
def git(workspace: Path, tmp_path: Path) -> Callable[..., str]:
    """`git("commit", …)` in the workspace, as the user."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ("user.name=Me", "user.email=me@example.org", "protocol.file.allow=always")
    chosen = [word for each in settings for word in ("-c", each)]

    def run(*words: str, at: Path = workspace) -> str:
        return subprocess.run(
            ["git", *chosen, *words], cwd=at, env=env, check=True, capture_output=True, text=True
        ).stdout

    return run


@pytest.fixture
def repository(git: Callable[..., str], workspace: Path) -> Path:
    """With a commit, and hooks of the kind that `git init` makes."""
    git("init", "-q", "-b", "main", ".")
    (workspace / "file").write_text("mine\n")
    git("add", ".")
    git("commit", "-qm", "first")
    return workspace


def run(workspace: Path, home: Path, *commands: str) -> list[Result]:
    """One call after the other, in one process."""

    async def main() -> list[Result]:
        async with toolcrib.open(workspace=workspace, home=home, approver=toolcrib.SaysYes()) as crib:
            return [await crib.call("run_command", {"command": command}) for command in commands]

    return asyncio.run(main())


def planted(workspace: Path) -> set[str]:
    """Where in a workspace is something of what a command planted, or a link to it."""
    found = set()
    for folder, directories, files in os.walk(workspace):
        for name in (*directories, *files):
            path = Path(folder, name)
            content = (
                os.readlink(path)
                if path.is_symlink()
                else path.read_bytes().decode("latin-1")
                if path.is_file()
                else ""
            )
            if EVIL in content:
                found.add(str(path.relative_to(workspace)))
    return found


HIDDEN = {
    "its time set back": "touch -r . $TMPDIR/t; echo planted > .envrc; touch -r $TMPDIR/t .",
    "in a deep directory whose time is set back": "touch -r src $TMPDIR/t; echo planted > src/.envrc; touch -r $TMPDIR/t src",
    "among libraries": "touch pyvenv.cfg; echo planted > lib/.envrc",
    "among programs": "touch pyvenv.cfg; echo planted > bin/.envrc",
    "in a bare repository": "touch HEAD; mkdir objects refs; echo planted > src/.envrc",
    "where references are": "touch HEAD; mkdir objects; echo planted > refs/.envrc",
    "behind many directories": "mkdir a; cd a; seq 2100 | xargs mkdir; cd ..; mkdir src/x; echo planted > src/x/.envrc",
    "behind many names": "cd src; seq 100000 130000 | xargs touch; cd ..; mkdir src/x; echo planted > src/x/.envrc",
    "in what git takes for its own": (
        "cd sub; echo 'ref: refs/heads/m' > HEAD; echo ../planted > commondir; echo planted > config.worktree"
    ),
    "an agent's settings": "mkdir .roo; echo planted > .roo/mcp.json; echo planted > opencode.json",
}


@pytest.mark.parametrize("how", HIDDEN)
def test_what_is_hidden_does_not_stay(
    workspace: Path, home: Path, tier: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    for name in ("src", "lib", "bin", "refs", "sub"):
        (workspace / name).mkdir()
        (workspace / name / "file").write_text("mine")
    monkeypatch.setattr(finding.time, "time_ns", lambda now=time.time_ns: now() + LATER)  # all is remembered
    *_, result = run(workspace, home, "true", "true", HIDDEN[how])
    assert result.error is None and planted(workspace) == set()
    assert {each["what"] for each in result.metadata["denied"]} == {"put_aside"}
    assert all((workspace / name / "file").read_text() == "mine" for name in ("src", "lib", "bin", "refs", "sub"))


def test_what_is_too_much_to_be_looked_through_does_not_stay(
    workspace: Path, home: Path, tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_DIRECTORIES", 40)
    monkeypatch.setattr(finding, "MOST_NEW", 20)
    (workspace / "src").mkdir()
    many = "mkdir a; cd a; seq 50 | xargs mkdir; cd ..; mkdir -p a/x/y/z; echo planted > a/x/y/z/.envrc"
    (result,) = run(workspace, home, f"{many}; echo planted > src/.envrc")
    assert result.error is None and planted(workspace) == set()
    assert sorted(os.listdir(workspace)) == ["src"]


IN_GIT = {
    "its time set back": "touch -r .git $TMPDIR/t; echo ../planted > .git/commondir; touch -r $TMPDIR/t .git",
    "behind many names": "cd .git; seq 100000 130000 | xargs touch; echo ../planted > commondir",
    "references elsewhere": "mv .git/refs/heads .git/refs/h; ln -s /planted .git/refs/heads",
    "a reference elsewhere": "mkdir .git/refs/heads/a; ln -s /planted .git/refs/heads/a/b",
    "an old remote": "mkdir .git/remotes; echo 'URL: planted' > .git/remotes/origin",
    "an older remote": "mkdir -p .git/branches; echo planted > .git/branches/origin",
    "references of a new repository elsewhere": (
        "git init -q new; rmdir new/.git/refs/tags; ln -s /planted new/.git/refs/tags"
    ),
    "hooks of a module": "mkdir -p .git/modules/m/hooks; cp .git/HEAD .git/modules/m; echo planted > .git/modules/m/hooks/x",
}


@pytest.mark.parametrize("how", IN_GIT)
def test_what_is_hidden_in_a_repository_does_not_stay(
    repository: Path, git: Callable[..., str], home: Path, tier: str, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(finding.time, "time_ns", lambda now=time.time_ns: now() + LATER)
    *_, result = run(repository, home, "true", "true", IN_GIT[how])
    assert result.error is None and planted(repository) == set()
    assert "put_aside" in {each["what"] for each in result.metadata["denied"]}
    assert git("rev-parse", "--git-dir").strip() == ".git"


class Led(NamedTuple):
    links: dict[str, str]
    there: str
    command: str


LED = {
    "a file": Led({".envrc": "conf/envrc"}, "conf/envrc", "echo planted > conf/envrc"),
    "a directory": Led({".vscode": "conf"}, "conf/tasks.json", "echo planted > conf/tasks.json"),
    "a new file in it": Led({".vscode": "conf"}, "conf/tasks.json", "echo planted > conf/launch.json"),
    "what is not there": Led({".vscode": "conf/new"}, "conf/x", "mkdir conf/new; echo planted > conf/new/tasks.json"),
    "a link on the way": Led(
        {".envrc": "way", "way": "conf/envrc"}, "conf/envrc", "echo planted > planted; ln -sfn planted way; rm planted"
    ),
    "a directory on the way": Led(
        {".envrc": "conf/envrc"}, "conf/envrc", "mv conf old; mkdir conf; echo planted > conf/envrc"
    ),
}


@pytest.mark.parametrize("what", LED)
def test_what_a_link_leads_to_is_as_protected(workspace: Path, home: Path, tier: str, what: str) -> None:
    links, there, command = LED[what]
    (workspace / there).parent.mkdir()
    (workspace / there).write_text("mine")
    for name, target in links.items():
        (workspace / name).symlink_to(target)
    run(workspace, home, command)
    assert planted(workspace) == set()
    assert all(os.readlink(workspace / name) == target for name, target in links.items() if name.startswith("."))


def test_a_new_link_goes_and_what_it_leads_to_stays(workspace: Path, home: Path, tier: str) -> None:
    (workspace / "src").mkdir()
    (workspace / "src" / "file").write_text("mine")
    (result,) = run(workspace, home, "ln -s src .vscode; echo more > src/more")
    assert [each["what"] for each in result.metadata["denied"]] == ["put_aside"]
    assert sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*")) == ["src", "src/file", "src/more"]


@pytest.mark.parametrize("command", ["echo planted > %s/pre-commit", "echo planted > %s/post-commit", "rm -r %s"])
def test_hooks_are_protected_where_the_settings_say_they_are(
    repository: Path, git: Callable[..., str], home: Path, tier: str, command: str
) -> None:
    hooks = repository / "scripts" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("mine")
    git("config", "core.hooksPath", "scripts/hooks")
    run(repository, home, command % "scripts/hooks")
    assert (os.listdir(hooks), (hooks / "pre-commit").read_text()) == (["pre-commit"], "mine")


def test_settings_that_a_command_wrote_make_nothing_protected(
    repository: Path, git: Callable[..., str], home: Path, tier: str
) -> None:
    """Else whoever writes them could have any directory of the user's moved away."""
    (repository / "src").mkdir()
    (repository / "src" / "file").write_text("mine")
    run(repository, home, "git config core.hooksPath src; echo more > src/more")
    assert git("config", "--default", "none", "core.hooksPath").strip() == "none"
    assert sorted(os.listdir(repository / "src")) == ["file", "more"]


@pytest.fixture
def nested(repository: Path, git: Callable[..., str], tmp_path: Path) -> Path:
    """A repository with a submodule of 2 MiB, and a worktree that was made days ago."""
    other = tmp_path / "other"
    other.mkdir()
    git("init", "-q", "-b", "main", ".", at=other)
    (other / "much").write_bytes(os.urandom(2 << 20))
    git("add", ".", at=other)
    git("commit", "-qm", "much", at=other)
    git("submodule", "--quiet", "add", str(other), "libs/sub")
    git("commit", "-qm", "a submodule")
    git("worktree", "add", "-q", "tree")
    (repository / ".git/info/exclude").write_text("tree\n")
    os.utime(repository / ".git/worktrees/tree/gitdir", (0, 0))
    return repository


@pytest.mark.parametrize("at", ["libs/sub", "tree"])
def test_a_commit_in_a_submodule_or_a_worktree_works(
    nested: Path, git: Callable[..., str], home: Path, tier: str, at: str
) -> None:
    who = "git -c user.name=Me -c user.email=me@example.org"
    (result,) = run(
        nested, home, f"cd {at}; git status -s; echo x > new; {who} add new; {who} commit -qm ours; git log -1"
    )
    assert (result.error, result.metadata.get("denied", [])) == (None, [])
    assert git("log", "-1", "--format=%s", at=nested / at) == "ours\n"


@pytest.mark.parametrize(
    "part", ["modules/libs/sub/config", "modules/libs/sub/hooks/pre-commit", "worktrees/tree/commondir"]
)
def test_what_runs_programs_in_a_submodule_or_a_worktree_is_as_it_was(
    nested: Path, git: Callable[..., str], home: Path, tier: str, part: str
) -> None:
    before = git("config", "--list", at=nested / "libs/sub")
    run(nested, home, f"echo planted >> .git/{part}")
    assert planted(nested) == set()
    assert git("config", "--list", at=nested / "libs/sub") == before
    assert git("status", "--porcelain", at=nested / "tree") == ""


def test_a_crowd_of_repositories_takes_no_shield_from_the_one_that_is_used(
    tier: str, repository: Path, home: Path, git: Callable[..., str]
) -> None:
    before = {name: (repository / ".git" / name).read_bytes() for name in ("config", "HEAD")}
    crowd = 'for i in $(seq 1 270); do mkdir -p "!$i/.git/objects" "!$i/.git/refs"; echo \'ref: refs/heads/m\' > "!$i/.git/HEAD"; done'
    plant = "echo planted > .git/hooks/pre-commit; printf '[core]\\n\\tfsmonitor = ./planted\\n' >> .git/config; true"
    nested = "mkdir -p sub && cd sub && git init -q . ; cd ..; echo planted > sub/.git/hooks/pre-commit; true"
    run(repository, home, crowd, plant, nested)
    assert {name: (repository / ".git" / name).read_bytes() for name in before} == before
    assert not (repository / ".git" / "hooks" / "pre-commit").exists()
    assert not (repository / "sub" / ".git" / "hooks" / "pre-commit").exists()


def test_what_the_user_sets_meanwhile_stays_and_what_another_sets_with_it_does_not(
    tier: str, repository: Path, home: Path, git: Callable[..., str]
) -> None:
    """Git puts a new file in the place of its settings, and takes away what held the old one."""
    config = repository / ".git" / "config"
    known = config.read_text()

    async def main() -> list[Result]:
        async with toolcrib.open(workspace=repository, home=home, approver=toolcrib.SaysYes()) as crib:
            results = []
            for more in ("", "printf '[core]\\n\\tfsmonitor = ./planted\\n' >> .git/config;"):
                call = crib.call("run_command", {"command": f": > up; until [ -e go ]; do :; done; {more} rm up go"})
                task = asyncio.create_task(call)
                while not (repository / "up").exists():
                    await asyncio.sleep(0.005)
                for name in ("one", "two"):
                    git("remote", "add", f"{name}{len(results)}", "https://example.org/x.git")
                (repository / "go").touch()
                results.append(await task)
            return results

    asyncio.run(main())
    after = config.read_text()
    assert "planted" not in after and after.startswith(known)
    if tier == "bubblewrap":
        assert '[remote "two0"]' in after


def test_a_rebase_that_the_user_is_in_the_middle_of_goes_on(
    tier: str, repository: Path, home: Path, git: Callable[..., str]
) -> None:
    """While a call runs that did not begin it; one with a program among its steps does not."""
    (repository / "tools").mkdir()
    (home / "tools").mkdir(exist_ok=True)
    idle = home / "tools" / "idle"
    idle.write_text(
        '#!/bin/sh\n[ "$1" = description ] && echo \'{"name": "idle", "description": "Wait.", '
        '"input_schema": {"type": "object"}}\' && exit\n: > up; until [ -e go ]; do :; done; rm up go\n'
    )
    idle.chmod(0o755)
    (repository / "file").write_text("second\n")
    git("commit", "-qam", "second")

    async def while_it_waits(what: Callable[[], object]) -> None:
        async with toolcrib.open(workspace=repository, home=home, approver=toolcrib.SaysYes()) as crib:
            task = asyncio.create_task(crib.call("custom_tool_idle", {}))
            while not (repository / "up").exists():
                await asyncio.sleep(0.005)
            what()
            (repository / "go").touch()
            assert (await task).success

    steps = repository / ".git" / "rebase-merge"
    asyncio.run(
        while_it_waits(lambda: git("-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~1"))
    )
    assert steps.is_dir()
    git("rebase", "--abort")
    steps.mkdir()
    asyncio.run(while_it_waits(lambda: None))
    steps.rmdir()

    def plant() -> None:
        steps.mkdir()
        (steps / "git-rebase-todo").write_text("pick 0123\nexec ./planted\n")

    asyncio.run(while_it_waits(plant))
    assert not steps.exists()


def test_a_new_repository_that_git_tidied_up_stays(
    tier: str, workspace: Path, home: Path, git: Callable[..., str]
) -> None:
    text = "git init -q new && cd new && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first && git gc -q"
    (result,) = run(workspace, home, text)
    assert result.success and (workspace / "new" / ".git" / "info" / "refs").exists()
