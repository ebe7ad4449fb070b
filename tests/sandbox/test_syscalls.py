"""By which names machines call themselves, and which numbers hold on which."""

import pytest

from toolcrib.sandbox._syscalls import machine, numbers


@pytest.mark.parametrize(
    ("called", "known"),
    [
        ("x86_64", "x86_64"),
        ("AMD64", "x86_64"),
        ("amd64", "x86_64"),
        ("aarch64", "aarch64"),
        ("arm64", "aarch64"),
        ("riscv64", "riscv64"),
    ],
)
def test_a_machine_goes_by_one_name(monkeypatch, called, known) -> None:
    monkeypatch.setattr("platform.machine", lambda: called)
    assert machine() == known


def test_each_machine_has_its_own_numbers_and_not_every_call() -> None:
    assert [numbers(name).get("openat") for name in ("x86_64", "aarch64", "riscv64")] == [257, 56, None]
    assert [numbers(name).get("open") for name in ("x86_64", "aarch64", "riscv64")] == [2, None, None]
