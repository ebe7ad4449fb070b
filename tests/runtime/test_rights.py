"""How what is said of tools is combined."""

import pytest

from toolcrib.runtime.rights import Rights, Ruling, narrower, reach, stricter
from toolcrib.sandbox.cage import Bounds


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("", "", ""),
        ("", "on", "on"),
        ("on", "off", "off"),
        ("on", ("a.b",), ("a.b",)),
        ("off", ("a.b",), "off"),
        (("a.b", "c.d"), ("c.d", "e.f"), ("c.d",)),
        (("a.b",), ("c.d",), "off"),
        (("*.b.c",), ("a.b.c", "b.c"), ("a.b.c",)),
        (("*.b.c",), ("evilb.c",), "off"),
    ],
)
def test_both_must_allow_it(one, other, both) -> None:
    assert narrower(one, other) == narrower(other, one) == both


def test_no_hosts_are_none_and_not_all() -> None:
    assert (reach(()), reach(("a.b",)), reach(("a.b", "*"))) == ("off", ("a.b",), "on")


def test_the_lower_limit_counts() -> None:
    assert stricter(Bounds(1, None, 5, None), Bounds(2, 3, 4, None)) == Bounds(1, 3, 4, None)


def test_a_tools_own_word_comes_before_its_kinds() -> None:
    kinds = {"script": Rights("landlock", "on", ro=("/a",), bounds=Bounds(1, 2))}
    ruling = Ruling("auto", kinds, {"x": Rights(network="off", ro=("/b",), bounds=Bounds(3))})
    assert ruling.of("script", "x") == Rights("landlock", "off", ("/a", "/b"), (), Bounds(3, 2))
    assert ruling.of("binary", "y") == Rights("auto")
