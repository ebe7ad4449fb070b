"""Options that mean the same, and what a rule on one of them says of the others."""

import pytest

from toolcrib.policy.commands import Pattern
from toolcrib.policy.synonyms import same_options


@pytest.mark.parametrize(
    ("program", "option", "others"),
    [
        ("rm", "-r", {"-r", "-R", "--recursive"}),
        ("rm", "-f", {"-f", "--force"}),
        ("git", "-D", {"-D", "-d", "--delete", "-f", "--force"}),
        ("rm", "-v", {"-v"}),
        ("unheard-of", "-r", {"-r"}),
    ],
)
def test_an_option_and_its_other_names(program: str, option: str, others: set[str]) -> None:
    """An option that stands in two groups means both."""
    assert same_options(program, option) == others


@pytest.mark.parametrize(
    "option", ["-calias.x=push", "-c alias.x=push", "--exec-path=/tmp", "--config-env=alias.x=X", "-C /tmp"]
)
def test_git_may_run_any_command_under_another_name(option: str) -> None:
    """But for another directory, which changes no command."""
    assert Pattern.parse("git push").touches(f"git {option} x".split()) is (option != "-C /tmp")


@pytest.mark.parametrize("line", ["rm --recursive x", "rm -R x", "rm -vR x", "rm --recur x"])
def test_who_blocks_an_option_blocks_it_under_every_name(line: str) -> None:
    assert Pattern.parse("rm -r").touches(line.split())
