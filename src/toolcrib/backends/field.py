"""Parts of a declaration that several kinds of tools have."""

from collections.abc import Mapping

from ..core.jsontext import JSON
from .declared import Unfit, only


def number(fields: Mapping[str, JSON], name: str, default: int, most: int, *, above: str = "") -> int:
    """A whole number above zero; `above` is the pointer to where the fields stand. Raises: `Unfit`."""
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise Unfit(f"{above}/{name}", f"{name} has to be a whole number from 1 to {most}")
    return value


def mapping(fields: Mapping[str, JSON], name: str, *known: str, above: str = "") -> dict[str, JSON]:
    """A mapping with no other keys than these; empty where it is left out. Raises: `Unfit`."""
    value, pointer = fields.get(name, {}), f"{above}/{name}"
    if not isinstance(value, dict):
        raise Unfit(pointer, f"{name} has to be a mapping of {', '.join(known)}")
    try:
        only(value, *known)
    except Unfit as exc:
        raise Unfit(pointer + exc.pointer, str(exc)) from None
    return value


def defaults(parameters: Mapping[str, JSON]) -> dict[str, JSON]:
    """What the schema says of arguments that are not given."""
    properties = parameters.get("properties") or {}
    return {name: each["default"] for name, each in properties.items() if isinstance(each, dict) and "default" in each}
