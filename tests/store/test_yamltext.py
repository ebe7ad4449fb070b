"""YAML that people write by hand, without the surprises, and every refusal with its line."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.errors import ConfigError
from toolcrib.store.yamltext import parse


def value(text: str):
    return parse(text.encode(), "config.yaml").value


def refusal(text: str | bytes) -> tuple[int | None, str]:
    with pytest.raises(ConfigError) as raised:
        parse(text.encode() if isinstance(text, str) else text, "config.yaml")
    assert str(raised.value).startswith("config.yaml")
    return raised.value.line, str(raised.value)


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "Yes", "NO", "y", "n", "On"])
def test_words_are_words(word) -> None:
    assert value(f"a: {word}") == {"a": word}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None), ("5", 5), ("-5", -5), ("1.5", 1.5),
        ("007", "007"), ("0x10", "0x10"), ("1_000", "1_000"), ("1e5", "1e5"), ("12:30:45", "12:30:45"), (".5", ".5"),
        ("2020-01-01", "2020-01-01"), (".inf", ".inf"), (".nan", ".nan"), ("30s", "30s"),
        ("'5'", "5"), ('"true"', "true"),
        ("=", "="), ("[a, 1]", ["a", 1]), ("{b: {c: off}}", {"b": {"c": "off"}}),
    ],
)  # fmt: skip
def test_plain_values_mean_what_everybody_reads(text, meant) -> None:
    found = value(f"a: {text}")
    assert found == {"a": meant}
    assert type(found["a"]) is type(meant)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\na: 2\n", 2, "second time"),
        ("a: &x 1\nb: *x\n", 1, "anchors"),
        ("b: *x\n", 1, ""),
        ("a: !!python/object:os.system x\n", 1, "tags"),
        ("a: !custom x\n", 1, "tags"),
        ("a:\n  <<: {b: 1}\n", 2, "merge"),
        ("a: 1\n---\nb: 2\n", 2, "one document"),
        ("a: [1, 2\nb: 3\n", 2, ""),
        ("a:\n\t- b\n", 2, ""),
        ("? [a, b]\n: 1\n", 1, "a key is a word"),
        ("a: b: c\n", 1, ""),
        ("ok: 1\nbad: 'open\n", None, ""),
    ],
)
def test_surprises_are_refused_with_their_line(text, line, word) -> None:
    found, message = refusal(text)
    assert word in message
    assert line is None or found == line


def test_bytes_that_are_not_text_are_refused_with_their_line() -> None:
    assert refusal(b"a: 1\nb: \xff\n")[0] == 2


def test_a_bomb_is_refused_before_it_is_in_memory() -> None:
    began = time.perf_counter()
    refusal("a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(50)))
    refusal("[" * 50_000)
    refusal("a: " * 200)
    refusal("x" * 1_100_000)
    assert time.perf_counter() - began < 5


def test_an_empty_file_is_nothing() -> None:
    assert value("") is None
    assert value("# only words\n") is None


def test_each_part_knows_its_line(tmp_path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("\ufeffa: 1\nb:\n  c:\n    - x\n    - y\n")
    document = parse(path.read_bytes(), str(path))
    assert document.value == {"a": 1, "b": {"c": ["x", "y"]}}
    assert [document.line("a"), document.line("b", "c"), document.line("b", "c", 1)] == [1, 3, 5]
    assert str(document.error("wrong", "b", "c")) == f"{path}:3: wrong"


@given(st.text())
def test_any_text_is_a_value_or_a_refusal(text) -> None:
    try:
        parse(text.encode("utf-8", "surrogatepass"), "f")
    except ConfigError:
        pass
