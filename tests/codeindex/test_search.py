"""Which names fit a query, and in which order."""

import time

import pytest

from toolcrib.codeindex.search import HOW, alike, fitting

NAMES = frozenset(
    [
        "getSymbolInfo",
        "get_symbol_info",
        "GetSymbolInfo",
        "symbol",
        "SymbolTable",
        "table",
        "symbols",
        "parse_args",
        "parseArgs",
        "HTTPServer",
        "QuerySet",
    ]
)


def ways(query: str, names=NAMES) -> dict[str, str]:
    return {fit.name: HOW[fit.rank] for fit in fitting(query, names)}


def test_the_name_itself_comes_first() -> None:
    assert [fit.name for fit in fitting("symbol", NAMES)][:3] == ["symbol", "symbols", "SymbolTable"]


@pytest.mark.parametrize(
    ("query", "name", "way"),
    [
        ("symbol", "symbol", "exact"),
        ("queryset", "QuerySet", "exact but for case"),
        ("Symb", "SymbolTable", "prefix"),
        ("gSI", "getSymbolInfo", "humps"),
        ("gsi", "get_symbol_info", "humps"),
        ("getSyIn", "getSymbolInfo", "humps"),
        ("pa", "parse_args", "prefix"),
        ("hs", "HTTPServer", "humps"),
        ("Table", "SymbolTable", "part"),
        ("symbol info", "get_symbol_info", "words"),
        ("sybmol", "symbol", "similar"),
        ("QuerrySet", "QuerySet", "similar"),
    ],
)
def test_how_a_name_fits(query, name, way) -> None:
    assert ways(query).get(name) == way


def test_what_does_not_fit_is_not_given() -> None:
    assert ways("zzzz") == {}
    assert ways("   ") == {}


@pytest.mark.parametrize("query", ["(", "[a-z", "a\\", "$^", "a\0b", "*" * 50, "é́", "\udc80"])
def test_a_query_is_no_regular_expression(query) -> None:
    assert query not in ways(query)
    assert ways(query, frozenset([query])) == {query: "exact"}


def test_order_does_not_depend_on_that_of_the_names() -> None:
    names = [f"name_{number}" for number in range(300)]
    assert fitting("nam", names) == fitting("nam", names[::-1])
    assert alike("nmae_7", names) == alike("nmae_7", names[::-1])


@pytest.mark.parametrize("query", ["a" * 1_000_000, "aB" * 500_000, "_" * 100_000])
def test_a_long_query_ends_soon(query) -> None:
    """Of a megabyte, against names made to be looked at for long."""
    names = [("a" * 150) + str(number) for number in range(1500)] + ["aA" * 90 + str(number) for number in range(1500)]
    start = time.perf_counter()
    fitting(query, names)
    assert time.perf_counter() - start < 10
