"""A request for approval, drawn for the person who is to answer it.

Whatever comes from a call or a tool stands behind a gutter (`| `), on every line, with nothing in it that a terminal
obeys: so no value can draw a line of the prompt's own. What is cut says how much was cut, behind another gutter (`* `).
"""

import json
import unicodedata
from collections.abc import Iterator, Sequence

from ..backends.view import view
from ..policy.request import Asked, Request
from ._confusable import confusable
from ._text import visible

GUTTER, NOTE = "| ", "* "
_LABEL = 13
_LONGEST_VALUE = 480
"""Characters of one value; `v` shows all."""
_MOST_VALUES = 24
_MOST_DIFFERENCE = 40
_NARROWEST = 40
_FORM_WIDTH = 100
_FORM_BYTES = 32 * 1024
_UNCONFINED = ("off", "process", "none", "")
_CRAFTS = {"make": "makes", "build": "builds", "remove": "removes"}
"""What is done to a tool's folder, which the arguments name only in part."""
_KINDS = {"shell": "shell text", **_CRAFTS}
_APART = ("call", "read", "write", "host")
HELP = """  y   run it, this time only
  s   and do not ask again for this in this session, for 24 hours at most
  p   and do not ask again for this in this project, for 90 days
  u   and do not ask again for this anywhere, for 90 days
  s= p= u=   the same, but for exactly what is shown here, and nothing like it
  v   show everything that was cut
  anything else, or nothing: no. A no is not remembered.
  A changed tool is asked about again.
  What was allowed, and taking it back: toolcrib policy approvals
"""
CHOICE = "  Allow? [y/s/p/u, v, ?, N] "
"""What stands on the last line; from then on, what is typed counts."""


def drawn(request: Request, *, width: int, now: float, whole: bool = False) -> str:
    """All a person needs to know, and what they can answer; without its last line.

    What would run comes last, because that stays on a small screen.
    """
    page = _Page(width, whole=whole)
    _facts(page, request, now)
    page.blank()
    if request.message is None:
        _answers(page, request)
    return page.text()


def for_client(request: Request) -> str:
    """The same for a form that a client shows, with buttons of its own. What is too long says how much is left out."""
    page = _Page(_FORM_WIDTH, whole=True)
    _facts(page, request, request.created)
    if request.message is None:
        page.say("a lasting yes remembers:")
        for each in request.subjects:
            page.value("", each.shown_wide or each.shown_exact)
    return view(page.text(), _FORM_BYTES)


def _facts(page: "_Page", request: Request, now: float) -> None:
    page.say(f"{visible(request.tool)} {_standing(request)}")
    page.blank()
    if request.message is not None:
        page.value("it asks", request.message)
    page.value("asked by", f"{request.asker}, session {request.session}")
    page.value("why ask", request.reason)
    page.values("tool", [f"{request.source}, version {request.version}", f"from {request.origin or 'this program'}"])
    page.value("program", request.program or "none of its own")
    page.value("digest", _digests(request))
    page.difference(request)
    page.value("it claims", f"{request.description} [{', '.join(request.claims) or 'claims no effects'}]")
    page.value("directory", request.cwd)
    page.value("variables", ", ".join(request.variables) or "none")
    page.value("secrets", ", ".join(request.secrets) or "none")
    page.value("confinement", confinement(request))
    page.values("it declares", list(request.declared))
    page.value("approval", f"{request.id}, for this one call, {_left(request.expires - now)}")
    page.values("arguments", [f"{_word(name)} = {_json(value)}" for name, value in request.arguments.items()])
    page.values("files", [f"{access} {_word(path)}" for access, path in request.files])
    page.values("hosts", list(request.hosts))
    page.subjects(request.subjects)


def brief(request: Request, *, width: int, whole: bool = False) -> str:
    """For a call that the person typed: what they do not know already; without its last line."""
    page = _Page(width, whole=whole)
    page.say(f"{visible(request.tool)} {_standing(request, 'you last allowed it')}")
    if request.message is not None:
        page.value("it asks", request.message)
        return page.text()
    page.value("it claims", request.description)
    page.value("program", request.program or request.origin or "none of its own")
    page.value("digest", _digests(request))
    page.value("why ask", request.reason)
    page.values("arguments", [f"{_word(name)} = {_json(value)}" for name, value in request.arguments.items()])
    page.subjects(tuple(each for each in request.subjects if each.kind in _CRAFTS))
    page.value("variables", ", ".join(request.variables) or "none")
    page.value("confinement", confinement(request))
    page.values("it declares", list(request.declared))
    page.difference(request)
    return page.text()


def confinement(request: Request) -> str:
    if request.confinement:
        return request.confinement
    return "none: it runs with your rights" if request.sandbox in _UNCONFINED else request.sandbox


def _standing(request: Request, when: str = "it was last approved") -> str:
    if request.message is not None:
        return "is running, and asks"
    if request.previous is None:
        return "is new here"
    return f"has CHANGED since {when}" if request.changed else f"is unchanged since {when}"


def _digests(request: Request) -> str:
    before = f" (last approved: {request.previous[:19]}…)" if request.changed and request.previous else ""
    return f"{request.digest[:19]}…{before}" if request.digest else "none"


def _left(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"valid for {minutes} min {rest} s" if minutes else f"valid for {rest} s"


def _answers(page: "_Page", request: Request) -> None:
    page.say("y  this once                s  also for this session (24 hours)")
    page.say("p  also in this project     u  also everywhere (both for 90 days)")
    page.say("s, p and u remember:")
    for each in request.subjects:
        page.value("", each.shown_wide or f"{each.shown_exact} (nothing broader is offered)")
    if any(each.wide is not None and each.wide != each.exact for each in request.subjects):
        page.say("s=, p= and u= remember:")
        for each in request.subjects:
            page.value("", each.shown_exact)
    if request.variables:
        page.say(f"to let it see a variable: toolcrib grant {visible(request.tool)} env VARIABLE")
    if request.confinement and request.sandbox not in _UNCONFINED:
        page.say(f"to let it use the network: toolcrib grant {visible(request.tool)} network")


def _word(word: str) -> str:
    """One word so that it cannot be taken for another: quoted where it holds anything unusual."""
    plain = word and word.isprintable() and word == word.strip() and not set(word) & set('"\\')
    return word if plain else json.dumps(word, ensure_ascii=False)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class _Page:
    """Lines of a given width, the prompt's own and those of values."""

    def __init__(self, width: int, *, whole: bool) -> None:
        self._width, self._whole = max(_NARROWEST, width), whole
        self._lines: list[str] = [""]

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def blank(self) -> None:
        self._lines.append("")

    def say(self, text: str) -> None:
        """Our own words, and names that were checked."""
        self._lines += [f"  {line}" for line in _wrapped(text, self._width - 2)]

    def value(self, label: str, text: str) -> None:
        """Anybody's words."""
        self.values(label, [text])

    def values(self, label: str, texts: Sequence[str]) -> None:
        shown = texts if self._whole else texts[:_MOST_VALUES]
        for text in shown:
            label = self._cut(label, text)
        if rest := texts[len(shown) :]:
            self._put(label, NOTE, f"{len(rest)} more, {_size(rest)} bytes; v shows everything")

    def subjects(self, subjects: tuple[Asked, ...]) -> None:
        """Commands one word per line; each part with its number where there are several. Not files and hosts."""
        parts = [each for each in subjects if each.kind not in _APART]
        for number, each in enumerate(parts, 1):
            label = _KINDS.get(each.kind, each.kind) + (f" {number}" if len(parts) > 1 else "")
            self.values(label, [_word(word) for word in each.value] if each.kind == "command" else each.value)

    def difference(self, request: Request) -> None:
        if not request.changed:
            return
        lines = request.difference.splitlines() or ["not known: the version last approved is not kept as text"]
        shown = lines if self._whole else lines[:_MOST_DIFFERENCE]
        label = "difference"
        for each in shown:
            label = self._cut(label, each)
        if rest := len(lines) - len(shown):
            self._put("", NOTE, f"{rest} more lines; v shows everything")

    def _cut(self, label: str, text: str) -> str:
        """All of a text, or its beginning and how much more there is. Returns the next label, which is none."""
        rest = "" if self._whole else text[_LONGEST_VALUE:]
        self._put(label, GUTTER, text[: len(text) - len(rest)])
        if rest:
            self._put("", NOTE, f"{_size([rest])} more bytes; v shows everything")
        if warning := confusable(text):
            self._put("", NOTE, f"the above {warning}")
        return ""

    def _put(self, label: str, gutter: str, text: str) -> None:
        for line in _wrapped(visible(text), self._width - 2 - _LABEL - len(gutter)):
            self._lines.append(f"  {label:<{_LABEL}}{gutter}{line}".rstrip())
            label = ""


def _size(texts: Sequence[str]) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most this many columns, broken after a blank where there is one, and nothing lost."""
    while True:
        end = _fitting(text, width)
        if end == len(text):
            yield text
            return
        blank = text.rfind(" ", max(1, end - 24), end)
        end = blank + 1 if blank > 0 else end
        yield text[:end]
        text = text[end:]


def _fitting(text: str, width: int) -> int:
    """How many characters fit into so many columns; at least one."""
    for at, char in enumerate(text):
        width -= 1 if char.isascii() else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if width < 0:
            return max(1, at)
    return len(text)
