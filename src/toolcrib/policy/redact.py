"""Taking secret values out of text, bytes and streams, in every form they are likely to appear in."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

from ..core.jsontext import JSON
from ._forms import LINE, Form, forms

SHORTEST = 4
"""A value of fewer characters is left alone: to take out each `1` or `on` would spoil the text and hide nothing."""
_WORDS: dict[int, Literal["Q", "I"]] = {8: "Q", 4: "I"}
"""Sizes of the words that texts are looked at by, and what `memoryview` calls them."""
_FEW = 20
"""So many searches cost less than to look at every word of four bytes."""
_SHORTEST_HALF = 7
_WIDEST_STRIDE = 4

Bytes = bytes
"""The type, where a method has its name."""
Span = tuple[int, int, str]
"""Where a secret begins and ends, and its name."""


class Redactor:
    """Knows secret values, and puts `[redacted:NAME]` where one stands.

    Values of fewer than four characters are left alone. What several secrets share or overlap in is taken out whole,
    with the names of all that reach beyond one another.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        needles: dict[bytes, _Needle] = {}
        for name, value in secrets.items():
            if len(value.strip()) >= SHORTEST:
                for form in forms(value):
                    needles.setdefault(form.core, _Needle(form, _shown(name)))
        self._count = len(secrets)
        self._shortest = min(map(len, needles), default=0)
        self.longest = max((needle.form.longest for needle in needles.values()), default=0)
        """The most bytes that one find can take."""
        rest = list(needles.values())
        self._sieves: list[_Sieve] = []
        for word in _WORDS:
            # What is this long has a whole aligned word inside it, wherever it stands.
            fit = [needle for needle in rest if needle.shortest_anchor >= 2 * word - 1]
            if len(fit) > _FEW:
                self._sieves.append(_Sieve(fit, word))
                rest = [needle for needle in rest if needle.shortest_anchor < 2 * word - 1]
        self._rest = rest

    def __bool__(self) -> bool:
        return self.longest > 0

    def __repr__(self) -> str:
        return f"<Redactor of {self._count} secrets>"

    def text(self, text: str) -> str:
        if len(text) * 4 < self._shortest or not self.longest:
            return text
        data = text.encode("utf-8", "surrogatepass")
        clean = self.bytes(data)
        if clean is data:
            return text
        try:
            return clean.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:  # a value that is not UTF-8 began or ended inside a character
            return clean.decode("utf-8", "backslashreplace")

    def bytes(self, data: bytes) -> bytes:
        """The same object, when there is nothing to take out."""
        return Stream(self, data).end() if len(data) >= self._shortest and self.longest else data

    def json(self, value: JSON) -> JSON:
        """Strings and keys at any depth. The same object, when there is nothing to take out."""
        if not self.longest:
            return value
        changed = False
        holder: list[JSON] = [value]
        places: list[tuple[JSON, JSON]] = [(holder, 0)]  # not by recursion: a document may be deeper than our stack
        while places:
            inside, key = places.pop()
            old = inside[key]
            if isinstance(old, str):
                inside[key] = self.text(old)
                changed = changed or inside[key] is not old
            elif isinstance(old, dict):
                inside[key] = new = self._keys(old)
                changed = changed or new.keys() != old.keys()
                places += [(new, each) for each in new]
            elif isinstance(old, list | tuple):
                inside[key] = items = list(old)
                places += [(items, at) for at in range(len(items))]
        return holder[0] if changed else value

    def stream(self) -> "Stream":
        """For what comes in chunks: however it is cut, the result is that of the whole."""
        return Stream(self)

    def spans(self, data: Bytes) -> list[Span]:
        """Where the secrets are: in order, of two at one place the longer first; they may overlap."""
        likely = [needle for sieve in self._sieves for needle in sieve.may_be_in(data)]
        found = [span for needle in (*likely, *self._rest) for span in needle.spans(data)]
        return sorted(found, key=lambda span: (span[0], -span[1]))

    def _keys(self, old: dict[JSON, JSON]) -> dict[JSON, JSON]:
        new: dict[JSON, JSON] = {}
        for key, value in old.items():
            clean = shown = self.text(key) if isinstance(key, str) else key
            number = 1
            while shown in new or (shown != key and shown in old):  # two keys may be the same secret in two forms
                number += 1
                shown = f"{clean} ({number})"
            new[shown] = value
        return new


class Stream:
    """Redacts what passes. Holds back fewer bytes than the longest form has, because they may begin one."""

    def __init__(self, redactor: Redactor, held: bytes = b"") -> None:
        self._redactor, self._held = redactor, held
        self._names: list[str] = []
        """Of the find that is not over yet."""
        self._until = 0
        """Where in what is held that find ends, as far as is known."""

    def feed(self, chunk: bytes, /) -> bytes:
        """What can be let through."""
        if not self._redactor:
            return chunk
        self._held = self._held + chunk if self._held else chunk
        # What begins before this place is all there, so that whatever comes changes nothing of it.
        settled = len(self._held) - self._redactor.longest + 1
        return self._pass(settled) if settled > 0 else b""

    def end(self) -> bytes:
        """The rest."""
        return self._pass(len(self._held))

    def _pass(self, settled: int) -> bytes:
        held, out, at = self._held, [], 0
        for start, end, name in self._redactor.spans(held):
            if start >= settled:
                break
            if self._names and start >= self._until:
                out.append(self._label())
                at = self._until
                self._names = []
            if not self._names:
                out.append(held[at:start])
                self._names, self._until = [name], end
            elif end > self._until:
                self._until = end
                if name not in self._names:
                    self._names.append(name)
        if self._names and self._until <= settled:
            out.append(self._label())
            at = self._until
            self._names = []
        self._held = held[settled:]
        if self._names:
            self._until -= settled
        elif not out and at == 0 and not self._held:
            return held
        else:
            out.append(held[at:settled])
        return b"".join(out)

    def _label(self) -> bytes:
        return f"[redacted:{'+'.join(self._names)}]".encode()


class _Needle:
    """One form of one secret, and how it is found."""

    def __init__(self, form: Form, name: str) -> None:
        self.form, self.name = form, name
        core = form.core
        # Broken into lines, there is at most one break in the first `LINE` bytes: one half of these is whole.
        half = min(len(core), LINE) // 2
        self.wraps = form.wraps and half >= _SHORTEST_HALF
        self.anchors = (core[:half], core[half : 2 * half]) if self.wraps else (core,)
        """Of these, one is in every occurrence as it is."""
        self.shortest_anchor = min(map(len, self.anchors))

    @cached_property
    def _wrapped(self) -> re.Pattern[bytes]:
        """Made when first wanted, because it is rarely wanted and slow to make."""
        return re.compile(b"(?:\r?\n)?".join(re.escape(bytes((byte,))) for byte in self.form.core))

    def spans(self, data: bytes) -> Iterator[Span]:
        if self.wraps and b"\n" in data:
            if any(anchor in data for anchor in self.anchors):
                yield from self._broken(data)
            return
        start = data.find(self.form.core)
        while start >= 0:
            yield start, self._end(data, start + len(self.form.core)), self.name
            start = data.find(self.form.core, start + 1)

    def _broken(self, data: bytes) -> Iterator[Span]:
        room = self.form.longest - max(map(len, self.form.tails), default=0)
        found = self._wrapped.search(data)
        while found:
            # More breaks than lines have are no line's breaks. Were they taken for some, what is found would depend on
            # what else is near.
            if found.end() - found.start() <= room and any(anchor in found[0] for anchor in self.anchors):
                yield found.start(), self._end(data, found.end()), self.name
            found = self._wrapped.search(data, found.start() + 1)

    def _end(self, data: bytes, end: int) -> int:
        return end + next((len(tail) for tail in self.form.tails if data.startswith(tail, end)), 0)


class _Sieve:
    """Says quickly which needles can be in a text: it looks at one aligned word in so many, and knows all of theirs.

    Its cost does not grow with the number of needles.
    """

    def __init__(self, needles: list[_Needle], word: int) -> None:
        self._word = word
        shortest = min(needle.shortest_anchor for needle in needles)
        self._stride = min(_WIDEST_STRIDE, (shortest + 1) // word - 1)
        self._owners: dict[int, list[_Needle]] = {}
        for needle in needles:
            for anchor in needle.anchors:
                for at in range(self._stride * word):
                    number = int.from_bytes(anchor[at : at + word], sys.byteorder)
                    self._owners.setdefault(number, []).append(needle)
        self._known = frozenset(self._owners)

    def may_be_in(self, data: bytes) -> Iterable[_Needle]:
        whole = len(data) // self._word * self._word
        seen = memoryview(data)[:whole].cast(_WORDS[self._word])[:: self._stride]
        return dict.fromkeys(needle for number in self._known.intersection(seen) for needle in self._owners[number])


def _shown(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:64]
