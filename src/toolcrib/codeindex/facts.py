"""What is known of one source file. Plain tuples between processes and on the disk, these types elsewhere."""

from typing import NamedTuple

KINDS = (
    "class",
    "constant",
    "constructor",
    "enum",
    "field",
    "function",
    "interface",
    "macro",
    "method",
    "module",
    "namespace",
    "property",
    "struct",
    "trait",
    "type",
    "union",
    "variable",
)


class Definition(NamedTuple):
    """A name, and where it is given its meaning."""

    name: str
    kind: str
    """One of `KINDS`, whatever the language calls it."""
    line: int
    """Of the name itself; the first line is 1."""
    column: int
    """Of the name itself, in bytes from the start of the line."""
    end_line: int = 0
    """The last line of what is defined; 0 where the quick look did not find out."""
    scope: str = ""
    """What it is defined in, from the outside, with dots: `Outer.Inner`."""
    exported: bool = True
    """Whether other files can use it, by the rules of the language or the custom of its users."""


class Import(NamedTuple):
    """That a file uses another, or a part of one."""

    module: str
    """As it is written: `..core.call`, `./util`, `fmt`, `std::io`, `stdio.h`."""
    line: int
    names: tuple[tuple[str, str], ...] = ()
    """What is taken from it, and what it is called here; nothing when it is taken as a whole. `*` is everything."""
    alias: str = ""
    """What the whole is called here, where that is not its own name."""


class Facts(NamedTuple):
    """One file, looked at once."""

    language: str
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    exports: tuple[tuple[str, int], ...] = ()
    """Names that are exported by a statement of their own (`export {…}`, `__all__`, `pub use`), with the line."""
    words: frozenset[bytes] = frozenset()
    """All identifiers in the file, wherever they stand."""
