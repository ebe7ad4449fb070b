"""A tool's schema: JSON Schema 2020-12, parsed and compiled when it is first needed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .jsontext import JSON, canonical, parse

if TYPE_CHECKING:
    from .validator import Validator


class Schema:
    """A schema that is parsed and compiled when it is first needed, and then kept.

    Made from a document, or from its JSON text, because listing a tool does not need the document.
    """

    __slots__ = ("_document", "_text", "_validator")

    def __init__(self, document: dict[str, JSON] | None = None, text: str | None = None) -> None:
        self._document = document
        self._text = text
        self._validator: Validator | None = None

    @property
    def document(self) -> dict[str, JSON]:
        if self._document is None:
            self._document = parse(self._text or "{}")
        return self._document

    def check(self, value: JSON) -> list[dict[str, JSON]]:
        """The faults of `value`: where (a JSON pointer), what was expected, and what came. At most eight.

        Raises:
            ToolcribError: `SCHEMA_REJECTED`, when the schema itself is not one.
        """
        if self._validator is None:
            from .validator import compiled  # late: a tool that is only listed is not compiled

            self._validator = compiled(self.document)
        return self._validator.check(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and canonical(self.document) == canonical(other.document)

    __hash__ = None  # type: ignore[assignment]  # holds a mutable document

    def __repr__(self) -> str:
        return f"Schema({self.document!r})"


def pointer(path: Sequence[str | int]) -> str:
    """An RFC 6901 JSON pointer."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
