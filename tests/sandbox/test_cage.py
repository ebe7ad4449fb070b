"""What a cage is, unless something is said: nothing but the user's own rights, and then nothing at all."""

from toolcrib.sandbox.cage import PROCESS, Bounds, Cage


def test_nothing_is_given_that_is_not_named() -> None:
    assert Cage()._asdict() == {
        "tier": PROCESS, "workspace": "", "workspace_writable": True, "readable": (), "writable": (),
        "installs": False, "network": False, "hosts": (), "proxy": "", "bounds": Bounds(),
    }  # fmt: skip


def test_nothing_is_bounded_that_is_not_named() -> None:
    assert Bounds()._asdict() == dict.fromkeys(("memory_bytes", "processes", "file_bytes", "cpu_seconds"))


def test_what_is_prepared_for_a_cage_is_found_by_an_equal_one() -> None:
    assert {Cage("landlock", "/srv", readable=("/a",)): 1}[Cage("landlock", "/srv", readable=("/a",))] == 1
