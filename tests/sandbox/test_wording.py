"""How a failed look at a file is told to whoever asked for it."""

import errno

import pytest

from toolcrib.core.errors import Refused, ToolError
from toolcrib.sandbox._wording import not_regular, protected, readable_errors, shown_path


def told(exc: Exception, path: str = "some/file") -> ToolError:
    with pytest.raises(ToolError) as caught, readable_errors(path, "ASKED"):
        raise exc
    return caught.value


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (FileNotFoundError(errno.ENOENT, "gone"), "FILE_NOT_FOUND"),
        (NotADirectoryError(errno.ENOTDIR, "a file"), "FILE_NOT_FOUND"),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed"), "ASKED"),
        (ValueError("embedded null byte"), "ASKED"),
        (OSError(errno.EXDEV, "across"), "PATH_OUTSIDE_WORKSPACE"),
        (OSError(errno.ELOOP, "links"), "PATH_OUTSIDE_WORKSPACE"),
        (OSError(errno.ENXIO, "a pipe"), "PATH_NOT_REGULAR"),
        (OSError(errno.ENODEV, "a device"), "PATH_NOT_REGULAR"),
        (OSError(errno.EOPNOTSUPP, "a socket"), "PATH_NOT_REGULAR"),
        (IsADirectoryError(errno.EISDIR, "a directory"), "PATH_NOT_REGULAR"),
        (PermissionError(errno.EACCES, "denied"), "ASKED"),
        (OSError(errno.EIO, "broken"), "ASKED"),
    ],
    ids=lambda about: about if isinstance(about, str) else repr(about),
)
def test_each_failure_has_its_code_and_names_the_path(exc, code) -> None:
    failure = told(exc)
    assert (type(failure), failure.code, failure.details) == (ToolError, code, {"path": "some/file"})
    assert "some/file" in str(failure)


@pytest.mark.parametrize(
    ("exc", "said"),
    [
        (OSError(errno.EACCES, "x"), "permission denied"),
        (OSError(errno.ENAMETOOLONG, "x"), "too long"),
        (OSError(errno.ENOSPC, "x"), "disk is full"),
        (OSError(errno.EDQUOT, "x"), "quota"),
        (OSError(errno.EROFS, "x"), "read-only"),
        (OSError(errno.EAGAIN, "x"), "try again"),
        (OSError(errno.EIO, "what the system calls it"), "what the system calls it"),
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_it_is_said_what_is_wrong(exc, said) -> None:
    assert said in str(told(exc))


def test_what_goes_well_and_what_is_no_failure_of_a_file_passes_through() -> None:
    with readable_errors("some/file", "ASKED"):
        pass
    with pytest.raises(KeyError), readable_errors("some/file", "ASKED"):
        raise KeyError("other")


def test_what_is_no_regular_file() -> None:
    failure = not_regular("a\udcff")
    assert (failure.code, failure.details) == ("PATH_NOT_REGULAR", {"path": "a\\udcff"})
    assert "a\\udcff" in str(failure)


def test_a_protected_place_is_refused_with_its_reason() -> None:
    failure = protected("a\udcff", "it is run later")
    assert (type(failure), failure.code) == (Refused, "PATH_PROTECTED")
    assert failure.details == {"path": "a\\udcff", "reason": "it is run later"}
    assert "a\\udcff" in str(failure) and "it is run later" in str(failure)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("plain/ä", "plain/ä"),
        ("half \ud800 of a pair", "half \\ud800 of a pair"),
        ("x" * 300, "x" * 300),
        ("x" * 300 + "y", "x" * 300 + "… (301 characters)"),
    ],
)
def test_a_path_is_shown_so_that_it_can_be_sent_and_read(path, shown) -> None:
    assert shown_path(path) == shown
    assert told(ValueError("x"), path).details == {"path": shown}
