"""Which of many protected places come first where not all can."""

from toolcrib.sandbox.found import Place, claim


def ordered(*paths: str) -> list[str]:
    return [place.path for place in sorted((Place(path, "why") for path in paths), key=claim)]


def test_what_git_runs_comes_first_and_what_is_known_by_its_whole_name_next() -> None:
    expected = [".git/hooks", ".envrc", "evil.pth", "sub/.git/config", "sub/.envrc", "sub/a.pth", "sub/deep/.envrc"]
    assert ordered(*reversed(expected)) == expected
    assert ordered("sub/a.pth", "sub/.envrc") == ["sub/.envrc", "sub/a.pth"]


def test_other_spellings_of_what_git_runs_do_not_take_its_turn() -> None:
    assert ordered(".git/HOOKS", ".git/Config", ".git/config") == [".git/config", ".git/HOOKS", ".git/Config"]
    assert ordered(".git/HOOKS", ".envrc") == [".envrc", ".git/HOOKS"]
