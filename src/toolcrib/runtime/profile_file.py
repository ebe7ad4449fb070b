"""One file of a profile: the part of the configuration that it may hold, a few words, and how tools are offered."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.tool import NAME
from ..policy.names import NamePattern
from ..sources.vocabularies import OWN, VOCABULARIES
from ..sources.wrap import Offer
from .config import Config
from .config_file import ConfigFile
from .config_values import mapping, one_of, prefix, text, words
from .profile import Profile
from .toolsets import builtin_names

if TYPE_CHECKING:
    from ..store.yamltext import Document

_WORDS = ("description", "model", "instructions")


class ProfileFile(ConfigFile):
    """Checks a document key by key and applies it over the `config.yaml` beside it."""

    kind = "profile"

    def __init__(self, document: "Document", name: str) -> None:
        super().__init__(document)
        self._name = name

    def apply(self, config: Config) -> Config:
        own = self._get(self._root, ("name",), text, self._name)
        if own != self._name:
            message = f"name: {own!r} is not what the file is called; leave it out, or write {self._name}"
            raise self._document.error(message, "name")
        said = {key: self._get(self._root, (key,), text, "") for key in _WORDS}
        offer = self._offer()
        called = {offer.prefix + new: old for old, new in offer.rename.items()}
        called |= {word.name: word.own for word in offer.words if word.name != word.own}
        for new, old in called.items():
            for at in (("approval", "tools"), ("tools",)):
                if self._has(*at, new):
                    message = f"{new} is what {old} is called here; rules and settings name it {old}"
                    raise self._document.error(message, *at, new)
        return replace(super().apply(config), profile=Profile(self._name, **said), offer=offer)

    def _offer(self) -> Offer:
        section = self._section(("sources",), "sources")
        only = self._get(section, ("sources", "only"), _patterns, None)
        return Offer(
            () if only is None else (only,),
            self._get(section, ("sources", "without"), _patterns, ()),
            self._get(section, ("sources", "prefix"), prefix, ""),
            self._get(section, ("sources", "rename"), _new_names, {}),
            self._get(section, ("sources", "first"), one_of(("project", "user")), "project"),
            self._get(self._root, ("vocabulary",), one_of(tuple(VOCABULARIES)), OWN),
        )

    def _has(self, *at: str) -> bool:
        value = self._document.value
        for key in at:
            value = value.get(key) if isinstance(value, dict) else None
            if value is None:
                return False
        return True


def _patterns(value: Any) -> tuple[NamePattern, ...]:
    return tuple(map(NamePattern, words(value)))


def _new_names(value: Any) -> dict[str, str]:
    taken = {_fold(name) for name in builtin_names()}
    seen: dict[str, str] = {}
    for old, new in mapping(value).items():
        if _fold(old) in taken:
            raise ValueError(f"{old} is built in and keeps its name")
        if not NAME.fullmatch(text(new)):
            raise ValueError(f"{new!r} is not a tool name: use 1 to 64 of A-Z a-z 0-9 _ -")
        if _fold(new) in taken:
            raise ValueError(f"{new} is the name of a built-in tool; call {old} something else")
        if other := seen.get(_fold(new)):
            raise ValueError(f"{other} and {old} cannot both be called {new}")
        seen[_fold(new)] = old
    return dict(value)


def _fold(name: str) -> str:
    """As tools are told apart."""
    return name.replace("-", "_")
