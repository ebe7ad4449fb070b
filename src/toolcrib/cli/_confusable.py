"""Letters that look like others, for the eyes of whoever is asked to allow something.

They are written by number here, so that nobody has to trust their eyes in this file.
"""

import re
import unicodedata

_MOST = 3
_WORD = re.compile(r"\w+")


def _chars(numbers: str) -> frozenset[str]:
    return frozenset(chr(int(number, 16)) for number in numbers.split())


_LOOKALIKE = {
    "CYRILLIC": _chars(
        "0430 0435 043e 0440 0441 0443 0445 0456 0458 0455 0501 04bb 051b 051d 0475 04cf 0491 044c a647 0410 "
        "0412 0415 041a 041c 041d 041e 0420 0421 0422 0425 0406 0408 0405 0423 050c 051a 051c 04c0 04ae"
    ),
    "GREEK": _chars(
        "03b1 03bf 03b9 03bd 03c5 03c1 03ba 03c4 03c7 03b3 03c9 03f2 03f3 0391 0392 0395 0396 0397 0399 039a "
        "039c 039d 039f 03a1 03a4 03a5 03a7 03f9 037f"
    ),
    "ARMENIAN": _chars("0585 057d 0578 0570 0581 0566 0584 0561 0555 054d 054f 053c"),
    "CHEROKEE": _chars(
        "13aa 13f4 13df 13a0 13ac 13a8 13bb 13a5 13ab 13e6 13de 13b7 13e2 13a1 13da 13a2 13d9 13b3 13c3"
    ),
}
"""By script, what can be taken for a letter of ours. A word of nothing but these is one in disguise."""
_NEVER_WITH_LATIN = frozenset(
    {"CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET", "OSAGE", "TIFINAGH", "CANADIAN", "GOTHIC"}
)
"""Scripts that share no word with Latin letters. Greek ones do: as signs of quantities and units."""
_DRESSED = re.compile(
    r"FULLWIDTH |MATHEMATICAL |(?:SMALL )?ROMAN |(?:NEGATIVE )?(?:CIRCLED|PARENTHESIZED|SQUARED) LATIN "
)
_LATIN_TWINS = _chars(
    "0251 0261 0131 0237 029f 0269 026a 0196 01c0 01c3 a7ae 2113 217c 2170 2174 2179 217d 217e 217f 212e"
)
"""Latin letters and numerals that can be taken for a plain one."""
_SIGNS = _chars(
    "2215 2044 29f8 ff0f 2024 ff0e 2010 2011 2212 fe63 ff0d 2053 223c ff1b fe14 ff1a a789 02d0 2236 01c0 "
    "2223 ff5c ff06 fe60 ff1c 2039 ff1e 203a ff04 fe69 ff0a 2217 204e ff02 ff07 ff40 02b9 ff3c 29f5 2216 "
    "fe68 ff03 ff20 ff05 ff01 01c3 ff1f ff08 ff09 ff3b ff3d ff5b ff5d ff1d 037e"
)
"""Signs that can be taken for one that a shell, a path or a URL obeys."""


def confusable(text: str) -> str | None:
    """What in the text could be taken for something else, named; None when there is nothing.

    Said are letters of another script inside a Latin word or in a word that is wholly of such letters, letters in
    fancy dress, and signs that look like those a shell, a path or a URL obeys.
    """
    if text.isascii():
        return None
    found = dict.fromkeys(char for char in text if not char.isascii() and _is_dressed(char))
    telling = {_script(char) for char in text if char.isalpha() and not _is_lookalike(char)}
    for word in _WORD.findall(text):
        if not word.isascii():
            found |= dict.fromkeys(_suspects(word, telling))
    if not found:
        return None
    named = [f"U+{ord(char):04X} {unicodedata.name(char, 'a character without a name')}" for char in found]
    more = f" and {len(named) - _MOST} more" if len(named) > _MOST else ""
    return f"contains {', '.join(named[:_MOST])}{more}"


def _suspects(word: str, telling: set[str]) -> list[str]:
    """The letters of one word. `telling` are the scripts that the text shows openly, by letters like no others."""
    letters = [char for char in word if char.isalpha() and not _is_dressed(char)]
    foreign = [char for char in letters if _script(char) in _NEVER_WITH_LATIN or _is_lookalike(char)]
    mixed = any(_script(char) == "LATIN" for char in letters) or len({_script(char) for char in foreign}) > 1
    disguised = letters == foreign and all(map(_is_lookalike, foreign)) and not telling & set(map(_script, foreign))
    return foreign if mixed or disguised else []


def _is_dressed(char: str) -> bool:
    return char in _SIGNS or char in _LATIN_TWINS or bool(_DRESSED.match(unicodedata.name(char, "")))


def _is_lookalike(char: str) -> bool:
    return char in _LOOKALIKE.get(_script(char), ())


def _script(char: str) -> str:
    return unicodedata.name(char, "").split(" ", 1)[0]
