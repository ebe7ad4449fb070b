#!/usr/bin/env python3
"""Count the days from one date to another."""

import sys
from datetime import date, timedelta


def days(first: date, second: date, *, workdays: bool) -> int:
    if first > second:
        return -days(second, first, workdays=workdays)
    if not workdays:
        return (second - first).days
    weeks, rest = divmod((second - first).days, 7)
    return 5 * weeks + sum((first + timedelta(number)).weekday() < 5 for number in range(rest))


def main(words: list[str]) -> None:
    given = dict(word[2:].split("=", 1) for word in words)
    try:
        first, second = date.fromisoformat(given["first"]), date.fromisoformat(given["second"])
    except ValueError as error:
        sys.exit(f"days_between: {error}; write a date as 2024-02-29")
    sys.stdout.write(f"{days(first, second, workdays=given.get('workdays') == 'true')}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
